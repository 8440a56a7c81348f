// What the entry of a kernel has to ask of its indices.

#include "backends/entry/index_needs.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

LoopNest lowered(const Tensor& y) {
  const Graph graph(y);
  return lower(graph, Schedule(graph));
}

Extent n() { return Extent::size("N"); }

Expr below_n(const Expr& e) { return clamp(e, 0, size_value("N") - 1); }

// y(i) = x(index of i and j), summed over j below M; the tensor x is as long as its longest index.
LoopNest nest_of(const std::function<Expr(Expr, Expr)>& index, const Extent& longest = n()) {
  const Axis i("i", n()), j("j", Extent::size("M"));
  const Tensor x = input("x", f32, {longest});
  const Tensor sizes = input("sizes", f32, {n(), Extent::size("M")});
  return lowered(compute("y", {i}, sum(j, x(index(i, j)) * sizes(i, j))));
}

// "read of x, axis 0: i * 9: from 0 to N * 9 - 9", one for each.
std::vector<std::string> needs_of(const LoopNest& nest) {
  std::vector<std::string> result;
  for (const IndexNeed& need : index_needs(nest)) {
    result.push_back(need.part + ": from " + to_string(need.low) + " to " + to_string(need.high));
  }
  return result;
}

using Needs = std::vector<std::string>;

TEST(IndexNeeds, AreNoneOfSums) {
  EXPECT_EQ(needs_of(nest_of([](const Expr& i, const Expr&) { return i * 3 + 2; }, n() * 3)),
            Needs{});
}

// N - 1 is an i32 as N is; a clamp is no more than what it is made of.
TEST(IndexNeeds, AreNoneOfWhatHoldsForAllSizes) {
  EXPECT_EQ(needs_of(nest_of([](const Expr& i, const Expr&) { return below_n(i - 3) / 2; })),
            Needs{});
}

TEST(IndexNeeds, AreThoseOfWhatIsDivided) {
  EXPECT_EQ(needs_of(nest_of([](const Expr& i, const Expr&) { return i * 9 / 10; })),
            Needs{"read of x, axis 0: i * 9: from 0 to max(N - 1, 0) * 9"});
}

void expect_limit(const std::function<Expr(Expr, Expr)>& index, int64_t most) {
  const std::vector<IndexNeed> needs = index_needs(nest_of(index));
  EXPECT_NO_THROW(check_indices("k", needs, {{"N", most}, {"M", 7}})) << most;
  EXPECT_ERROR(check_indices("k", needs, {{"N", most + 1}, {"M", 7}}), "within i32")
      << most << testing::PrintToString(needs_of(nest_of(index)));
}

TEST(CheckIndices, RefusesTheFirstSizeThatLeavesI32) {
  // 999,999 * 2147 is 2,146,997,853; once more is 2,147,997,852 of 2,147,483,647.
  expect_limit([](const Expr& i, const Expr&) { return i * 999999 / 1000000; }, 2148);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i + 3); }, INT32_MAX - 2);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i * -1000000); }, 2148);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i / 3 * 1000000); }, 6444);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i / 3 * -1000000); }, 6444);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i * i); }, 46341);
  expect_limit([](const Expr& i, const Expr&) { return below_n(-(i * i)); }, 46341);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i * (i - 9) + 1000000); }, 46335);
}

TEST(CheckIndices, AsksPartsOfEveryOperator) {
  expect_limit([](const Expr& i, const Expr&) { return below_n(abs(3 - i) * 1000000); }, 2151);
  expect_limit([](const Expr& i, const Expr&) { return below_n(min(i, 5000) * 1000000); }, 2148);
  expect_limit([](const Expr& i, const Expr&) { return below_n(max(i, 9) * 1000000); }, 2148);
  expect_limit([](const Expr& i, const Expr&) { return below_n(select(i < 9, 5, i) * 1000000); },
               2148);
  expect_limit(
      [](const Expr& i, const Expr&) { return below_n(i * 3 % size_value("N") * 1000000); }, 2147);
  expect_limit([](const Expr& i, const Expr&) { return below_n(i % size_value("N") * 1000000); },
               2148);  // which is i (choose_remainders.cc)
  expect_limit([](const Expr& i, const Expr&) { return below_n(i / size_value("N") * 1000000); },
               2148);
  expect_limit([](const Expr& i, const Expr&) { return below_n(select(i * 1000000 < 9, i, 0)); },
               2148);
}

// Of terms that cancel the sum counts, not the terms.
TEST(CheckIndices, TakesASumOfLargeTerms) {
  const LoopNest nest =
      nest_of([](const Expr& i, const Expr&) { return (i * 1000000 - i * 999999) / 1; });
  EXPECT_NO_THROW(check_indices("k", index_needs(nest), {{"N", 100000}, {"M", 7}}));
}

// y(i) = x(i) in vectors of 64, under masks.
LoopNest in_vectors(DType dtype, const Shape& shape) {
  std::vector<Axis> axes;
  std::vector<Expr> indices;
  for (const Extent& extent : shape) {
    axes.emplace_back("i" + std::to_string(axes.size()), extent);
    indices.emplace_back(axes.back());
  }
  const Graph graph(compute("y", axes, -input("x", dtype, shape).at(indices)));
  Schedule schedule(graph);
  schedule["y"].vectorize(axes.front(), 64, Tail::predicate);
  return lower(graph, schedule);
}

// The last vector of 2 GiB goes beyond i32.
TEST(CheckIndices, RefusesLoopsThatLeaveI32) {
  const LoopNest bytes = in_vectors(u8, {n()});
  EXPECT_EQ(needs_of(bytes), Needs{"loop y.i0: N + 63: from N + 63 to N + 63"});
  const std::vector<IndexNeed> needs = index_needs(bytes);
  EXPECT_NO_THROW(check_indices("k", needs, {{"N", INT32_MAX - 63}}));
  EXPECT_NO_THROW(check_indices("k", needs, {{"N", 0}}));
  EXPECT_ERROR(
      check_indices("k", needs, {{"N", INT32_MAX - 62}}),
      "kernel k: loop y.i0: N + 63: expected an index that is computed within i32, got one "
      "that goes up to 2147483648; legal: smaller run-time sizes");
  const Extent m = Extent::size("M");
  EXPECT_EQ(needs_of(in_vectors(u8, {n(), m})), Needs{"loop y.i0: N + 63: from N + 63 to N + 63"});
  EXPECT_NO_THROW(
      check_indices("k", index_needs(in_vectors(u8, {n(), m})), {{"N", INT32_MAX}, {"M", 0}}));
}

// 2 GiB of other elements, or of rows of several bytes, are fewer.
TEST(CheckIndices, AsksNothingOfLoopsThatArgumentsKeepShort) {
  const Extent m = Extent::size("M");
  EXPECT_EQ(needs_of(in_vectors(f32, {n()})), Needs{});
  EXPECT_EQ(needs_of(in_vectors(i16, {n()})), Needs{});
  EXPECT_EQ(needs_of(in_vectors(f32, {n(), m})), Needs{});
  EXPECT_EQ(needs_of(in_vectors(u8, {n(), 3})), Needs{});
  EXPECT_EQ(needs_of(in_vectors(u8, {n()})).size(), 1U);
}

// Steps that read nothing, of which no argument says how many there may be.
TEST(CheckIndices, RefusesSumsOfTooManySteps) {
  const Axis i("i", 4), k("k", n() * 4 + 1);
  const Tensor x = input("x", f32, {4});
  const LoopNest nest = lowered(compute("y", {i}, sum(k, x(i))));
  EXPECT_NO_THROW(check_indices("k", index_needs(nest), {{"N", (1 << 29) - 1}}));
  EXPECT_ERROR(check_indices("k", index_needs(nest), {{"N", 1 << 29}}),
               "kernel k: loop y.k: N * 4 + 1: expected an index that is computed within i32");
}

// Rows and columns that threads share as one loop.
TEST(CheckIndices, RefusesFusedLoopsOfBytes) {
  const Axis i("i", n()), j("j", Extent::size("M")), t("t");
  for (const DType dtype : {u8, f32}) {
    const Graph graph(compute("y", {i, j}, -input("x", dtype, {n(), Extent::size("M")})(i, j)));
    Schedule schedule(graph);
    schedule["y"].fuse(i, j, t).vectorize(t, 8, Tail::predicate);
    const std::vector<IndexNeed> needs = index_needs(lower(graph, schedule));
    EXPECT_NO_THROW(check_indices("k", needs, {{"N", 1 << 10}, {"M", (1 << 21) - 1}}));
    const auto large = [&] { check_indices("k", needs, {{"N", 7}, {"M", 306783378}}); };
    if (dtype == u8) {
      EXPECT_ERROR(large(), "kernel k: loop y.t: N * M + 7: ");
    } else {
      EXPECT_NO_THROW(large());
    }
  }
}

TEST(CheckIndices, NamesTheReadTheSideAndTheValue) {
  const LoopNest up = nest_of([](const Expr& i, const Expr& j) { return below_n(i + j * 1000); });
  EXPECT_ERROR(check_indices("k", index_needs(up), {{"N", 1}, {"M", 3000000}}),
               "kernel k: read of x, axis 0: i + j * 1000: expected an index that is computed "
               "within i32, got one that goes up to 2999999000; legal: smaller run-time sizes");
  const LoopNest down = nest_of([](const Expr&, const Expr& j) { return below_n(j * -1000); });
  EXPECT_ERROR(check_indices("k", index_needs(down), {{"N", 1}, {"M", 3000000}}),
               "got one that goes down to -2999999000");
  const LoopNest third =
      nest_of([](const Expr&, const Expr& j) { return below_n(j / 3 * -10000); });
  EXPECT_ERROR(check_indices("k", index_needs(third), {{"N", 1}, {"M", 3000001}}),
               "got one that goes down to -10000000000");
}

TEST(CheckIndices, TakesWhatIsNotComputed) {
  const std::vector<IndexNeed> needs =
      index_needs(nest_of([](const Expr& i, const Expr&) { return i * 999999 / 1000000; }));
  EXPECT_NO_THROW(check_indices("k", needs, {{"N", 5000}, {"M", 0}}));
  EXPECT_NO_THROW(check_indices("k", needs, {{"N", 0}, {"M", 1}}));
}

// They wrap around, inside a clamp.
TEST(IndexNeeds, AreNoneOfData) {
  const Axis i("i", n());
  const Tensor x = input("x", f32, {n()}), d = input("d", i32, {n()});
  const LoopNest nest = lowered(compute("y", {i}, x(below_n(d(i) * 100000))));
  for (const std::string& need : needs_of(nest)) {
    EXPECT_EQ(need.find("d"), std::string::npos) << need;
  }
}

TEST(IndexNeeds, OfConstantExtentsAreNone) {
  const Axis i("i", 100), k("k", 9);
  const Tensor x = input("x", f32, {100});
  EXPECT_EQ(needs_of(lowered(compute("y", {i}, sum(k, x(clamp(i + k, 0, 99)))))), Needs{});
}

// The index of what is inline is that of its reader.
TEST(IndexNeeds, FollowTheSchedule) {
  const Axis i("i", n()), j("j", n());
  const Tensor x = input("x", f32, {n()});
  const Tensor f = compute("f", {j}, x(Expr(j) * 5 / 6) + 1.0f);
  const Graph graph(compute("y", {i}, f(below_n(Expr(i) + 7))));
  Schedule schedule(graph);
  EXPECT_EQ(needs_of(lower(graph, schedule)),
            (Needs{"read of x, axis 0: j * 5: from 0 to max(N - 1, 0) * 5",
                   "read of f, axis 0: i + 7: from 7 to 7 + max(N - 1, 0)"}));
  schedule["f"].compute_inline();
  EXPECT_EQ(
      needs_of(lower(graph, schedule)),
      (Needs{"read of x, axis 0: i + 7: from 7 to 7 + max(N - 1, 0)",
             "read of x, axis 0: max(min(i + 7, N - 1), 0) * 5: from max(min(7, N - 1), 0) * 5 to "
             "max(min(7 + max(N - 1, 0), N - 1), 0) * 5"}));
}

// Two stages compute the same part, each where its own loops have steps.
TEST(IndexNeeds, AreAskedForEachStageThatComputesThem) {
  const Axis i("i", n()), a("a", Extent::size("A")), b("b", Extent::size("B"));
  const Tensor x = input("x", f32, {n()});
  const Expr place = Expr(i) * 9 / 10;
  const Tensor of_a = input("of_a", f32, {Extent::size("A")});
  const Tensor of_b = input("of_b", f32, {Extent::size("B")});
  const Graph graph(
      {compute("y", {a, i}, x(place) * of_a(a)), compute("z", {b, i}, x(place) * of_b(b))});
  const std::vector<IndexNeed> needs = index_needs(lower(graph, Schedule(graph)));
  ASSERT_EQ(needs.size(), 2u);
  EXPECT_EQ(to_string(needs[0].when), "A > 0 && N > 0");
  EXPECT_EQ(to_string(needs[1].when), "B > 0 && N > 0");
}

TEST(IndexNeeds, AreEachThereOnce) {
  EXPECT_EQ(
      needs_of(nest_of([](const Expr& i, const Expr&) { return i * 9 / 10 + i * 9 % 1; })).size(),
      1u);
}

}  // namespace
}  // namespace emulsion
