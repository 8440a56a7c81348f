#ifndef EMULSION_TESTS_DSL_REFUSAL_H_
#define EMULSION_TESTS_DSL_REFUSAL_H_

// A refusal is an Error whose text names the cause. An internal check that fires, or an Error for
// another reason, is a failure of the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dsl/error.h"

namespace emulsion {

inline void expect_refusal(const std::function<void()>& act, const std::string& cause) {
  EXPECT_THAT(act, ::testing::ThrowsMessage<Error>(::testing::HasSubstr(cause)));
}

// One row of a table of refusals.
struct Refusal {
  const char* name;
  std::function<void()> act;
  const char* cause;
};

inline std::string refusal_name(const ::testing::TestParamInfo<Refusal>& row) {
  return row.param.name;
}

// Derive a fixture, give it one TEST_P that calls check(), and instantiate it over the table.
class RefusalTest : public ::testing::TestWithParam<Refusal> {
 protected:
  void check() const { expect_refusal(GetParam().act, GetParam().cause); }
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_DSL_REFUSAL_H_
