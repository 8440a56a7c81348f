#include "dsl/split_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulsion {
namespace {

TEST(SplitText, OnePartMoreThanSeparators) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split_text("x86-64-linux", '-'), (Parts{"x86", "64", "linux"}));
  EXPECT_EQ(split_text("x86", '-'), Parts{"x86"});
  EXPECT_EQ(split_text("", '-'), Parts{""});
  EXPECT_EQ(split_text(",a,,", ','), (Parts{"", "a", "", ""}));
}

TEST(Shown, LongWordsAreCut) {
  EXPECT_EQ(shown(std::string(40, 'x')), std::string(40, 'x'));
  EXPECT_EQ(shown(std::string(41, 'x')), std::string(40, 'x') + "...");
}

}  // namespace
}  // namespace emulsion
