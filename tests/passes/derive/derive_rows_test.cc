// Rows in derived schedules: what is written down, and that the nests compute what the graphs say
// at every size.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/measure_work.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

// Of 64 elements in 32 lanes, which are four vectors; then in 8, in 2 and one by one.
std::string combined_in_lanes(const std::string& name) {
  return fmt::format(
      "{0}.split(r, r, lane, 32)\n{0}.rfactor(lane, {0}_lanes)\n"
      "{0}.split(lane, lane, lane8, 8)\n{0}.rfactor(lane8, {0}_lanes8)\n"
      "{0}.split(lane8, lane8, lane2, 2)\n{0}.rfactor(lane2, {0}_lanes2)\n"
      "{0}.unroll(lane2)\n{0}.compute_at(y, i)\n"
      "{0}_lanes.reorder(lane, r)\n{0}_lanes.split(lane, lane, lane_v, 8)\n"
      "{0}_lanes.vectorize(lane_v)\n{0}_lanes.unroll(lane)\n{0}_lanes.compute_at({0}, i)\n"
      "{0}_lanes8.reorder(lane8, lane)\n{0}_lanes8.vectorize(lane8)\n{0}_lanes8.unroll(lane)\n"
      "{0}_lanes8.compute_at({0}, i)\n"
      "{0}_lanes2.reorder(lane2, lane8)\n{0}_lanes2.vectorize(lane2)\n"
      "{0}_lanes2.unroll(lane8)\n{0}_lanes2.compute_at({0}, i)\n",
      name);
}

TEST(DeriveRows, EverythingIsComputedAtTheRowOfTheLast) {
  EXPECT_EQ(derived(softmax_by_hand(64, 64), target_of("x86-64-v3", 1)),
            "emulsion schedule 1\n"
            "y.split(k, k, k_v, 8)\ny.vectorize(k_v)\ny.split(i, i, row, 4)\n" +
                combined_in_lanes("total") +
                "p.split(k, k, k_v, 8)\np.vectorize(k_v)\np.compute_at(y, i)\n"
                "p.store_in_output(y)\n" +
                combined_in_lanes("highest"));
}

std::string nest_of(const Graph& graph) {
  return to_string(lower(graph, derive_schedule(graph, target_of("x86-64-v3", 1))));
}

TEST(DeriveRows, AFewShortRowsAreThereAtATime) {
  for (const auto& [columns, memory] : {std::pair(64, "output y"), {68, "stack"}}) {
    const std::string nest = nest_of(softmax_by_hand(64, columns));
    const std::string part = fmt::format("alloc p[y.i * 4 .. +4, 0 .. +{}] in {}", columns, memory);
    EXPECT_NE(nest.find(part), std::string::npos) << nest;
  }
}

// What is read, stored between and written of so many rows fills the L1 cache.
TEST(DeriveRows, FewerOfLongRows) {
  const Target target = target_of("x86-64-v3", 1);
  EXPECT_EQ(target.l1_bytes, 32768);
  EXPECT_NE(derived(roots_by_hand(64, 1024), target).find("y.split(i, i, row, 2)"),
            std::string::npos);
  // Without what is read there were room for five.
  EXPECT_NE(derived(roots_by_hand(64, 700), target).find("y.split(i, i, row, 2)"),
            std::string::npos);
  const std::string nest = nest_of(softmax_by_hand(64, 2048));
  EXPECT_NE(nest.find("alloc p[y.i .. +1, 0 .. +2048] in "), std::string::npos) << nest;
}

// Of rows that are computed one at a time, one buffer less is in the cache.
TEST(DeriveRows, ALongRowIsWhereItsResultWillBe) {
  const std::string in_output = "p.compute_at(y, i)\np.store_in_output(y)\n";
  for (const Target& target : {target_of("x86-64-v3", 1), target_of("x86-64-v4", 4)}) {
    for (const Extent& columns : {Extent(20000), kSize}) {
      for (const Extent& rows : {Extent(64), Extent::size("N")}) {
        const std::string text = derived(softmax_by_hand(rows, columns), target);
        EXPECT_NE(text.find(in_output), std::string::npos) << text;
      }
    }
    const std::string odd = derived(softmax_by_hand(64, 20001), target);
    EXPECT_NE(odd.find("predicate)\ny.vectorize(k_v)"), std::string::npos) << odd;
    EXPECT_NE(odd.find("predicate)\np.vectorize(k_v)"), std::string::npos) << odd;
    const std::string both = derived(softmax(input("x", f32, {3, 4, kSize}), -1, "y"), target);
    EXPECT_NE(both.find("store_in_output(y)"), std::string::npos) << both;
  }
  EXPECT_TRUE(derives(softmax(input("x", f32, {3, 4, kSize}), -1, "y"), target_of("x86-64-v3", 4),
                      {0, 1, 7, 100}, 1e-5));
  EXPECT_TRUE(derives(softmax(input("x", f32, {2, kSize, 3, kSize}), -1, "y"),
                      target_of("x86-64-v4", 4), {0, 1, 7, 20}, 1e-5));
}

TEST(DeriveRows, NothingElseIsWhereAResultWillBe) {
  const Target target = target_of("x86-64-v3", 1);
  const Axis i("i", 64), k("k", 20000);
  Tensor x = input("x", f32, {64, 20000});
  const auto text_of = [&](const std::function<Expr(const Tensor&, const Tensor&)>& last,
                           DType dtype, bool inside = false) {
    Tensor p = compute("p", {i, k}, exp(x(i, k)));
    Tensor total = compute("total", {i}, sum(k, p(i, k)));
    Tensor y = compute("y", {i, k}, cast(dtype, last(p, total)));
    return derived(inside ? Graph(transpose(y, {1, 0})) : Graph(y), target);
  };
  const auto quotient = [&](const Tensor& p, const Tensor& s) { return p(i, k) / s(i); };
  const std::string in_output = "p.store_in_output(";
  EXPECT_NE(text_of(quotient, f32).find(in_output), std::string::npos);
  // No output, another type, other indices, and elements that are read twice.
  EXPECT_EQ(text_of(quotient, f32, true).find(in_output), std::string::npos);
  EXPECT_EQ(text_of(quotient, f64).find(in_output), std::string::npos);
  for (const Expr& other : {19999 - k, min(k + 1, 19999), Expr(0)}) {
    EXPECT_EQ(
        text_of([&](const Tensor& p, const Tensor& s) { return p(i, k) / s(i) + p(i, other); }, f32)
            .find(in_output),
        std::string::npos);
  }
  // Of short rows those that are whole vectors.
  EXPECT_NE(derived(softmax_by_hand(64, 64), target).find(in_output), std::string::npos);
  EXPECT_NE(derived(softmax_by_hand(kSize, 64), target).find(in_output), std::string::npos);
  EXPECT_EQ(derived(softmax_by_hand(64, 68), target).find(in_output), std::string::npos);
}

// Of tasks that tiles do not divide, the last tile would reach into the next one's.
TEST(DeriveRows, NothingIsInTheOutputOfAnotherTask) {
  for (const auto& [rows, is_in_output] : {std::pair(8192, true), {10272, false}}) {
    const Graph graph = softmax_by_hand(rows, 124);
    const Target target = target_of("x86-64-v2", 8);
    const std::string text = derived(graph, target);
    EXPECT_EQ(text.find("p.store_in_output(y)") != std::string::npos, is_in_output) << text;
    EXPECT_NO_THROW(run_pipeline(graph, target)) << rows;
  }
}

TEST(DeriveRows, NoneBeyondTheLastOfARunTimeNumberOfRows) {
  for (const auto& [level, columns, at_a_time] :
       {std::tuple("x86-64-v3", 190, 4), {"x86-64-v2", 12, 8}}) {
    const Graph graph = softmax_by_hand(kSize, columns);
    const Target target = target_of(level, 1);
    const std::string text = derived(graph, target);
    const std::string split = fmt::format("y.split(i, i, row, {}, guard)\n", at_a_time);
    EXPECT_NE(text.find(split + "y.partition(i)\n"), std::string::npos) << text;
    const LoopNest nest = run_pipeline(graph, target).nest;
    for (int64_t rows : {0, 1, 3, 4, 9, 33}) {
      for (const StageWork& work : measure_work(nest, {{"B", rows}}).stages) {
        EXPECT_EQ(work.points, work.needed) << work.stage << " of " << rows;
      }
    }
    EXPECT_TRUE(derives(graph, target, {0, 1, 3, 4, 9}, 1e-5));
  }
}

TEST(DeriveRows, ThreadsShareTheRows) {
  for (const char* name : kLevels) {
    for (const auto& [graph_name, graph] : row_graphs(256, 512)) {
      const std::string text = derived(graph, target_of(name, 4));
      EXPECT_NE(text.find("y.parallel("), std::string::npos) << graph_name << "\n" << text;
      EXPECT_EQ(text.find(".parallel("), text.rfind(".parallel(")) << text;
      EXPECT_EQ(derived(graph, target_of(name, 1)).find("parallel"), std::string::npos);
    }
  }
}

// A hundred sums do not fit registers: by themselves, too, they are in memory, and each of the rows
// that are combined is read once.
TEST(DeriveRows, ManyRowsInARowAreCombinedInMemory) {
  const auto text = [](const Extent& many, const Extent& columns) {
    const Tensor x = input("x", f32, {16, many, columns});
    return derived(relu(sum(x, {1}), "y"), target_of("x86-64-v3", 1));
  };
  const std::string in_memory = "sum.split(r1, r1, row, 8)\n",
                    in_registers = "sum.compute_at(y, tile)\n";
  EXPECT_TRUE(has(text(256, 100), in_memory)) << text(256, 100);
  EXPECT_TRUE(has(text(256, 100), "sum.compute_at(y, i0)\n"));
  EXPECT_TRUE(has(text(kSize, 100), "sum.split(r1, r1, row, 8, guard)\n")) << text(kSize, 100);
  EXPECT_FALSE(has(text(256, 100), in_registers));
  for (const auto& [many, columns] : {std::pair(63, 100), {256, 32}}) {
    EXPECT_FALSE(has(text(many, columns), in_memory)) << "few rows, or few sums";
    EXPECT_TRUE(has(text(many, columns), in_registers));
  }
  EXPECT_TRUE(has(text(256, kSize), in_memory)) << text(256, kSize);
  EXPECT_FALSE(has(text(15, kSize), "sum.split(r1, r1, row")) << text(15, kSize);
  const Tensor maps = input("x", f32, {16, 256, 7, 7});
  EXPECT_TRUE(has(derived(sub(maps, mean(maps, {1}, true), "y"), target_of("x86-64-v3", 1)),
                  "mean_sum.fuse(i2, i3, flat)\nmean_sum.split(r1, r1, row, 8)\n"))
      << "49 in a row";
  for (const char* level : kLevels) {
    const auto is_right = [&](const Tensor& x) {
      return derives(Graph(sub(x, mean(x, {1}, true), "y")), target_of(level, 2), {0, 1, 70});
    };
    EXPECT_TRUE(is_right(input("x", f32, {5, 67, 45})));
    EXPECT_TRUE(is_right(input("x", f32, {kSize, 65, 45})));
    EXPECT_TRUE(is_right(input("x", f32, {3, kSize, 45})));
    EXPECT_TRUE(is_right(input("x", f32, {kSize, 65, 5, 9})));
    EXPECT_TRUE(is_right(input("x", f32, {3, 17, kSize})));
    EXPECT_TRUE(is_right(input("x", f32, {2, kSize, kSize, 9})));
  }
}

TEST(DeriveRows, NoThreadsForLittleWork) {
  for (const auto& [name, graph] : row_graphs(4, 64)) {
    EXPECT_EQ(derived(graph, target_of("x86-64-v3", 4)).find("parallel"), std::string::npos)
        << name;
  }
}

TEST(DeriveRows, ACallWithFewRowsWakesNoThreads) {
  for (const auto& [name, graph] : row_graphs(kSize, 64)) {
    const std::string text = derived(graph, target_of("x86-64-v3", 4));
    EXPECT_NE(text.find("y.specialize(B >= "), std::string::npos) << name << "\n" << text;
  }
}

TEST(DeriveRows, RowsOfRunTimeLengthAreInVectors) {
  for (const char* name : kLevels) {
    const Target target = target_of(name, 1);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    const std::string four = std::to_string(4 * target.vector_lanes(f32));
    const std::string text = derived(softmax_by_hand(64, kSize), target);
    for (const std::string& line :
         {"total.split(r, r, lane, " + four + ")\ntotal.rfactor(lane, total_lanes)",
          "p.split(k, k, k_v, " + lanes + ", predicate)\np.vectorize(k_v)"}) {
      EXPECT_NE(text.find(line), std::string::npos) << text;
    }
  }
}

TEST(DeriveRows, WhatIsFusedOntoASumIsComputedWithIt) {
  const Axis m("m", 8), b("b", 4), k("k", 64);
  Tensor x = input("x", f32, {8, 4, 64}), v = input("v", f32, {4, 64});
  Tensor p = relu(compute("product", {m, b}, sum(k, x(m, b, k) * v(b, k))), "p");
  const Graph graph(compute("y", {m, b, k}, x(m, b, k) * p(m, b)));
  const std::string text = derived(graph, target_of("x86-64-v3", 1));
  for (const char* line : {"product.compute_at(p, i1)", "p.compute_at(y, b)",
                           "product_lanes.compute_at(product, b)"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 1)));
}

TEST(DeriveRows, WithoutFusionEveryOperationHasRowsOfItsOwn) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph = softmax_by_hand(64, 64);
  EXPECT_EQ(
      to_string(derive_schedule(graph, target_of("x86-64-v3", 1), options)).find("compute_at(y"),
      std::string::npos);
}

TEST(DeriveRows, AChannelOfAllPicturesIsThereAtATime) {
  const Graph graph = piece_graphs(4, 6, 20, 33)[0].second;
  const std::string text = derived(graph, target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y.reorder(i0, i1)\n")) << text;
  EXPECT_TRUE(has(text, "centred.compute_inline()\n")) << text;
  EXPECT_TRUE(has(text, "squares.compute_inline()\n")) << text;
  const std::string nest = to_string(run_pipeline(graph, target_of("x86-64-v3", 1)).nest);
  EXPECT_FALSE(has(nest, "heap")) << nest;
}

TEST(DeriveRows, ThreadsShareTheChannels) {
  const Graph graph = piece_graphs(4, 64, 20, 33)[0].second;
  const std::string text = derived(graph, target_of("x86-64-v3", 4));
  EXPECT_TRUE(has(text, "y.parallel(")) << text;
  const Graph open = piece_graphs(kSize, 64, 20, 33)[0].second;
  EXPECT_TRUE(has(derived(open, target_of("x86-64-v3", 4)), "y.parallel(i1)"));
}

// Of it some is computed twice by no vector: they end where the row does.
TEST(DeriveRows, ShortAxesOfAnOutputThatHoldsARowAreOne) {
  const Axis n("n", 4), c("c", 8), h("h", 40), w("w", 7);
  const Tensor x = input("x", f32, {4, 8, 40, 7});
  const Tensor p = compute("p", {n, c, h, w}, exp(x(n, c, h, w) * 0.1F));
  const Tensor s = compute("s", {n, c}, sum({h, w}, p(n, c, h, w)));
  const Graph graph(compute("y", {n, c, h, w}, p(n, c, h, w) / s(n, c)));
  const Target target = Target::parse("x86-64-v3,cores=1,l1=1024");
  const std::string text = derived(graph, target);
  EXPECT_TRUE(has(text, "p.store_in_output(y)\n")) << text;
  EXPECT_TRUE(has(text, "y.fuse(h, w, flat)\n")) << text;
  EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
}

// y needs it at two places, of which the second is behind the first.
TEST(DeriveRows, NothingIsWhereAResultWillBeThatIsReadAgainThroughWhatIsInline) {
  const Axis i("i", 4), k("k", 128), r("r", 128);
  const Tensor x = input("x", f32, {4, 128});
  const Tensor p = compute("p", {i, k}, exp(x(i, k) * 0.1F));
  const Tensor half = compute("half", {i, k}, p(i, k) * 0.5F);
  const Tensor s = compute("s", {i}, sum(r, half(i, r)));
  const Graph graph(compute("y", {i, k}, p(i, k) + half(i, 127 - k) * s(i)));
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128");
  const std::string text = derived(graph, target);
  EXPECT_TRUE(has(text, "half.compute_inline()\n")) << text;
  EXPECT_FALSE(has(text, "store_in_output")) << text;
  EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
}

class ComputesRows : public testing::TestWithParam<const char*> {};

TEST_P(ComputesRows, OfAnyNumber) {
  for (const auto& [name, graph] : row_graphs(kSize, 35)) {
    EXPECT_TRUE(derives(graph, target_of(GetParam(), 1), {0, 1, 3}, 1e-5)) << name;
  }
}

TEST_P(ComputesRows, OfAKnownNumber) {
  for (int rows : {0, 1, 2, 3, 4, 7, 9, 16}) {
    for (const auto& [name, graph] : row_graphs(rows, 35)) {
      EXPECT_TRUE(derives(graph, target_of(GetParam(), 1), {0}, 1e-5)) << name << " of " << rows;
    }
  }
}

TEST_P(ComputesRows, OfAnyLength) {
  for (const auto& [name, graph] : row_graphs(3, kSize)) {
    EXPECT_TRUE(derives(graph, target_of(GetParam(), 4), {0, 1, 7, 16, 33}, 1e-5)) << name;
  }
}

TEST_P(ComputesRows, OfAnyNumberAndLength) {
  for (const auto& [name, graph] : row_graphs(kSize, kSize)) {
    EXPECT_TRUE(derives(graph, target_of(GetParam(), 4), {0, 1, 17}, 1e-5)) << name;
  }
}

TEST_P(ComputesRows, InPieces) {
  const auto all = [](const Extent& pictures, const Extent& channels, const Extent& side) {
    for (const auto& [name, graph] : piece_graphs(pictures, channels, side, 6)) {
      EXPECT_TRUE(derives(graph, target_of(GetParam(), 2), {0, 1, 5}, 1e-5))
          << name << " of " << pictures.to_string() << " x " << channels.to_string() << " x "
          << side.to_string();
    }
  };
  for (const int channels : {1, 4, 7}) all(3, channels, 9);
  all(kSize, 4, 9);
  all(2, kSize, 9);
  all(2, 4, kSize);
  for (const auto& [name, graph] : piece_graphs(2, 8, 30, kSize)) {
    EXPECT_TRUE(derives(graph, target_of(GetParam(), 2), {1, 33}, 1e-5)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ComputesRows, testing::ValuesIn(kLevels));

// Two means of each row, which merged are as many as lanes: rows are no pixels of them.
TEST(DeriveRows, VectorsOfAFewMeansStayInTheirRow) {
  const Graph graph = parse_graph(
      "emulsion graph 1\nsize W\ninput x: f64[56, 1, 2, 3, W]\n"
      "least[a: 56, b: 1, c: 2, d: 3] = min(e: W) x[a, b, c, d, e]\n"
      "times[a: 56, b: 1, c: 2, d: 3, e: W] = x[a, b, c, d, e] * least[a, 0, c, d]\n"
      "held[a: 56, b: 1, c: 2, d: 3, e: W] = max(min(times[a, b, c, d, e], 8d), -8d)\n"
      "total[a: 56, b: 1, c: 2] = sum(d: 3, e: W) held[a, b, c, d, e]\n"
      "mean[a: 56, b: 1, c: 2] = total[a, b, c] / 3d\n"
      "y[a: 56, b: 1, c: 2, d: 3, e: W] = held[a, b, c, d, e] - mean[a, b, c]\n"
      "output y\n");
  for (const char* level : {"x86-64-linux-sse41", "x86-64-v3", "x86-64-v4"}) {
    EXPECT_TRUE(derives(graph, target_of(level, 1), {1, 3, 17, 40}, 1e-9)) << level;
  }
}

}  // namespace
}  // namespace emulsion
