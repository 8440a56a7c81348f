#include "backends/codegen/exception_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace emulsion {
namespace {

template <typename Thrown>
std::string text_of(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_exception_text();
  }
}

struct NoException {};

void throws_no_table() { throw std::runtime_error("no table"); }
// An exception that leaves it ends the process, as that of a static object does.
void lets_nothing_out() noexcept { throws_no_table(); }

TEST(ExceptionText, NamesTypeAndMessage) {
  EXPECT_EQ(text_of(std::runtime_error("no layer")), "std::runtime_error: no layer");
}

TEST(ExceptionText, NamesTheTypeOfWhatIsNoException) {
  EXPECT_EQ(text_of(42), "int");
  EXPECT_THAT(text_of(NoException()), ::testing::EndsWith("(anonymous namespace)::NoException"));
}

TEST(ExceptionText, IsEmptyWhereNothingIsHandled) { EXPECT_EQ(current_exception_text(), ""); }

TEST(ExceptionTextDeathTest, AnUncaughtOneEndsWithAMessage) {
  EXPECT_EXIT(
      {
        report_uncaught_exceptions();
        lets_nothing_out();
      },
      testing::ExitedWithCode(1),
      "error: uncaught exception: std::runtime_error: no table, outside emulsion_kernel\\(\\)");
}

}  // namespace
}  // namespace emulsion
