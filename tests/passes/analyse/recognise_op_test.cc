#include "passes/analyse/recognise_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Axis m("m", 4), n("n", 8), k("k", 6), i("i", 4), j("j", 4);

OpClass class_of(const Tensor& tensor) { return classify(*tensor.op()); }

Tensor lhs() { return input("x", f32, {4, 6}); }
Tensor rhs() { return weight("w", f32, {6, 8}); }

// Why a comprehension is no sum of products, and whether it is a contraction of another body.
std::string why_no_product(const Tensor& tensor, bool is_contraction = false) {
  std::string reason;
  EXPECT_FALSE(match_product(*tensor.op(), &reason));
  EXPECT_EQ(match_contraction(*tensor.op()).has_value(), is_contraction);
  return reason;
}

// Why a comprehension is no contraction. Each of these is a reduction instead.
std::string why_not(const Tensor& tensor) {
  std::string reason;
  EXPECT_FALSE(match_contraction(*tensor.op(), &reason));
  EXPECT_EQ(class_of(tensor), OpClass::reduction);
  return reason;
}

// --- contractions -------------------------------------------------------------------------------

TEST(RecogniseOp, MatmulByHandIsAContraction) {
  Tensor x = lhs(), w = rhs();
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  auto found = match_contraction(*mm.op());
  ASSERT_TRUE(found);
  EXPECT_EQ(class_of(mm), OpClass::contraction);
  EXPECT_EQ(found->a->tensor, x.op());
  EXPECT_EQ(found->b->tensor, w.op());
  EXPECT_THAT(found->row_axes, ElementsAre("m"));
  EXPECT_THAT(found->column_axes, ElementsAre("n"));
  EXPECT_THAT(found->batch_axes, IsEmpty());
  EXPECT_THAT(found->reduction_axes, ElementsAre("k"));
}

TEST(RecogniseOp, AGroupedConvolutionIsAContraction) {
  Tensor x = input("x", f32, {1, 5, 5, 4}), w = weight("w", f32, {3, 3, 2, 6});
  Conv2dOptions options;
  options.groups = 2;
  Tensor y = conv2d(x, w, options, "y");
  const auto found = match_contraction(*y.op());
  ASSERT_TRUE(found);
  EXPECT_EQ(class_of(y), OpClass::contraction);
  EXPECT_TRUE(found->divides);
  EXPECT_EQ(found->a->tensor, x.op());
  EXPECT_THAT(found->row_axes, ElementsAre("n", "y", "x"));
  EXPECT_THAT(found->column_axes, IsEmpty());
  EXPECT_THAT(found->batch_axes, ElementsAre("o"));
  EXPECT_FALSE(match_contraction(*conv2d(x, weight("v", f32, {3, 3, 4, 6})).op())->divides);
}

TEST(RecogniseOp, FactorsMayStandTheOtherWayRound) {
  Tensor x = lhs(), w = rhs();
  Tensor mm = compute("mm", {m, n}, sum(k, w(k, n) * x(m, k)));
  auto found = match_contraction(*mm.op());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a->tensor, x.op());
  EXPECT_EQ(found->b->tensor, w.op());
}

TEST(RecogniseOp, TransposedOutputSwapsTheFactors) {
  Tensor x = lhs(), w = rhs();
  Tensor mm = compute("mm", {n, m}, sum(k, x(m, k) * w(k, n)));
  auto found = match_contraction(*mm.op());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a->tensor, w.op());
  EXPECT_THAT(found->row_axes, ElementsAre("n"));
  EXPECT_THAT(found->column_axes, ElementsAre("m"));
}

TEST(RecogniseOp, MatmulOperatorIsAContraction) {
  auto found = match_contraction(*matmul(lhs(), rhs()).op());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a->tensor->name, "x");
  EXPECT_EQ(found->row_axes.size(), 1u);
  EXPECT_EQ(found->column_axes.size(), 1u);
}

TEST(RecogniseOp, BatchedMatmulHasABatchAxis) {
  Tensor x = input("x", f32, {3, 4, 6}), w = input("w", f32, {3, 6, 8});
  Axis b("b", 3);
  auto found = match_contraction(*compute("mm", {b, m, n}, sum(k, x(b, m, k) * w(b, k, n))).op());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->batch_axes, ElementsAre("b"));
  EXPECT_THAT(found->row_axes, ElementsAre("m"));
  EXPECT_THAT(found->column_axes, ElementsAre("n"));
}

TEST(RecogniseOp, BatchOfOneFactorIsARowAxis) {
  Tensor x = input("x", f32, {3, 4, 6}), w = rhs();
  Axis b("b", 3);
  auto found = match_contraction(*compute("mm", {b, m, n}, sum(k, x(b, m, k) * w(k, n))).op());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->row_axes, ElementsAre("b", "m"));
  EXPECT_THAT(found->batch_axes, IsEmpty());
}

TEST(RecogniseOp, MatrixTimesVectorHasColumnsOnly) {
  Tensor x = lhs(), v = input("v", f32, {6});
  auto found = match_contraction(*compute("mv", {m}, sum(k, x(m, k) * v(k))).op());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->b->tensor, x.op());
  EXPECT_THAT(found->row_axes, IsEmpty());
  EXPECT_THAT(found->column_axes, ElementsAre("m"));
}

TEST(RecogniseOp, FactorsStayAsWrittenWhenTheLastAxisIsABatchAxis) {
  Tensor x = input("x", f32, {4, 6, 8}), w = rhs();
  auto found = match_contraction(*compute("y", {m, n}, sum(k, x(m, k, n) * w(k, n))).op());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a->tensor, x.op());
  EXPECT_THAT(found->row_axes, ElementsAre("m"));
  EXPECT_THAT(found->column_axes, IsEmpty());
  EXPECT_THAT(found->batch_axes, ElementsAre("n"));
}

TEST(RecogniseOp, TwoReductionAxesAreOneContraction) {
  Tensor x = input("x", f32, {4, 2, 3}), w = input("w", f32, {2, 3, 8});
  Axis p("p", 2), q("q", 3);
  auto found = match_contraction(*compute("mm", {m, n}, sum({p, q}, x(m, p, q) * w(p, q, n))).op());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->reduction_axes, ElementsAre("p", "q"));
}

TEST(RecogniseOp, ConvolutionIsAContraction) {
  Tensor x = input("x", f32, {2, 9, 9, 3}), w = weight("w", f32, {3, 3, 3, 5});
  Conv2dOptions options;
  options.stride_h = options.stride_w = 2;
  Tensor y = conv2d(x, w, options);
  auto found = match_contraction(*y.op());
  ASSERT_TRUE(found);
  const std::vector<Axis>& axes = y.op()->axes;
  EXPECT_EQ(found->a->tensor, x.op());
  EXPECT_THAT(found->row_axes, ElementsAre(axes[0].name(), axes[1].name(), axes[2].name()));
  EXPECT_THAT(found->column_axes, ElementsAre(axes[3].name()));
  EXPECT_THAT(found->batch_axes, IsEmpty());
  EXPECT_EQ(found->reduction_axes.size(), 3u);
}

TEST(RecogniseOp, CastsAroundReadsAreAllowed) {
  Tensor x = lhs(), w = rhs();
  auto found = match_contraction(
      *compute("mm", {m, n}, sum(k, cast(f64, x(m, k)) * cast(f64, w(k, n)))).op());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a->op, ExprOp::read);
  EXPECT_EQ(found->a->tensor, x.op());
}

TEST(RecogniseOp, GramMatrixReadsOneTensorTwice) {
  Tensor x = lhs();
  Axis other("other", 4);
  auto found = match_contraction(*compute("gram", {m, other}, sum(k, x(m, k) * x(other, k))).op());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->row_axes, ElementsAre("m"));
  EXPECT_THAT(found->column_axes, ElementsAre("other"));
}

TEST(RecogniseOp, EmptySumIsStillAContraction) {
  Tensor x = input("x", f32, {4, 0}), w = input("w", f32, {0, 8});
  Axis none("none", 0);
  EXPECT_EQ(class_of(compute("mm", {m, n}, sum(none, x(m, none) * w(none, n)))),
            OpClass::contraction);
}

TEST(RecogniseOp, RunTimeExtentsDoNotMatter) {
  Extent batch = Extent::size("B");
  Tensor x = input("x", f32, {batch, 6}), w = rhs();
  Axis b("b", batch);
  EXPECT_EQ(class_of(compute("mm", {b, n}, sum(k, x(b, k) * w(k, n)))), OpClass::contraction);
}

TEST(RecogniseOp, TheNameDoesNotMatter) {
  Tensor x = lhs(), w = rhs();
  EXPECT_EQ(class_of(compute("relu", {m, n}, sum(k, x(m, k) * w(k, n)))), OpClass::contraction);
  EXPECT_EQ(class_of(compute("matmul", {m, k}, max(x(m, k), 0.0f))), OpClass::elementwise);
}

// --- contractions of other bodies ---------------------------------------------------------------

TEST(RecogniseOp, DistancesOfAllPairsAreAContraction) {
  Tensor x = input("x", f32, {4, 6}), y = input("y", f32, {8, 6});
  const Expr apart = x(m, k) - y(n, k);
  for (const Tensor& distance :
       {compute("d", {m, n}, sum(k, apart * apart)), compute("d", {m, n}, sum(k, abs(apart))),
        compute("d", {m, n}, reduce_max(k, abs(apart))),
        compute("d", {m, n}, sum(k, (x(m, k) - y(n, k)) * (x(m, k) - y(n, k)))),
        compute("d", {m, n}, reduce_min(k, x(m, k) + y(n, k)))}) {
    auto found = match_contraction(*distance.op());
    ASSERT_TRUE(found);
    EXPECT_FALSE(match_product(*distance.op()));
    EXPECT_EQ(class_of(distance), OpClass::contraction);
    EXPECT_EQ(found->a->tensor, x.op());
    EXPECT_EQ(found->b->tensor, y.op());
    EXPECT_THAT(found->row_axes, ElementsAre("m"));
    EXPECT_THAT(found->column_axes, ElementsAre("n"));
    EXPECT_THAT(found->reduction_axes, ElementsAre("k"));
  }
}

TEST(RecogniseOp, APairOfOneTensorIsTwoOperands) {
  Tensor x = lhs();
  const Axis other("other", 4);
  auto found =
      match_contraction(*compute("d", {m, other}, reduce_min(k, abs(x(m, k) - x(other, k)))).op());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->row_axes, ElementsAre("m"));
  EXPECT_THAT(found->column_axes, ElementsAre("other"));
}

// --- several operands
// -----------------------------------------------------------------------------

TEST(RecogniseSeveral, OneHasTheRowsAndOneTheColumns) {
  const Tensor x = lhs(), w = rhs(), c = input("c", f32, {6}), d = input("d", f32, {8});
  const Tensor of_rows = input("r", f32, {4});
  // In whatever order they are written.
  for (const Expr& body : {c(k) * d(n) * w(k, n) * of_rows(m) * x(m, k),
                           x(m, k) * of_rows(m) * w(k, n) * d(n) * c(k)}) {
    const Tensor y = compute("y", {m, n}, sum(k, body));
    const auto found = match_several(*y.op());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->a->tensor, x.op());
    EXPECT_EQ(found->b->tensor, w.op());
    EXPECT_THAT(found->row_axes, ElementsAre("m"));
    EXPECT_THAT(found->column_axes, ElementsAre("n"));
    EXPECT_EQ(found->others.size(), 3U);
    EXPECT_FALSE(match_contraction(*y.op()));
    EXPECT_EQ(class_of(y), OpClass::reduction);
  }
}

TEST(RecogniseSeveral, WeightedDistancesOfBatches) {
  const Axis b("b", 3);
  const Tensor x = input("x", f32, {3, 4, 6}), z = input("z", f32, {3, 8, 6});
  const Tensor c = input("c", f32, {3, 6});
  const Expr apart = x(b, m, k) - z(b, n, k);
  const auto found = match_several(*compute("y", {b, m, n}, sum(k, apart * apart * c(b, k))).op());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->batch_axes, ElementsAre("b"));
  ASSERT_EQ(found->others.size(), 1U);
  EXPECT_EQ(found->others[0]->tensor, c.op());
}

std::string why_not_several(const Tensor& tensor) {
  std::string reason;
  EXPECT_FALSE(match_several(*tensor.op(), &reason));
  return reason;
}

TEST(NotSeveral, WhenThereAreTwoOrNoneIsCombined) {
  const Tensor x = lhs(), w = rhs();
  EXPECT_EQ(why_not_several(matmul(x, w)), "expected a body of at least three operands, got 2");
  EXPECT_EQ(why_not_several(relu(x)), "expected a combiner, got none");
}

TEST(NotSeveral, WhenNoneHasTheRowsOrTheColumns) {
  const Tensor x = lhs(), c = input("c", f32, {6}), d = input("d", f32, {6});
  const std::string expected =
      "expected one operand of the rows and one of the columns, with all reduction axes";
  EXPECT_EQ(why_not_several(compute("y", {m}, sum(k, x(m, k) * c(k) * d(k)))), expected);
  // n is in no operand of all steps.
  const Tensor of_columns = input("r", f32, {8});
  EXPECT_EQ(why_not_several(compute("y", {m, n}, sum(k, x(m, k) * c(k) * of_columns(n)))),
            expected);
  const Tensor nothing = compute("y", {}, sum(k, c(k) * d(k) * input("e", f32, {6})(k)));
  EXPECT_EQ(why_not_several(nothing), "expected rows and columns, got a single value");
}

TEST(NotSeveral, WhenAnotherOperandHasRowsAndColumns) {
  const Tensor x = lhs(), w = rhs(), mask = input("mask", f32, {4, 8});
  EXPECT_EQ(why_not_several(compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * mask(m, n)))),
            "expected no operand of rows and columns, got mask[m, n]");
}

TEST(NotSeveral, WhenTheBodyTakesLongOrAnIndexIsNotAffine) {
  const Tensor x = lhs(), w = rhs(), c = input("c", f32, {36});
  EXPECT_THAT(why_not_several(compute("y", {m, n}, sum(k, exp(x(m, k)) * w(k, n) * c(k)))),
              HasSubstr("got exp"));
  EXPECT_THAT(why_not_several(compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * c(k % 4)))),
              HasSubstr("expected affine indices"));
  EXPECT_THAT(why_not_several(compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * c(n / 2)))),
              HasSubstr("expected affine indices"));
}

TEST(RecogniseOp, AProductIsAContractionOfTheSameRoles) {
  const Axis b("b", 3);
  Tensor x = input("x", f32, {3, 4, 6}), w = input("w", f32, {3, 6, 8});
  const Tensor mm = compute("mm", {b, m, n}, sum(k, x(b, m, k) * w(b, k, n)));
  const auto product = match_product(*mm.op()), any = match_contraction(*mm.op());
  ASSERT_TRUE(product && any);
  EXPECT_TRUE(equal(product->a, any->a) && equal(product->b, any->b));
  EXPECT_EQ(product->row_axes, any->row_axes);
  EXPECT_EQ(product->column_axes, any->column_axes);
  EXPECT_EQ(product->batch_axes, any->batch_axes);
  EXPECT_EQ(product->reduction_axes, any->reduction_axes);
}

// --- no products, each by its reason ------------------------------------------------------------

TEST(NoProduct, WhenTheCombinerIsNotSum) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_no_product(compute("y", {m, n}, reduce_max(k, x(m, k) * w(k, n))), true),
              HasSubstr("expected the combiner sum, got max"));
}

TEST(NoProduct, WhenThereIsNoCombiner) {
  Tensor x = input("x", f32, {4, 8});
  EXPECT_THAT(why_no_product(compute("y", {m, n}, x(m, n) * x(m, n))), HasSubstr("got none"));
}

TEST(NoProduct, WhenTheBodyIsNone) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_no_product(compute("y", {m, n}, sum(k, x(m, k) + w(k, n))), true),
              HasSubstr("expected a sum of products, got a sum of add"));
  EXPECT_THAT(why_no_product(compute("y", {m}, sum(k, x(m, k)))), HasSubstr("got a sum of read"));
}

TEST(NoProduct, WhenTheProductIsNegated) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_no_product(compute("y", {m, n}, sum(k, -(x(m, k) * w(k, n)))), true),
              HasSubstr("got a sum of neg"));
}

TEST(NoProduct, WhenThereAreThreeFactors) {
  Tensor x = lhs(), w = rhs(), s = input("s", f32, {6});
  EXPECT_THAT(why_no_product(compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * s(k)))),
              HasSubstr("exactly two reads, got mul for factor 1"));
}

TEST(NoProduct, WhenAFactorIsAConstantOrComputed) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_no_product(compute("y", {m}, sum(k, x(m, k) * 2.0f))),
              HasSubstr("got constant for factor 2"));
  EXPECT_THAT(why_no_product(compute("y", {m, n}, sum(k, x(m, k) * exp(w(k, n))))),
              HasSubstr("got exp for factor 2"));
}

TEST(NoProduct, WhenAnIndexIsNotAffine) {
  Tensor x = input("x", f32, {4, 3}), w = rhs();
  EXPECT_THAT(why_no_product(compute("y", {m, n}, sum(k, x(m, k / 2) * w(k, n)))),
              HasSubstr("expected affine indices, got x["));
}

// --- no contractions, each by its reason --------------------------------------------------------

TEST(NoContraction, WhenThereIsNoCombiner) {
  Tensor x = input("x", f32, {4, 8});
  std::string reason;
  EXPECT_FALSE(match_contraction(*compute("y", {m, n}, x(m, n) * x(m, n)).op(), &reason));
  EXPECT_THAT(reason, HasSubstr("expected a combiner, got none"));
}

TEST(NoContraction, WhenThereIsOneOperandOrMoreThanTwo) {
  Tensor x = lhs(), w = rhs(), s = input("s", f32, {6});
  EXPECT_THAT(why_not(compute("y", {m}, sum(k, x(m, k)))),
              HasSubstr("expected a body of two operands, got 1"));
  EXPECT_THAT(why_not(compute("y", {m}, sum(k, x(m, k) * 2.0f))), HasSubstr("got 1"));
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * s(k)))),
              HasSubstr("expected a body of two operands, got 3"));
}

TEST(NoContraction, WhenTheBodyTakesLong) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m, k) * exp(w(k, n))))),
              HasSubstr("expected a body of sums, differences, products, minima, maxima and signs, "
                        "got exp"));
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, select(x(m, k) > 0, w(k, n), 0.0f)))),
              HasSubstr("got select"));
}

TEST(NoContraction, WhenAValueBetweenHasAnotherType) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, cast(f64, x(m, k) * w(k, n))))),
              HasSubstr("got cast"));
}

TEST(NoContraction, WhenTheBodyIsLong) {
  Tensor x = lhs(), w = rhs();
  Expr body = x(m, k);
  for (int step = 0; step < 6; ++step) body = body * w(k, n) + static_cast<float>(step);
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, body))),
              HasSubstr("expected a body of at most 12 operations, got more"));
}

TEST(NoContraction, WhenAnIndexIsNotAffine) {
  Tensor x = input("x", f32, {4, 3}), w = rhs();
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m, k / 2) * w(k, n)))),
              HasSubstr("expected affine indices, got x["));
}

TEST(NoContraction, WhenAnIndexIsRead) {
  Tensor x = lhs(), w = rhs(), rows = input("rows", i32, {4});
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(max(min(rows(m), 3), 0), k) * w(k, n)))),
              HasSubstr("expected affine indices"));
}

TEST(NoContraction, WhenAReductionAxisIsInOneOperandOnly) {
  Tensor x = input("x", f32, {4}), w = rhs();
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m) * w(k, n)))),
              HasSubstr("expected both operands to use reduction axis k"));
  Tensor y = lhs(), v = input("v", f32, {8});
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, abs(y(m, k) - v(n))))),
              HasSubstr("expected both operands to use reduction axis k"));
}

TEST(NoContraction, WhenAnAxisIsInNoOperand) {
  Tensor x = lhs(), w = rhs();
  Axis z("z", 2);
  EXPECT_THAT(why_not(compute("y", {z, m, n}, sum(k, x(m, k) * w(k, n)))),
              HasSubstr("expected an operand to use axis z"));
}

TEST(NoContraction, WhenNoElementIsUsedTwice) {
  Tensor x = lhs(), v = input("v", f32, {6}), u = input("u", f32, {6});
  EXPECT_THAT(why_not(compute("squares", {m}, sum(k, x(m, k) * x(m, k)))),
              HasSubstr("expected a body of two operands, got 1"));
  EXPECT_THAT(why_not(compute("dot", {}, sum(k, u(k) * v(k)))),
              HasSubstr("expected an axis that one operand uses and the other does not"));
}

TEST(NoContraction, WhenAQuotientIsOfWhatOneOperandHasAlone) {
  Tensor x = lhs(), w = rhs();
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m / 2, k) * w(k, n)))),
              HasSubstr("expected affine indices, got x[m / 2, k]"));
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m, k) * w(k, n / 2)))),
              HasSubstr("expected affine indices, got w[k, n / 2]"));
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m, k / 2) * w(k / 2, n)))),
              HasSubstr("expected affine indices, got x["));
}

TEST(NoContraction, WhenAnIndexTakesARemainder) {
  Tensor x = lhs(), w = input("w", f32, {4, 6, 8});
  EXPECT_THAT(why_not(compute("y", {m, n}, sum(k, x(m % 2, k) * w(m, k, n)))),
              HasSubstr("expected affine indices, got x[m % 2, k]"));
}

TEST(NoProduct, WhenAnIndexTakesAQuotient) {
  Tensor x = input("x", f32, {1, 5, 5, 4}), w = weight("w", f32, {3, 3, 2, 6});
  Conv2dOptions options;
  options.groups = 2;
  EXPECT_THAT(why_no_product(conv2d(x, w, options), true), HasSubstr("expected affine indices"));
}

// --- the rest -----------------------------------------------------------------------------------

TEST(RecogniseOp, ReductionsAreReductions) {
  Tensor x = lhs();
  EXPECT_EQ(class_of(sum(x, {1})), OpClass::reduction);
  EXPECT_EQ(class_of(reduce_max(x, {0})), OpClass::reduction);
  EXPECT_EQ(class_of(compute("p", {m}, product({k}, x(m, k)))), OpClass::reduction);
}

TEST(RecogniseOp, AnInputHasNoClass) {
  EXPECT_THROW(classify(*lhs().op()), InternalError);
  EXPECT_THROW(match_contraction(*lhs().op()), InternalError);
}

TEST(RecogniseOp, ClassesPrint) {
  EXPECT_EQ(to_string(OpClass::elementwise), "elementwise");
  EXPECT_EQ(to_string(OpClass::contraction), "contraction");
  EXPECT_EQ(to_string(OpClass::reduction), "reduction");
  EXPECT_EQ(to_string(OpClass::data_movement), "data movement");
}

}  // namespace
}  // namespace emulsion
