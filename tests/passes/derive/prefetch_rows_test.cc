// Of which groups of rows the next rows are asked for ahead. What is derived is run against the
// graph, too.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

// A target whose caches are so small that small graphs do not fit.
Target target_of(const char* text) {
  Target target = Target::parse(text);
  target.l1_bytes = 512;
  target.l2_bytes = 2048;
  return target;
}

const Target kTarget = target_of("x86-64-v3,cores=1");
const Extent kRows = Extent::size("R");

std::string derived_of(const Tensor& y, const Target& target = kTarget) {
  EXPECT_TRUE(derives(Graph(y), target, {0, 1, 3, 17}, 1e-5));
  return derived(Graph(y), target);
}

Tensor rows(const Extent& count, const Extent& columns, const std::string& name = "x") {
  return input(name, f32, {count, columns});
}

TEST(PrefetchRows, OfASoftmax) {
  EXPECT_TRUE(has(derived_of(softmax(rows(40, 32), -1, "y")), "\ny.prefetch(x, i0, 1)\n"));
  EXPECT_TRUE(has(derived_of(softmax(rows(kRows, 32), -1, "y")), "\ny.prefetch(x, i0, 1)\n"));
}

// In front of the conditions on sizes, for the loops of both sides.
TEST(PrefetchRows, WhereThreadsDependOnTheSize) {
  const Target threads = target_of("x86-64-v4,cores=4");
  const std::string text = derived_of(softmax(rows(kRows, 32), -1, "y"), threads);
  ASSERT_TRUE(has(text, "y.specialize(")) << text;
  EXPECT_LT(text.find("\ny.prefetch(x, i0, 1)\n"), text.find("y.specialize(")) << text;
}

TEST(PrefetchRows, OfEachInput) {
  const Tensor x = rows(40, 32), z = rows(40, 32, "z"), bias = input("bias", f32, {32});
  const std::string text = derived_of(gelu(layer_norm(x, bias, bias) + z));
  EXPECT_TRUE(has(text, ".prefetch(x, i0, 1)\n")) << text;
  EXPECT_TRUE(has(text, ".prefetch(z, i0, 1)\n")) << text;
  EXPECT_FALSE(has(text, ".prefetch(bias")) << text;  // every row reads the same
}

// What is read in the place of an operation that is computed there counts too.
TEST(PrefetchRows, ThroughWhatIsInline) {
  const std::string text = derived_of(softmax(rows(40, 32) + 1.0f, -1, "y"));
  EXPECT_TRUE(has(text, "\ny.prefetch(x, i0, 1)\n")) << text;
}

TEST(PrefetchRows, NotWhereNothingTakesLong) {
  const Tensor bias = input("bias", f32, {32});
  EXPECT_FALSE(has(derived_of(layer_norm(rows(40, 32), bias, bias)), ".prefetch("));
  EXPECT_FALSE(has(derived_of(exp(rows(40, 32))), ".prefetch("));
  // An exponential of each row is little.
  const Axis i("i", 40), c("c", 32), r("r", 32);
  const Tensor x = rows(40, 32);
  const Tensor sums = compute("sums", {i}, sum(r, x(i, r)));
  const Tensor factor = compute("factor", {i}, exp(sums(i) * 0.01f));
  EXPECT_FALSE(has(derived_of(compute("y", {i, c}, x(i, c) * factor(i))), ".prefetch("));
}

TEST(PrefetchRows, NotWhatACacheHolds) {
  EXPECT_FALSE(has(derived_of(softmax(rows(4, 32))), ".prefetch("));      // all of it
  EXPECT_FALSE(has(derived_of(softmax(rows(40, 400))), ".prefetch("));    // no row
  EXPECT_FALSE(has(derived_of(softmax(rows(40, kRows))), ".prefetch("));  // not known
}

// The reader loads it from somewhere else.
TEST(PrefetchRows, NotOfWhatIsReadThrough) {
  const Tensor moved = reshape(transpose(rows(32, 40), {1, 0}), {20, 64});
  EXPECT_FALSE(has(derived_of(softmax(moved, -1, "y")), ".prefetch("));
}

TEST(PrefetchRows, NotOfWeightsAndResults) {
  const Tensor w = weight("w", f32, {32, 32}), x = rows(40, 32);
  EXPECT_FALSE(has(derived_of(softmax(weight("x", f32, {40, 32}))), ".prefetch("));
  EXPECT_FALSE(has(derived_of(softmax(matmul(x, w))), ".prefetch(matmul"));
}

}  // namespace
}  // namespace emulsion
