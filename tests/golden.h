#ifndef EMULSION_TESTS_GOLDEN_H_
#define EMULSION_TESTS_GOLDEN_H_

// Golden texts: tests/golden/<suite>/<test>.txt, named by the test that is running, so that a
// golden without a test and a test without a golden are both easy to see. They show structure, on
// the smallest shape that does; whether the numbers are right is for other tests to say. A golden
// that is missing, different or longer than 1 kB fails the test.
//
// To write what the tests find now, then read the diff:
//
//   EMULSION_UPDATE_GOLDENS=$PWD ./bazelw run //tests/passes/lower:lower_test

#include <gtest/gtest.h>

#include <string>

namespace emulsion {

testing::AssertionResult matches_golden(const std::string& actual);

// Where the golden of the running test is, from the root of the source tree.
std::string golden_path();

}  // namespace emulsion

#endif  // EMULSION_TESTS_GOLDEN_H_
