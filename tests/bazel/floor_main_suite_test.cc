// The suite that floor_main_test.sh runs: six cases, of which EMULSION_SKIP skips the third and
// EMULSION_SKIP_ALL all, of which the fourth ends the process with EMULSION_EXIT, and one that is
// disabled.

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(Suite, Case0) {}
TEST(Suite, Case1) {}
TEST(Suite, Case2) {
  if (const char* reason = std::getenv("EMULSION_SKIP")) GTEST_SKIP() << reason;
}
TEST(Suite, Case3) {
  if (const char* status = std::getenv("EMULSION_EXIT")) std::exit(std::atoi(status));
}
TEST(Suite, Case4) {}
TEST(Suite, Case5) {}
TEST(Suite, DISABLED_Case6) {}

class SkipAll : public testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("EMULSION_SKIP_ALL") != nullptr) GTEST_SKIP() << "all of them";
  }
};

[[maybe_unused]] const testing::Environment* const kSkipAll =
    testing::AddGlobalTestEnvironment(new SkipAll);

}  // namespace
