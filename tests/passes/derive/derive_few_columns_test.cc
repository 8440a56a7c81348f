// Sums of one row of few columns: which are several rows at a time, and that they are right.

#include "passes/derive/derive_few_columns.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1"), kV4 = Target::parse("x86-64-v4,cores=1");

Tensor sum_of_columns(const Extent& rows, const Extent& columns, DType dtype = f32) {
  return sum(input("x", dtype, {rows, columns}), {0}, false, "s");
}

bool is_few(const Tensor& y, const Target& target = kV3) {
  const Graph graph(y);
  return sums_few_columns(*graph.ops().back(), target);
}

std::string text_of(const Tensor& y, const Target& target) {
  return to_string(derive_schedule(Graph(y), target));
}

TEST(DeriveFewColumns, OfOneVectorFourRowsAtATime) {
  EXPECT_EQ(text_of(sum_of_columns(kRows, 8), kV3),
            "emulsion schedule 1\ns.split(r0, r0, row, 4)\ns.rfactor(row, s_rows)\n"
            "s.reorder(i1, row)\ns.vectorize(i1)\ns.unroll(row)\n"
            "s_rows.reorder(i1, row, r0)\ns_rows.reorder_storage(i1, row)\n"
            "s_rows.vectorize(i1)\ns_rows.unroll(row)\ns_rows.partition(r0)\n"
            "s_rows.store_in(registers)\n");
}

TEST(DeriveFewColumns, OfSeveralVectorsTwoRows) {
  for (const int64_t columns : {16, 24, 31}) {
    const std::string text = text_of(sum_of_columns(100, columns), kV3);
    EXPECT_NE(text.find("s.split(r0, r0, row, 2)\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("partition"), std::string::npos) << "2 divides 100";
  }
  EXPECT_NE(text_of(sum_of_columns(99, 16), kV3).find("s_rows.partition(r0)\n"), std::string::npos);
}

// As they lie in memory: of 16 rows of three, six whole vectors.
TEST(DeriveFewColumns, OfNoWholeVectorsARowBehindTheOther) {
  EXPECT_EQ(text_of(sum_of_columns(kRows, 3), kV3),
            "emulsion schedule 1\ns.split(r0, r0, row, 16)\ns.rfactor(row, s_rows)\n"
            "s.reorder(i1, row)\ns.vectorize(i1)\ns.unroll(row)\n"
            "s_rows.reorder(i1, row, r0)\ns_rows.reorder_storage(i1, row)\n"
            "s_rows.fuse(row, i1, lane)\ns_rows.split(lane, lane, lane_v, 8)\n"
            "s_rows.vectorize(lane_v)\ns_rows.unroll(lane)\n"
            "s_rows.partition(r0)\ns_rows.store_in(registers)\n");
  const auto has_rows = [](const Tensor& y, const Target& target, int rows) {
    const std::string text = text_of(y, target);
    EXPECT_NE(text.find("s_rows.fuse(row, i1, lane)\n"), std::string::npos) << text;
    EXPECT_NE(text.find("r0, row, " + std::to_string(rows) + ")\n"), std::string::npos) << text;
  };
  has_rows(sum_of_columns(kRows, 2), kV3, 16);
  has_rows(sum_of_columns(kRows, 10), kV3, 4);
  has_rows(sum_of_columns(kRows, 12), kV4, 8);
  has_rows(sum_of_columns(kRows, 5, f64), kV3, 4);
  has_rows(sum_of_columns(20, 2), kV4, 8);
}

TEST(DeriveFewColumns, WhatFollowsReadsThem) {
  const std::string text = text_of(relu(sum_of_columns(kRows, 10), "y"), kV3);
  EXPECT_NE(text.find("s.rfactor(row, s_rows)\n"), std::string::npos) << text;
}

TEST(DeriveFewColumns, OfOneRowOfResults) {
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 2)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 4)));
  EXPECT_TRUE(is_few(sum_of_columns(16, 10)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 24)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 31)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 48), kV4));
  EXPECT_TRUE(is_few(sum(input("x", f32, {1, kRows, 10}), {1}, false, "s")));
  EXPECT_TRUE(is_few(sum(input("x", f32, {kRows, 7, 20, 10}), {0, 1, 2}, false, "s")));
  EXPECT_TRUE(is_few(reduce_max(input("x", f64, {kRows, 5}), {0}, false, "s")));
}

TEST(DeriveFewColumns, NotOfOthers) {
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 1))) << "no columns";
  EXPECT_FALSE(is_few(sum_of_columns(15, 10))) << "few rows";
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 32))) << "four full vectors wait for nothing";
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 33)));
  EXPECT_FALSE(is_few(sum_of_columns(kRows, kRows)));
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 0)));
  EXPECT_FALSE(is_few(sum(input("x", f32, {100, kRows, 10}), {1}, false, "s"))) << "of many rows";
  EXPECT_FALSE(is_few(sum(input("x", f32, {10, kRows}), {1}, false, "s"))) << "along the rows";
  EXPECT_FALSE(is_few(relu(sum_of_columns(kRows, 10), "y")));
}

TEST(DeriveFewColumns, ComputesTheSums) {
  for (const char* level : {"x86-64-v2,cores=1", "x86-64-v3,cores=2", "x86-64-v4,cores=1"}) {
    const Target target = Target::parse(level);
    for (const int64_t columns : {2, 3, 4, 5, 9, 16, 20, 31, 50}) {
      EXPECT_TRUE(derives(sum_of_columns(kRows, columns), target, {0, 1, 3, 4, 5, 17})) << level;
      EXPECT_TRUE(derives(sum_of_columns(kRows, columns, i32), target, {0, 2, 9})) << level;
      EXPECT_TRUE(derives(relu(sum_of_columns(19, columns), "y"), target)) << level;
    }
    EXPECT_TRUE(derives(sum(input("x", f32, {kRows, 3, 17, 10}), {0, 1, 2}), target, {0, 1, 3}));
    EXPECT_TRUE(derives(reduce_min(input("x", f64, {kRows, 6}), {0}), target, {0, 1, 21}));
    EXPECT_TRUE(derives(sum(cast(input("x", u8, {kRows, 3}), i32), {0}), target, {0, 1, 66, 200}));
  }
}

}  // namespace
}  // namespace emulsion
