#include "dsl/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Extent B() { return Extent::size("B"); }
Tensor x() { return input("x", f32, {B(), 256}); }
Axis m("m", Extent::size("B")), n("n", 512), k("k", 256);

TEST(Tensor, LeavesHaveTheTypeAndShapeThatWasAsked) {
  Tensor w = weight("w", f64, {256, 512});
  EXPECT_EQ(w.op()->kind, OpKind::weight);
  EXPECT_EQ(w.dtype(), f64);
  EXPECT_EQ(to_string(w.shape()), "[256, 512]");
  EXPECT_EQ(input("s", bool_, {}).rank(), 0);
  EXPECT_EQ(input("e", i32, {0, 7}).rank(), 2);
}

TEST(Tensor, MayBeAsLargeAsAKernelCanAddress) {
  EXPECT_EQ(input("r", f32, {1, 1, 1, 1, 1, 1, 1, 2}).rank(), 8);
  EXPECT_NO_THROW(input("b", u8, {(int64_t{1} << 31) - 1}));
  EXPECT_NO_THROW(input("f", f32, {(int64_t{1} << 29) - 1}));
}

TEST(Tensor, ConstantsKeepTheirBytes) {
  Tensor c = constant("c", {3}, std::vector<int32_t>{1, -2, 3});
  ASSERT_EQ(c.op()->data->size(), 12u);
  EXPECT_EQ((*c.op()->data)[4], 0xfe);
  EXPECT_EQ(constant("e", {0, 4}, std::vector<float>{}).op()->data->size(), 0u);
}

TEST(Tensor, AScalarHasNoAxesAndNoNameOfItsOwn) {
  Tensor s = scalar(2.5f);
  EXPECT_EQ(s.rank(), 0);
  EXPECT_TRUE(s.op()->auto_named);
}

TEST(Tensor, AComprehensionHasTheExtentsOfItsAxes) {
  Tensor y = compute("y", {m, n}, x()(m, 0) * cast(f32, Expr(n)));
  EXPECT_EQ(y.op()->kind, OpKind::compute);
  EXPECT_EQ(to_string(y.shape()), "[B, 512]");
  EXPECT_EQ(y.op()->combiner, Combiner::none);
  EXPECT_FALSE(y.op()->auto_named);
}

TEST(Tensor, AReductionOnTopIsTheOperationItself) {
  Tensor s = compute("s", {m}, sum(k, x()(m, k)));
  EXPECT_EQ(s.op()->combiner, Combiner::sum);
  ASSERT_EQ(s.op()->reduction_axes.size(), 1u);
  EXPECT_EQ(s.op()->body->op, ExprOp::read);
}

TEST(Tensor, AReductionInsideBecomesAnOperationOverTheAxesItUses) {
  Tensor y = compute("y", {m, n}, exp(sum(k, x()(m, k))) + cast(f32, Expr(n)));
  EXPECT_EQ(y.op()->combiner, Combiner::none);
  const Expr& read = y.op()->body->args[0]->args[0];
  ASSERT_EQ(read->op, ExprOp::read);
  EXPECT_EQ(read->tensor->combiner, Combiner::sum);
  EXPECT_EQ(read->tensor->name, "y_sum");
  ASSERT_EQ(read->tensor->axes.size(), 1u);
  EXPECT_EQ(read->tensor->axes[0].name(), "m");
}

TEST(Tensor, AReductionThatIsUsedTwiceIsOneOperation) {
  const Expr total = sum(k, x()(m, k));
  const Tensor y = compute("y", {m}, exp(total) * total);
  const Expr& body = y.op()->body;
  EXPECT_EQ(body->args[0]->args[0]->tensor, body->args[1]->tensor);
}

TEST(Tensor, ANamelessOperationMayBeNumberedLater) {
  Tensor y = compute("", {m}, x()(m, 3), "column");
  EXPECT_EQ(y.name(), "column");
  EXPECT_TRUE(y.op()->auto_named);
}

TEST(Tensor, IndicesAreProvedToStayInside) {
  EXPECT_NO_THROW(compute("y", {m}, x()(m, 255)));
  EXPECT_NO_THROW(compute("y", {m}, x()(size_value("B") - 1 - m, 255)));
  EXPECT_NO_THROW(compute("y", {n}, input("v", f32, {256})(Expr(n) / 2)));
  EXPECT_NO_THROW(compute("y", {n}, input("v", f32, {256})(Expr(n) % 256)));
  EXPECT_NO_THROW(compute("y", {n}, input("v", f32, {256})(min(n, 255))));
  EXPECT_NO_THROW(compute("y", {Axis("e", 0)}, input("v", f32, {3})(Axis("e") + 7)));
}

TEST(Tensor, AnUnboundedIndexIsLegalUnderAClamp) {
  Tensor at = input("at", i32, {512});
  Tensor v = input("v", f32, {256});
  EXPECT_NO_THROW(compute("y", {n}, v(max(min(at(n), 255), 0))));
}

Tensor read_at(const Expr& index) { return compute("y", {n}, input("v", f32, {512})(index)); }

class TensorRefusal : public RefusalTest {};
TEST_P(TensorRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Leaves, TensorRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"Keyword", [] { input("return", f32, {3}); }, "input 'return'"},
        {"Bf16", [] { weight("w", bf16, {3}); }, "weight w: expected a type with kernels"},
        {"NegativeShape",
         [] {
           input("x", f32, {3, -1});
         },
         "input x: axis 1: expected an extent of 0 or greater, got -1"},
        {"OverflowingShape",
         [] {
           input("x", f32, {int64_t{1} << 40, int64_t{1} << 40});
         },
         "input x: expected at most 2147483647 bytes"},
        {"OneByteTooMany", [] { input("x", f64, {int64_t{1} << 28}); }, "at most 2147483647 bytes"},
        {"RankNine",
         [] {
           input("x", f32, {1, 1, 1, 1, 1, 1, 1, 1, 1});
         },
         "expected rank 8 or less, got 9"},
        {"TooFewValues",
         [] {
           constant("c", {3}, std::vector<float>{1, 2});
         },
         "constant c: expected 3 values (12 bytes) for shape [3], got 2 (8 bytes)"},
        {"BytesOfHalfAValue",
         [] {
           constant("c", {3}, std::vector<uint16_t>{1, 2});
         },
         "constant c: expected 3 values (6 bytes) for shape [3], got 2 (4 bytes)"},
        {"TooManyValues",
         [] {
           constant("c", {}, std::vector<double>{1, 2});
         },
         "expected 1 value (8 bytes) for shape [], got 2 (16 bytes)"},
        {"NoByte", [] { constant("c", i8, {1}, {}); },
         "constant c: expected 1 value (1 byte) for shape [1], got 0 (0 bytes)"},
        {"RunTimeConstant", [] { constant("c", {B()}, std::vector<float>{1}); },
         "expected a shape of numbers, got [B]"},
        {"BoolTwo", [] { constant("c", bool_, {1}, {2}); }, "expected bool values 0 or 1, got 2"},
    }),
    refusal_name);
INSTANTIATE_TEST_SUITE_P(
    Reads, TensorRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"TooFewIndices", [] { x()(m); },
         "read of x: expected 2 indices for shape [B, 256], got 1"},
        {"TooManyIndices", [] { x()(m, k, n); }, "expected 2 indices"},
        {"FloatIndex", [] { x()(m, 1.5f); },
         "read of x, index 1: expected i32, got f32; cast it: i32(1.5f)"},
        {"UndefinedIndex", [] { x()(m, Expr()); }, "read of x, index 1: expected an expression"},
        {"UndefinedTensor", [] { Tensor().at({}); }, "read of an undefined tensor"},
        {"PastTheEnd", [] { read_at(Expr(n) + 1); },
         "y: read of v, axis 0: expected an index from 0 to 511"},
        {"BeforeTheStart", [] { read_at(Expr(n) - 1); }, "got n - 1"},
        {"ScaledPastTheEnd", [] { read_at(Expr(n) * 2); }, "got n * 2"},
        {"Unbounded", [] { read_at(input("at", i32, {512})(n)); }, "wrap it as max(min(index"},
        {"RunTimeSizeMayBeSmaller", [] { compute("y", {n}, x()(n, 0)); }, "from 0 to B - 1"},
        {"ConstantRowOfAnEmptyBatch", [] { compute("y", {n}, x()(0, n)); }, "read of x, axis 0"},
        {"WrappedCoefficient", [] { read_at(Expr(n) * 65536 * 65536 * 65536 * 65536); },
         "does not fit 64 bits"},
    }),
    refusal_name);
INSTANTIATE_TEST_SUITE_P(
    Comprehensions, TensorRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"NoBody", [] { compute("y", {n}, Expr()); }, "y: expected an expression, got none"},
        {"UnknownAxis", [] { compute("y", {m}, x()(m, k)); },
         "y: expected an axis of this operation (m), got k"},
        {"UnknownAxisAsValue", [] { compute("y", {}, cast(f32, Expr(k))); }, "it has none"},
        {"AxisTwice",
         [] {
           compute("y", {n, n}, Expr(1.0f));
         },
         "got n twice"},
        {"ReductionOverAParallelAxis", [] { compute("y", {k}, sum(k, x()(0, k))); }, "got k twice"},
        {"AxisWithoutExtent", [] { compute("y", {Axis("q")}, Expr(1.0f)); },
         "axis q: expected an extent"},
        {"BadName", [] { compute("2y", {n}, Expr(1.0f)); }, "operation '2y'"},
        {"HugeResult",
         [] {
           compute("y", {Axis("a", 1 << 20), Axis("b", 1 << 20)}, Expr(1.0f));
         },
         "y: expected at most 2147483647 bytes"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion
