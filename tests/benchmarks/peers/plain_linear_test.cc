#include "benchmarks/peers/plain_linear.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace emulsion::benchmarks {
namespace {

TEST(PlainLinear, AddsTheBiasAndClampsAtZero) {
  const float x[] = {1, 2, 3, 4}, w[] = {1, 0, -1, 0, 1, 1}, bias[] = {0.5F, -10, 0};
  float y[6];
  plain_linear({2, 3, 2}, x, w, bias, y);
  const float expected[] = {1.5F, 0, 1, 3.5F, 0, 1};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y[i], expected[i]) << i;
}

TEST(PlainLinear, IsExactOnSmallIntegersAtAwkwardSizes) {
  for (const LinearShape& s : {LinearShape{1, 1, 1}, {1, 17, 5}, {3, 31, 7}, {5, 65, 33}}) {
    std::vector<float> x(s.m * s.k), w(s.k * s.n), bias(s.n), y(s.m * s.n, -1);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(static_cast<int>(i * 7 % 5) - 2);
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<float>(static_cast<int>(i * 3 % 7) - 3);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 3);
    plain_linear(s, x.data(), w.data(), bias.data(), y.data());
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        float sum = bias[n];
        for (int64_t k = 0; k < s.k; ++k) sum += x[m * s.k + k] * w[k * s.n + n];
        EXPECT_EQ(y[m * s.n + n], sum > 0 ? sum : 0) << s.to_string() << " at " << m << ", " << n;
      }
    }
  }
}

TEST(PlainLinear, OfAnEmptySumIsTheClampedBias) {
  const float bias[] = {-1, 2};
  float y[2] = {9, 9};
  plain_linear({1, 2, 0}, nullptr, nullptr, bias, y);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 2);
}

}  // namespace
}  // namespace emulsion::benchmarks
