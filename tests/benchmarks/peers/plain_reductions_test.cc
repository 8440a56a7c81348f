#include "benchmarks/peers/plain_reductions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emulsion::benchmarks {
namespace {

const std::vector<float> kX = {1, 2, 3, -4, 0, 4};  // two rows of three

TEST(PlainReductions, SumsOfRows) {
  float y[2];
  plain_sum_rows(2, 3, kX.data(), y);
  EXPECT_EQ(y[0], 6);
  EXPECT_EQ(y[1], 0);
}

TEST(PlainReductions, SumsOfColumns) {
  float y[3];
  plain_sum_columns(2, 3, kX.data(), y);
  EXPECT_EQ(y[0], -3);
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(y[2], 7);
}

TEST(PlainReductions, SumsOfMaps) {
  const std::vector<float> x = {1, 2, 3, 4, 10, 20, 30, 40};  // two pictures of two channels
  float y[2];
  plain_sum_maps(2, 2, 2, x.data(), y);
  EXPECT_EQ(y[0], 33);
  EXPECT_EQ(y[1], 77);
}

TEST(PlainReductions, SoftmaxOfEachRow) {
  std::vector<float> y(6);
  plain_softmax(2, 3, kX.data(), y.data());
  for (int r = 0; r < 2; ++r) EXPECT_NEAR(y[3 * r] + y[3 * r + 1] + y[3 * r + 2], 1, 1e-6);
  EXPECT_NEAR(y[1] / y[0], std::exp(1.0F), 1e-5);
  EXPECT_NEAR(y[5] / y[4], std::exp(4.0F), 1e-3);
}

TEST(PlainReductions, LayerNormOfEachRow) {
  const std::vector<float> gamma = {1, 2, 1}, beta = {0, 5, 0};
  std::vector<float> y(6);
  plain_layer_norm(2, 3, kX.data(), gamma.data(), beta.data(), y.data());
  EXPECT_NEAR(y[0], -std::sqrt(1.5F), 1e-4);
  EXPECT_NEAR(y[1], 5, 1e-4);
  EXPECT_NEAR(y[5], std::sqrt(1.5F), 1e-4);
}

TEST(PlainReductions, RmsNormOfEachRow) {
  const std::vector<float> gamma = {3, 1, 1};
  std::vector<float> y(6);
  plain_rms_norm(2, 3, kX.data(), gamma.data(), y.data());
  EXPECT_NEAR(y[3], -3 * std::sqrt(1.5F), 1e-4);
  EXPECT_NEAR(y[4], 0, 1e-4);
}

TEST(PlainReductions, OfNothing) {
  float y[2] = {7, 7};
  plain_sum_rows(2, 0, nullptr, y);
  EXPECT_EQ(y[0], 0);
  plain_softmax(2, 0, nullptr, nullptr);
  plain_layer_norm(0, 3, nullptr, nullptr, nullptr, nullptr);
  plain_rms_norm(0, 3, nullptr, nullptr, nullptr);
}

}  // namespace
}  // namespace emulsion::benchmarks
