// The network as the digits example runs it: what it gets right, and that an image's logits do not
// depend on how many others are in the call.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "examples/digits/classify.h"
#include "examples/digits/digits_data.h"

namespace emulsion {
namespace {

const Digits& held_out() {
  static const Digits digits = [] {
    const char* path = std::getenv("EMULSION_DIGITS_CSV");
    if (path == nullptr) throw Error("expected the environment variable EMULSION_DIGITS_CSV");
    return split_digits(read_digits(path)).held_out;
  }();
  return digits;
}

std::vector<float> logits(Network network, int64_t first, int64_t count) {
  std::vector<float> result(static_cast<size_t>(count * kDigitClasses));
  compute_logits(network, count, held_out().images.data() + first * kDigitPixels, result.data());
  return result;
}

class DigitsTest : public ::testing::TestWithParam<Network> {};

TEST_P(DigitsTest, ClassifiesHeldOutImages) {
  ASSERT_EQ(held_out().size(), 450);
  const int64_t correct = count_correct(GetParam(), held_out());
  EXPECT_GE(static_cast<double>(correct), 0.97 * 450) << correct;
}

TEST_P(DigitsTest, GivesEveryImageTheSameLogitsInAnyBatch) {
  const std::vector<float> together = logits(GetParam(), 0, 450);
  for (int64_t image = 0; image < 450; ++image) {
    const std::vector<float> alone = logits(GetParam(), image, 1);
    for (int64_t c = 0; c < kDigitClasses; ++c) {
      ASSERT_EQ(alone[c], together[image * kDigitClasses + c]) << image << ", " << c;
    }
  }
}

TEST_P(DigitsTest, TakesNoImages) { EXPECT_TRUE(classify(GetParam(), 0, nullptr).empty()); }

TEST_P(DigitsTest, RefusesANegativeNumberOfImages) {
  float nothing = 0;
  EXPECT_THROW(compute_logits(GetParam(), -1, &nothing, &nothing), Error);
}

INSTANTIATE_TEST_SUITE_P(Networks, DigitsTest, ::testing::Values(Network::fused, Network::unfused),
                         [](const ::testing::TestParamInfo<Network>& param) {
                           return param.param == Network::fused ? "fused" : "unfused";
                         });

TEST(DigitsNetworksTest, FusedAndUnfusedAgree) {
  const std::vector<float> fused = logits(Network::fused, 0, 450);
  const std::vector<float> unfused = logits(Network::unfused, 0, 450);
  for (size_t i = 0; i < fused.size(); ++i) ASSERT_NEAR(fused[i], unfused[i], 1e-3) << i;
}

}  // namespace
}  // namespace emulsion
