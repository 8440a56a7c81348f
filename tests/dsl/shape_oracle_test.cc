// The arithmetic of extents and shapes against integers of 128 bits, which cannot overflow here:
// over random numbers, ends of the types among them, a result is the right one or an Error.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/extent.h"
#include "dsl/operators.h"
#include "dsl/tensor.h"
#include "tests/random/random_numbers.h"

namespace emulsion {
namespace {

using Big = __int128;

constexpr int kTurns = 20000;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool fits(Big value) { return value >= -Big{kMax} - 1 && value <= Big{kMax}; }

// Small, near a power of two, or anything; never below `low`.
int64_t number(RandomNumbers* random, int64_t low = -kMax) {
  for (;;) {
    int64_t value = random->between(-9, 9);
    if (random->below(3) == 0) {
      value += static_cast<int64_t>(uint64_t{1} << random->below(63));
      if (random->below(2) == 0) value = -value;
    } else if (random->below(4) == 0) {
      value = static_cast<int64_t>(random->next() >> random->below(64));
    }
    if (value >= low) return value;
  }
}

struct Affine {
  Big constant = 0;
  std::map<std::string, Big> coefficients;  // of A and B

  bool fits_in_64_bits() const {
    bool all = fits(constant);
    for (const auto& [size, coefficient] : coefficients) all = all && fits(coefficient);
    return all;
  }
  bool operator==(const Extent& extent) const {
    bool same = constant == extent.constant_term();
    for (const auto& [size, coefficient] : coefficients) {
      const auto found = extent.coefficients().find(size);
      same = same && coefficient == (found == extent.coefficients().end() ? 0 : found->second);
    }
    return same;
  }
};

struct Pair {
  Extent extent;
  Affine affine;
};

Pair pair(RandomNumbers* random) {
  Pair made{number(random), {}};
  made.affine.constant = made.extent.constant_term();
  for (const char* size : {"A", "B"}) {
    const int64_t coefficient = random->below(2) == 0 ? 0 : number(random);
    made.affine.coefficients[size] = coefficient;
    made.extent = made.extent + Extent::size(size) * coefficient;
  }
  return made;
}

template <typename Result>
std::optional<Result> result_of(const std::function<Result()>& compute) {
  try {
    return compute();
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(ShapeOracle, SumsDifferencesAndProductsOfExtents) {
  RandomNumbers random(1);
  int right = 0, refused = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Pair a = pair(&random), b = pair(&random);
    const int operation = random.below(3);
    const Big factor = b.affine.constant;
    Affine expected = a.affine;
    expected.constant = operation == 0   ? a.affine.constant + factor
                        : operation == 1 ? a.affine.constant - factor
                                         : a.affine.constant * factor;
    for (auto& [size, coefficient] : expected.coefficients) {
      const Big other = b.affine.coefficients.at(size);
      coefficient = operation == 0   ? coefficient + other
                    : operation == 1 ? coefficient - other
                                     : coefficient * factor;
    }
    const Extent by = operation == 2 ? Extent(b.extent.constant_term()) : b.extent;
    const auto found = result_of<Extent>([&] {
      return operation == 0 ? a.extent + by : operation == 1 ? a.extent - by : a.extent * by;
    });
    EXPECT_EQ(found.has_value(), expected.fits_in_64_bits()) << a.extent.to_string();
    EXPECT_TRUE(!found || expected == *found) << a.extent.to_string() << by.to_string();
    ++(found ? right : refused);
  }
  EXPECT_GE(right, kTurns / 4);
  EXPECT_GE(refused, kTurns / 20);
}

TEST(ShapeOracle, ValuesOfExtents) {
  RandomNumbers random(2);
  int right = 0, refused = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Pair a = pair(&random);
    const SizeValues sizes = {{"A", number(&random, 0)}, {"B", number(&random, 0)}};
    Big expected = a.affine.constant, reach = expected < 0 ? -expected : expected;
    for (const auto& [size, coefficient] : a.affine.coefficients) {
      const Big term = coefficient * sizes.at(size);
      expected += term;
      reach += term < 0 ? -term : term;
    }
    const auto found = result_of<int64_t>([&] { return a.extent.evaluate(sizes); });
    EXPECT_TRUE(!found || *found == expected) << a.extent.to_string();
    EXPECT_TRUE(found || !fits(reach)) << a.extent.to_string();
    ++(found ? right : refused);
  }
  EXPECT_GE(right, kTurns / 4);
  EXPECT_GE(refused, kTurns / 20);
}

TEST(ShapeOracle, NumbersOfElements) {
  RandomNumbers random(3);
  int right = 0, refused = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    Shape shape;
    Big expected = 1;
    bool too_many = false, empty = false;
    for (int axes = random.below(5); axes > 0; --axes) {
      const int64_t extent = number(&random, 0);
      shape.emplace_back(extent);
      empty = empty || extent == 0;
      if (!too_many) expected *= extent;
      too_many = too_many || !fits(expected);
    }
    const auto found = result_of<std::optional<int64_t>>([&] { return element_count(shape); });
    if (empty) {
      EXPECT_EQ(found, std::optional<int64_t>(0)) << to_string(shape);
    } else {
      EXPECT_EQ(found.has_value(), !too_many) << to_string(shape);
      EXPECT_TRUE(!found || **found == expected) << to_string(shape);
    }
    ++(found ? right : refused);
  }
  EXPECT_GE(right, kTurns / 4);
  EXPECT_GE(refused, kTurns / 20);
}

// The extent of one axis that an operator gives, in big integers, and the operator itself: on
// tensors without elements, of which an extent may have any length.
struct Question {
  Big expected;
  bool legal;   // as far as that axis says
  Big largest;  // of the numbers that it leads to: an index is i32, and beyond may be refused
  std::function<Tensor()> ask;
};

constexpr Big kFurthest = std::numeric_limits<int32_t>::max();

Question concat_question(RandomNumbers* random) {
  const int64_t a = number(random, 0), b = number(random, 0);
  return {Big{a} + b, true, Big{a} + b, [=] {
            return concat({input("a", f32, {0, a}), input("b", f32, {0, b})}, 1, "y");
          }};
}

Question pad_question(RandomNumbers* random) {
  const int64_t a = number(random, 0), low = number(random), high = number(random);
  return {Big{a} + low + high, low >= 0 && high >= 0, Big{a} + low + high, [=] {
            return pad(input("x", f32, {0, a}), {0, low}, {0, high}, 0, "y");
          }};
}

Question slice_question(RandomNumbers* random) {
  const int64_t a = number(random, 0), begin = number(random), end = number(random);
  const int64_t step = number(random, 1);
  const bool legal = 0 <= begin && begin <= end && end <= a;
  return {(Big{end} - begin + step - 1) / step, legal, Big{std::max(a, step)}, [=] {
            return slice(input("x", f32, {0, a}), {0, begin}, {0, end}, {1, step}, "y");
          }};
}

// The quotient goes towards minus infinity: -1 of it is no window at all, which is legal.
bool is_room(Big room, int stride) { return room >= -Big{stride}; }
Big windows(Big room, int stride) { return room >= 0 ? room / stride + 1 : 0; }

int small_number(RandomNumbers* random, int64_t low) {
  return static_cast<int>(number(random, low) & 0x7fffffff);
}

Question conv_question(RandomNumbers* random) {
  const int64_t rows = number(random, 0), taps = 1 + random->below(99);
  Conv2dOptions o;
  o.stride_h = small_number(random, 1);
  o.dilation_h = small_number(random, 1);
  o.pad_top = small_number(random, 0);
  o.pad_bottom = small_number(random, 0);
  const Big reach = Big{o.dilation_h} * (taps - 1), padded = Big{rows} + o.pad_top + o.pad_bottom;
  const bool legal = o.stride_h > 0 && o.dilation_h > 0 && is_room(padded - reach - 1, o.stride_h);
  return {
      legal ? windows(padded - reach - 1, o.stride_h) : 0, legal, std::max(padded, reach), [=] {
        return conv2d(input("x", f32, {0, rows, 1, 1}), weight("w", f32, {taps, 1, 1, 1}), o, "y");
      }};
}

Question pool_question(RandomNumbers* random) {
  const int64_t rows = number(random, 0);
  PoolOptions o;
  o.window_h = small_number(random, 1);
  o.stride_h = small_number(random, 1);
  o.pad_top = random->below(3) == 0 ? small_number(random, 0) : o.window_h / 2;
  o.pad_bottom = random->below(3) == 0 ? small_number(random, 0) : 0;
  const Big padded = Big{rows} + o.pad_top + o.pad_bottom;
  const bool legal = o.stride_h > 0 && o.window_h > std::max(o.pad_top, o.pad_bottom) &&
                     is_room(padded - o.window_h, o.stride_h);
  const auto pool = random->below(2) == 0 ? max_pool : avg_pool;
  return {legal ? windows(padded - o.window_h, o.stride_h) : 0, legal,
          std::max(padded, Big{o.window_h}), [=] {
            return pool(input("x", f32, {0, rows, 1, 1}), o, "y");
          }};
}

Question reshape_question(RandomNumbers* random) {
  const int64_t a = number(random, 0), b = number(random, 0);
  const int64_t last = random->below(3) == 0 ? a : number(random, 0);
  const Extent rows = Extent::size("B");
  const bool legal = last > 0 && Big{a} * b % last == 0;
  return {legal ? Big{a} * b / last : 0, legal, Big{a} * b, [=] {
            return reshape(input("x", f32, {rows, a, b}), {rows, -1, last}, "y");
          }};
}

TEST(ShapeOracle, ShapesOfOperators) {
  RandomNumbers random(4);
  const std::vector<Question (*)(RandomNumbers*)> kinds = {concat_question,  pad_question,
                                                           slice_question,   conv_question,
                                                           reshape_question, pool_question};
  std::vector<int> right(kinds.size(), 0), refused(kinds.size(), 0);
  for (int turn = 0; turn < 6000; ++turn) {
    const size_t kind = static_cast<size_t>(turn) % kinds.size();
    const Question question = kinds[kind](&random);
    const auto found = result_of<Tensor>(question.ask);
    ++(found ? right : refused)[kind];
    EXPECT_TRUE(found || !question.legal || question.largest > kFurthest)
        << kind << ": " << static_cast<int64_t>(question.expected);
    if (!found) continue;
    EXPECT_TRUE(question.legal) << kind;
    EXPECT_TRUE(question.expected == found->shape()[1].as_constant().value()) << kind;
  }
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    EXPECT_GE(right[kind], 30) << kind;
    EXPECT_GE(refused[kind], 30) << kind;
  }
}

}  // namespace
}  // namespace emulsion
