// Sums of a whole tensor that threads share: which are cut into parts, into how many, and that the
// nests compute what the graphs say.

#include "passes/derive/derive_sum_in_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

std::string sum_in_parts(const Graph& graph, const std::string& target) {
  return to_string(derive_schedule(graph, Target::parse(target)));
}

Graph sum_of_all(const Shape& shape, bool keepdims = false) {
  std::vector<int> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int>(i));
  return Graph(sum(input("x", f32, shape), axes, keepdims, "s"));
}

bool is_in_parts(const Graph& graph, const std::string& target = "x86-64-v3,cores=4") {
  return sum_in_parts(graph, target).find("s_parts") != std::string::npos;
}

TEST(DeriveSumInParts, RowsOfAMatrix) {
  const std::string text = sum_in_parts(sum_of_all({4096, 1024}), "x86-64-v3,cores=4");
  EXPECT_NE(text.find("s.rfactor(block, s_parts)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s_parts.parallel(block)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s.split(r0, block, r0, 256)\n"), std::string::npos) << text;
}

// Of 4 for each core, as many as divide the axis.
TEST(DeriveSumInParts, AsManyAsDivideIt) {
  for (const auto& [rows, steps] : {std::pair(4096, "256"), {15 * 300, "300"}, {11 * 401, "401"}}) {
    const std::string text = sum_in_parts(sum_of_all({rows, 1024}), "x86-64-v3,cores=4");
    EXPECT_NE(text.find(std::string("s.split(r0, block, r0, ") + steps + ")\n"), std::string::npos)
        << text;
  }
}

// Their parts are whole numbers of the lanes' steps, where they can be.
TEST(DeriveSumInParts, OneLongRow) {
  const std::string text = sum_in_parts(sum_of_all({4000000}), "x86-64-v3,cores=4");
  EXPECT_NE(text.find("s.split(r0, block, r0, 400000)\n"), std::string::npos) << text;
}

// The last part is shorter, and alone looks where it ends.
TEST(DeriveSumInParts, OfWhatNothingDivides) {
  const std::string rows = sum_in_parts(sum_of_all({4093, 1024}), "x86-64-v3,cores=4");
  EXPECT_NE(rows.find("s.split(r0, block, r0, 256)\n"), std::string::npos) << rows;
  EXPECT_NE(rows.find("s_parts.partition(block)\n"), std::string::npos) << rows;
  const std::string row = sum_in_parts(sum_of_all({3999971}), "x86-64-v3,cores=4");
  EXPECT_NE(row.find("s.split(r0, block, r0, 250016)\n"), std::string::npos) << row;
  EXPECT_EQ(sum_in_parts(sum_of_all({4096, 1024}), "x86-64-v3,cores=4").find("partition"),
            std::string::npos);
  for (const char* target : {"x86-64-v2,cores=2", "x86-64-v3,cores=4", "x86-64-v4,cores=3"}) {
    for (const Shape& shape : {Shape{1021, 1024}, {1019, 1021}, {20011, 53}, {1000003}}) {
      const Graph graph = sum_of_all(shape);
      EXPECT_TRUE(is_in_parts(graph, target)) << target;
      EXPECT_TRUE(derives(graph, Target::parse(target))) << target;
    }
  }
}

TEST(DeriveSumInParts, ShortRowsAreOneLongOne) {
  const std::string text = sum_in_parts(sum_of_all({64000, 50}), "x86-64-v3,cores=4");
  EXPECT_NE(text.find("s.fuse(r0, r1, flat)\ns.split(flat, block, flat, 200000)\n"),
            std::string::npos)
      << text;
}

TEST(DeriveSumInParts, ComputesTheSum) {
  for (const char* target : {"x86-64-v2,cores=2", "x86-64-v3,cores=4", "x86-64-v4,cores=3"}) {
    for (const bool keepdims : {false, true}) {
      const Graph graph = sum_of_all({1024, 1021}, keepdims);
      EXPECT_TRUE(is_in_parts(graph, target)) << target;
      EXPECT_TRUE(derives(graph, Target::parse(target))) << target;
    }
    const Graph flat = sum_of_all({60 * 20480});
    EXPECT_TRUE(is_in_parts(flat, target)) << target;
    EXPECT_TRUE(derives(flat, Target::parse(target))) << target;
  }
}

TEST(DeriveSumInParts, TheMostAndTheLeast) {
  const Tensor x = input("x", f32, {2048, 640});
  for (const Tensor& y :
       {reduce_max(x, {0, 1}, false, "s"), reduce_min(abs(x), {0, 1}, true, "s")}) {
    EXPECT_TRUE(is_in_parts(y));
    EXPECT_TRUE(derives(y, Target::parse("x86-64-v3,cores=4")));
  }
}

TEST(DeriveSumInParts, NotOnOneCore) {
  EXPECT_FALSE(is_in_parts(sum_of_all({4096, 1024}), "x86-64-v3,cores=1"));
}

TEST(DeriveSumInParts, NotOfLittle) { EXPECT_FALSE(is_in_parts(sum_of_all({64, 64}))); }

TEST(DeriveSumInParts, NotOfARunTimeNumber) {
  const Extent b = Extent::size("B");
  EXPECT_FALSE(is_in_parts(sum_of_all({b, 1024})));
  EXPECT_FALSE(is_in_parts(sum_of_all({4096, b})));
}

TEST(DeriveSumInParts, NotOfSeveralSums) {
  EXPECT_FALSE(is_in_parts(Graph(sum(input("x", f32, {4096, 1024}), {1}, false, "s"))));
}

}  // namespace
}  // namespace emulsion
