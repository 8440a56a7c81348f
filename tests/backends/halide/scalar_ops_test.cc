#include "backends/halide/scalar_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "backends/halide/halide_call.h"
#include "backends/halide/lower_statement.h"
#include "bazel/testing/needs.h"
#include "dsl/error.h"
#include "dsl/target.h"

namespace emulsion {
namespace {

// One binary operator over every pair of special values, vectors with a tail and scalars, to the
// bit.
template <typename T>
class SpecialValues : public testing::Test {
 protected:
  using Build = std::function<Halide::Expr(const Halide::Expr&, const Halide::Expr&)>;
  using Reference = std::function<T(T, T)>;

  static std::vector<T> values() {
    using Limits = std::numeric_limits<T>;
    return {Limits::quiet_NaN(),
            Limits::infinity(),
            -Limits::infinity(),
            T(0),
            -T(0),
            T(1),
            T(-1),
            T(2.5),
            Limits::denorm_min(),
            Limits::max(),
            Limits::lowest(),
            T(1e-30),
            T(3)};
  }

  Target target_ = Target::host();

  static bool same(T a, T b) { return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0; }

  void expect(const Build& build, const Reference& reference) {
    std::vector<T> special = values();
    const int n = static_cast<int>(special.size());
    Halide::Buffer<T> a(n * n), b(n * n), out(n * n);
    for (int i = 0; i < n * n; ++i) {
      a(i) = special[static_cast<size_t>(i / n)];
      b(i) = special[static_cast<size_t>(i % n)];
    }
    for (bool vectorized : {false, true}) {
      call_halide("test", [&] {
        Halide::Var i("i");
        Halide::Func f("f");
        f(i) = build(a(i), b(i));
        if (vectorized) f.vectorize(i, 16, Halide::TailStrategy::GuardWithIf);
        f.realize(Halide::Pipeline::RealizationArg(out.raw_buffer()), kernel_target(target_));
      });
      for (int i = 0; i < n * n; ++i) {
        EXPECT_PRED2(same, reference(a(i), b(i)), out(i))
            << "of " << a(i) << " and " << b(i) << (vectorized ? ", vectorized" : "");
      }
    }
  }

  void expect(ExprOp op, const Reference& reference) {
    SCOPED_TRACE(to_string(op));
    expect([op](const Halide::Expr& a, const Halide::Expr& b) { return halide_binary(op, a, b); },
           reference);
  }
  void expect_unary(ExprOp op, const Reference& reference) {
    expect([op](const Halide::Expr& a, const Halide::Expr&) { return halide_unary(op, a); },
           reference);
  }
  // With a number on the right, which an optimiser would like to fold.
  void expect_with(ExprOp op, double number, const Reference& reference) {
    expect(
        [&](const Halide::Expr& a, const Halide::Expr&) {
          return halide_binary(op, a, Halide::Internal::make_const(a.type(), number));
        },
        reference);
  }
  void expect_comparison(ExprOp op, const std::function<bool(T, T)>& reference) {
    SCOPED_TRACE(to_string(op));
    expect(
        [&](const Halide::Expr& a, const Halide::Expr& b) {
          return Halide::select(halide_binary(op, a, b), Halide::Internal::make_one(a.type()),
                                Halide::Internal::make_zero(a.type()));
        },
        [&](T a, T b) { return T(reference(a, b)); });
  }
};

using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(SpecialValues, Floats);

TYPED_TEST(SpecialValues, Arithmetic) {
  using T = TypeParam;
  this->expect(ExprOp::add, [](T a, T b) { return a + b; });
  this->expect(ExprOp::sub, [](T a, T b) { return a - b; });
  this->expect(ExprOp::mul, [](T a, T b) { return a * b; });
  this->expect(ExprOp::div, [](T a, T b) { return a / b; });
}

TYPED_TEST(SpecialValues, NothingIsFoldedAsIfFloatsWereReals) {
  using T = TypeParam;
  this->expect_with(ExprOp::mul, 0, [](T a, T) { return a * T(0); });
  this->expect_with(ExprOp::add, 0, [](T a, T) { return a + T(0); });
  this->expect_with(ExprOp::div, 3, [](T a, T) { return a / T(3); });
  auto twice = [](ExprOp op) {
    return [op](const Halide::Expr& a, const Halide::Expr&) { return halide_binary(op, a, a); };
  };
  this->expect(twice(ExprOp::sub), [](T a, T) { return a - a; });
  this->expect(twice(ExprOp::div), [](T a, T) { return a / a; });
}

TYPED_TEST(SpecialValues, DivisionByALiteralZero) {
  using T = TypeParam;
  volatile T zero = 0;
  this->expect_with(ExprOp::div, 0.0, [&](T a, T) { return a / zero; });
  this->expect_with(ExprOp::div, -0.0, [&](T a, T) { return a / -zero; });
}

TYPED_TEST(SpecialValues, MinAndMaxPropagateNan) {
  using T = TypeParam;
  auto max = [](T a, T b) { return a != a ? a : b != b ? b : a < b ? b : a; };
  auto min = [](T a, T b) { return a != a ? a : b != b ? b : b < a ? b : a; };
  this->expect(ExprOp::max, max);
  this->expect(ExprOp::min, min);
  this->expect_with(ExprOp::max, 0, [&](T a, T) { return max(a, 0); });
  this->expect_with(ExprOp::min, 1, [&](T a, T) { return min(a, 1); });
  this->expect_with(ExprOp::max, NAN, [](T, T) { return T(NAN); });
}

TYPED_TEST(SpecialValues, Comparisons) {
  using T = TypeParam;
  this->expect_comparison(ExprOp::eq, [](T a, T b) { return a == b; });
  this->expect_comparison(ExprOp::ne, [](T a, T b) { return a != b; });
  this->expect_comparison(ExprOp::lt, [](T a, T b) { return a < b; });
  this->expect_comparison(ExprOp::le, [](T a, T b) { return a <= b; });
  this->expect_comparison(ExprOp::gt, [](T a, T b) { return a > b; });
  this->expect_comparison(ExprOp::ge, [](T a, T b) { return a >= b; });
}

TYPED_TEST(SpecialValues, Signs) {
  using T = TypeParam;
  this->expect_unary(ExprOp::neg, [](T a, T) { return -a; });
  this->expect_unary(ExprOp::abs, [](T a, T) { return std::fabs(a); });
  this->expect_unary(ExprOp::sqrt, [](T a, T) { return std::sqrt(a); });
}

TYPED_TEST(SpecialValues, WholeNumbers) {
  using T = TypeParam;
  this->expect_unary(ExprOp::floor, [](T a, T) { return std::floor(a); });
  this->expect_unary(ExprOp::ceil, [](T a, T) { return std::ceil(a); });
  this->expect_unary(ExprOp::round, [](T a, T) { return std::nearbyint(a); });
  this->expect_unary(ExprOp::trunc, [](T a, T) { return std::trunc(a); });
}

TYPED_TEST(SpecialValues, FusedMultiplyAddRoundsOnce) {
  this->target_ = Target::parse(Target::host().to_string() + "-fma");
  SKIP_UNLESS_IT_RUNS(this->target_);
  using T = TypeParam;
  this->expect(
      [](const Halide::Expr& a, const Halide::Expr& b) { return fused_multiply_add(a, b, a); },
      [](T a, T b) { return std::fma(a, b, a); });
}

TYPED_TEST(SpecialValues, CastToIntegerSaturates) {
  using T = TypeParam;
  auto reference = [](T a, T) {
    if (a != a) return T(0);
    if (a >= T(2147483648.0)) return T(std::numeric_limits<int32_t>::max());
    if (a < T(-2147483648.0)) return T(std::numeric_limits<int32_t>::min());
    return T(static_cast<int32_t>(a));
  };
  this->expect(
      [](const Halide::Expr& a, const Halide::Expr&) {
        return Halide::cast(a.type(), halide_cast(DType::i32, a));
      },
      reference);
}

TYPED_TEST(SpecialValues, CastToNarrowIntegersSaturates) {
  using T = TypeParam;
  for (DType type : {i8, u8, i16, u16}) {
    SCOPED_TRACE(to_string(type));
    const auto lowest = static_cast<T>(integer_range(type).lowest);
    const auto highest = static_cast<T>(integer_range(type).highest);
    for (T scale : {T(1), T(51.1), T(100), T(20000)}) {
      auto scaled = [&](T a) { return a * scale; };
      this->expect(
          [&](const Halide::Expr& a, const Halide::Expr&) {
            Halide::Expr factor = Halide::Internal::make_const(a.type(), scale);
            return Halide::cast(a.type(), halide_cast(type, halide_binary(ExprOp::mul, a, factor)));
          },
          [&](T a, T) {
            T value = scaled(a);
            return value != value
                       ? T(0)
                       : T(static_cast<int64_t>(std::max(lowest, std::min(highest, value))));
          });
    }
  }
}

TYPED_TEST(SpecialValues, CastToBoolIsWhetherItIsNotZero) {
  using T = TypeParam;
  this->expect(
      [](const Halide::Expr& a, const Halide::Expr&) {
        return Halide::cast(a.type(), halide_cast(DType::boolean, a));
      },
      [](T a, T) { return T(a != 0); });
}

void expect_integers(ExprOp op, const std::function<int(int, int)>& reference) {
  const std::vector<int> values = {-7, -3, -2, -1, 0, 1, 2, 3, 7, 100};
  const int n = static_cast<int>(values.size());
  Halide::Buffer<int> a(n * n), b(n * n), out(n * n);
  for (int i = 0; i < n * n; ++i) {
    a(i) = values[static_cast<size_t>(i / n)];
    b(i) = values[static_cast<size_t>(i % n)];
  }
  call_halide("test", [&] {
    Halide::Var i("i");
    Halide::Func f("f");
    f(i) = halide_binary(op, a(i), b(i));
    f.vectorize(i, 8, Halide::TailStrategy::GuardWithIf);
    f.realize(Halide::Pipeline::RealizationArg(out.raw_buffer()), kernel_target(Target::host()));
  });
  for (int i = 0; i < n * n; ++i) {
    EXPECT_EQ(out(i), reference(a(i), b(i))) << to_string(op) << " of " << a(i) << " and " << b(i);
  }
}

TEST(Integers, DivisionRoundsTowardsMinusInfinityAndByZeroIsZero) {
  expect_integers(ExprOp::div, [](int a, int b) {
    return b == 0 ? 0 : static_cast<int>(std::floor(static_cast<double>(a) / b));
  });
}

TEST(Integers, ModTakesTheSignOfTheDivisor) {
  expect_integers(ExprOp::mod, [](int a, int b) {
    return b == 0 ? 0 : a - b * static_cast<int>(std::floor(static_cast<double>(a) / b));
  });
}

TEST(Integers, MinAndMax) {
  expect_integers(ExprOp::min, [](int a, int b) { return std::min(a, b); });
  expect_integers(ExprOp::max, [](int a, int b) { return std::max(a, b); });
}

// One binary operator of a narrow type over all pairs of 8-bit values (of 16 bits: around the ends
// and 0), in vectors of a whole register with a tail, against 64-bit arithmetic modulo 2^bits.
template <typename T>
class NarrowIntegers : public testing::Test {
 protected:
  static std::vector<T> values() {
    std::vector<T> result;
    const int lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    for (int v = lowest; v <= highest; ++v) {
      bool near = v < lowest + 20 || v > highest - 20 || (v >= -20 && v <= 20);
      if (sizeof(T) == 1 || near) result.push_back(static_cast<T>(v));
    }
    return result;
  }

  using Build = std::function<Halide::Expr(const Halide::Expr&, const Halide::Expr&)>;
  using Wide = std::function<int64_t(int64_t, int64_t)>;

  static void expect(const Build& build, const Wide& wide) {
    const std::vector<T> list = values();
    const int n = static_cast<int>(list.size());
    Halide::Buffer<T> a(n * n + 1), b(n * n + 1), out(n * n + 1);
    for (int i = 0; i < n * n + 1; ++i) {
      a(i) = list[static_cast<size_t>(i / n % n)];
      b(i) = list[static_cast<size_t>(i % n)];
    }
    call_halide("test", [&] {
      Halide::Var i("i");
      Halide::Func f("f");
      f(i) = build(a(i), b(i));
      f.vectorize(i, 64 / static_cast<int>(sizeof(T)), Halide::TailStrategy::GuardWithIf);
      f.realize(Halide::Pipeline::RealizationArg(out.raw_buffer()), kernel_target(Target::host()));
    });
    for (int i = 0; i < n * n + 1; ++i) {
      ASSERT_EQ(out(i), static_cast<T>(wide(a(i), b(i))))
          << "of " << int{a(i)} << " and " << int{b(i)};
    }
  }
  static void expect(ExprOp op, const Wide& wide) {
    SCOPED_TRACE(to_string(op));
    expect([op](const Halide::Expr& a, const Halide::Expr& b) { return halide_binary(op, a, b); },
           wide);
  }
  static int64_t floor_div(int64_t a, int64_t b) {
    return b == 0 ? 0 : static_cast<int64_t>(std::floor(static_cast<double>(a) / b));
  }
};

using NarrowTypes = testing::Types<int8_t, uint8_t, int16_t, uint16_t>;
TYPED_TEST_SUITE(NarrowIntegers, NarrowTypes);

TYPED_TEST(NarrowIntegers, ArithmeticWraps) {
  this->expect(ExprOp::add, [](int64_t a, int64_t b) { return a + b; });
  this->expect(ExprOp::sub, [](int64_t a, int64_t b) { return a - b; });
  this->expect(ExprOp::mul, [](int64_t a, int64_t b) { return a * b; });
}

TYPED_TEST(NarrowIntegers, NothingIsSimplifiedAsIfItDidNotWrap) {
  auto one = [](const Halide::Expr& a) { return Halide::Internal::make_one(a.type()); };
  this->expect(  // a + 1 > a is false at the end
      [&](const Halide::Expr& a, const Halide::Expr&) {
        Halide::Expr more = halide_binary(ExprOp::add, a, one(a));
        return Halide::select(halide_binary(ExprOp::gt, more, a), one(a),
                              Halide::Internal::make_zero(a.type()));
      },
      [](int64_t a, int64_t) { return a != std::numeric_limits<TypeParam>::max() ? 1 : 0; });
  this->expect(  // (a + b) / 2 is not an average
      [](const Halide::Expr& a, const Halide::Expr& b) {
        return halide_binary(ExprOp::div, halide_binary(ExprOp::add, a, b),
                             Halide::Internal::make_const(a.type(), 2));
      },
      [this](int64_t a, int64_t b) { return this->floor_div(static_cast<TypeParam>(a + b), 2); });
}

TYPED_TEST(NarrowIntegers, DivisionRoundsTowardsMinusInfinityAndByZeroIsZero) {
  this->expect(ExprOp::div, [this](int64_t a, int64_t b) { return this->floor_div(a, b); });
  this->expect(ExprOp::mod,
               [this](int64_t a, int64_t b) { return b == 0 ? 0 : a - b * this->floor_div(a, b); });
}

TYPED_TEST(NarrowIntegers, OrderAndSigns) {
  this->expect(ExprOp::min, [](int64_t a, int64_t b) { return std::min(a, b); });
  this->expect(ExprOp::max, [](int64_t a, int64_t b) { return std::max(a, b); });
  auto unary = [](ExprOp op) {
    return [op](const Halide::Expr& a, const Halide::Expr&) { return halide_unary(op, a); };
  };
  this->expect(unary(ExprOp::neg), [](int64_t a, int64_t) { return -a; });
  this->expect(unary(ExprOp::abs), [](int64_t a, int64_t) { return a < 0 ? -a : a; });
}

TYPED_TEST(NarrowIntegers, CastsBetweenIntegersWrap) {
  for (DType through : {i8, u8, i16, u16, i32}) {
    SCOPED_TRACE(to_string(through));
    this->expect(
        [&](const Halide::Expr& a, const Halide::Expr&) {
          return halide_cast(dtype_of<TypeParam>(), halide_cast(through, a));
        },
        [&](int64_t a, int64_t) { return wrap_integer(through, a); });
  }
}

TEST(ScalarOps, TwoTypesAreAnInternalError) {
  EXPECT_THROW(halide_binary(ExprOp::add, Halide::Expr(1), Halide::Expr(1.0f)), InternalError);
}

TEST(ScalarOps, ModOfFloatsIsAnInternalError) {
  EXPECT_THROW(halide_binary(ExprOp::mod, Halide::Expr(1.0f), Halide::Expr(1.0f)), InternalError);
}

// Halide's takes a vector of f32 apart, four lanes each, and LLVM keeps what is read so in memory.
TEST(ScalarOps, TheMagnitudeOfFloatsIsNoCall) {
  struct Calls : Halide::Internal::IRVisitor {
    using IRVisitor::visit;
    void visit(const Halide::Internal::Call* op) override {
      if (op->is_intrinsic(Halide::Internal::Call::abs)) ++count;
      IRVisitor::visit(op);
    }
    int count = 0;
  };
  const auto calls = [](ExprOp op, int bits) {
    Calls calls;
    const Halide::Expr x = Halide::Internal::Variable::make(Halide::Float(bits), "x");
    halide_unary(op, x, /*has_fma=*/true).accept(&calls);
    return calls.count;
  };
  for (ExprOp op : {ExprOp::abs, ExprOp::tanh, ExprOp::erf}) EXPECT_EQ(calls(op, 32), 0);
  EXPECT_EQ(calls(ExprOp::abs, 64), 0);
}

TEST(ScalarOps, SelectIsNoUnaryOperator) {
  EXPECT_THROW(halide_unary(ExprOp::select, Halide::Expr(1.0f)), InternalError);
}

}  // namespace
}  // namespace emulsion
