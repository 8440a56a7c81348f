#include "passes/analyse/uop_list.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

UopRegion box(int32_t buffer, std::vector<int32_t> min, std::vector<int32_t> extent) {
  UopRegion region;
  region.buffer = buffer;
  region.rank = static_cast<int32_t>(min.size());
  std::copy(min.begin(), min.end(), region.min.begin());
  std::copy(extent.begin(), extent.end(), region.extent.begin());
  return region;
}

TEST(UopRegion, CountsItsElements) {
  EXPECT_EQ(box(0, {5, 7}, {3, 4}).elements(), 12);
  EXPECT_EQ(box(0, {}, {}).elements(), 1);
  EXPECT_EQ(box(0, {5, 7}, {3, 0}).elements(), 0);
}

TEST(UopRegion, IsEqualInEveryPart) {
  const UopRegion region = box(0, {5, 7}, {3, 4});
  EXPECT_EQ(region, box(0, {5, 7}, {3, 4}));
  EXPECT_NE(region, box(1, {5, 7}, {3, 4}));
  EXPECT_NE(region, box(0, {5, 8}, {3, 4}));
  EXPECT_NE(region, box(0, {5, 7}, {3, 5}));
  EXPECT_NE(region, box(0, {5}, {3}));
}

TEST(UopText, NamesWhatIsReadAndWritten) {
  const LoopNest nest = copy_nest(Extent(64));
  Uop uop;
  uop.kind = UopKind::store;
  uop.stage = 0;
  uop.index = 3;
  uop.write = box(1, {32}, {16});
  uop.reads = {box(0, {32}, {16})};
  uop.bytes = 128;
  EXPECT_EQ(to_string(uop, nest), "3: store y[32 .. +16] <- x[32 .. +16], 128 bytes");
  uop.kind = UopKind::execute;
  uop.part = Part::init;
  uop.reads.clear();
  uop.bytes = 0;
  EXPECT_EQ(to_string(uop, nest), "3: init y[32 .. +16] <-");
}

std::vector<std::string> texts(const LoopNest& nest, const SizeValues& sizes = {}) {
  std::vector<std::string> lines;
  const UopList list(nest, sizes);
  for (const Uop& uop : list) lines.push_back(to_string(uop, nest));
  EXPECT_EQ(static_cast<int64_t>(lines.size()), list.size());
  return lines;
}

LoopNest tiled(const Graph& graph) {
  return run_pipeline(graph, Target::tile_machine(small_machine())).nest;
}

LoopNest matmul_of(int64_t n) {
  Tensor x = input("x", f32, {n, n}), w = weight("w", f32, {n, n});
  Graph graph(matmul(x, w, "y"));
  return run_pipeline(graph, Target::tile_machine()).nest;
}

TEST(UopList, OfACpuNestIsElementByElement) {
  EXPECT_EQ(texts(copy_nest(Extent(2))),
            (std::vector<std::string>{"0: store y[0 .. +1] <- x[0 .. +1], 8 bytes",
                                      "1: store y[1 .. +1] <- x[1 .. +1], 8 bytes"}));
}

TEST(UopList, OfALoopThatStartsLaterStartsThere) {
  LoopNest nest = copy_nest(Extent(4));
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    loop->min = int_constant(1);
    loop->extent = int_constant(2);
  });
  EXPECT_EQ(texts(nest), (std::vector<std::string>{"0: store y[1 .. +1] <- x[1 .. +1], 8 bytes",
                                                   "1: store y[2 .. +1] <- x[2 .. +1], 8 bytes"}));
}

TEST(UopList, ATileWithoutStepsIsNotIssued) {
  LoopNest nest = copy_nest(Extent(4));
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    loop->kind = LoopKind::tile;
    loop->extent = int_constant(0);
  });
  EXPECT_EQ(texts(nest), std::vector<std::string>{});
}

// In memory, each step reads the sum so far and writes it.
TEST(UopList, AnUpdateMovesItsResultTwice) {
  EXPECT_EQ(texts(reduction_nest(Combiner::sum, 2)),
            (std::vector<std::string>{"0: init y[] <-, 4 bytes",
                                      "1: execute y[] += x[0 .. +1], 12 bytes, 1 macs",
                                      "2: execute y[] += x[1 .. +1], 12 bytes, 1 macs"}));
}

// Of two reads of one buffer, one of which is outside of it.
TEST(UopList, AReadOfNothingWidensNoBox) {
  const Expr i = axis_value("i");
  const Expr inside = read_buffer("x", f32, {i}), outside = read_buffer("x", f32, {i + 100});
  for (const Expr& body : {inside + outside, outside + inside}) {
    LoopNest nest = copy_nest(Extent(4));
    nest.stages[0].body = body;
    EXPECT_EQ(texts(nest)[1], "1: store y[1 .. +1] <- x[1 .. +1], 8 bytes") << to_string(body);
  }
}

TEST(UopList, OfATiledLayerIsTileByTile) {
  const std::vector<std::string> expected = {
      "0: init mm[0 .. +4, 0 .. +8] <-",
      "1: load x_tile[0 .. +4, 0 .. +4] <- x[0 .. +4, 0 .. +4], 64 bytes",
      "2: load w_tile[0 .. +4, 0 .. +8] <- w[0 .. +4, 0 .. +8], 128 bytes",
      "3: execute mm[0 .. +4, 0 .. +8] += x_tile[0 .. +4, 0 .. +4], w_tile[0 .. +4, 0 .. +8], 128 "
      "macs",
      "4: load x_tile[0 .. +4, 4 .. +4] <- x[0 .. +4, 4 .. +4], 64 bytes",
      "5: load w_tile[4 .. +4, 0 .. +8] <- w[4 .. +4, 0 .. +8], 128 bytes",
      "6: execute mm[0 .. +4, 0 .. +8] += x_tile[0 .. +4, 4 .. +4], w_tile[4 .. +4, 0 .. +8], 128 "
      "macs",
      "7: load b_tile[0 .. +8] <- b[0 .. +8], 32 bytes",
      "8: execute y_tile[0 .. +4, 0 .. +8] <- mm[0 .. +4, 0 .. +8], b_tile[0 .. +8]",
      "9: store y[0 .. +4, 0 .. +8] <- y_tile[0 .. +4, 0 .. +8], 128 bytes",
  };
  EXPECT_EQ(texts(tiled(linear_graph(4, 8, 8))), expected);
}

TEST(UopList, EdgeTilesLoadStoreAndMultiplyWhatIsThere) {
  const LoopNest nest = tiled(linear_graph(5, 6, 9));
  const std::vector<std::string> lines = texts(nest);
  ASSERT_EQ(lines.size(), 4U * 10U);
  EXPECT_EQ(lines[34], "34: load x_tile[4 .. +4, 4 .. +4] <- x[4 .. +1, 4 .. +2], 8 bytes");
  EXPECT_EQ(
      lines[36],
      "36: execute mm[4 .. +4, 8 .. +8] += x_tile[4 .. +4, 4 .. +2], w_tile[4 .. +2, 8 .. +8], "
      "2 macs");
  EXPECT_EQ(lines[39], "39: store y[4 .. +1, 8 .. +1] <- y_tile[4 .. +1, 8 .. +1], 4 bytes");
}

TEST(UopList, MacsAreThoseOfTheMatmulWhateverTheTiles) {
  for (const NamedGraph& graph :
       {NamedGraph{"exact", linear_graph(8, 8, 16)}, NamedGraph{"edges", linear_graph(9, 7, 11)}}) {
    int64_t macs = 0;
    const LoopNest nest = tiled(graph.graph);
    for (const Uop& uop : UopList(nest)) macs += uop.macs;
    EXPECT_EQ(macs, graph.name == "exact" ? 8 * 8 * 16 : 9 * 7 * 11);
  }
}

TEST(UopList, AnUpdateNamesItsReductionBox) {
  const LoopNest nest = tiled(linear_graph(4, 6, 8));
  std::vector<UopRegion> boxes;
  for (const Uop& uop : UopList(nest)) {
    if (uop.part == Part::update) boxes.push_back(uop.reduction);
  }
  EXPECT_EQ(boxes, (std::vector<UopRegion>{box(-1, {0}, {4}), box(-1, {4}, {2})}));
}

TEST(UopList, AGuardThatFailsMakesAnIdleUop) {
  const LoopNest nest = linear_nest();  // 5 rows in tiles of 2: row 5 is not there
  int64_t idle = 0;
  for (const Uop& uop : UopList(nest)) {
    idle += uop.idle ? 1 : 0;
    EXPECT_EQ(uop.idle ? uop.bytes : 0, 0);
  }
  EXPECT_EQ(idle, 8);
}

TEST(UopList, TakesRunTimeSizes) {
  const LoopNest nest = tiled(linear_graph(Extent::size("B"), 8, 8));
  EXPECT_TRUE(texts(nest, {{"B", 0}}).empty());
  EXPECT_EQ(texts(nest, {{"B", 5}}).size(), 20U);
}

TEST(UopList, OfNothingIsEmpty) {
  const LoopNest nest;
  EXPECT_EQ(UopList(nest).size(), 0);
  EXPECT_TRUE(texts(nest).empty());
}

TEST(UopList, OfEveryGraphHasAsManyAsAreCounted) {
  for (const NamedGraph& graph : tile_graphs()) {
    SizeValues sizes;
    for (const std::string& name : graph.graph.sizes()) sizes[name] = 9;
    SCOPED_TRACE(graph.name);
    texts(tiled(graph.graph), sizes);
  }
}

int64_t resident_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// 2^20 cubed tiles: an entry each would fill any memory.
TEST(UopList, OfAHugeNestStopsEarlyInConstantMemory) {
  LoopNest nest = matmul_of(4096);
  nest.root = edit<Loop>(nest.root, [](Loop* node) {
    if (node->kind == LoopKind::serial) {
      node->extent = int_constant(int64_t{1} << 20);
    }
  });
  const UopList list(nest);
  EXPECT_EQ(list.size(), (int64_t{1} << 40) * ((int64_t{1} << 20) * 3 + 2));
  const int64_t before = resident_kilobytes();
  int64_t last = 0;
  for (auto at = list.begin(); at != list.end() && last < 20000; ++at) last = at->index;
  EXPECT_EQ(last, 20000);
  EXPECT_LT(resident_kilobytes() - before, 4096);
}

TEST(UopList, WritesJsonLinesInConstantMemory) {
  const LoopNest nest = matmul_of(4096);
  const UopList list(nest);
  struct Counter : std::streambuf {
    int64_t bytes = 0;
    int overflow(int c) override {
      ++bytes;
      return c;
    }
    std::streamsize xsputn(const char*, std::streamsize n) override {
      bytes += n;
      return n;
    }
  } counter;
  std::ostream out(&counter);
  write_json_lines(list, out, 10);
  const int64_t before = resident_kilobytes();
  EXPECT_EQ(write_json_lines(list, out, 5000), 5000);
  EXPECT_GT(counter.bytes, 5000 * 50);
  EXPECT_LT(resident_kilobytes() - before, 4096);
}

TEST(UopJson, IsOneObjectALine) {
  const LoopNest nest = tiled(linear_graph(4, 8, 8));
  std::ostringstream out;
  EXPECT_EQ(write_json_lines(UopList(nest), out), 10);
  std::istringstream lines(out.str());
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 10U);
  EXPECT_EQ(objects[1].dump(),
            nlohmann::json::parse(
                R"({"index": 1, "kind": "load", "stage": "x_tile", "part": "pure",
                    "reads": [{"buffer": "x", "min": [0, 0], "extent": [4, 4]}],
                    "write": {"buffer": "x_tile", "min": [0, 0], "extent": [4, 4]},
                    "bytes": 64, "macs": 0})")
                .dump());
  EXPECT_EQ(objects[0]["kind"], "init");
  EXPECT_EQ(objects[3]["reduction"]["extent"], std::vector<int>{4});
  EXPECT_EQ(objects[3]["macs"], 128);
  EXPECT_EQ(objects[9]["kind"], "store");
}

TEST(UopListRefuses, ASizeWithoutAValue) {
  const LoopNest nest = tiled(linear_graph(Extent::size("B"), 8, 8));
  EXPECT_ERROR(UopList(nest, {}), "expected a value for size B, got none");
  EXPECT_ERROR(UopList(nest, {{"B", -3}}), "expected 0 or more for size B, got -3");
}

TEST(UopListRefuses, ABufferOfTooManyAxes) {
  LoopNest nest = copy_nest(Extent(2));
  nest.buffers[0].shape = Shape(9, Extent(1));
  EXPECT_ERROR(UopList(nest), "uOps of x: expected at most 8 axes, got 9");
}

TEST(UopListRefuses, AStepPastTheEnd) {
  const LoopNest nest = copy_nest(Extent(1));
  const UopList list(nest);
  auto at = list.begin();
  ++at;
  EXPECT_EQ(at, list.end());
  EXPECT_INTERNAL_ERROR(++at, "past the end");
  EXPECT_INTERNAL_ERROR(*at, "has no uOp");
}

}  // namespace
}  // namespace emulsion
