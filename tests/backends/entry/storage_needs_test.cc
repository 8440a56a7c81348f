// What the entry of a kernel has to ask of its own storage.

#include "backends/entry/storage_needs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/backends/entry/squares_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// "square: B, B if A > 0", one for each.
std::vector<std::string> needs_of(const LoopNest& nest) {
  std::vector<std::string> result;
  for (const StorageNeed& need : storage_needs(nest)) {
    std::string text = need.stage + ":";
    for (const Expr& extent : need.extents) text += " " + to_string(extent);
    if (need.when.defined()) text += " if " + to_string(need.when);
    result.push_back(text);
  }
  return result;
}

using Needs = std::vector<std::string>;

TEST(StorageNeeds, AreThoseOfStagesThatGrow) {
  EXPECT_EQ(needs_of(squares_nest("")), (Needs{"square: B B"}));
}

TEST(StorageNeeds, OfConstantSizeNeedNoCheck) {
  EXPECT_EQ(needs_of(squares_nest("square.compute_at(y, j)\n")), Needs{});
}

TEST(StorageNeeds, AreNoneOfWhatIsInline) {
  EXPECT_EQ(needs_of(squares_nest("square.compute_inline()\n")), Needs{});
}

TEST(StorageNeeds, HoldWhereTheLoopsAroundHaveSteps) {
  EXPECT_EQ(needs_of(squares_nest("square.compute_at(y, a)\n")), (Needs{"square: B B if A > 0"}));
  EXPECT_EQ(needs_of(squares_nest("square.compute_at(y, i)\n")),
            (Needs{"square: 1 B if A > 0 && B > 0"}));
}

TEST(StorageNeeds, OfHoistedMemoryAreThoseOfItsPlace) {
  const std::string inside = "y.reorder(i, a, j)\nsquare.compute_at(y, a)\n";
  EXPECT_EQ(needs_of(squares_nest(inside)), (Needs{"square: B 1 if B > 0 && A > 0"}));
  EXPECT_EQ(needs_of(squares_nest(inside + "square.hoist_storage(y, j)\n")),
            (Needs{"square: B 1 if B > 0"}));
}

TEST(StorageNeeds, AreNoneInAnOutput) {
  const Axis i("i", Extent::size("B"));
  Tensor p = compute("p", {i}, input("x", f32, {i.extent()})(i) * 2.0f);
  Tensor y = compute("y", {i}, p(i) + 1.0f);
  Schedule schedule(y);
  EXPECT_EQ(needs_of(lower(y, schedule)), (Needs{"p: B"}));
  schedule[p].store_in_output(y);
  EXPECT_EQ(needs_of(lower(y, schedule)), Needs{});
}

TEST(StorageNeeds, CountWhatIsRoundedUp) {
  EXPECT_EQ(needs_of(squares_nest("square.align_storage(j, 16)\n")),
            (Needs{"square: B (B + 15) / 16 * 16"}));
  EXPECT_EQ(needs_of(squares_nest("square.align_storage(j, 2)\n")),
            (Needs{"square: B (B + 1) / 2 * 2"}));
}

TEST(StorageNeeds, HoldWhereTheBranchIsTaken) {
  const Needs needs =
      needs_of(squares_nest("y.specialize(A == 1)\ny.parallel(i)\nsquare.compute_at(y, a)\n"));
  for (const std::string& need : needs)
    EXPECT_NE(need.find("square: B B if"), std::string::npos) << need;
  EXPECT_FALSE(needs.empty());
}

// What a case stores, it stores where no case before it is chosen.
TEST(StorageNeeds, HoldInEachCaseWhereItIsChosen) {
  EXPECT_EQ(
      needs_of(squares_nest("y.specialize(A == 1)\ny.parallel(a)\nsquare.compute_at(y, a)\n")),
      (Needs{"square: B B if A == 1", "square: B B if !(A == 1) && A > 0"}));
}

// A loop whose steps another one counts is no question to the sizes.
TEST(StorageNeeds, HoldInLoopsThatAWindowShortens) {
  const Axis r("r", 8), i("i", 6), j("j", Extent::size("B"));
  const Tensor c = compute("c", {r, j}, input("x", f32, {8, j.extent()})(r, j) * 2.0f);
  const Tensor a = compute("a", {r, j}, c(r, j) + 1.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) + a(i + 1, j) + a(i + 2, j));
  Schedule schedule(y);
  schedule[a].store_root().compute_at(y, i);
  schedule[c].compute_at(a, r);
  const LoopNest nest = lower(y, schedule);
  EXPECT_EQ(needs_of(nest), (Needs{"a: 4 B", "c: 1 B"}));
  EXPECT_NO_THROW(check_storage("k", storage_needs(nest), {{"B", 5}}));
}

void check(const LoopNest& nest, int64_t rows, int64_t columns) {
  check_storage("k", storage_needs(nest), {{"A", rows}, {"B", columns}});
}

TEST(CheckStorage, TakesWhatFits) { EXPECT_NO_THROW(check(squares_nest(""), 1, 23170)); }

TEST(CheckStorage, TakesOneByteLessThanTwoGiB) {
  const Axis one("one", 1), i("i", Extent::size("B"));
  const Tensor a = compute("a", {i}, input("x", u8, {1})(0) * constant(u8, 2));
  const Graph graph(compute("y", {one}, sum(i, a(i))));
  const std::vector<StorageNeed> needs = storage_needs(lower(graph, Schedule(graph)));
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  EXPECT_NO_THROW(check_storage("k", needs, {{"B", kMost}}));
  EXPECT_ERROR(check_storage("k", needs, {{"B", kMost + 1}}), "got 2147483648 for shape");
}

TEST(CheckStorage, RefusesWhatDoesNot) {
  EXPECT_ERROR(check(squares_nest(""), 0, 23171),
               "kernel k: storage of square: expected at most 2147483647 bytes, got 2147580964 for "
               "shape [23171, 23171] of f32; legal: smaller run-time sizes");
  EXPECT_ERROR(check(squares_nest("square.align_storage(j, 4096)\n"), 1, 23170),
               "[23170, 24576] of f32");
}

TEST(CheckStorage, TakesWhatIsNotReached) {
  const LoopNest nest = squares_nest("square.compute_at(y, a)\n");
  EXPECT_NO_THROW(check(nest, 0, 40000));
  EXPECT_ERROR(check(nest, 1, 40000), "storage of square");
}

}  // namespace
}  // namespace emulsion
