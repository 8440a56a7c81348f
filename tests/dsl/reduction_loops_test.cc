#include "dsl/reduction_loops.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dsl/graph.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;

const Axis m("m", 8), n("n", 8), k("k", 8);
const Axis ko("ko"), ki("ki"), mn("mn");

// mm sums over k; y reads it.
struct Linear {
  Tensor x = input("x", f32, {8, 8}), w = weight("w", f32, {8, 8});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
};

TEST(ReductionLoops, AreThoseBeforeAndAfterADirective) {
  Schedule s(Linear().y);
  s["mm"].parallel(m).split(k, ko, ki, 4).unroll(ki);
  const ReductionLoops loops(s);
  EXPECT_EQ(loops.own("mm", 0), Names({"k"}));
  EXPECT_EQ(loops.own("mm", 1), Names({"k", "ko", "ki"}));
  EXPECT_EQ(loops.own("mm", 2), Names({"ko", "ki"}));
  EXPECT_FALSE(loops.has("mm", 0, "m"));
  EXPECT_TRUE(loops.has("mm", 1, "ko"));
  EXPECT_FALSE(loops.has("mm", 2, "k"));
}

TEST(ReductionLoops, ANameThatIsGivenAgainIsWhatItIsThen) {
  Schedule s(Linear().y);
  s["mm"].split(k, ko, ki, 4).fuse(m, n, k).parallel(k);
  const ReductionLoops loops(s);
  EXPECT_TRUE(loops.has("mm", 0, "k"));
  EXPECT_FALSE(loops.has("mm", 1, "k"));
  EXPECT_FALSE(loops.has("mm", 2, "k"));
}

TEST(ReductionLoops, GoWithTheStageThatTakesTheReductionOver) {
  Schedule s(Linear().y);
  s["mm"].cache_write("acc").parallel(m);
  s["acc"].unroll(k);
  const ReductionLoops loops(s);
  EXPECT_EQ(loops.own("mm", 1), Names());
  EXPECT_EQ(loops.own("acc", 0), Names({"k"}));
}

TEST(ReductionLoops, OfAFactoredReductionOnlyTheLaneIsLeft) {
  Schedule s(Linear().y);
  s["mm"].split(k, ko, ki, 4).rfactor(ki, "partial").parallel(m);
  s["partial"].unroll(ki);
  const ReductionLoops loops(s);
  EXPECT_EQ(loops.own("mm", 2), Names({"ki"}));
  EXPECT_EQ(loops.own("partial", 0), Names({"ko"})) << "ki is an axis of its result";
}

TEST(ReductionLoops, OfAPlaceAreThoseOfTheTargetWhenAllIsDone) {
  Schedule s(Linear().y);
  s["y"].compute_with("mm", ko);
  s["mm"].split(k, ko, ki, 4);
  const ReductionLoops loops(s);
  EXPECT_TRUE(loops.has("y", 0, "ko"));
  EXPECT_FALSE(loops.has("y", 0, "k"));
  EXPECT_FALSE(loops.has("y", 0, "m"));
}

TEST(ReductionLoops, PackNamesAxesAsTheyWereWritten) {
  Schedule s(Linear().y);
  s["mm"].split(k, ko, ki, 4).pack("w", k, 4).align_storage(n, 8);
  const ReductionLoops loops(s);
  EXPECT_EQ(loops.own("mm", 1), Names({"k"}));
  EXPECT_EQ(loops.own("mm", 2), Names());
}

TEST(ReductionLoops, WhatIsNotLegalMakesNone) {
  Schedule s(Linear().y);
  s["mm"].split(Axis("q"), ko, ki, 4).unroll(ko);
  s["nobody"].parallel(k);
  s["y"].compute_at("nobody", k);
  const ReductionLoops loops(s);
  EXPECT_FALSE(loops.has("mm", 1, "ko"));
  EXPECT_FALSE(loops.has("nobody", 0, "k"));
  EXPECT_FALSE(loops.has("y", 0, "k"));
}

}  // namespace
}  // namespace emulsion
