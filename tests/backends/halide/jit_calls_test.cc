// What the data and the sizes of one call decide.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <xmmintrin.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/backends/entry/squares_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/stack_tiles.h"
#include "tests/small_stack.h"

namespace emulsion {
namespace {

TEST(JitCalls, RefusesSizesWhoseStorageIsTooLarge) {
  const JitKernel kernel(squares_nest("square.compute_at(y, a)\n"));
  const auto run = [&](int64_t height, int64_t width) {
    std::vector<float> xs(static_cast<size_t>(width), 1), zs(static_cast<size_t>(height), 2);
    std::vector<float> ys(xs.size() * zs.size(), 77);
    const std::string error = error_of([&] {
      kernel.run({{"x", {f32, {width}, xs.data()}},
                  {"z", {f32, {height}, zs.data()}},
                  {"y", {f32, {height, width}, ys.data()}}});
    });
    const float expected = error == "no Error" ? 2 * static_cast<float>(width) : 77;
    EXPECT_THAT(ys, testing::Each(expected));
    return error;
  };
  EXPECT_EQ(run(2, 40000),
            "kernel y: storage of square: expected at most 2147483647 bytes, got 6400000000 for "
            "shape [40000, 40000] of f32; legal: smaller run-time sizes, or a schedule that stores "
            "less");
  EXPECT_EQ(run(2, 3), "no Error");
  EXPECT_EQ(run(0, 40000), "no Error");  // nothing is computed, so nothing is stored
}

// x(i * 999999 / 1000000), which would read outside x for more than 2148 elements.
TEST(JitCalls, RefusesSizesForWhichAnIndexLeavesI32) {
  const Extent n = Extent::size("N");
  const Axis i("i", n);
  const Tensor x = input("x", f32, {n});
  const Graph graph(compute("y", {i}, x(Expr(i) * 999999 / 1000000)));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  const auto run = [&](int64_t length) {
    std::vector<float> xs(static_cast<size_t>(length), 1), ys(xs.size(), 77);
    const std::string error = error_of([&] {
      kernel.run({{"x", {f32, {length}, xs.data()}}, {"y", {f32, {length}, ys.data()}}});
    });
    EXPECT_THAT(ys, testing::Each(error == "no Error" ? 1 : 77));
    return error;
  };
  EXPECT_EQ(run(2148), "no Error");
  EXPECT_EQ(run(2149),
            "kernel y: read of x, axis 0: i * 999999: expected an index that is computed within "
            "i32, got one that goes up to 2147997852; legal: smaller run-time sizes");
  EXPECT_EQ(run(0), "no Error");
}

// 2^31 - 1 bytes, of which a last vector would go beyond i32; nothing of it is computed.
TEST(JitCalls, RefusesSizesForWhichALoopLeavesI32) {
  const Extent n = Extent::size("N");
  const Axis i("i", n);
  const Graph graph(compute("y", {i}, constant(u8, 255) - input("x", u8, {n})(i)));
  Schedule schedule(graph);
  schedule["y"].vectorize(i, 16, Tail::predicate);
  const JitKernel kernel(lower(graph, schedule));
  void* memory = mmap(nullptr, size_t{1} << 32, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  uint8_t* const x = static_cast<uint8_t*>(memory);
  uint8_t* const y = x + (size_t{1} << 31);
  EXPECT_ERROR(kernel.run({{"x", {u8, {INT32_MAX}, x}}, {"y", {u8, {INT32_MAX}, y}}}),
               "kernel y: loop y.i: N + 15: expected an index that is computed within i32, got one "
               "that goes up to 2147483662");
  EXPECT_EQ(y[0], 0);
  kernel.run({{"x", {u8, {100}, x}}, {"y", {u8, {100}, y}}});
  EXPECT_EQ(y[99], 255);
  munmap(memory, size_t{1} << 32);
}

// No shape gives it.
TEST(JitCalls, RefusesSizesBeyondI32) {
  const Axis i("i", 1);
  const Graph graph(compute("y", {i}, cast(f64, size_value("N"))));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  double y = 77;
  kernel.run({{"y", {f64, {1}, &y}}}, {{"N", INT32_MAX}});
  EXPECT_EQ(y, INT32_MAX);
  EXPECT_ERROR(kernel.run({{"y", {f64, {1}, &y}}}, {{"N", (int64_t{1} << 32) + 3}}),
               "run-time size N: expected at most 2147483647, got 4294967299");
  EXPECT_EQ(y, INT32_MAX);
}

// A row of 80,000 bytes is stored, of which a small stack has no room.
TEST(JitCalls, RunsOnASmallStack) {
  constexpr int64_t kRows = 3, kColumns = 20000;
  const Axis i("i", kRows), j("j", kColumns), k("k", kColumns);
  const Tensor x = input("x", f32, {kRows, kColumns});
  const Tensor doubled = compute("doubled", {i, j}, x(i, j) * 2.0f);
  const Graph graph(compute("y", {i}, sum(k, doubled(i, k))));
  Schedule schedule(graph);
  schedule["doubled"].compute_at("y", i);
  std::vector<float> in(kRows * kColumns, 1), out(kRows);
  const JitKernel kernel(lower(graph, schedule));
  const auto run =
      kernel.bind({{"x", {f32, {kRows, kColumns}, in.data()}}, {"y", {f32, {kRows}, out.data()}}});
  run_on_stack(64 << 10, [&] { run(); });
  EXPECT_THAT(out, testing::Each(2.0f * kColumns));
}

// Tiles of 40 KiB at once and of more, in turn, and in a loop that threads share.
TEST(JitCalls, HasNoMoreOnTheStackThanASmallOneHolds) {
  Schedule shared = nested_tiles(32, 32);
  shared["y"].parallel(Axis("j"));
  for (const Schedule& schedule :
       {tiles_at_once({16, 16, 8}), tiles_at_once({16, 16, 16, 16, 16, 16}),
        tiles_at_once({32, 32, 32, 16}),
        tiles_in_turn({10, 12, 14, 16, 10, 12, 14, 16}, {f32, f32, f32, f32, i32, i32, i32, i32}),
        shared}) {
    const Graph& graph = schedule.graph();
    TensorValues values = integer_arguments(graph, {});
    const TensorValues expected = interpret_graph(graph, values);
    for (const auto& [name, value] : expected) values[name] = zeros(value.dtype, value.shape);
    std::map<std::string, JitBuffer> buffers;
    for (auto& [name, v] : values) buffers[name] = {v.dtype, v.shape, v.bytes.data()};
    const JitKernel kernel(lower(graph, schedule));
    const auto run = kernel.bind(buffers);
    run_on_stack(64 << 10, [&] { run(); });
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(first_difference(value, values.at(name)), std::nullopt) << to_string(schedule);
    }
  }
}

// Before anything looks at what lies there.
TEST(JitCalls, RefusesAnArgumentOfTwoGiBOrMore) {
  const Axis i("i", 1), k("k", Extent::size("B"));
  const Tensor x = input("x", f32, {Extent::size("B")});
  const Graph graph(compute("y", {i}, sum(k, x(k))));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  float in = 1, out = 77;
  for (int64_t extent :
       {int64_t{1} << 29, int64_t{INT32_MAX}, int64_t{1} << 32, int64_t{1} << 62}) {
    EXPECT_ERROR(
        kernel.run({{"x", {f32, {extent}, &in}}, {"y", {f32, {1}, &out}}}),
        "argument x: expected fewer than 2^31 bytes, got an extent of " + std::to_string(extent));
  }
  EXPECT_EQ(out, 77);
}

// Nobody looks at more of x than its first element.
TEST(JitCalls, TakesAnArgumentOfOneByteLess) {
  const Axis i("i", 1);
  const Tensor x = input("x", u8, {Extent::size("B") + 1});
  const Graph graph(compute("y", {i}, x(0) * constant(u8, 2)));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  uint8_t out = 77;
  void* memory = mmap(nullptr, INT32_MAX, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  *static_cast<uint8_t*>(memory) = 3;
  kernel.run({{"x", {u8, {INT32_MAX}, memory}}, {"y", {u8, {1}, &out}}});
  EXPECT_EQ(out, 6);
  EXPECT_ERROR(kernel.run({{"x", {u8, {int64_t{INT32_MAX} + 1}, memory}}, {"y", {u8, {1}, &out}}}),
               "argument x: expected fewer than 2^31 bytes, got an extent of 2147483648");
  munmap(memory, INT32_MAX);
}

// What touches is not shared.
TEST(JitCalls, TakesAnOutputRightBesideAnInput) {
  const Axis i("i", 4);
  const Tensor x = input("x", f32, {4});
  const Graph graph(compute("y", {i}, x(i) * 2.0f));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  for (const ptrdiff_t in : {0, 4}) {
    std::vector<float> memory = {1, 2, 3, 4, 1, 2, 3, 4};
    float* const out = memory.data() + 4 - in;
    kernel.run({{"x", {f32, {4}, memory.data() + in}}, {"y", {f32, {4}, out}}});
    EXPECT_THAT(std::vector<float>(out, out + 4), testing::ElementsAre(2, 4, 6, 8));
    EXPECT_ERROR(kernel.run({{"x", {f32, {4}, memory.data() + 1}}, {"y", {f32, {4}, out}}}),
                 "expected memory of its own");
  }
}

// What has no elements is nowhere: also where its pointer is inside of an output.
TEST(JitCalls, TakesAnArgumentWithoutElementsThatPointsIntoAnOutput) {
  const Axis i("i", 4), k("k", Extent::size("B"));
  const Tensor x = input("x", f32, {Extent::size("B")});
  const Graph graph(compute("y", {i}, sum(k, x(k))));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  std::vector<float> out(4, 77);
  kernel.run({{"x", {f32, {0}, out.data() + 1}}, {"y", {f32, {4}, out.data()}}});
  EXPECT_THAT(out, testing::Each(0.0f));
  EXPECT_ERROR(kernel.run({{"x", {f32, {1}, out.data() + 1}}, {"y", {f32, {4}, out.data()}}}),
               "argument y: expected memory of its own, got memory that x has too");
}

// Whatever the pool's threads do with denormal numbers when nobody asks, and however they round.
TEST(JitCalls, AllThreadsComputeFloatsAsTheOneThatCalls) {
  constexpr int64_t kRows = 512, kColumns = 500;
  constexpr float kDenormal = 1e-39F, kNormal = 1e-38F * 4;
  const Axis i("i", kRows), j("j", kColumns);
  const Tensor x = input("x", f32, {kRows, kColumns});
  const Graph graph(compute("y", {i, j}, x(i, j) * 0.1f));
  Schedule schedule(graph);
  schedule["y"].parallel(i);
  const JitKernel kernel(lower(graph, schedule));
  std::vector<float> in(kRows * kColumns), out(in.size());
  for (size_t at = 0; at < in.size(); ++at) in[at] = at % 2 == 0 ? kDenormal : kNormal;
  const auto run = [&](unsigned control) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~0x6000U) | control);
    kernel.run(
        {{"x", {f32, {kRows, kColumns}, in.data()}}, {"y", {f32, {kRows, kColumns}, out.data()}}});
    volatile float normal = kNormal, of_normal = normal * 0.1F;
    _mm_setcsr(before);
    return float{of_normal};
  };
  constexpr unsigned kZeroDenormals = 0x8040;
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(run(kZeroDenormals), 0.0F);
    ASSERT_EQ(static_cast<size_t>(std::count(out.begin(), out.end(), 0.0F)), out.size()) << round;
    for (const unsigned rounding : {_MM_ROUND_UP, _MM_ROUND_DOWN}) {
      const float expected = run(rounding);
      const auto right = static_cast<size_t>(std::count(out.begin(), out.end(), expected));
      ASSERT_EQ(right, out.size() / 2) << round;
    }
  }
}

// The data say where to read: an index that is clamped is inside, whatever they are.
TEST(JitCalls, ReadsWhereTheDataSay) {
  const Extent rows = Extent::size("B");
  const Tensor table = input("table", f32, {5}), which = input("which", i32, {rows});
  const Axis i("i", rows);
  const Graph graph(compute("y", {i}, table(max(min(which(i), 4), 0))));
  std::vector<float> values = {10, 11, 12, 13, 14}, y(6, 77);
  std::vector<int32_t> indices = {4, 0, -7, 2, 99, 1};
  JitKernel(lower(graph, Schedule(graph)))
      .run({{"table", {f32, {5}, values.data()}},
            {"which", {i32, {6}, indices.data()}},
            {"y", {f32, {6}, y.data()}}});
  EXPECT_THAT(y, testing::ElementsAre(14, 10, 10, 12, 14, 11));
}

// The place of the first greatest element of each row: two reductions.
TEST(JitCalls, FindsAPlaceByTwoReductions) {
  const Extent rows = Extent::size("B");
  const Tensor x = input("x", f32, {rows, 4});
  const Axis i("i", rows), j("j", 4);
  const Tensor top = compute("top", {i}, reduce_max(j, x(i, j)));
  const Graph graph(compute("place", {i}, reduce_min(j, select(x(i, j) == top(i), Expr(j), 4))));
  std::vector<float> values = {1, 9, 3, 9, 5, 4, 4, 5, -1, -2, -3, 0};
  std::vector<int32_t> place(3, 77);
  JitKernel(lower(graph, Schedule(graph)))
      .run({{"x", {f32, {3, 4}, values.data()}}, {"place", {i32, {3}, place.data()}}});
  EXPECT_THAT(place, testing::ElementsAre(1, 0, 3));
}

}  // namespace
}  // namespace emulsion
