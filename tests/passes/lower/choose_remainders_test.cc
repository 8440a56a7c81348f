// Which remainders by run-time sizes a nest has as choices. Each nest is run against its graph too.

#include <gtest/gtest.h>

#include <string>

#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Extent kN = Extent::size("N"), kM = Extent::size("M");
const Expr n = size_value("N"), m = size_value("M");
const Axis i("i", kN);

// y as its nest computes it.
std::string stored(const Expr& value, const Axis& along = i) {
  const Tensor y = compute("y", {along}, value);
  for (const int64_t size : {0, 1, 2, 3, 7}) {
    for (const int64_t other : {0, 1, 5}) {
      EXPECT_TRUE(lowers(Graph(y), Schedule(y), {{"N", size}, {"M", other}})) << to_string(value);
    }
  }
  const std::string nest = to_string(lower(Graph(y), Schedule(y)));
  const size_t at = nest.find("y[i] = ");
  return nest.substr(at + 7, nest.find('\n', at) - at - 7);
}

// Of an element of x, and of M, which the kernel takes from w.
std::string stored_at(const Expr& index, const Axis& along = i) {
  const Tensor x = input("x", f32, {kN}), w = input("w", f32, {kM + 1});
  return stored(x(clamp(index, 0, n - 1)) + w(0), along);
}

TEST(ChooseRemainders, OfWhatIsAStepAway) {
  EXPECT_EQ(stored_at((i + 1) % n),
            "x[max(min(select(i + 1 < N, i + 1, i - N + 1), N - 1), 0)] + w[0]");
  EXPECT_EQ(stored_at((i - 1) % n),
            "x[max(min(select(i - 1 < 0, i + N - 1, i - 1), N - 1), 0)] + w[0]");
  EXPECT_EQ(stored_at((i + n - 1) % n),
            "x[max(min(select(i + N - 1 < N, i + N - 1, i - 1), N - 1), 0)] + w[0]");
}

TEST(ChooseRemainders, OfWhatIsALengthAwayOrWithin) {
  EXPECT_EQ(stored_at((2 * i) % n),
            "x[max(min(select(i * 2 < N, i * 2, i * 2 - N), N - 1), 0)] + w[0]");
  EXPECT_EQ(stored_at((n - 1 - i) % n), "x[max(min(N - i - 1, N - 1), 0)] + w[0]");
  EXPECT_EQ(stored_at((2 * i - n) % n),
            "x[max(min(select(i * 2 - N < 0, i * 2, i * 2 - N), N - 1), 0)] + w[0]");
}

// No iteration happens where the size is 0, which half of the row is then, too.
TEST(ChooseRemainders, ByHalfOfWhatIsWalked) {
  const Axis whole("i", 2 * kN);
  EXPECT_EQ(stored_at(whole % n, whole), "x[max(min(select(i < N, i, i - N), N - 1), 0)] + w[0]");
  EXPECT_EQ(stored_at((whole + n) % (2 * n), whole),
            "x[max(min(select(i + N < N * 2, i + N, i - N), N - 1), 0)] + w[0]");
  const std::string text = stored_at(i % n, Axis("i", 3 * kN));
  EXPECT_EQ(text.find("select"), std::string::npos) << text;
}

TEST(ChooseRemainders, OfBothSides) {
  const Axis k("k", 3);
  const Tensor x = input("x", f32, {kN});
  const Tensor y = compute("y", {i}, sum(k, x((i + k - 1) % n)));
  for (const int64_t size : {0, 1, 2, 5}) {
    EXPECT_TRUE(lowers(Graph(y), Schedule(y), {{"N", size}}));
  }
  const std::string nest = to_string(lower(Graph(y), Schedule(y)));
  EXPECT_NE(nest.find("select(i + k - 1 < 0, i + k + N - 1, select(i + k - 1 < N, i + k - 1, "),
            std::string::npos)
      << nest;
}

TEST(ChooseRemainders, NotOfWhatMayBeFurtherAway) {
  for (const Expr& index : {(i + 2) % n, (i - 2) % n, (i + 2 * n) % n, (3 * i) % n, (i * i) % n}) {
    const std::string text = stored_at(index);
    EXPECT_NE(text.find(" % N"), std::string::npos) << text;
    EXPECT_EQ(text.find("select"), std::string::npos) << text;
  }
}

// M may be 0, which a remainder is then, and so may N be in a loop of its own length.
TEST(ChooseRemainders, NotByWhatMayBe0OrByANumber) {
  const Axis four("i", 4);
  const Tensor w = input("w", f32, {kM + 1}), x = input("x", f32, {kN + 4});
  EXPECT_EQ(stored(w(clamp(i % m, 0, m)) + x(i)), "w[max(min(i % M, M), 0)] + x[i]");
  EXPECT_EQ(stored(x(clamp((four - 1) % (n + 0), 0, n)) + w(0), four).find("select"),
            std::string::npos);
  const Axis one("i", 1);
  EXPECT_EQ(stored(cast(f32, (one - 1) % m) + w(0), one), "f32((i - 1) % M) + w[0]");
  EXPECT_NE(stored(x(i % 4) + w(0)).find("x[i % 4]"), std::string::npos);
}

}  // namespace
}  // namespace emulsion
