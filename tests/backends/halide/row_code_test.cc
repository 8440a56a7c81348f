// The code of rows: of those that are walked over several times, as of a softmax, what asks memory
// for the next ones, and what skips NaN; of short ones how the last are loaded. The kernels run on
// data with NaN and infinities, and on no rows.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/kernel_code.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

constexpr int64_t kColumns = 160;
constexpr const char* kLevels[] = {"x86-64-v2,cores=1", "x86-64-v3,cores=1", "x86-64-v4,cores=1"};

LoopNest softmax_of_rows(const Target& target) {
  const Tensor x = input("x", f32, {Extent::size("R"), kColumns});
  return run_pipeline(Graph(softmax(x, -1, "y")), target).nest;
}

class RowCode : public KernelCode {};

int64_t count(const std::string& code, const char* pattern) {
  const std::regex found(pattern);
  return std::distance(std::sregex_iterator(code.begin(), code.end(), found), {});
}

// prefetchnta would keep the rows out of the second cache, and what is read again comes from
// memory.
TEST_F(RowCode, TheNextRowsAreAskedForIntoEveryCache) {
  for (const char* level : kLevels) {
    const Target target = Target::parse(level);
    const std::string code = assembly(softmax_of_rows(target), target);
    EXPECT_GT(count(code, "prefetcht0"), 0) << level;
    EXPECT_EQ(count(code, "prefetch(nta|t1|t2|w)"), 0) << level;
  }
}

TEST_F(RowCode, NoStepOfAMaximumAsksForNan) {
  for (const char* level : kLevels) {
    const Target target = Target::parse(level);
    const std::string code = assembly(softmax_of_rows(target), target);
    EXPECT_GT(count(code, "maxps"), 0) << level;
    EXPECT_EQ(count(code, "cmp(un)?ord[ps]s"), 0) << level;
  }
}

// What is looked for above is there where a maximum is an output, too.
TEST_F(RowCode, StepsOfAMaximumThatIsAnOutputAskForNan) {
  const Tensor x = input("x", f32, {Extent::size("R"), kColumns});
  for (const char* level : kLevels) {
    const Target target = Target::parse(level);
    const LoopNest nest = run_pipeline(Graph(reduce_max(x, {1}, false, "y")), target).nest;
    EXPECT_GT(count(assembly(nest, target), "cmp(un)?ord[ps]s"), 0) << level;
  }
}

// Sums by column of a run-time number of rows in each step, of which vectors go through several.
Graph sums_of_short_rows(DType dtype, int64_t columns) {
  const Extent rows = Extent::size("B");
  const Axis i("i", 21), j("j", rows), k("k", columns);
  const Tensor x = input("x", dtype, {21, rows, columns});
  return Graph(compute("y", {k}, sum({i, j}, cast(f32, x(i, j, k)))));
}

// Whether by an instruction, or element by element, of which each takes its index out of a vector.
TEST_F(RowCode, RowsBehindTheLastOneAreNotGathered) {
  for (const char* level : {"x86-64-v3,cores=1", "x86-64-v4,cores=1"}) {
    const Target target = Target::parse(level);
    for (const int64_t columns : {3, 5, 6}) {
      const LoopNest nest = run_pipeline(sums_of_short_rows(f32, columns), target).nest;
      EXPECT_EQ(count(assembly(nest, target), "vp?gather|vpextrd"), 0) << level << ": " << columns;
    }
  }
}

// A row in each lane for the sums, and what follows along the rows.
TEST(RowValues, OfRowsOfAFewElements) {
  for (const char* level : kLevels) {
    const Target target = Target::parse(level);
    SKIP_UNLESS_IT_RUNS(target);
    for (const int64_t columns : {5, 8, 11}) {
      for (const Extent& rows : {Extent(37), Extent::size("B")}) {
        const Tensor x = input("x", f32, {rows, columns}), z = input("z", f32, {rows, columns});
        const Graph graph(rms_norm(x, weight("scale", f32, {columns})) + z);
        expect_same_as_graph(graph, run_pipeline(graph, target).nest, {0, 1, 15, 16, 17, 40}, 1e-5,
                             target);
      }
    }
  }
}

TEST(RowValues, OfRunTimeNumbersOfShortRows) {
  for (const char* level : kLevels) {
    const Target target = Target::parse(level);
    SKIP_UNLESS_IT_RUNS(target);
    for (const DType dtype : {f32, f64, i16, u8}) {
      const Graph graph = sums_of_short_rows(dtype, 5);
      expect_same_as_graph(graph, run_pipeline(graph, target).nest, {0, 1, 2, 5, 16, 17, 33}, 1e-5,
                           target);
    }
  }
}

void expect_softmax(const std::vector<float>& x, const std::vector<float>& y, int64_t row) {
  const float* in = x.data() + row * kColumns;
  double most = -INFINITY, total = 0;
  bool has_nan = false;
  for (int64_t c = 0; c < kColumns; ++c) {
    has_nan = has_nan || std::isnan(in[c]);
    most = std::fmax(most, in[c]);
  }
  for (int64_t c = 0; c < kColumns; ++c) total += std::exp(in[c] - most);
  for (int64_t c = 0; c < kColumns; ++c) {
    const float found = y[static_cast<size_t>(row * kColumns + c)];
    const double expected = has_nan ? NAN : std::exp(in[c] - most) / total;
    const bool is_right =
        std::isnan(expected) ? std::isnan(found) : std::abs(found - expected) <= 1e-6 * expected;
    ASSERT_TRUE(is_right) << row << ", " << c << ": " << found << ", expected " << expected;
  }
}

TEST(RowValues, OfNanAndInfinities) {
  for (const char* level : kLevels) {
    const Target target = Target::parse(level);
    SKIP_UNLESS_IT_RUNS(target);
    const JitKernel kernel(softmax_of_rows(target), target);
    for (const int64_t rows : {0, 1, 2, 7, 64, 65}) {
      std::vector<float> x(static_cast<size_t>(rows * kColumns)), y(x.size(), -1.0F);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) * 0.1F;
      const float odd[] = {NAN, INFINITY, -INFINITY, -NAN};
      for (int64_t row = 0; row < rows; row += 3) {
        x[static_cast<size_t>(row * kColumns + row * 13 % kColumns)] = odd[row % 4];
      }
      kernel.run(
          {{"x", {f32, {rows, kColumns}, x.data()}}, {"y", {f32, {rows, kColumns}, y.data()}}});
      for (int64_t row = 0; row < rows; ++row) expect_softmax(x, y, row);
    }
  }
}

// Halide moves what a loop does not change to the front of it, but not past the memory that it is
// of.
TEST(RowValues, OfRowsThatArePrefetchedFromStorageInALoop) {
  const Axis i("i", 33), j("j", 15);
  const Tensor x = input("x", f32, {33, 15});
  const Tensor part = compute("part", {i, j}, abs(x(i, j)));
  const Tensor y = compute("y", {i, j}, part(i, j) - x(i, j));
  Schedule schedule(y);
  schedule[part].compute_at(y, i);
  schedule[y].prefetch(part, j, 1).vectorize(j, 8);
  const JitKernel kernel(lower(schedule.graph(), schedule));
  std::vector<float> in(33 * 15), out(in.size());
  for (size_t k = 0; k < in.size(); ++k) in[k] = static_cast<float>(k % 7) - 3;
  kernel.run({{"x", {f32, {33, 15}, in.data()}}, {"y", {f32, {33, 15}, out.data()}}});
  for (size_t k = 0; k < in.size(); ++k) EXPECT_EQ(out[k], std::abs(in[k]) - in[k]) << k;
}

}  // namespace
}  // namespace emulsion
