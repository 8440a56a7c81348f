#include "benchmarks/peers/plain_short_axes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace emulsion::benchmarks {
namespace {

template <typename T = float>
std::vector<T> from_one_to(size_t last) {
  std::vector<T> values(last);
  std::iota(values.begin(), values.end(), T{1});
  return values;
}

TEST(PlainShortAxes, ChannelsFirst) {
  const std::vector<float> x = from_one_to(12);  // two pictures of three pixels and two channels
  std::vector<float> y(12);
  plain_channels_first(2, 3, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12}));
}

TEST(PlainShortAxes, SpaceToDepth) {
  const std::vector<float> x = from_one_to(16);  // four rows of four
  std::vector<float> y(16);
  plain_space_to_depth(1, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16}));
}

TEST(PlainShortAxes, SumsOfPlanes) {
  const std::vector<float> x = from_one_to(12), w = {1, 1, 2, -1};  // two steps, two colours
  std::vector<float> y(6);
  plain_sums_of_planes(2, 2, 3, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{14, 4, 16, 5, 18, 6}));
}

TEST(PlainShortAxes, ShortWindows) {
  const std::vector<float> x = {1, 8, 5, 2, 3, 4, 7, 6};  // four rows of two
  std::vector<float> y(4);
  plain_short_windows(2, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{5, 8, 7, 6}));
}

TEST(PlainShortAxes, ShortProducts) {
  const std::vector<uint8_t> x = from_one_to<uint8_t>(6), w = {1, 10, 100};
  std::vector<uint8_t> y(2);
  plain_short_products(2, 3, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (std::vector<uint8_t>{321 % 256, 654 % 256}));
}

TEST(PlainShortAxes, SumTransposed) {
  const std::vector<float> x = from_one_to(6), z = {10, 20, 30, 40, 50, 60};  // three rows of two
  std::vector<float> y(6);
  plain_sum_transposed(2, 3, x.data(), z.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{11, 33, 55, 22, 44, 66}));
}

TEST(PlainShortAxes, Picture) {
  const std::vector<float> x = from_one_to(20);  // four rows of five
  std::vector<float> w(9), y(6);
  w[0] = 1;
  w[5] = 100;  // the second row's last
  plain_picture(2, 3, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{801, 902, 1003, 1306, 1407, 1508}));
}

TEST(PlainShortAxes, BlockSums) {
  const std::vector<float> x = from_one_to(6);
  std::vector<float> y(2);
  plain_block_sums(2, 3, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{6, 15}));
}

TEST(PlainShortAxes, RowWindows) {
  const std::vector<float> x = from_one_to(22);  // eleven rows of two
  std::vector<float> y(4, -1);
  plain_row_windows(2, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{49, 56, 77, 84}));
}

TEST(PlainShortAxes, PointGroups) {
  const std::vector<float> x(24, 2), w = from_one_to(12), c = {100, 200, 300, 400};
  std::vector<float> y(24);
  plain_point_groups(2, x.data(), w.data(), c.data(), y.data());
  for (size_t group = 0; group < 2; ++group) {
    EXPECT_EQ(y[group * 12], 102);
    EXPECT_EQ(y[group * 12 + 2], 106);
    EXPECT_EQ(y[group * 12 + 3], 208);
    EXPECT_EQ(y[group * 12 + 11], 424);
  }
}

TEST(PlainShortAxes, WeightedRows) {
  const std::vector<double> x = from_one_to<double>(6), factors = {1, 10, 100};  // three rows
  std::vector<double> y(2, -1);
  plain_weighted_rows(3, 2, x.data(), factors.data(), y.data());
  EXPECT_EQ(y, (std::vector<double>{531, 642}));
}

TEST(PlainShortAxes, SumsOfRowsOfEach) {
  const std::vector<float> x = from_one_to(8);
  std::vector<float> y(2, -1);
  plain_sums_of_rows_of_each(2, 2, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{14, 22}));
}

TEST(PlainShortAxes, ColumnsOfGroups) {
  const std::vector<float> x = from_one_to(8), w = {1, 10};
  std::vector<float> y(2);
  plain_columns_of_groups(2, 2, 2, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{106, 128}));
}

TEST(PlainShortAxes, HeadsInFront) {
  const std::vector<int16_t> x = from_one_to<int16_t>(8), z = {0, 0, 0, 0, 10, 10, 10, 10};
  std::vector<int16_t> y(8);
  plain_heads_in_front(1, 2, 2, 2, x.data(), z.data(), y.data());
  EXPECT_EQ(y, (std::vector<int16_t>{1, 2, 5, 6, 13, 14, 17, 18}));
}

TEST(PlainShortAxes, Turned) {
  const std::vector<int16_t> x = from_one_to<int16_t>(12);
  std::vector<int16_t> y(12);
  plain_turned(2, 3, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<int16_t>{1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12}));
}

TEST(PlainShortAxes, FlippedRows) {
  const std::vector<float> x = from_one_to(6);
  std::vector<float> y(6);
  plain_flipped_rows(3, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{5, 6, 3, 4, 1, 2}));
}

}  // namespace
}  // namespace emulsion::benchmarks
