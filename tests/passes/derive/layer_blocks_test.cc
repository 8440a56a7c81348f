// Products that follow one another by rows: which are computed by blocks of rows, how many rows a
// block has, what is written down for them, and which are left apart and why.

#include "passes/derive/layer_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/measure_work.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/layer_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1,l2=524288");
// Of which a few small layers are more than one cache holds.
const Target kSmall = Target::parse("x86-64-v3,cores=1,l2=8192");

struct Found {
  explicit Found(const Graph& graph, const Target& target = kV3, const Names& taken = {})
      : grouped(fuse_epilogues(graph)) {
    std::unordered_set<const Op*> ops;
    for (const std::string& name : taken) ops.insert(op_of(grouped, name).get());
    all = layer_blocks(grouped, target, ops, &declined);
  }

  // The layers of each group, the last one first.
  std::vector<Names> names() const {
    std::vector<Names> names;
    for (const LayerBlocks& blocks : all) {
      names.emplace_back();
      for (const Op* op : blocks.layers) names.back().push_back(op->name);
    }
    return names;
  }

  Graph grouped;
  std::vector<DeclinedLayer> declined;
  std::vector<LayerBlocks> all;
};

size_t count(const Graph& graph, const Target& target = kV3) {
  return Found(graph, target).all.size();
}
int64_t block_of(const Graph& graph, const Target& target = kV3) {
  const Found found(graph, target);
  return found.all.size() == 1 ? found.all[0].block : 0;
}
// Why the operation is no layer that goes before `reader`.
std::string why_not(const Graph& graph, const std::string& op, const std::string& reader,
                    const Target& target = kV3) {
  const Graph grouped = fuse_epilogues(graph);
  return why_not_next_layer(*op_of(grouped, op), *op_of(grouped, reader), target).value_or("");
}

TEST(LayerBlocks, AllLayersOfAnMlp) {
  for (const Extent& rows : {Extent(65536), kSize}) {
    const Found found{Graph(mlp(rows, 64))};
    EXPECT_EQ(found.names(), (std::vector<Names>{{"y3", "y2", "y1"}}));
    EXPECT_TRUE(found.declined.empty());
  }
}

TEST(LayerBlocks, OfAnyType) {
  for (const DType type : {f64, i32, u8}) EXPECT_EQ(count(mlp(kSize, 64, 3, type)), 1U);
}

TEST(LayerBlocks, WithoutAnythingBehindThem) {
  const Tensor h = matmul(rows_of(kSize, 64), weight("w", f32, {64, 32}), "h");
  EXPECT_EQ(Found(Graph(matmul(h, weight("v", f32, {32, 64}), "y"))).names(),
            (std::vector<Names>{{"y", "h"}}));
}

TEST(LayerBlocks, WrittenByHand) {
  const Axis m("m", kSize), k("k", 64), n("n", 48), o("o", 40), j("j", 48);
  const Tensor x = rows_of(kSize, 64), w = weight("w", f32, {48, 64}),
               v = weight("v", f32, {48, 40});
  const Tensor h = compute("h", {m, n}, sum(k, w(n, k) * x(m, k)));
  EXPECT_EQ(count(compute("y", {m, o}, sum(j, h(m, j) * v(j, o)))), 1U);
}

TEST(LayerBlocks, OfWeightsThatAreTransposed) {
  const Tensor h = matmul(rows_of(kSize, 64), transpose(weight("w", f32, {32, 64}), {1, 0}), "h");
  EXPECT_EQ(count(matmul(h, transpose(weight("v", f32, {64, 32}), {1, 0}), "y")), 1U);
}

TEST(LayerBlocks, OfManyMatrices) {
  const Tensor x = input("x", f32, {4, kSize, 64});
  EXPECT_EQ(Found(Graph(layer(layer(x, "h", 32), "y", 48))).names(),
            (std::vector<Names>{{"y", "h"}}));
}

TEST(LayerBlocks, AResidualIsOfTheSameRows) {
  const Tensor h = layer(rows_of(kSize, 64), "h", 64);
  EXPECT_EQ(
      Found(Graph(relu(add(matmul(h, weight("w", f32, {64, 64}), "p"), h, "s"), "y"))).names(),
      (std::vector<Names>{{"y", "h"}}));
}

TEST(LayerBlocks, OneWeightOfSeveralLayers) {
  const Tensor w = weight("w", f32, {64, 64});
  const Tensor h = matmul(rows_of(kSize, 64), w, "h");
  EXPECT_EQ(count(matmul(h, w, "y")), 1U);
}

// 16 of these weights are half of the cache.
TEST(LayerBlocks, ALongChainIsCutWhereTheWeightsFillTheCache) {
  const Found found{Graph(mlp(kSize, 64, 36))};
  ASSERT_EQ(found.all.size(), 3U);
  EXPECT_EQ(found.all[0].layers.size(), 16U);
  EXPECT_EQ(found.all[0].layers.front()->name, "y36");
  EXPECT_EQ(found.all[2].layers.size(), 4U);
}

TEST(LayerBlocks, OfARunTimeNumberOfRowsWeightsOfHalfTheCacheAndNoMore) {
  EXPECT_EQ(Found(Graph(mlp(kSize, 128, 4))).names(),
            (std::vector<Names>{{"y4", "y3", "y2", "y1"}}));
  const Found found{Graph(mlp(kSize, 128, 5))};
  EXPECT_EQ(found.names(), (std::vector<Names>{{"y5", "y4", "y3", "y2"}}));
  ASSERT_EQ(found.declined.size(), 1U);
  EXPECT_EQ(found.declined[0].layer->name, "y1");
  EXPECT_EQ(found.declined[0].reader->name, "y2");
  EXPECT_EQ(found.declined[0].reason,
            "expected weights of at most 262144 bytes from y1 to y5, half of the L2 cache, got "
            "327680");
}

TEST(LayerBlocks, OfANumberOfRowsWeightsOfFourCachesAndNoMore) {
  EXPECT_EQ(Found(Graph(mlp(65536, 512, 2))).names(), (std::vector<Names>{{"y2", "y1"}}));
  const Found found{Graph(mlp(65536, 512, 3))};
  EXPECT_EQ(found.names(), (std::vector<Names>{{"y3", "y2"}}));
  ASSERT_EQ(found.declined.size(), 1U);
  EXPECT_EQ(found.declined[0].reason,
            "expected weights of at most 2097152 bytes from y1 to y3, four L2 caches or a quarter "
            "of the L3 cache, got 3145728");
  const Target small = Target::parse("x86-64-v3,cores=1,l2=524288,l3=4194304");
  EXPECT_EQ(count(mlp(65536, 256, 4), small), 1U);
  EXPECT_EQ(Found(Graph(mlp(65536, 256, 5)), small).declined.size(), 1U);
}

TEST(LayerBlocks, ABlockIsAFewRegisterTiles) {
  EXPECT_EQ(block_of(mlp(65536, 64)), 48);
  EXPECT_EQ(block_of(mlp(4100, 256, 1)), 0) << "one layer";
  EXPECT_EQ(block_of(mlp(kSize, 64)), 6);
  const Target v4 = Target::parse("x86-64-v4,cores=1");
  EXPECT_EQ(block_of(mlp(kSize, 64), v4), 5) << "as layer by layer, in panels of four vectors";
  EXPECT_EQ(block_of(layer(layer(rows_of(kSize, 784), "h", 128), "y", 10), v4), 8)
      << "the first layer decides, which takes longest";
  EXPECT_EQ(block_of(layer(layer(rows_of(kSize, 10), "h", 10), "y", 128), v4), 5);
  EXPECT_EQ(block_of(mlp(kSize, 16), v4), 8) << "no more, where a tile would have twelve";
  EXPECT_EQ(block_of(mlp(128, 64), Target::parse("x86-64-v3,cores=4,l2=32768")), 0);
}

std::string text_of(const Tensor& y) { return to_string(derive_schedule(Graph(y), kV3)); }

// The processor fetches rows ahead by itself.
TEST(LayerBlocks, DoNotAskForRowsAhead) {
  for (const Extent& rows : {Extent(65536), kSize}) {
    EXPECT_EQ(text_of(mlp(rows, 64)).find("prefetch"), std::string::npos);
  }
}

TEST(LayerBlocks, NotAHiddenLayerThatIsAnOutput) {
  const Tensor h = layer(rows_of(kSize, 64), "h", 64);
  EXPECT_EQ(count(Graph({layer(h, "y", 64), h})), 0U);
}

TEST(LayerBlocks, NotAHiddenLayerThatOthersRead) {
  const Tensor h = layer(rows_of(kSize, 64), "h", 64);
  EXPECT_EQ(count(Graph({layer(h, "y", 64), sum(h, {1}, false, "t")})), 0U);
  EXPECT_EQ(count(Graph({layer(h, "y", 64), layer(h, "z", 64)})), 0U);
}

// y reads h at the same rows nowhere; nothing else is in the way of blocks.
void expect_other_rows(const Tensor& y) {
  EXPECT_EQ(why_not(y, "h", "y"), "expected reads of h at the same m");
  EXPECT_EQ(count(y, kSmall), 0U);
}

TEST(LayerBlocks, NotOfRowsOfAnotherPlace) {
  const Tensor h = layer(rows_of(512, 64), "h", 64), v = weight("v", f32, {64, 32});
  const Axis m("m", 512), n("n", 32), k("k", 64);
  expect_other_rows(compute("y", {m, n}, sum(k, h(511 - m, k) * v(k, n))));
  EXPECT_EQ(count(compute("y", {m, n}, sum(k, h(m, k) * v(k, n))), kSmall), 1U);
}

// The whole of h is needed for the first row of y.
TEST(LayerBlocks, NotWhatSumsOverTheRows) {
  const Tensor h = layer(rows_of(96, 64), "h", 64), v = weight("v", f32, {96, 32});
  const Axis m("m", 64), n("n", 32), k("k", 96);
  expect_other_rows(compute("y", {m, n}, sum(k, h(k, m) * v(k, n))));
}

TEST(LayerBlocks, NotOfFewerRows) {
  const Tensor h = layer(rows_of(512, 64), "h", 64), v = weight("v", f32, {64, 32});
  const Axis m("m", 500), n("n", 32), k("k", 64);
  expect_other_rows(compute("y", {m, n}, sum(k, h(m, k) * v(k, n))));
}

TEST(LayerBlocks, NotAResidualOfOtherRows) {
  const Tensor h = layer(rows_of(65536, 64), "h", 64);
  const Axis m("m", 65536), n("n", 64);
  const auto and_of_h = [&](const Tensor& x, const Expr& row) {
    const Tensor p = matmul(x, weight("w", f32, {64, 64}), "p");
    return Graph(compute("y", {m, n}, p(m, n) + h(row, n)));
  };
  EXPECT_EQ(count(and_of_h(h, m)), 1U);
  EXPECT_EQ(count(and_of_h(h, 65535 - m)), 0U);
  // Behind another layer.
  const Tensor g = layer(h, "g", 64);
  EXPECT_EQ(Found(and_of_h(g, m)).names(), (std::vector<Names>{{"y", "g", "h"}}));
  EXPECT_EQ(Found(and_of_h(g, 65535 - m)).names(), (std::vector<Names>{{"p", "g"}}));
}

TEST(LayerBlocks, NotAWeightThatDependsOnTheRow) {
  const Axis h("h", 4), m("m", kSize), n("n", 32), k("k", 64);
  const Tensor x = input("x", f32, {4, kSize, 64}), w = weight("w", f32, {4, 64, 32});
  const Tensor first = compute("p", {h, m, n}, sum(k, x(h, m, k) * w(h, k, n)));
  const Tensor y = layer(first, "y", 32);
  EXPECT_EQ(why_not(y, "p", "y"),
            "expected p to have one weight for all rows, got another at each h");
  EXPECT_EQ(count(y), 0U);
}

TEST(LayerBlocks, NotAProductOfWhatIsNoWeight) {
  const Tensor h = matmul(rows_of(kSize, 64), input("w", f32, {64, 32}), "h");
  const Tensor y = layer(h, "y", 32);
  EXPECT_EQ(why_not(y, "h", "y"), "expected h to be a product of a weight that is packed");
  EXPECT_EQ(count(y), 0U);
}

TEST(LayerBlocks, NotOfTheLayerAsAWeight) {
  const Tensor h = layer(rows_of(64, 64), "h", 64);
  const Tensor y = matmul(input("z", f32, {64, 64}), h, "y");
  EXPECT_EQ(count(y, kSmall), 0U);
}

// A function that goes through several rows with each vector by itself.
TEST(LayerBlocks, NotAFunctionInVectorsThatAreHalfEmpty) {
  const auto of_columns = [](int64_t columns) {
    const Tensor h =
        gelu(matmul(rows_of(kSize, 64), weight("w", f32, {64, columns})), Gelu::tanh, "h");
    return layer(h, "y", 32);
  };
  EXPECT_EQ(why_not(of_columns(9), "h", "y"),
            "expected full vectors of the columns of h, which take a function, got 9");
  EXPECT_EQ(count(of_columns(9)), 0U);
  EXPECT_EQ(count(of_columns(32)), 1U);
  EXPECT_EQ(count(layer(layer(rows_of(kSize, 64), "h", 9), "y", 32)), 1U) << "no function";
}

TEST(LayerBlocks, NotWhatHasOtherAxes) {
  const Tensor h = layer(input("x", f32, {4, kSize, 64}), "h", 32);
  const Axis m("m", kSize), n("n", 32), k("k", 32);
  const Tensor v = weight("v", f32, {32, 32});
  const Tensor y = compute("y", {m, n}, sum(k, h.at({Expr(0), m, k}) * v(k, n)));
  EXPECT_EQ(why_not(y, "h", "y"), "expected h to have 2 axes, as y has, got 3");
  EXPECT_EQ(count(y), 0U);
}

TEST(LayerBlocks, NotWhatIsNoProductInRegisterTiles) {
  const Tensor h = layer(rows_of(kSize, 64), "h", 64);
  EXPECT_EQ(why_not(softmax(h, -1, "y"), "h", "y"), "expected y to be a product");
  const Tensor dot = matmul(h, weight("v", f32, {64, 1}), "y");
  EXPECT_EQ(why_not(dot, "h", "y"),
            "expected y to be computed in register tiles of rows, its last axis but one");
  EXPECT_EQ(count(dot), 0U);
}

TEST(LayerBlocks, NotWhatCombinesRowsInBetween) {
  const Tensor h = layer(rows_of(kSize, 64), "h", 64);
  EXPECT_EQ(count(layer(softmax(h, -1, "p"), "y", 64)), 0U);
}

TEST(LayerBlocks, NotWhatHasNoElements) {
  EXPECT_EQ(count(mlp(0, 64)), 0U);
  EXPECT_EQ(count(mlp(kSize, 0)), 0U);
}

TEST(LayerBlocks, NotWhatIsTaken) {
  EXPECT_TRUE(Found(Graph(mlp(kSize, 64, 2)), kV3, {"y2"}).all.empty());
  EXPECT_TRUE(Found(Graph(mlp(kSize, 64, 2)), kV3, {"y1"}).all.empty());
}

// Of each reason why it does not pay, one that does and one that does not.
TEST(LayerBlocks, NotWhereACacheHoldsWhatIsBetween) {
  EXPECT_EQ(count(mlp(2049, 64)), 1U);
  const Found found{Graph(mlp(2048, 64))};
  EXPECT_TRUE(found.all.empty());
  ASSERT_EQ(found.declined.size(), 2U) << "each edge once";
  for (const DeclinedLayer& declined : found.declined) {
    EXPECT_EQ(declined.reason,
              "expected more than 524288 bytes, which the L2 cache holds, between y1 and y3, got "
              "524288");
  }
}

TEST(LayerBlocks, NotWhereThereAreTooFewRowsForTheThreads) {
  const Target cores = Target::parse("x86-64-v3,cores=32,l2=131072");
  EXPECT_EQ(count(mlp(1024, 64, 2), cores), 1U);
  const Found found(Graph(mlp(1023, 64, 2)), cores);
  EXPECT_TRUE(found.all.empty());
  ASSERT_EQ(found.declined.size(), 1U);
  EXPECT_EQ(found.declined[0].reason, "expected at least 1024 rows of y2 for 32 threads, got 1023");
}

TEST(LayerBlocks, NotWhereARowOfARunTimeNumberIsWorkForThreads) {
  const Target one = Target::parse("x86-64-v3,cores=1,l2=8388608");
  const Target two = Target::parse("x86-64-v3,cores=2,l2=8388608");
  EXPECT_EQ(count(mlp(kSize, 512, 2), one), 1U);
  EXPECT_EQ(count(mlp(kSize, 504, 2), two), 1U);
  const Found found(Graph(mlp(kSize, 512, 2)), two);
  EXPECT_TRUE(found.all.empty());
  ASSERT_EQ(found.declined.size(), 1U);
  EXPECT_EQ(found.declined[0].reason, "expected a row of y2 to be too little for several threads");
}

TEST(DeriveLayerBlocks, EveryLayerIsComputedAtABlockOfTheLast) {
  const std::string text = derived(mlp(65536, 64, 2), kV3);
  for (const char* line : {"y2.split(i0, block, i0, 48, shift_inwards)\n",
                           "y1.compute_at(y2, block)\n", ".pack(wy1, ", ".pack(wy2, "}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
}

TEST(DeriveLayerBlocks, OnlyABlockOfAHiddenLayerIsStored) {
  const Graph graph(mlp(65536, 64, 2));
  const std::string nest = to_string(lower(graph, derive_schedule(graph, kV3)));
  EXPECT_THAT(nest, HasSubstr("alloc y1["));
  EXPECT_THAT(nest, HasSubstr(" .. +48, 0 .. +64]"));
}

TEST(DeriveLayerBlocks, ThreadsShareTheBlocks) {
  const Target four = Target::parse("x86-64-v3,cores=4,l2=524288");
  EXPECT_TRUE(has(derived(mlp(65536, 64), four), "y3.parallel(block)\n"));
  EXPECT_FALSE(has(derived(mlp(65536, 64), kV3), "parallel"));
}

// The last layer alone would have the threads wait for 1024 rows.
TEST(DeriveLayerBlocks, FromTheWorkOfAllLayersOn) {
  const Target four = Target::parse("x86-64-v3,cores=4,l2=524288");
  const Tensor wide = layer(rows_of(kSize, 128), "h", 120);
  const std::string text = derived(layer(wide, "y", 8), four);
  EXPECT_THAT(text, HasSubstr("y.specialize(B >= 65)\ny.parallel(block)\n"));
}

// A block of v3 has six rows.
TEST(DeriveLayerBlocks, OneRowThatIsLeftIsComputedByItself) {
  const Graph graph(mlp(kSize, 64));
  const LoopNest nest = lower(graph, derive_schedule(graph, kV3));
  for (const int64_t rows : {1, 7, 13}) {
    for (const StageWork& work : measure_work(nest, {{"B", rows}}).stages) {
      const bool is_of_many = has(work.stage, "_many");
      EXPECT_EQ(work.points, is_of_many ? 0 : work.needed) << work.stage << " of " << rows;
    }
  }
}

TEST(DeriveLayerBlocks, OfANumberOfRowsNoneIsByItself) {
  EXPECT_FALSE(has(derived(mlp(65536, 64), kV3), "partition(block)"));
  EXPECT_TRUE(has(derived(mlp(kSize, 64), kV3), "partition(block)"));
}

TEST(DeriveLayerBlocks, WithoutFusionEveryLayerIsStoredWhole) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph(mlp(65536, 64));
  EXPECT_FALSE(has(to_string(derive_schedule(graph, kV3, options)), "compute_at(y3, block)"));
}

class ComputesLayers : public testing::TestWithParam<const char*> {
 protected:
  static Target target(int cores) {
    return Target::parse(std::string(GetParam()) + ",l2=8192,cores=" + std::to_string(cores));
  }
};

TEST_P(ComputesLayers, OfNumbers) {
  for (const int64_t rows : {128, 130, 257}) {
    const Graph graph(mlp(rows, 17, 2));
    ASSERT_EQ(count(graph, target(1)), 1U) << rows;
    EXPECT_TRUE(derives(graph, target(1), {1})) << rows;
    EXPECT_TRUE(derives(graph, target(2), {1})) << rows;
  }
}

TEST_P(ComputesLayers, OfAnyNumber) {
  for (const Graph& graph :
       {Graph(mlp(kSize, 16, 2)), Graph(mlp(kSize, 9, 3)), Graph(mlp(kSize, 10, 2, f64)),
        Graph(layer(layer(rows_of(kSize, 7), "h", 21), "y", 5))}) {
    ASSERT_EQ(count(graph, target(2)), 1U);
    EXPECT_TRUE(derives(graph, target(2), {0, 1, 6, 8, 17}));
  }
}

TEST_P(ComputesLayers, OfManyMatrices) {
  const Tensor x = input("x", f32, {3, kSize, 12});
  const Graph graph(layer(layer(x, "h", 10), "y", 9));
  ASSERT_EQ(count(graph, target(2)), 1U);
  EXPECT_TRUE(derives(graph, target(2), {0, 1, 5, 13}));
}

TEST_P(ComputesLayers, WithAResidual) {
  const Tensor h = layer(rows_of(kSize, 12), "h", 16);
  const Graph graph(relu(add(matmul(h, weight("w", f32, {16, 16}), "p"), h, "s"), "y"));
  ASSERT_EQ(count(graph, target(2)), 1U);
  EXPECT_TRUE(derives(graph, target(2), {0, 1, 5, 13}));
}

TEST_P(ComputesLayers, OfWeightsThatAreTransposed) {
  const Tensor h = matmul(rows_of(kSize, 11), transpose(weight("w", f32, {9, 11}), {1, 0}), "h");
  const Graph graph(matmul(h, transpose(weight("v", f32, {17, 9}), {1, 0}), "y"));
  EXPECT_TRUE(derives(graph, target(2), {0, 1, 5, 13}));
}

// Whatever the target whose panels they are.
TEST_P(ComputesLayers, OfOnePackedLayoutForSeveralTargets) {
  const Graph graph(mlp(kSize, 20, 2));
  for (const char* first : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const std::vector<Schedule> schedules =
        derive_schedules(graph, {Target::parse(first), target(2)});
    for (const Schedule& schedule : schedules) {
      EXPECT_TRUE(has(to_string(schedule), "y1.compute_at(y2, block)\n")) << to_string(schedule);
      EXPECT_TRUE(lowers(graph, schedule, {{"B", 13}})) << first;
    }
    // Panels of 8 are less than a vector of AVX-512.
    if (std::string(first) != "x86-64-v2") continue;
    EXPECT_TRUE(has(to_string(schedules[1]), "y2.split(i1, panel, column, 8, predicate)\n"))
        << to_string(schedules[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ComputesLayers, testing::ValuesIn(kLevels));

}  // namespace
}  // namespace emulsion
