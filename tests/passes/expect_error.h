#ifndef EMULSION_TESTS_PASSES_EXPECT_ERROR_H_
#define EMULSION_TESTS_PASSES_EXPECT_ERROR_H_

// A refusal is tested by the words that name its cause, and by its kind: an Error where an
// InternalError is meant (or the other way round) is a failure of the test.

#include <gtest/gtest.h>

#include <string>

#include "dsl/error.h"

namespace emulsion {

template <typename Expected, typename Statement>
testing::AssertionResult throws_with(const Statement& statement, const std::string& cause) {
  std::string found;
  try {
    statement();
    return testing::AssertionFailure() << "nothing was thrown, expected: " << cause;
  } catch (const Expected& error) {
    found = error.what();
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "another kind of exception: " << error.what();
  }
  if (found.find(cause) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the message: " << found << "\ndoes not name: " << cause;
}

// The message of the Error that `callable` throws, or "no Error". Any other exception goes on.
template <typename Callable>
std::string error_of(const Callable& callable) {
  try {
    callable();
  } catch (const Error& error) {
    return error.what();
  }
  return "no Error";
}

}  // namespace emulsion

#define EXPECT_ERROR(statement, cause) \
  EXPECT_TRUE(::emulsion::throws_with<::emulsion::Error>([&] { (void)(statement); }, cause))
#define EXPECT_INTERNAL_ERROR(statement, cause) \
  EXPECT_TRUE(::emulsion::throws_with<::emulsion::InternalError>([&] { (void)(statement); }, cause))

#endif  // EMULSION_TESTS_PASSES_EXPECT_ERROR_H_
