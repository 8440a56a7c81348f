#include "backends/runtime/emulsion_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "backends/runtime/thread_state.h"

namespace emulsion::runtime {
namespace {

TEST(EmulsionRuntime, HasNoMessageAtFirst) {
  std::thread([] { EXPECT_STREQ(emulsion_last_error(), ""); }).join();
}

TEST(EmulsionRuntime, KeepsTheLastMessageUntilItIsCleared) {
  new_error() << "first";
  new_error() << "second, of " << 3;
  EXPECT_STREQ(emulsion_last_error(), "second, of 3");
  EXPECT_STREQ(emulsion_last_error(), "second, of 3");
  emulsion_clear_error();
  EXPECT_STREQ(emulsion_last_error(), "");
  emulsion_clear_error();
}

TEST(EmulsionRuntime, KeepsMessagesApartByThread) {
  new_error() << "mine";
  std::thread([] {
    new_error() << "theirs";
    emulsion_clear_error();
  }).join();
  EXPECT_STREQ(emulsion_last_error(), "mine");
  emulsion_clear_error();
}

// As the header lists them: `EMULSION_ERROR_BAD_TYPE = -3,`.
std::set<int> codes_of_the_header() {
  std::ifstream header("backends/runtime/emulsion_runtime.h");
  std::set<int> codes;
  for (std::string name, sign; header >> name;) {
    if (name.rfind("EMULSION_", 0) != 0) continue;
    int code = 0;
    if (header >> sign && sign == "=" && header >> code) {
      EXPECT_TRUE(codes.insert(code).second) << name << " is another's number";
    }
    header.clear();
  }
  return codes;
}

TEST(EmulsionRuntime, NamesEveryCodeOfItsHeaderAndNoOtherOfItsOwn) {
  const std::set<int> codes = codes_of_the_header();
  EXPECT_GE(codes.size(), 20U);
  std::set<std::string> names;
  for (const int code : codes) {
    const std::string name = emulsion_error_name(code);
    EXPECT_NE(name, "unknown error") << code;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  for (int code = -1100; code <= -1000; ++code) {
    const std::string name = emulsion_error_name(code);
    EXPECT_EQ(name != "unknown error", codes.count(code) > 0) << code;
  }
  EXPECT_STREQ(emulsion_error_name(EMULSION_ERROR_ALIASED_OUTPUT), "aliased output");
  EXPECT_STREQ(emulsion_error_name(-5), "allocation too large");
  EXPECT_STREQ(emulsion_error_name(-27), "requirement failed");
}

TEST(EmulsionRuntime, NamesCodesOfHalides) {
  EXPECT_STREQ(emulsion_error_name(-4), "access out of bounds");
  EXPECT_STREQ(emulsion_error_name(-31), "no specialization applies");
}

TEST(EmulsionRuntime, DoesNotNameOtherNumbers) {
  for (const int code : {1, -1000, -1010, 2147483647, -2147483647 - 1}) {
    EXPECT_STREQ(emulsion_error_name(code), "unknown error") << code;
  }
}

}  // namespace
}  // namespace emulsion::runtime
