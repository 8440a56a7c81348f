#include "dsl/fitting_name.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dsl/extent.h"

namespace emulsion {
namespace {

TEST(FittingName, WhatFitsIsAsItIs) {
  EXPECT_EQ(fitting_name("y_acc"), "y_acc");
  const std::string longest(120, 'y');
  EXPECT_EQ(fitting_name(longest), longest);
}

TEST(FittingName, UnderscoresThatMeetAreOne) {
  EXPECT_EQ(fitting_name("y__acc"), "y_acc");
  EXPECT_EQ(fitting_name("y__in_z__1"), "y_in_z_1");
}

TEST(FittingName, WhatIsTooLongLacksItsMiddle) {
  const std::string fitting = fitting_name("first" + std::string(200, 'y') + "_acc");
  EXPECT_EQ(fitting.size(), 120U);
  EXPECT_EQ(fitting.substr(0, 6), "firsty");
  EXPECT_EQ(fitting.substr(115), "y_acc");
  // Underscores that meet only then.
  const std::string apart =
      std::string(59, 'a') + "_" + std::string(20, 'b') + "_c" + std::string(58, 'd');
  EXPECT_NO_THROW(check_identifier("a name", fitting_name(apart)));
  EXPECT_EQ(fitting_name(apart).find("__"), std::string::npos);
}

TEST(FittingName, AFreeOneHasTheFirstNumberThatIsFree) {
  const std::set<std::string> taken = {"y", "y1", "y3"};
  const auto is_taken = [&](const std::string& name) { return taken.count(name) > 0; };
  EXPECT_EQ(free_name("y", is_taken), "y2");
  EXPECT_EQ(free_name("y__1", is_taken), "y_1");
  EXPECT_EQ(free_name("x", is_taken), "x");
}

}  // namespace
}  // namespace emulsion
