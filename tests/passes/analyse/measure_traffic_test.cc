#include "passes/analyse/measure_traffic.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "dsl/operators.h"
#include "passes/analyse/uop_list.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

// A matmul and its bias: the example of the header.
Graph biased_matmul() {
  Tensor x = input("x", f32, {128, 256});
  Tensor w = weight("w", f32, {256, 512}), b = weight("b", f32, {512});
  return Graph(add(matmul(x, w, "mm"), b, "y"));
}

LoopNest unfused(const Graph& graph) { return lower(graph, Schedule(graph)); }
// By default with panels that divide 512 columns: of four vectors, where the first cache holds most
// of one.
LoopNest fused(const Graph& graph, const std::string& target = "x86-64-v4,cores=1,l1=49152") {
  return run_pipeline(graph, Target::parse(target)).nest;
}

const BufferTraffic& row(const Traffic& traffic, const std::string& buffer) {
  for (const BufferTraffic& b : traffic.buffers) {
    if (b.buffer == buffer) return b;
  }
  throw InternalError("no row " + buffer);
}

// z[i] = a[i] + a[i + 2] of a window of three elements that lives at four places on the heap.
TEST(TrafficOfFoldedStorage, CountsEachElementOfAWindowOnce) {
  const Axis i("i", 6), j("j", 8);
  Tensor a = compute("a", {j}, input("in", f32, {8})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i).store_in(Memory::heap);
  const LoopNest nest = lower(schedule.graph(), schedule);
  ASSERT_NE(to_string(nest).find("fold 4"), std::string::npos) << to_string(nest);
  const Traffic accesses = measure_traffic(nest, {}, TrafficModel::uop);
  EXPECT_EQ(row(accesses, "a").written, 8);
  EXPECT_EQ(row(accesses, "a").read, 6 * 3);  // the smallest box around both reads
  EXPECT_EQ(row(accesses, "in").read, 8);
  const Traffic least = measure_traffic(nest);
  EXPECT_EQ(least.elements(), 8 + 6);  // the window stays in the cache of its pass
}

// Where it was read to read next, nobody knows: any row of the table, so all of it may be.
TEST(TrafficOfGathers, IsTheWholeTable) {
  const Axis i("i", 6), j("j", 8);
  Tensor which = input("which", i32, {6}), table = input("table", f32, {5, 8});
  Tensor y = compute("y", {i, j}, table(clamp(which(i), 0, 4), j));
  const Traffic traffic = measure_traffic(unfused(Graph(y)));
  EXPECT_EQ(row(traffic, "table").read, 5 * 8);
  EXPECT_EQ(row(traffic, "which").read, 6);
  EXPECT_EQ(row(traffic, "y").written, 6 * 8);
}

TEST(TrafficOfPasses, AnUnfusedEpilogueWritesReadsAndWrites) {
  const Traffic traffic = measure_traffic(unfused(biased_matmul()));
  EXPECT_EQ(row(traffic, "mm").written, 65536);
  EXPECT_EQ(row(traffic, "mm").read, 65536);
  EXPECT_EQ(row(traffic, "y").written, 65536);
  EXPECT_EQ(row(traffic, "y").read, 0);
  EXPECT_EQ(traffic.result_elements(), 196608);
  EXPECT_EQ(row(traffic, "x").read, 128 * 256);
  EXPECT_EQ(row(traffic, "w").read, 256 * 512);
  EXPECT_EQ(row(traffic, "b").read, 512);
  EXPECT_EQ(traffic.elements(), 196608 + 128 * 256 + 256 * 512 + 512);
  EXPECT_EQ(traffic.bytes(), 4 * traffic.elements());
}

TEST(TrafficOfPasses, AFusedEpilogueOnlyWrites) {
  const Traffic traffic = measure_traffic(fused(biased_matmul()));
  EXPECT_EQ(traffic.result_elements(), 65536);
  EXPECT_EQ(traffic.elements(), 65536 + 128 * 256 + 256 * 512 + 512);
}

TEST(TrafficOfPasses, ThePaddingOfTheLastPanelIsReadToo) {
  const LoopNest nest = fused(biased_matmul(), "x86-64-v3,cores=1");
  ASSERT_EQ(nest.arguments().at(1)->shape, Shape({22, 256, 24})) << to_string(nest);
  const Traffic traffic = measure_traffic(nest);
  EXPECT_EQ(traffic.elements(), 65536 + 128 * 256 + 22 * 24 * 256 + 512);
}

TEST(TrafficOfPasses, TheSavingIsTwoThirdsOfTheEpilogue) {
  const std::string text = compare_traffic(measure_traffic(unfused(biased_matmul())),
                                           measure_traffic(fused(biased_matmul())));
  EXPECT_EQ(text,
            "results: 196608 -> 65536 elements, 66.7 % less\n"
            "in all: 360960 -> 229888 elements, 36.3 % less\n"
            "in all: 1443840 -> 919552 bytes, 36.3 % less\n");
}

TEST(TrafficOfPasses, StorageInsideAPassMovesNothing) {
  EXPECT_EQ(measure_traffic(linear_nest()).result_elements(), 5 * 8);
}

TEST(TrafficOfPasses, TakesRunTimeSizes) {
  const LoopNest nest = unfused(linear_graph(Extent::size("B"), 7, 11));
  EXPECT_EQ(measure_traffic(nest, {{"B", 0}}).result_elements(), 0);
  EXPECT_EQ(row(measure_traffic(nest, {{"B", 3}}), "y").written, 33);
}

TEST(TrafficOfPasses, AStencilReadsItsHaloOnce) {
  Tensor x = input("x", f32, {10});
  Axis i("i", 8);
  const Graph graph(compute("y", {i}, x(i) + x(i + 1) + x(i + 2)));
  EXPECT_EQ(row(measure_traffic(unfused(graph)), "x").read, 10);
  EXPECT_EQ(row(measure_traffic(unfused(graph), {}, TrafficModel::uop), "x").read, 8 * 3);
}

TEST(TrafficOfPasses, TwoPassesReadTwice) {
  Tensor x = input("x", f32, {6, 4});
  const Graph graph(softmax(x, 1, "y"));
  const Traffic traffic = measure_traffic(unfused(graph));
  EXPECT_EQ(row(traffic, "x").read % 24, 0);
  EXPECT_GT(row(traffic, "x").read, 24);
}

TEST(TrafficOfPasses, WhatAPassWritesItDoesNotReadAgain) {
  const Axis i("i", 8);
  const Tensor x = input("x", f32, {8});
  const Tensor p = compute("p", {i}, x(i) * 2.0f), y = compute("y", {i}, p(i) + 1.0f);
  Schedule schedule(Graph({p, y}));
  EXPECT_EQ(row(measure_traffic(lower(schedule.graph(), schedule)), "p").read, 8);
  schedule[y].compute_with(p, i);
  const Traffic traffic = measure_traffic(lower(schedule.graph(), schedule));
  EXPECT_EQ(row(traffic, "p").read, 0);
  EXPECT_EQ(row(traffic, "p").written, 8);
}

TEST(TrafficOfUops, OfATiledMatmulIsItsLoadsAndStores) {
  Graph graph(matmul(input("x", f32, {128, 256}), weight("w", f32, {256, 512}), "y"));
  const LoopNest nest = run_pipeline(graph, Target::tile_machine()).nest;
  const Traffic traffic = measure_traffic(nest, {}, TrafficModel::uop);
  EXPECT_EQ(row(traffic, "x").read, 16 * 128 * 256);  // once for each of 16 columns of tiles
  EXPECT_EQ(row(traffic, "w").read, 4 * 256 * 512);
  EXPECT_EQ(row(traffic, "y").written, 128 * 512);
  EXPECT_EQ(row(traffic, "y").read, 0);
}

TEST(TrafficOfUops, EdgesCountAsFarAsThereIsSomething) {
  Graph graph(matmul(input("x", f32, {9, 7}), weight("w", f32, {7, 11}), "y"));
  const LoopNest nest = run_pipeline(graph, Target::tile_machine(small_machine())).nest;
  const Traffic traffic = measure_traffic(nest, {}, TrafficModel::uop);
  EXPECT_EQ(row(traffic, "x").read, 2 * 9 * 7);
  EXPECT_EQ(row(traffic, "w").read, 3 * 7 * 11);
  EXPECT_EQ(row(traffic, "y").written, 9 * 11);
}

// The arithmetic over the loops against the list itself.
void expect_sums(const LoopNest& nest, const SizeValues& sizes, const std::string& name) {
  const UopList list(nest, sizes);
  std::map<std::string, int64_t> read, written;
  int64_t bytes = 0, length = 0;
  for (const Uop& uop : list) {
    ++length;
    bytes += uop.bytes;
    if (uop.idle) continue;
    for (const UopRegion& region : uop.reads) {
      if (list.in_main_memory(region.buffer)) {
        read[nest.buffers[region.buffer].name] += region.elements();
      }
    }
    if (!list.in_main_memory(uop.write.buffer)) continue;
    written[nest.buffers[uop.write.buffer].name] += uop.write.elements();
    if (uop.part == Part::update) read[nest.buffers[uop.write.buffer].name] += uop.write.elements();
  }
  EXPECT_EQ(length, list.size()) << name;
  const Traffic traffic = measure_traffic(nest, sizes, TrafficModel::uop);
  EXPECT_EQ(bytes, traffic.bytes()) << name << to_string(traffic);
  for (const BufferTraffic& b : traffic.buffers) {
    EXPECT_EQ(b.read, read[b.buffer]) << name << " " << b.buffer;
    EXPECT_EQ(b.written, written[b.buffer]) << name << " " << b.buffer;
  }
}

TEST(TrafficOfUops, IsTheSumOverTheList) {
  for (const NamedGraph& graph : tile_graphs()) {
    for (int64_t size : {0, 1, 5}) {
      SizeValues sizes;
      for (const std::string& name : graph.graph.sizes()) sizes[name] = size;
      const Target target = Target::tile_machine(small_machine());
      expect_sums(run_pipeline(graph.graph, target).nest, sizes, graph.name + " in tiles");
      expect_sums(unfused(graph.graph), sizes, graph.name + " unfused");
      expect_sums(fused(graph.graph), sizes, graph.name + " for a CPU");
      if (sizes.empty()) break;
    }
  }
}

TEST(TrafficText, IsATable) {
  const Graph graph = linear_graph(2, 3, 4);
  EXPECT_EQ(to_string(measure_traffic(unfused(graph))),
            "buffer  role              read       written         bytes\n"
            "x       input                6             0            24\n"
            "w       weight              12             0            48\n"
            "b       weight               4             0            16\n"
            "y       output               0             8            32\n"
            "mm      internal             8             8            64\n"
            "biased  internal             8             8            64\n"
            "results: 40 elements; in all: 62 elements, 248 bytes\n");
}

TEST(TrafficJson, SaysTheSame) {
  const Traffic traffic = measure_traffic(unfused(linear_graph(2, 3, 4)));
  const auto json = nlohmann::json::parse(to_json(traffic));
  EXPECT_EQ(json["model"], "pass");
  EXPECT_EQ(json["buffers"].size(), traffic.buffers.size());
  EXPECT_EQ(json["buffers"][0]["buffer"], "x");
  EXPECT_EQ(json["buffers"][0]["read"], 6);
  EXPECT_EQ(json["buffers"][0]["bytes"], 24);
  EXPECT_EQ(json["result_elements"], 40);
  EXPECT_EQ(json["bytes"], traffic.bytes());
}

TEST(TrafficText, ComparesWithMoreAndTheSame) {
  const Traffic less = measure_traffic(unfused(linear_graph(2, 3, 4)));
  const Traffic more = measure_traffic(unfused(linear_graph(4, 3, 4)));
  EXPECT_NE(compare_traffic(less, more).find("results: 40 -> 80 elements, 100.0 % more"),
            std::string::npos);
  EXPECT_NE(compare_traffic(less, less).find("results: 40 -> 40 elements, the same"),
            std::string::npos);
}

TEST(TrafficRefuses, ASizeWithoutAValue) {
  const LoopNest nest = unfused(linear_graph(Extent::size("B"), 7, 11));
  EXPECT_ERROR(measure_traffic(nest), "expected a value for size B, got none");
  EXPECT_ERROR(measure_traffic(nest, {{"B", -1}}), "expected 0 or more for size B, got -1");
}

}  // namespace
}  // namespace emulsion
