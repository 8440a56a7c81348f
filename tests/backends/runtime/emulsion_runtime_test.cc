#include "backends/runtime/emulsion_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(EmulsionRuntime, NamesEveryCodeOfItsOwn) {
  std::set<std::string> names;
  for (const int code : {EMULSION_OK,
                         EMULSION_ERROR_GENERIC,
                         EMULSION_ERROR_BAD_TYPE,
                         EMULSION_ERROR_ALLOCATION_TOO_LARGE,
                         EMULSION_ERROR_REQUIREMENT_FAILED,
                         EMULSION_ERROR_CONSTRAINT_VIOLATED,
                         EMULSION_ERROR_OUT_OF_MEMORY,
                         EMULSION_ERROR_NULL_BUFFER,
                         EMULSION_ERROR_INTERNAL,
                         EMULSION_ERROR_UNALIGNED_HOST,
                         EMULSION_ERROR_NULL_HOST,
                         EMULSION_ERROR_BAD_DIMENSIONS,
                         EMULSION_ERROR_ALIASED_OUTPUT,
                         EMULSION_ERROR_NONZERO_MIN,
                         EMULSION_ERROR_NOT_DENSE,
                         EMULSION_ERROR_NEGATIVE_EXTENT,
                         EMULSION_ERROR_INCONSISTENT_SIZE,
                         EMULSION_ERROR_TOO_LARGE,
                         EMULSION_ERROR_DEVICE_DIRTY,
                         EMULSION_ERROR_NULL_DIMENSIONS}) {
    const std::string name = emulsion_error_name(code);
    EXPECT_NE(name, "unknown error") << code;
    EXPECT_TRUE(names.insert(name).second) << name;
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
  for (const int code : {1, -1000, -1009, 2147483647, -2147483647 - 1}) {
    EXPECT_STREQ(emulsion_error_name(code), "unknown error") << code;
  }
}

}  // namespace
}  // namespace emulsion::runtime
