// Choices of NaN by bits: which there are, that they choose the same, and that no blends are left.

#include "backends/halide/nan_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/kernel_code.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

Halide::Expr equal_to(const Halide::Expr& a, const Halide::Expr& b) {
  return hi::Call::make(Halide::Bool(a.type().lanes()), hi::Call::strict_eq, {a, b},
                        hi::Call::PureIntrinsic);
}

bool is_left(const Halide::Expr& e) {
  const hi::Stmt statement = hi::Evaluate::make(e);
  return nan_bits(statement).same_as(statement);
}

TEST(NanBits, OfWhatIsNotEqualToItself) {
  for (const Halide::Type& type : {Halide::Float(32), Halide::Float(32, 8), Halide::Float(64, 4)}) {
    const Halide::Expr x = hi::Variable::make(type, "x"), z = hi::Variable::make(type, "z");
    const Halide::Expr nan = hi::make_const(type, NAN), one = hi::make_const(type, 1);
    EXPECT_FALSE(is_left(hi::Select::make(equal_to(x, x), z, nan))) << type;
    EXPECT_FALSE(is_left(hi::Select::make(equal_to(x + z, x + z), x, nan))) << type;
    EXPECT_TRUE(is_left(hi::Select::make(equal_to(x, z), z, nan))) << type;
    EXPECT_TRUE(is_left(hi::Select::make(equal_to(x, x), z, one))) << type;
    EXPECT_TRUE(is_left(hi::Select::make(equal_to(x, x), nan, z))) << type;
    EXPECT_TRUE(is_left(hi::Select::make(x < x, z, nan))) << type;
  }
}

TEST(NanBits, InsideOfOthers) {
  const Halide::Type type = Halide::Float(32, 8);
  const Halide::Expr x = hi::Variable::make(type, "x"), z = hi::Variable::make(type, "z");
  const Halide::Expr nan = hi::make_const(type, NAN);
  const Halide::Expr inner = hi::Select::make(equal_to(x, x), z, nan);
  std::ostringstream text;
  text << nan_bits(hi::Evaluate::make(hi::Select::make(equal_to(z, z), inner + x, nan)));
  EXPECT_EQ(text.str().find("nan"), std::string::npos) << text.str();
}

// The greatest and the least of each row, of which one element may be NaN.
Graph extremes(DType type, int64_t rows, int64_t columns) {
  const Tensor x = input("x", type, {rows, columns});
  return Graph({reduce_max(x, {0}, false, "most"), reduce_min(x, {0}, false, "least")});
}

template <typename T>
void expect_extremes(DType type, const Target& target) {
  constexpr int64_t kRows = 5, kColumns = 37;
  std::vector<T> x(kRows * kColumns), most(kColumns), least(kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 37 % 101) - 50;
  for (int64_t c = 0; c < kColumns; c += 2) {
    const bool is_negative = c % 4 == 0;
    const T nan = std::numeric_limits<T>::quiet_NaN();
    x[static_cast<size_t>(c % kRows * kColumns + c)] = is_negative ? -nan : nan;
  }
  const JitKernel kernel(run_pipeline(extremes(type, kRows, kColumns), target).nest, target);
  kernel.run({{"x", {type, {kRows, kColumns}, x.data()}},
              {"most", {type, {kColumns}, most.data()}},
              {"least", {type, {kColumns}, least.data()}}});
  for (int64_t c = 0; c < kColumns; ++c) {
    T highest = x[static_cast<size_t>(c)], lowest = highest;
    for (int64_t r = 1; r < kRows; ++r) {
      const T one = x[static_cast<size_t>(r * kColumns + c)];
      highest = std::isnan(highest) || std::isnan(one) ? std::nan("") : std::fmax(highest, one);
      lowest = std::isnan(lowest) || std::isnan(one) ? std::nan("") : std::fmin(lowest, one);
    }
    const auto same = [](T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    EXPECT_TRUE(same(most[static_cast<size_t>(c)], highest)) << c << " of " << target.to_string();
    EXPECT_TRUE(same(least[static_cast<size_t>(c)], lowest)) << c << " of " << target.to_string();
  }
}

TEST(NanBits, TheSameIsChosen) {
  for (const char* level : {"x86-64-v2", "x86-64-v3"}) {
    const Target target = Target::parse(level);
    SKIP_UNLESS_IT_RUNS(target);
    expect_extremes<float>(f32, target);
    expect_extremes<double>(f64, target);
  }
}

class NanBitsCode : public KernelCode {};

TEST_F(NanBitsCode, NothingIsBlended) {
  for (const char* level : {"x86-64-v2", "x86-64-v3"}) {
    const Target target = Target::parse(level);
    const std::string code = assembly(run_pipeline(extremes(f32, 9, 256), target).nest, target);
    EXPECT_NE(code.find("maxps"), std::string::npos) << level;
    EXPECT_EQ(code.find("blendv"), std::string::npos) << level;
  }
}

}  // namespace
}  // namespace emulsion
