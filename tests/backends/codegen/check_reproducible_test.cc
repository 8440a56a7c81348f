// That two processes are compared is tests/bazel/generator_test.sh's; here, what is said of two
// texts.

#include "backends/codegen/check_reproducible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/error.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void expect_refusal(const std::string& first, const std::string& second, const std::string& words) {
  EXPECT_THAT([&] { check_same_graph("f", first, second); },
              ThrowsMessage<Error>(HasSubstr(words)));
}

TEST(CheckReproducibleTest, TakesEqualTexts) {
  check_same_graph("f", "", "");
  check_same_graph("f", "input x: f32[3]\n", "input x: f32[3]\n");
}

TEST(CheckReproducibleTest, NamesTheKernelAndTheFirstLineThatDiffers) {
  expect_refusal("a\nb 1\nc\n", "a\nb 2\nd\n", "kernel f: expected that emulsion_kernel() makes");
  expect_refusal("a\nb 1\nc\n", "a\nb 2\nd\n", "from line 2 on:\n  b 1\n  b 2\n");
  expect_refusal("a\nb 1\nc\n", "a\nb 2\nd\n", "random numbers without a seed");
}

TEST(CheckReproducibleTest, SaysWhichTextEnds) {
  expect_refusal("a\nb\n", "a\n", "from line 2 on:\n  b\n  (the end)\n");
  expect_refusal("a\n", "a\nb\n", "from line 2 on:\n  (the end)\n  b\n");
}

TEST(CheckReproducibleTest, ShowsTheMiddleOfALongLine) {
  const std::string head(200, 'h'), tail(300, 't');
  expect_refusal(head + "1" + tail, head + "2" + tail,
                 "\n  ..." + std::string(60, 'h') + "1" + std::string(59, 't') + "...\n");
}

}  // namespace
}  // namespace emulsion
