#include "backends/halide/even_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

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

// What the bytes are where the variables are these numbers, one lane for all.
int64_t value_of(const Halide::Expr& e, const std::map<std::string, int64_t>& values) {
  struct Numbers : hi::IRMutator {
    explicit Numbers(const std::map<std::string, int64_t>& values) : values_(values) {}
    using hi::IRMutator::visit;
    Halide::Expr visit(const hi::Variable* op) override {
      return hi::make_const(op->type, values_.at(op->name));
    }
    const std::map<std::string, int64_t>& values_;
  };
  // Pairs of bytes of one number are that number 257 times.
  struct Bytes {
    static int64_t of(const Halide::Expr& e) {
      const int64_t all = e.type().bits() == 8 ? 255 : 65535;
      if (const auto* broadcast = e.as<hi::Broadcast>()) {
        const auto number = hi::as_const_int(broadcast->value);
        const int64_t value =
            number ? *number : static_cast<int64_t>(hi::as_const_uint(broadcast->value).value());
        return value & all;
      }
      if (const auto* op = e.as<hi::Add>()) return (of(op->a) + of(op->b)) & all;
      if (const auto* op = e.as<hi::Sub>()) return (of(op->a) - of(op->b)) & all;
      if (const auto* op = e.as<hi::Mul>()) return (of(op->a) * of(op->b)) & all;
      if (const auto* op = e.as<hi::Cast>()) return of(op->value) & all;
      if (const auto* op = e.as<hi::Reinterpret>()) {
        const int64_t value = of(op->value);
        if (op->type.bits() == op->value.type().bits()) return value;
        return op->type.bits() == 16 ? value * 257 : value & 255;
      }
      const auto* call = e.as<hi::Call>();
      EXPECT_NE(call, nullptr) << e;
      if (call->is_intrinsic(hi::Call::shift_left)) return (of(call->args[0]) << 1) & all;
      EXPECT_TRUE(call->is_intrinsic(hi::Call::bitwise_and)) << e;
      return of(call->args[0]) & of(call->args[1]);
    }
  };
  return Bytes::of(Numbers(values).mutate(e));
}

int count_of(const Halide::Expr& e, const std::string& variable) {
  struct Counts : hi::IRVisitor {
    using hi::IRVisitor::visit;
    std::map<std::string, int> counts;
    void visit(const hi::Variable* op) override { ++counts[op->name]; }
  } counts;
  e.accept(&counts);
  return counts.counts[variable];
}

// Adding a term to itself is what LLVM comes to no end with, wherever in the sum it stands.
TEST(EvenBytes, ATermStandsOnceInASum) {
  for (const Halide::Type type : {Halide::UInt(8, 64), Halide::Int(8, 128)}) {
    const auto variable = [&](const char* name) { return hi::Variable::make(type, name); };
    const Halide::Expr a = variable("a"), b = variable("b"), c = variable("c");
    const Halide::Type other =
        type.is_int() ? type.with_code(halide_type_uint) : type.with_code(halide_type_int);
    const Halide::Expr casted = hi::Cast::make(type, hi::Variable::make(other, "a"));
    const Halide::Expr same = Halide::reinterpret(type, Halide::reinterpret(other, a));
    const Halide::Expr sums[] = {(a + b) + (a + c),
                                 a + b - (c - a),
                                 (a - b) - (b - c),
                                 a + (b + (a + (c + a))),
                                 (a * hi::make_const(type, 3) + b) - (a + c),
                                 a + same + b,
                                 ((a + b) + (a - b)) * hi::make_const(type, 6) + c,
                                 (a - b) + (b - a) + c};
    for (const Halide::Expr& sum : sums) {
      const Halide::Expr made = made_of(sum);
      EXPECT_LE(count_of(made, "a"), 1) << made;
      EXPECT_LE(count_of(made, "b"), 1) << made;
      for (const int64_t value : {0, 1, 77, 100}) {
        const std::map<std::string, int64_t> values = {{"a", value}, {"b", 91}, {"c", 3}};
        EXPECT_EQ(value_of(made, values), value_of(sum, values)) << sum << "\n" << made;
      }
    }
    EXPECT_EQ(made_of(casted + b).type(), type);
    EXPECT_TRUE(hi::equal(made_of((a - b) + (b - a)), hi::make_zero(type)));
  }
}

TEST(EvenBytes, SumsOfTermsThatDifferStay) {
  const Halide::Type bytes = Halide::UInt(8, 64);
  const Halide::Expr a = hi::Variable::make(bytes, "a"), b = hi::Variable::make(bytes, "b");
  EXPECT_TRUE(is_same((a - b) + (a * b)));
  EXPECT_TRUE(is_same(a + b * hi::make_const(bytes, 3)));
  const Halide::Type pairs = Halide::UInt(16, 64);
  const Halide::Expr c = hi::Variable::make(pairs, "c");
  EXPECT_TRUE(is_same(c + c));
  EXPECT_TRUE(is_same(Halide::cast(Halide::UInt(16, 64), a) + Halide::cast(pairs, a)));
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
