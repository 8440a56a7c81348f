// Of which maxima and minima a nest skips NaN. Each nest is run against its graph too, with a NaN
// at each place of each argument in turn and with infinities: what an output tells apart changes
// what is computed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis i("i", 3), j("j", 8), r("r", 8), s("s", 3);

void expect_equal_with_nan(const Graph& graph, const LoopNest& nest, const SizeValues& sizes) {
  constexpr double kTolerance = 1e-6;
  NestRun run{sizes, integer_arguments(graph, sizes), kTolerance, kTolerance};
  EXPECT_TRUE(computes_with(nest, graph, run));
  for (auto& [name, argument] : run.arguments) {
    if (!is_float(argument.dtype)) continue;
    for (int64_t index = 0; index < argument.element_count(); ++index) {
      const double before = argument.value(index);
      for (const double value : {NAN, INFINITY, -INFINITY}) {
        argument.set_value(index, value);
        EXPECT_TRUE(computes_with(nest, graph, run)) << name << " at " << index << ": " << value;
      }
      argument.set_value(index, before);
    }
  }
}

bool skips_nan(const Graph& graph, const SizeValues& sizes = {}) {
  const LoopNest nest = lower(graph, Schedule(graph));
  expect_equal_with_nan(graph, nest, sizes);
  return to_string(nest).find("_number=") != std::string::npos;
}

bool skips_nan(const Tensor& y, const SizeValues& sizes = {}) { return skips_nan(Graph(y), sizes); }

const Tensor x = input("x", f32, {3, 8}), z = input("z", f32, {3, 8});

Tensor of_rows(const std::string& name, const Expr& reduction) {
  return compute(name, {i}, reduction);
}

const Tensor highest = of_rows("highest", reduce_max(r, x(i, r)));
const Tensor part = compute("part", {i, j}, exp(x(i, j) - highest(i)));
const Tensor total = of_rows("total", sum(r, part(i, r)));

Tensor divided(const Tensor& divisor, const std::string& name = "y") {
  return compute(name, {i, j}, part(i, j) / divisor(i));
}

TEST(SkipNan, WhereASumOfAllIsNanToo) {
  EXPECT_TRUE(skips_nan(divided(total)));
  EXPECT_TRUE(skips_nan(compute("y", {i, j}, x(i, j) - highest(i) - log(total(i)))));
  EXPECT_TRUE(skips_nan(of_rows("y", log(total(i)) + highest(i))));
  EXPECT_TRUE(skips_nan(compute("y", {i, j}, z(i, j) * (part(i, j) * (1.0f / total(i))))));
}

TEST(SkipNan, OfOperators) {
  EXPECT_TRUE(skips_nan(softmax(x)));
  EXPECT_TRUE(skips_nan(softmax(x, 0)));
  EXPECT_TRUE(skips_nan(softmax(input("x", f64, {3, 8}))));
  EXPECT_TRUE(skips_nan(matmul(softmax(x * 0.5f + z), input("v", f32, {8, 3}))));
  EXPECT_TRUE(skips_nan(softmax(softmax(x))));
}

TEST(SkipNan, OfRunTimeSizes) {
  const Tensor rows = input("x", f32, {Extent::size("M"), Extent::size("N")});
  EXPECT_TRUE(skips_nan(softmax(rows), {{"M", 2}, {"N", 5}}));
  EXPECT_TRUE(skips_nan(softmax(rows), {{"M", 2}, {"N", 0}}));
}

TEST(SkipNan, OfMinimaAndOfWhatIsComputedFirst) {
  const Tensor least = of_rows("least", reduce_min(r, x(i, r)));
  const Tensor above = compute("above", {i, j}, least(i) - x(i, j));
  const Tensor sums = of_rows("sums", sum(r, exp(above(i, r))));
  EXPECT_TRUE(skips_nan(compute("y", {i, j}, above(i, j) * sums(i))));
  const Expr masked = select(i < j, x(i, j), Expr(-9.0f));
  const Expr masked_step = select(i < r, x(i, r), Expr(-9.0f));
  const Tensor seen = of_rows("seen", reduce_max(r, masked_step));
  const Tensor of_seen = of_rows("of_seen", sum(r, exp(masked_step - seen(i))));
  EXPECT_TRUE(skips_nan(compute("y", {i, j}, exp(masked - seen(i)) / of_seen(i))));
}

// The sum may be read through steps of its own, and another reduction may be NaN in its place.
TEST(SkipNan, ThroughStepsBetween) {
  const Tensor factor = of_rows("factor", 1.0f / total(i));
  EXPECT_TRUE(skips_nan(compute("y", {i, j}, part(i, j) * factor(i))));
  EXPECT_TRUE(skips_nan(divided(of_rows("total", reduce_max(r, part(i, r))))));
  EXPECT_TRUE(skips_nan(divided(of_rows("total", product(r, part(i, r))))));
}

TEST(SkipNan, NotOfAnOutputOrWhatTellsIt) {
  EXPECT_FALSE(skips_nan(highest));
  EXPECT_FALSE(skips_nan(part));
  EXPECT_FALSE(skips_nan(Graph({divided(total), highest})));
  EXPECT_FALSE(skips_nan(Graph({divided(total), part})));
  EXPECT_FALSE(skips_nan(of_rows("y", highest(i) * 2.0f)));
}

TEST(SkipNan, NotWhereTheSumIsOfOthers) {
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum(r, z(i, r) + highest(i))))));
  const Axis half("r", 4);
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum(half, part(i, half))))));
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum(half, part(i, Expr(half) * 2))))));
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum(r, part(2 - Expr(i), r))))));
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum({s, r}, part(s, r))))));
  EXPECT_FALSE(skips_nan(compute("y", {i, j}, part(i, j) / total(2 - Expr(i)))));
  // Of the diagonal twice.
  const Tensor square = input("square", f32, {3, 8, 8});
  const Tensor all = of_rows("highest", reduce_max({r, Axis("t", 8)}, square(i, r, Axis("t", 8))));
  const Tensor diagonal = of_rows("total", sum(r, exp(square(i, r, r) - all(i))));
  EXPECT_FALSE(skips_nan(compute("y", {i, j}, exp(square(i, j, j) - all(i)) / diagonal(i))));
}

// What is chosen, compared or raised to a power may be a number where one of these is NaN.
TEST(SkipNan, NotWhereNanIsLost) {
  EXPECT_FALSE(skips_nan(
      divided(of_rows("total", sum(r, select(part(i, r) > 0.5f, part(i, r), Expr(0.0f)))))));
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum(r, cast(f32, part(i, r) > 0.5f))))));
  EXPECT_FALSE(skips_nan(divided(of_rows("total", sum(r, pow(Expr(1.0f), part(i, r)))))));
  EXPECT_FALSE(
      skips_nan(compute("y", {i, j}, select(total(i) > 1.0f, part(i, j) / total(i), part(i, j)))));
  EXPECT_FALSE(skips_nan(compute("y", {i, j}, pow(part(i, j), total(i)) + part(i, j))));
}

// A sum over nothing is no NaN: with a size of 0, this one's.
TEST(SkipNan, NotWhereTheSumMayBeOfNothing) {
  const Axis more("more", Extent::size("N"));
  const Tensor weights = input("weights", f32, {Extent::size("N")});
  const Tensor sums = of_rows("total", sum({r, more}, part(i, r) * weights(more)));
  EXPECT_FALSE(skips_nan(divided(sums), {{"N", 0}}));
  EXPECT_FALSE(skips_nan(divided(sums), {{"N", 2}}));
}

TEST(SkipNan, NotOfIntegers) {
  const Tensor whole = input("x", i32, {3, 8});
  const Tensor top = of_rows("highest", reduce_max(r, whole(i, r)));
  const Tensor sums = of_rows("total", sum(r, whole(i, r) - top(i)));
  EXPECT_FALSE(skips_nan(compute("y", {i, j}, (whole(i, j) - top(i)) * sums(i))));
}

// Rows that are put together depend on several maxima at once.
TEST(SkipNan, NotWhereRowsAreAddedUp) {
  const Tensor columns = compute("y", {j}, sum(s, part(s, j)));
  EXPECT_FALSE(skips_nan(columns));
  EXPECT_TRUE(skips_nan(compute("y", {j}, sum(s, divided(total, "weights")(s, j)))));
}

// What a nest combines there: of NaN and a number the number.
TEST(SkipNan, CombinesByComparisons) {
  const Expr a = x(0, 0), b = z(0, 0);
  EXPECT_TRUE(equal(combine(Combiner::max_number, a, b), select(a < b, b, a)));
  EXPECT_TRUE(equal(combine(Combiner::min_number, a, b), select(b < a, b, a)));
  EXPECT_TRUE(equal(identity_of(Combiner::max_number, f32), identity_of(Combiner::max, f32)));
  EXPECT_TRUE(equal(identity_of(Combiner::min_number, f32), identity_of(Combiner::min, f32)));
}

// Graphs of a few steps, each of one or two of those before it.
class RandomSteps {
 public:
  explicit RandomSteps(uint32_t seed) : random_(seed) {}

  Graph graph() {
    matrices_ = {input("x", f32, {2, 3})};
    vectors_.clear();
    const int steps = 3 + below(5);
    for (int step = 0; step < steps; ++step) add("t" + std::to_string(step), step == 0);
    return Graph(last_);
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  // Rather a late one.
  const Tensor& one_of(const std::vector<Tensor>& all) {
    const int count = static_cast<int>(all.size());
    return all[static_cast<size_t>(std::max(below(count), below(count)))];
  }
  Expr index(const Axis& axis, int extent) {
    return below(8) == 0 ? Expr(extent - 1) - axis : Expr(axis);
  }
  Expr element(const Axis& row, const Axis& column) {
    const bool of_row = !vectors_.empty() && below(2) == 0;
    return of_row ? one_of(vectors_)(index(row, 2)) : one_of(matrices_)(index(row, 2), column);
  }

  Expr value(const Axis& row, const Axis& column) {
    const Expr a = element(row, column), b = element(row, column);
    switch (below(9)) {
      case 0:
        return exp(a - b);
      case 1:
        return a / b;
      case 2:
        return select(a < b, a, b);
      case 3:
        return max(a, b);
      case 4:
        return pow(a * a, b);
      case 5:
        return exp(-abs(a)) * b;
      case 6:
        return cast(f32, a > b) + b;
      default:
        return a - b;
    }
  }

  void add(const std::string& name, bool is_extremum) {
    const Axis row("row", 2), column("column", 3), along("along", 3);
    const int kind = is_extremum ? below(2) : below(7);
    if (kind > 3) {
      matrices_.push_back(compute(name, {row, column}, value(row, column)));
      last_ = matrices_.back();
      return;
    }
    const Expr combined = below(3) == 0 ? value(row, along) : one_of(matrices_)(row, along);
    const Expr reduction = kind == 0   ? reduce_max(along, combined)
                           : kind == 1 ? reduce_min(along, combined)
                                       : sum(along, combined);
    vectors_.push_back(compute(name, {row}, reduction));
    last_ = vectors_.back();
  }

  std::mt19937 random_;
  std::vector<Tensor> matrices_, vectors_;
  Tensor last_ = input("x", f32, {2, 3});
};

TEST(SkipNan, RandomGraphsAreTheSameWithNan) {
  constexpr int kGraphs = 300, kLeast = 20;
  RandomSteps steps(20261130);
  int skipped = 0;
  for (int number = 0; number < kGraphs && !HasFailure(); ++number) {
    SCOPED_TRACE(number);
    skipped += skips_nan(steps.graph()) ? 1 : 0;
  }
  EXPECT_GE(skipped, kLeast);
}

}  // namespace
}  // namespace emulsion
