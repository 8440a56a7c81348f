#include "backends/halide/even_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

Halide::Expr times(Halide::Type type, int64_t factor) {
  return hi::Variable::make(type, "x") * hi::make_const(type, factor);
}

Halide::Expr made_of(const Halide::Expr& e) {
  return double_bytes_in_pairs(hi::Evaluate::make(e)).as<hi::Evaluate>()->value;
}

bool is_same(const Halide::Expr& e) { return hi::equal(made_of(e), e); }

// That the product is bytes of ((pairs of half of it) << 1) & 0xfefe.
void expect_products(Halide::Type type, int64_t factor) {
  const Halide::Expr made = made_of(times(type, factor));
  ASSERT_FALSE(hi::equal(made, times(type, factor))) << factor;
  const auto* bytes = made.as<hi::Reinterpret>();
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(bytes->type, type);
  EXPECT_EQ(bytes->value.type(), Halide::UInt(16, type.lanes() / 2));
  struct Half : hi::IRVisitor {
    using hi::IRVisitor::visit;
    int64_t factor = 1;
    void visit(const hi::Mul* op) override {
      factor = hi::as_const_int(op->b).value_or(0);
      if (const auto number = hi::as_const_uint(op->b)) factor = static_cast<int64_t>(*number);
    }
  } half;
  made.accept(&half);
  EXPECT_EQ(2 * half.factor, factor);
}

TEST(EvenBytes, AreDoubledInPairs) {
  for (const int lanes : {64, 128}) {
    for (const int64_t factor : {2, 6, 10, 126, 254})
      expect_products(Halide::UInt(8, lanes), factor);
    for (const int64_t factor : {2, 6, -2, -6, 126}) expect_products(Halide::Int(8, lanes), factor);
  }
}

TEST(EvenBytes, AllOthersStay) {
  const Halide::Type bytes = Halide::UInt(8, 64);
  for (const int64_t factor : {0, 1, 3, 4, 8, 12, 128, 255})
    EXPECT_TRUE(is_same(times(bytes, factor)));
  EXPECT_TRUE(is_same(times(Halide::UInt(8, 32), 2)));
  EXPECT_TRUE(is_same(times(Halide::UInt(8, 65), 2)));
  EXPECT_TRUE(is_same(times(Halide::UInt(16, 64), 2)));
  EXPECT_TRUE(is_same(times(Halide::UInt(8), 2)));
  const Halide::Expr x = hi::Variable::make(bytes, "x");
  EXPECT_TRUE(is_same(x * hi::Variable::make(bytes, "y")));
  EXPECT_TRUE(is_same(x + hi::Variable::make(bytes, "y")));
}

TEST(EvenBytes, ASumOfEqualBytesIsTwiceThese) {
  const Halide::Type bytes = Halide::UInt(8, 64);
  const Halide::Expr x = hi::Variable::make(bytes, "x"), y = hi::Variable::make(bytes, "x");
  EXPECT_TRUE(hi::equal(made_of(x + y), made_of(times(bytes, 2))));
}

TEST(EvenBytes, AProductInAProduct) {
  const Halide::Type bytes = Halide::UInt(8, 64);
  const Halide::Expr made = made_of((times(bytes, 2) + 1) * hi::make_const(bytes, 6));
  struct Shifts : hi::IRVisitor {
    using hi::IRVisitor::visit;
    int count = 0;
    void visit(const hi::Reinterpret* op) override {
      count += op->type.bits() == 8 ? 1 : 0;
      op->value.accept(this);
    }
  } shifts;
  made.accept(&shifts);
  EXPECT_EQ(shifts.count, 2);
}

}  // namespace
}  // namespace emulsion
