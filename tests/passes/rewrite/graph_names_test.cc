#include "passes/rewrite/graph_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

TEST(GraphNames, OfOperationsMembersAndSizes) {
  const Tensor x = input("x", f32, {Extent::size("B"), 8});
  const Graph grouped = fuse_epilogues(Graph(relu(neg(x, "n"), "y")));
  EXPECT_THAT(names_of(grouped), ElementsAre("B", "n", "x", "y"));
}

TEST(GraphNames, ANameThatIsFreeIsTaken) {
  std::set<std::string> taken = {"x"};
  EXPECT_EQ(take_name("y", &taken), "y");
  EXPECT_THAT(taken, ElementsAre("x", "y"));
}

TEST(GraphNames, OneThatIsTakenHasANumber) {
  std::set<std::string> taken = {"y", "y_1"};
  EXPECT_EQ(take_name("y", &taken), "y_2");
  EXPECT_EQ(take_name("y", &taken), "y_3");
}

}  // namespace
}  // namespace emulsion
