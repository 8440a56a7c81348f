// What derive_schedule is expected to choose, told by what is in the schedule and the nest rather
// than by a whole text, so that a better tile does not break a test.

#include "passes/derive/derive_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "passes/nest/visit_nest.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=4");
const Target kV4 = Target::parse("x86-64-v4,cores=4");
const Target kV4Single = Target::parse("x86-64-v4,cores=1");

Graph linear(const Extent& rows, const Extent& depth, const Extent& columns) {
  Tensor x = input("x", f32, {rows, depth});
  Tensor w = weight("w", f32, {depth, columns}), b = weight("b", f32, {columns});
  return Graph(relu(add(matmul(x, w, "mm"), b, "biased"), "y"));
}

// The directives of this kind, over the whole schedule, with their operations.
std::vector<std::string> all(const Schedule& schedule, DirectiveKind kind) {
  std::vector<std::string> found;
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == kind) found.push_back(name + "." + to_string(d));
    }
  }
  return found;
}

std::optional<Directive> first(const Schedule& schedule, DirectiveKind kind) {
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == kind) return d;
    }
  }
  return std::nullopt;
}

using Strings = std::vector<std::string>;

TEST(DeriveSchedule, TheEpilogueIsInsideTheTilesLoop) {
  const Schedule schedule = derive_schedule(linear(64, 64, 64), kV4Single);
  EXPECT_EQ(all(schedule, DirectiveKind::compute_inline), Strings{"biased.compute_inline()"});
  ASSERT_EQ(all(schedule, DirectiveKind::compute_at).size(), 1U);
  EXPECT_EQ(first(schedule, DirectiveKind::compute_at)->target, "y");
  EXPECT_EQ(all(schedule, DirectiveKind::store_in), Strings{"mm.store_in(registers)"});
  // Nothing goes through memory.
  EXPECT_EQ(to_string(lower(schedule.graph(), schedule)).find("in heap"), std::string::npos);
}

TEST(DeriveSchedule, WithoutFusionEveryOperationGoesThroughMemory) {
  DeriveOptions options;
  options.fuse = false;
  const Schedule schedule = derive_schedule(linear(64, 64, 64), kV4Single, options);
  EXPECT_EQ(all(schedule, DirectiveKind::compute_inline), Strings{});
  const std::string nest = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(nest.find("alloc mm[0 .. +64, 0 .. +64] in heap"), std::string::npos);
  EXPECT_NE(nest.find("alloc biased[0 .. +64, 0 .. +64] in heap"), std::string::npos);
}

TEST(DeriveSchedule, WeightsArePackedAsTheTileReadsThem) {
  const Schedule schedule = derive_schedule(linear(64, 64, 64), kV4Single);
  const std::optional<Directive> pack = first(schedule, DirectiveKind::pack);
  ASSERT_TRUE(pack);
  EXPECT_EQ(pack->target, "w");
  EXPECT_EQ(pack->axes, Strings{"n"});
  EXPECT_EQ(pack->factor % 16, 0);
}

TEST(DeriveSchedule, InputsAreNotPacked) {
  const Graph graph(matmul(input("x", f32, {64, 64}), input("w", f32, {64, 64})));
  EXPECT_EQ(all(derive_schedule(graph, kV4), DirectiveKind::pack), Strings{});
}

// x[rows, depth] times w[depth, columns], both inputs; or w[columns, depth], where `by_rows`.
Graph product_of_inputs(const Extent& rows, const Extent& depth, const Extent& columns,
                        bool by_rows = false) {
  const Axis m("m", rows), n("n", columns), k("k", depth);
  Tensor x = input("x", f32, {rows, depth});
  if (by_rows) {
    Tensor w = input("w", f32, {columns, depth});
    return Graph(compute("mm", {m, n}, sum(k, x(m, k) * w(n, k))));
  }
  return Graph(matmul(x, input("w", f32, {depth, columns}), "mm"));
}

TEST(DeriveSchedule, ALargeInputIsCopiedByPanels) {
  for (const Target& target : {kV3, kV4, kV4Single}) {
    const Schedule schedule = derive_schedule(product_of_inputs(64, 256, 256), target);
    EXPECT_EQ(all(schedule, DirectiveKind::copy_in), Strings{"mm_acc.copy_in(w, w_panel)"});
    const std::vector<std::string> places = all(schedule, DirectiveKind::compute_at);
    EXPECT_NE(std::find(places.begin(), places.end(), "w_panel.compute_at(mm, panel)"),
              places.end());
    EXPECT_EQ(all(schedule, DirectiveKind::reorder_storage), Strings{});
  }
}

TEST(DeriveSchedule, AnInputWhoseColumnsAreNotContiguousIsCopiedAtAnySize) {
  const Schedule schedule = derive_schedule(product_of_inputs(64, 20, 70, true), kV4);
  EXPECT_EQ(all(schedule, DirectiveKind::copy_in), Strings{"mm_acc.copy_in(w, w_panel)"});
  EXPECT_EQ(all(schedule, DirectiveKind::reorder_storage),
            Strings{"w_panel.reorder_storage(i0, i1)"});
}

TEST(DeriveSchedule, WhatIsReadOnceOrLiesCloseTogetherIsNotCopied) {
  const Extent batch = Extent::size("B");
  Tensor x = input("x", f32, {256, 256});
  for (const Graph& graph : {
           product_of_inputs(64, 64, 256),           // every row of it is in a page at hand
           product_of_inputs(3, 256, 256),           // few tiles of rows
           product_of_inputs(batch, 64, 256),        // close together for any number of rows
           product_of_inputs(3, 256, 256, true),     // the same, not contiguous
           product_of_inputs(3, batch, 256),         // few tiles of rows of any depth
           linear(64, 256, 256),                     // a weight: packed
           Graph(matmul(x, x)),                      // the rows are of the same input
           Graph(matmul(x, input("w", f32, {256})))  // no columns
       }) {
    const Schedule schedule = derive_schedule(graph, kV4);
    EXPECT_EQ(all(schedule, DirectiveKind::copy_in), Strings{}) << to_string(schedule);
  }
}

// Where the sizes are small after all, a copy costs a few tens of percent; where they are large and
// there is none, a half.
TEST(DeriveSchedule, ARunTimeSizeCountsAsALargeOneForCopies) {
  const Extent batch = Extent::size("B"), depth = Extent::size("D"), columns = Extent::size("N");
  for (const Graph& graph :
       {product_of_inputs(batch, 256, 256), product_of_inputs(64, depth, 256),
        product_of_inputs(64, 256, columns), product_of_inputs(batch, depth, columns)}) {
    const Schedule schedule = derive_schedule(graph, Target::parse("x86-64-v4,cores=1"));
    const Strings copies = all(schedule, DirectiveKind::copy_in);
    EXPECT_EQ(std::count(copies.begin(), copies.end(), "mm_acc.copy_in(w, w_panel)"), 1)
        << to_string(schedule);
  }
}

TEST(DeriveSchedule, ColumnsThatAreNotContiguousAreCopiedForABatch) {
  const Extent batch = Extent::size("B");
  const Schedule narrow = derive_schedule(product_of_inputs(batch, 64, 70, true), kV4);
  EXPECT_EQ(all(narrow, DirectiveKind::copy_in), Strings{"mm_acc.copy_in(w, w_panel)"});
  EXPECT_EQ(all(narrow, DirectiveKind::compute_at), Strings{"mm_acc.compute_at(mm, panel)"});
  const Schedule wide = derive_schedule(product_of_inputs(batch, 512, 1024, true), kV4);
  EXPECT_EQ(all(wide, DirectiveKind::compute_at).size(), 2U) << to_string(wide);
}

TEST(DeriveSchedule, FewRowsByColumnsAreSumsInLanes) {
  for (const Graph& graph : {Graph(matmul(input("x", f32, {70, 64}), input("v", f32, {64}), "mm")),
                             Graph(matmul(input("x", f32, {70, 64}), weight("v", f32, {64}), "mm")),
                             product_of_inputs(3, 64, 70, true)}) {
    const Schedule schedule = derive_schedule(graph, kV4);
    // In 16 lanes, whole vectors of which are read, and then in four.
    EXPECT_EQ(all(schedule, DirectiveKind::rfactor).size(), 3U) << to_string(schedule);
    EXPECT_EQ(all(schedule, DirectiveKind::copy_in), Strings{});
  }
}

// In the last tile of a run-time number of rows one row, where there is no more, is alone.
TEST(DeriveSchedule, OneRowOfARunTimeNumberIsNoWholeTile) {
  for (const Target& target : {kV4, kV4Single}) {
    const Graph graph = linear(Extent::size("B"), 64, 64);
    const Schedule schedule = derive_schedule(graph, target);
    EXPECT_EQ(all(schedule, DirectiveKind::partition).size(), 1U) << to_string(schedule);
    const std::string nest = to_string(lower(graph, schedule));
    EXPECT_NE(nest.find(".m in 1\n"), std::string::npos) << nest;
  }
  EXPECT_EQ(all(derive_schedule(linear(64, 64, 64), kV4), DirectiveKind::partition), Strings{});
}

// What is computed of the sums takes none of their registers.
TEST(DeriveSchedule, ASeriesBehindAProductLeavesItsTile) {
  const Tensor x = input("x", f32, {64, 512}), w = weight("w", f32, {512, 1376});
  const auto rows_of = [](const Tensor& y) {
    for (const Directive& d : derive_schedule(Graph(y), kV4)[y].directives()) {
      if (d.kind == DirectiveKind::split && d.axes[2] == "row") return d.factor;
    }
    return int64_t{1};
  };
  const Tensor mm = matmul(x, w, "mm");
  EXPECT_EQ(rows_of(relu(mm, "y")), 8);
  EXPECT_EQ(rows_of(tanh(mm, "y")), 8);
  EXPECT_EQ(rows_of(mul(mm, sigmoid(mm), "y")), 8);
}

TEST(DeriveSchedule, ATransposedWeightIsPackedFromTheWeight) {
  Tensor x = input("x", f32, {Extent::size("B"), 64}), w = weight("w", f32, {32, 64});
  const Schedule schedule =
      derive_schedule(Graph(relu(matmul(x, transpose(w, {}, "t"), "mm"))), kV4);
  EXPECT_EQ(all(schedule, DirectiveKind::pack), Strings{"mm.pack(w, n, 32)"});
  EXPECT_EQ(all(schedule, DirectiveKind::compute_inline), Strings{"t.compute_inline()"});
}

TEST(DeriveSchedule, AWeightWithOtherReadersIsTransposedInMemory) {
  Tensor x = input("x", f32, {64, 64}), w = weight("w", f32, {64, 64});
  Tensor t = transpose(w, {}, "t"), mm = matmul(x, t, "mm");
  for (const Graph& graph : {
           Graph(add(mm, w, "y")),                                  // the weight itself
           Graph(add(mm, t, "y")),                                  // its transposition
           Graph({mm, t}),                                          // the caller
           Graph(matmul(x, transpose(input("w", f32, {64, 64})))),  // no weight
           Graph(matmul(x, slice(weight("w", f32, {64, 65}), {0, 1}, {64, 65}))),  // not all of it
           Graph(matmul(transpose(weight("w", f32, {64, 64})), x)),                // of the rows
       }) {
    const Schedule schedule = derive_schedule(graph, kV4);
    EXPECT_EQ(all(schedule, DirectiveKind::pack), Strings{}) << to_string(schedule);
  }
}

TEST(DeriveSchedule, NoThreadsBelowTheThreshold) {
  for (const Graph& graph : {linear(16, 16, 16), Graph(relu(input("x", f32, {64, 64}))),
                             Graph(sum(input("x", f32, {64, 64}), {1}))}) {
    EXPECT_EQ(all(derive_schedule(graph, kV4), DirectiveKind::parallel), Strings{});
  }
}

TEST(DeriveSchedule, NoThreadsOnOneCore) {
  for (const Graph& graph :
       {linear(512, 512, 512), Graph(relu(input("x", f32, {2048, 2048}))),
        Graph(sum(input("x", f32, {2048, 2048}), {1})), linear(Extent::size("B"), 512, 512)}) {
    EXPECT_EQ(all(derive_schedule(graph, kV4Single), DirectiveKind::parallel), Strings{});
  }
}

TEST(DeriveSchedule, OneParallelLoopWhereThereIsWork) {
  for (const Graph& graph :
       {linear(512, 512, 512), Graph(relu(input("x", f32, {2048, 2048}))),
        Graph(sum(input("x", f32, {2048, 2048}), {1})), Graph(relu(input("x", f32, {1 << 22}))),
        linear(Extent::size("B"), 512, 512)}) {
    EXPECT_EQ(all(derive_schedule(graph, kV4), DirectiveKind::parallel).size(), 1U);
  }
}

// Whether any of the loops that run for these sizes is parallel.
bool wakes_threads(const Node& node, const SizeValues& sizes) {
  if (const Branch* branch = node.as<Branch>()) {
    return wakes_threads(*chosen_side(*branch, sizes), sizes);
  }
  const Loop* loop = node.as<Loop>();
  bool wakes = loop && loop->kind == LoopKind::parallel;
  for_each_child(node,
                 [&](const NodePtr& child) { wakes = wakes || wakes_threads(*child, sizes); });
  return wakes;
}

TEST(DeriveSchedule, ABatchWakesTheThreadsFromTheWorkOnThatPays) {
  const Extent batch = Extent::size("B");
  struct Case {
    Graph graph;
    int64_t pays_from;  // rows
  };
  for (const auto& [graph, pays_from] :
       {Case{linear(batch, 64, 128), (1 << 21) / (64 * 128)},
        Case{linear(batch, 100, 10), (1 << 21) / (100 * 10) + 1},
        Case{Graph(relu(input("x", f32, {batch, 64}))), (3 << 16) / 64},
        Case{Graph(sum(input("x", f32, {batch, 256}), {1})), (3 << 17) / 257 + 1},
        Case{Graph(matmul(input("x", f32, {batch, 32, 32}), weight("w", f32, {32, 32}))),
             (1 << 21) / (32 * 32 * 32)}}) {
    const LoopNest nest = run_pipeline(graph, kV4).nest;
    for (int64_t rows : {int64_t{0}, int64_t{1}, int64_t{16}, pays_from - 1}) {
      EXPECT_FALSE(wakes_threads(*nest.root, {{"B", rows}})) << rows << "\n" << to_string(nest);
    }
    for (int64_t rows : {pays_from, pays_from + 1, int64_t{1} << 20}) {
      EXPECT_TRUE(wakes_threads(*nest.root, {{"B", rows}})) << rows << "\n" << to_string(nest);
    }
  }
}

TEST(DeriveSchedule, ARowThatIsWorthTheThreadsAsksForNoBatch) {
  EXPECT_EQ(
      all(derive_schedule(linear(Extent::size("B"), 4096, 4096), kV4), DirectiveKind::specialize),
      Strings{});
  EXPECT_EQ(all(derive_schedule(linear(Extent::size("B") + (1 << 20), 64, 64), kV4),
                DirectiveKind::specialize),
            Strings{});
}

TEST(DeriveSchedule, SeveralRunTimeSizesDecideTogether) {
  const Graph graph(relu(input("x", f32, {Extent::size("B"), Extent::size("T"), 64})));
  // For many rows of B, and for fewer.
  EXPECT_EQ(all(derive_schedule(graph, kV4), DirectiveKind::specialize).size(), 2U);
  const LoopNest nest = run_pipeline(graph, kV4).nest;
  EXPECT_FALSE(wakes_threads(*nest.root, {{"B", 1}, {"T", 16}}));
  EXPECT_FALSE(wakes_threads(*nest.root, {{"B", 0}, {"T", 1 << 20}}));
  EXPECT_TRUE(wakes_threads(*nest.root, {{"B", 64}, {"T", 64}}));
  EXPECT_TRUE(wakes_threads(*nest.root, {{"B", 2}, {"T", 1 << 20}}));
}

TEST(DeriveSchedule, ThreadsShareTheRowsOfATallProduct) {
  const Schedule schedule = derive_schedule(linear(4096, 512, 32), kV4);
  EXPECT_EQ(all(schedule, DirectiveKind::parallel), Strings{"y.parallel(tile)"});
}

TEST(DeriveSchedule, ThreadsShareThePanelsOfASingleRow) {
  const Schedule schedule = derive_schedule(linear(1, 4096, 4096), kV4);
  EXPECT_EQ(all(schedule, DirectiveKind::parallel), Strings{"y.parallel(panel)"});
}

TEST(DeriveSchedule, ThreadsShareTheImagesOfABatch) {
  Tensor x = input("x", f32, {64, 32, 32}), w = weight("w", f32, {64, 32, 64});
  const Graph graph(matmul(x, w, "mm"));
  const Schedule schedule = derive_schedule(graph, kV4);
  ASSERT_EQ(all(schedule, DirectiveKind::parallel).size(), 1U);
  EXPECT_EQ(first(schedule, DirectiveKind::parallel)->axes[0], graph.outputs()[0]->axes[0].name());
}

TEST(DeriveSchedule, RowSumsUseLanes) {
  const Schedule schedule = derive_schedule(Graph(sum(input("x", f32, {8, 256}), {1})), kV4);
  const std::optional<Directive> lanes = first(schedule, DirectiveKind::split);
  ASSERT_TRUE(lanes);
  EXPECT_EQ(lanes->factor, 64) << "four vectors of 16";
  EXPECT_EQ(first(schedule, DirectiveKind::rfactor)->axes, Strings{lanes->axes[2]});
}

TEST(DeriveSchedule, ColumnSumsUseVectorsOfColumns) {
  const Schedule schedule = derive_schedule(Graph(sum(input("x", f32, {256, 64}), {0})), kV4);
  EXPECT_FALSE(first(schedule, DirectiveKind::rfactor));
  EXPECT_TRUE(first(schedule, DirectiveKind::cache_write));
  EXPECT_TRUE(first(schedule, DirectiveKind::vectorize));
}

TEST(DeriveSchedule, ThreadsShareTheColumnsOfAColumnSum) {
  const Schedule schedule = derive_schedule(Graph(sum(input("x", f32, {4096, 8192}), {0})), kV4);
  EXPECT_EQ(all(schedule, DirectiveKind::parallel), Strings{"sum.parallel(block)"});
}

TEST(DeriveSchedule, ASharedWeightIsPackedOnce) {
  Tensor w = weight("w", f32, {32, 64});
  Tensor a = matmul(input("x", f32, {64, 32}), w, "a");
  Tensor b = matmul(input("y", f32, {Extent::size("B"), 32}), w, "b");
  const Schedule schedule = derive_schedule(Graph({a, b}), kV4);
  EXPECT_EQ(all(schedule, DirectiveKind::pack).size(), 1U);
}

TEST(DeriveSchedule, WholeRowsWhereTheWeightIsTransposed) {
  Tensor w = weight("w", f32, {64, 32});
  EXPECT_TRUE(derives(matmul(input("x", f32, {8, 32}), transpose(w)), kV4));
}

TEST(DeriveSchedule, TwiceGivesEqualText) {
  for (const Graph& graph : {linear(64, 64, 64), linear(Extent::size("B"), 64, 10),
                             Graph(softmax(input("x", f32, {64, 64})))}) {
    EXPECT_EQ(to_string(derive_schedule(graph, kV4)), to_string(derive_schedule(graph, kV4)));
  }
}

TEST(DeriveSchedule, SeveralTargetsReadOnePackedLayout) {
  Tensor h = relu(matmul(input("x", f32, {Extent::size("B"), 64}), weight("w1", f32, {64, 128})));
  const Graph graph(matmul(h, weight("w2", f32, {128, 10})));
  for (const std::vector<Target>& targets :
       {std::vector<Target>{kV4, kV3}, std::vector<Target>{kV3, kV4},
        std::vector<Target>{kV3, Target::parse("x86-64-linux"), kV4}}) {
    const std::vector<Schedule> schedules = derive_schedules(graph, targets);
    ASSERT_EQ(schedules.size(), targets.size());
    const LoopNest nest = lower(graph, schedules[0]);
    EXPECT_EQ(nest.packs.size(), 2U);
    for (const Schedule& schedule : schedules) {
      const LoopNest other = lower(graph, schedule);
      EXPECT_TRUE(computes(other, graph, {{"B", 5}}));
      for (size_t i = 0; i < nest.arguments().size(); ++i) {
        EXPECT_EQ(other.arguments()[i]->name, nest.arguments()[i]->name);
        EXPECT_EQ(other.arguments()[i]->shape, nest.arguments()[i]->shape);
      }
    }
  }
}

TEST(DeriveSchedule, TakesThePanelThatIsAskedFor) {
  DeriveOptions options;
  options.panels["w"] = 32;
  const Lowered lowered = run_pipeline(linear(64, 64, 64), kV4Single, options);
  EXPECT_EQ(first(lowered.schedule, DirectiveKind::pack)->factor, 32);
  EXPECT_TRUE(computes(lowered.nest, linear(64, 64, 64)));
}

TEST(DeriveSchedule, NoTargetsNoSchedules) {
  EXPECT_TRUE(derive_schedules(linear(4, 4, 4), {}).empty());
}

// --- deep graphs --------------------------------------------------------------------------------

TEST(DeriveDeep, AThousandElementwiseOperations) {
  Tensor t = input("x", f32, {4, 8});
  for (int i = 0; i < 1000; ++i) t = i % 2 == 0 ? add(t, 1) : relu(t);
  EXPECT_TRUE(derives(t, kV4));
  EXPECT_TRUE(lowers(t, Schedule(t)));
}

TEST(DeriveDeep, AThousandOperationsThatReadTheirOperandTwice) {
  Tensor t = input("x", f32, {8});
  for (int i = 0; i < 1000; ++i) t = sub(t, mul(t, t));
  EXPECT_NO_THROW(run_pipeline(t, kV4));
}

TEST(DeriveDeep, AThousandMatmuls) {
  Tensor t = input("x", f32, {2, 4});
  Tensor w = weight("w", f32, {4, 4});
  for (int i = 0; i < 1000; ++i) t = relu(matmul(t, w));
  EXPECT_NO_THROW(run_pipeline(t, kV4));
}

TEST(DeriveDeep, AThousandOperationsInline) {
  Tensor t = input("x", f32, {8});
  for (int i = 0; i < 1000; ++i) t = add(t, 1);
  const Graph graph(t);
  Schedule schedule(graph);
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute && !graph.is_output(*op)) schedule[op->name].compute_inline();
  }
  EXPECT_NO_THROW(lower(graph, schedule));
}

}  // namespace
}  // namespace emulsion
