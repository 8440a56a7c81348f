#include "passes/nest/narrow_values.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {
namespace {

const Axis kI("i", 256), kJ("j", 256);

Expr read(const std::string& name, DType type) { return read_buffer(name, type, {Expr(kI)}); }
Expr wide(const std::string& name, DType type = DType::u8) {
  return cast(DType::i32, read(name, type));
}

std::string narrowed(const Expr& body) { return to_string(narrow_values(body)); }

// As it is, the same node.
bool stays(const Expr& body) { return narrow_values(body).same_as(body); }

TEST(NarrowValues, SumsOfProductsAreOf16Bits) {
  const Expr grey = 77 * wide("r") + 150 * wide("g") + 29 * wide("b") + 128;
  EXPECT_EQ(narrowed(cast(DType::u8, grey / 256)),
            "u8((77u16 * u16(r[i]) + 150u16 * u16(g[i]) + 29u16 * u16(b[i]) + 128u16) / 256u16)");
  EXPECT_EQ(narrowed(cast(DType::i8, (wide("a") - 2 * wide("b")) / 4)),
            "i8((i16(a[i]) - 2i16 * i16(b[i])) / 4i16)")
      << "below zero";
  EXPECT_EQ(narrowed(cast(DType::u16, wide("a") * wide("b"))), "u16(a[i]) * u16(b[i])");
  EXPECT_EQ(narrowed(cast(DType::i16, -wide("a"))), "0i16 - i16(a[i])");
}

TEST(NarrowValues, OnlyTheLastBitsOfSumsCount) {
  EXPECT_EQ(narrowed(cast(DType::u8, wide("a") * 70000)), "u8(u16(a[i]) * 4464u16)");
  EXPECT_EQ(narrowed(cast(DType::u8, wide("a") + wide("b") - 300)), "a[i] + b[i] - 44u8");
  EXPECT_EQ(narrowed(cast(DType::i8, wide("a") + wide("b"))), "i8(a[i]) + i8(b[i])");
  EXPECT_EQ(narrowed(cast(DType::u16, wide("a", DType::i16) * wide("b", DType::i16))),
            "u16(a[i]) * u16(b[i])");
}

TEST(NarrowValues, WhatIsDividedHasToFit) {
  const Expr sum = 256 * wide("a") + wide("b");  // 65535 at most
  EXPECT_FALSE(stays(cast(DType::u8, sum / 256)));
  EXPECT_FALSE(stays(cast(DType::u8, sum % 100)));
  EXPECT_TRUE(stays(cast(DType::u8, (sum + 1) / 256)));
  EXPECT_TRUE(stays(cast(DType::u8, (sum + 1) % 100)));
  EXPECT_TRUE(stays(cast(DType::u8, (sum - 1) / 256))) << "one type holds both ends";
  EXPECT_FALSE(stays(cast(DType::u8, (sum / 2 - 1) / 128)));
  EXPECT_TRUE(stays(cast(DType::u8, wide("a", DType::i16) / 3 * 3 / 2))) << "from -32769 on";
}

TEST(NarrowValues, DivisorsAreNumbersAboveZero) {
  EXPECT_EQ(narrowed(cast(DType::u8, wide("a") * wide("b") / 255)),
            "u8(u16(a[i]) * u16(b[i]) / 255u16)");
  EXPECT_TRUE(stays(cast(DType::u8, wide("a") / wide("b"))));
  EXPECT_TRUE(stays(cast(DType::u8, wide("a") / -2)));
  EXPECT_TRUE(stays(cast(DType::u8, wide("a") % wide("b"))));
  EXPECT_TRUE(stays(cast(DType::u8, wide("a") / 0)));
}

TEST(NarrowValues, LeastAndMost) {
  EXPECT_EQ(narrowed(cast(DType::u8, min(wide("a") + wide("b"), 255))),
            "u8(min(i16(a[i]) + i16(b[i]), 255i16))");
  EXPECT_EQ(narrowed(cast(DType::u8, max(wide("a"), wide("b")))), "max(a[i], b[i])");
  EXPECT_EQ(narrowed(cast(DType::u8, max(wide("a") - wide("b"), 0))),
            "u8(max(i16(a[i]) - i16(b[i]), 0i16))");
  EXPECT_TRUE(stays(cast(DType::u8, min(wide("a") * 256 - 1, 255)))) << "-1 to 65279";
}

TEST(NarrowValues, ALeastThatIsAlwaysTheSameIsLeftOut) {
  EXPECT_EQ(narrowed(cast(DType::u8, clamp(wide("a") / 2, 0, 255))), "u8(u16(a[i]) / 2u16)");
  EXPECT_EQ(narrowed(cast(DType::u16, min(wide("a"), 100000))), "u16(a[i])");
  EXPECT_EQ(narrowed(cast(DType::u16, max(wide("a"), -100000))), "u16(a[i])");
  EXPECT_EQ(narrowed(cast(DType::u16, max(255, wide("a")))), "255u16");
  EXPECT_EQ(narrowed(cast(DType::u16, min(wide("a"), 0))), "0u16");
  EXPECT_EQ(narrowed(cast(DType::u8, min(wide("a"), 254))), "min(a[i], 254u8)");
}

TEST(NarrowValues, Differences) {
  EXPECT_EQ(narrowed(cast(DType::u8, abs(wide("a") - wide("b")))),
            "u8(abs(i16(a[i]) - i16(b[i])))");
  EXPECT_TRUE(stays(cast(DType::u16, abs(wide("a", DType::u16) - wide("b", DType::u16)))));
}

TEST(NarrowValues, Conditions) {
  const Expr apart = abs(wide("a") - wide("b"));
  const Expr white = constant(DType::u8, 255), black = constant(DType::u8, 0);
  EXPECT_EQ(narrowed(select(apart > 20, white, black)),
            "select(abs(i16(a[i]) - i16(b[i])) > 20i16, 255u8, 0u8)");
  EXPECT_EQ(narrowed(select(wide("a") > wide("b"), white, black)),
            "select(a[i] > b[i], 255u8, 0u8)");
  EXPECT_EQ(narrowed(cast(DType::u16, select(wide("a") > wide("b"), 3 * wide("a"), 7))),
            "select(i16(a[i]) > i16(b[i]), 3u16 * u16(a[i]), 7u16)")
      << "a mask as long as what it is for";
  EXPECT_EQ(narrowed(wide("a") == 200 && !(wide("b") != 3)), "a[i] == 200u8 && !(b[i] != 3u8)");
  EXPECT_TRUE(stays(select(wide("a") * wide("b") > 70000, white, black)));
  EXPECT_TRUE(stays(select(Expr(kI) > 3, white, black)));
}

TEST(NarrowValues, InsideOfNarrowOnes) {
  const Expr first = cast(DType::u8, wide("a") + 1), other = cast(DType::u8, Expr(kI));
  EXPECT_EQ(narrowed(select(Expr(kI) == 0, first, other)), "select(i == 0, a[i] + 1u8, u8(i))");
  EXPECT_EQ(narrowed(cast(DType::u8, cast(DType::i32, first) * 2 / 4)),
            "u8(u16(a[i] + 1u8) * 2u16 / 4u16)");
  EXPECT_EQ(narrowed(cast(DType::u8, cast(DType::i32, wide("a") > 3) + 1)), "u8(a[i] > 3u8) + 1u8");
}

TEST(NarrowValues, NotOfWhatIsWideItself) {
  EXPECT_TRUE(stays(cast(DType::u8, read("a", DType::i32) + 1)));
  EXPECT_TRUE(stays(cast(DType::u8, wide("a") + Expr(kI))));
  EXPECT_TRUE(stays(cast(DType::u8, cast(DType::i32, read("a", DType::f32)) + 1)));
  EXPECT_TRUE(stays(cast(DType::u8, wide("a") * size_value("N"))));
}

TEST(NarrowValues, NotForWideResults) {
  EXPECT_TRUE(stays(wide("a") + 1));
  EXPECT_TRUE(stays(cast(DType::f32, cast(DType::u8, wide("a") + 1))));
}

TEST(NarrowValues, IndicesStay) {
  const Expr place = cast(DType::i32, cast(DType::u8, wide("a") + 1));
  EXPECT_TRUE(stays(read_buffer("table", DType::u8, {place})));
}

// What one expression uses many times is looked at once.
TEST(NarrowValues, OfSharedParts) {
  Expr value = wide("a");
  for (int i = 0; i < 60; ++i) value = value + value;
  EXPECT_EQ(narrow_values(cast(DType::u8, value)).dtype(), DType::u8);
  Expr least = wide("a");
  for (int i = 0; i < 60; ++i) least = min(least, 300 - least);
  EXPECT_FALSE(stays(cast(DType::u8, least)));
}

// Of all pairs of bytes.
std::vector<uint8_t> computed(const Expr& body) {
  TensorValues inputs;
  for (const char* name : {"a", "b"}) {
    inputs[name] = zeros(DType::u8, {256});
    for (int i = 0; i < 256; ++i) inputs[name].set_value(i, i);
  }
  return interpret_graph(Graph(compute("y", {kI, kJ}, body)), inputs, {}).at("y").bytes;
}

TEST(NarrowValues, GiveTheSameNumbers) {
  const Expr byte_a = input("a", DType::u8, {256})(kI), byte_b = input("b", DType::u8, {256})(kJ);
  const auto as = [](DType type, const Expr& e) { return cast(DType::i32, cast(type, e)); };
  for (const DType of : {DType::u8, DType::i8}) {
    const Expr a = as(of, byte_a), b = as(of, byte_b);
    const std::vector<Expr> values = {
        (66 * a + 129 * b + 128) / 256 + 16,
        (-38 * a - 74 * b + 128) / 256 + 128,
        clamp((112 * a - 94 * b) / 64, 0, 255),
        a * b / 255,
        (a - b) / 7 * 5,
        (a - b) % 7,
        abs(a - b) * 3,
        max(min(a * 2 - b, 100), -100) % 11,
        select(a - b > 20, a * a / 3, -b),
        cast(DType::i32, a == b) + select(a * 3 <= b, b / 2, 7 - a),
        min(a, b) * 300 + max(a, 3),
        as(DType::i8, a + b) / 2 - as(DType::u16, a * b * b) / 9,
    };
    for (const Expr& value : values) {
      for (const DType type : {DType::u8, DType::i8, DType::u16, DType::i16}) {
        const Expr body = cast(type, value);
        EXPECT_FALSE(stays(body)) << to_string(body);
        EXPECT_EQ(computed(narrow_values(body)), computed(body)) << to_string(narrow_values(body));
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
