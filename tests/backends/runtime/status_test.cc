#include "backends/runtime/status.h"

#include <gtest/gtest.h>

#include "backends/runtime/kernel_call.h"

namespace emulsion {
namespace {

TEST(StatusTest, IsFineByDefault) { EXPECT_TRUE(Status().ok()); }

TEST(StatusTest, IsFineForACodeOfZero) {
  const Status status = runtime::status_of(0);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.message, "");
}

TEST(StatusTest, KeepsTheCodeOfARefusal) {
  const Status status = runtime::status_of(EMULSION_ERROR_NULL_HOST);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code, EMULSION_ERROR_NULL_HOST);
}

}  // namespace
}  // namespace emulsion
