// Chains with a series (exp, tanh) that derived schedules compute in parts, a block at a time.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("B"), kOther = Extent::size("C");

Tensor matrix_of(const Shape& shape, const std::string& name = "x") {
  return input(name, f32, shape);
}
Tensor vector_of(const Shape& shape, const std::string& name = "b") {
  return input(name, f32, {shape.back()});
}
Tensor log_sigmoid(const Shape& shape) {
  const Tensor e = exp(neg(matrix_of(shape)), "e");
  return neg(log(add(e, 1.0F)), "y");
}
// Behind what rows add.
Tensor gelu_of_sum(const Shape& shape) {
  return gelu(add(matrix_of(shape), vector_of(shape), "s"), Gelu::tanh, "y");
}
std::string for_v4(const Tensor& y, int cores = 1) {
  return derived(y, target_of("x86-64-v4", cores));
}

TEST(DeriveSeries, TwoSeriesHaveLoopsOfTheirOwnOverABlock) {
  const std::string rows = for_v4(log_sigmoid({640, 64}));
  EXPECT_TRUE(has(rows, "y.split(i0, i0, row, 32)\n")) << rows;
  EXPECT_TRUE(has(rows, "e.compute_at(y, i0)\n")) << rows;
  EXPECT_FALSE(has(rows, "flat")) << rows;  // full vectors as they are
  EXPECT_TRUE(has(for_v4(log_sigmoid({64, 20})), "e.fuse(i0, i1, flat)\n"));
  for (const Shape& shape : {Shape{5000}, Shape{3, 5000}, Shape{2, 3, 5000}}) {
    const std::string last = "i" + std::to_string(shape.size() - 1),
                      text = for_v4(log_sigmoid(shape));
    EXPECT_TRUE(has(text, "y.split(" + last + ", " + last + ", within, 1008, shift_inwards)\n"));
    EXPECT_TRUE(has(text, "e.compute_at(y, " + last + ")\n")) << text;
  }
  EXPECT_TRUE(has(for_v4(log_sigmoid({7})), "y.split(i0, i0, within, 7)\n"));
}

// Of a row that is longer than a block. A few vectors are computed one by one.
TEST(DeriveSeries, PiecesOfARowAreEquallyLong) {
  const auto pieces = [](const Extent& elements) {
    const std::string text = for_v4(log_sigmoid({elements})), split = "y.split(i0, i0, within, ";
    const size_t from = text.find(split);
    if (from == std::string::npos) return text;
    return text.substr(from + split.size(), text.find(")\n") - from - split.size());
  };
  EXPECT_EQ(pieces(1024), "1024");
  EXPECT_EQ(pieces(1025), "528, shift_inwards");  // 33 vectors, not twice 64
  EXPECT_EQ(pieces(1304), "656, shift_inwards");
  EXPECT_EQ(pieces(4096), "1024");
  EXPECT_EQ(pieces(100), "100");
  EXPECT_EQ(pieces(63), "16, shift_inwards");
  EXPECT_EQ(pieces(16), "16");
}

TEST(DeriveSeries, OneOfARunTimeNumberOfRowsIsInPieces) {
  const auto last = [](int64_t columns) { return for_v4(log_sigmoid({kRows, columns})); };
  const char* vectors = "y_long.split(i1, i1, within, 16, shift_inwards)\n";
  EXPECT_TRUE(has(last(63), vectors)) << last(63);
  const char* piece = "y.split(i1, i1, within, 912)\n";
  EXPECT_TRUE(has(last(912), piece)) << last(912);
}

TEST(DeriveSeries, AThirdSeriesIsAPartToo) {
  const Tensor x = matrix_of({64, 64});
  const Tensor softplus = log(add(exp(x, "e"), 1.0F), "l");
  const std::string mish = for_v4(mul(x, tanh(softplus), "y"));
  EXPECT_TRUE(has(mish, "e.compute_at(y, i0)\n") && has(mish, "l.compute_at(y, i0)\n")) << mish;
}

TEST(DeriveSeries, RowsThatFillNoVectorsAreOneBehindWhatTheyAdd) {
  for (int columns : {5, 15, 17, 65}) {
    const std::string text = for_v4(gelu_of_sum({64, columns}));
    EXPECT_TRUE(has(text, "s.compute_at(y, i0)\n") && has(text, "y.fuse(row, i1, flat)\n")) << text;
    EXPECT_FALSE(has(text, "s.fuse")) << text;  // each row has the same b
  }
  // Vectors through pixels, rows of a few elements, are full whatever they read.
  for (int columns : {2, 3, 4}) {
    const std::string text = for_v4(gelu_of_sum({64, columns}));
    EXPECT_TRUE(has(text, "y.fuse(pixel, i1, lane)\n") && !has(text, "compute_at")) << text;
  }
  EXPECT_TRUE(has(for_v4(gelu_of_sum({8, 3})), "s.compute_at(y, i0)\n")) << "too few";
  // What follows goes by rows again.
  const Shape shape = {64, 15};
  const Tensor t = tanh(add(matrix_of(shape), vector_of(shape), "s"), "t");
  const std::string text = for_v4(mul(t, vector_of(shape, "c"), "y"));
  EXPECT_TRUE(has(text, "s.compute_at(y, i0)\n") && has(text, "t.compute_at(y, i0)\n")) << text;
  EXPECT_TRUE(has(text, "t.fuse(i0, i1, flat)\n") && !has(text, "y.fuse")) << text;
  // One value for each row is no row either.
  const Tensor scaled = mul(matrix_of(shape), matrix_of({64, 1}, "r"), "s");
  EXPECT_TRUE(has(for_v4(exp(scaled, "y")), "y.fuse(row, i1, flat)\n"));
  // One of a row of one element is one value for all of them.
  const std::string column = for_v4(gelu_of_sum({366, 1}));
  EXPECT_TRUE(has(column, "s.compute_inline()\n") && !has(column, "compute_at")) << column;
}

TEST(DeriveSeries, PartsOfPixelsAreVectorsThroughSeveralOfThem) {
  const auto waits = [](const Shape& shape) {
    const Tensor s = sigmoid(add(matrix_of(shape), vector_of(shape), "s"), "t");
    return for_v4(tanh(mul(s, matrix_of(shape, "z")), "y"));
  };
  const std::string text = waits({64, 4});
  EXPECT_TRUE(has(text, "t.compute_at(y, i0)\n")) << text;
  EXPECT_TRUE(has(text, "t.fuse(pixel, i1, lane)\n") && has(text, "y.fuse(row, i1, flat)\n"));
  EXPECT_TRUE(has(waits({72, 4}), "t.split(i0, i0, pixel, 8)\n")) << waits({72, 4});
  EXPECT_TRUE(has(waits({60, 4}), "t.split(i0, i0, pixel, 8, shift_inwards)\n"));
}

// Those that say which row: where they do not lie one after another, blocks are of the last one.
TEST(DeriveSeries, SeveralAxesOfRowsAreOne) {
  const std::string text = for_v4(gelu_of_sum({4, 5, 15}));
  EXPECT_TRUE(has(text, "y.fuse(i0, i1, rows)\ny.split(rows, rows, row, 20)\n")) << text;
  EXPECT_TRUE(has(text, "s.fuse(i0, i1, rows)\n") && has(text, "s.compute_at(y, rows)\n"));
  EXPECT_TRUE(has(for_v4(gelu_of_sum({4, 500, 15})), "y.split(i1, i1, row, 125)\n"));
  const Axis a("a", 4), b("b", 5), c("c", 15);
  const Tensor apart = input("t", f32, {4, 9, 15});
  const Tensor sum = compute("s", {a, b, c}, apart(a, b, c) + input("b", f32, {15})(c));
  EXPECT_TRUE(has(for_v4(gelu(sum, Gelu::tanh, "y")), "y.split(i1, i1, row, 5)\n"));
  // Pixels, too.
  const std::string pixels = for_v4(relu(add(matrix_of({30, 3, 4}), vector_of({4}), "s"), "y"));
  EXPECT_TRUE(has(pixels, "y.fuse(i0, i1, rows)\n") && has(pixels, "y.fuse(pixel, i2, lane)\n"));
}

TEST(DeriveSeries, BlocksAreAllRowsOrSoManyThatFewAreComputedAgain) {
  const auto block = [](int rows, int columns) {
    const std::string text = for_v4(gelu_of_sum({rows, columns})), split = "y.split(i0, i0, row, ";
    const size_t from = text.find(split);
    if (from == std::string::npos) return std::string();
    return text.substr(from + split.size(), text.find(")\n") - from - split.size());
  };
  EXPECT_EQ(block(200, 17), "200");                 // half of the first cache holds them
  EXPECT_EQ(block(1000, 17), "100");                // a part of them
  EXPECT_EQ(block(997, 17), "111, shift_inwards");  // nine times, of which two rows are again
  EXPECT_EQ(block(67, 200), "");                    // too many again
}

TEST(DeriveSeries, ThreadsShareTheBlocks) {
  EXPECT_TRUE(has(for_v4(gelu_of_sum({50000, 15}), 2), "y.parallel(i0)\n"));
  EXPECT_TRUE(has(for_v4(log_sigmoid({500000}), 2), "y.parallel(i0)\n"));
  EXPECT_FALSE(has(for_v4(gelu_of_sum({50, 15}), 2), "parallel"));
  EXPECT_TRUE(has(for_v4(gelu_of_sum({500, 1000, 15}), 2), "y.parallel(rows)\n"));
}

// Behind a norm. Of tasks of 511 rows no number near 64 but 73 is a part; of a prime number of rows
// the last tile has loops of its own.
TEST(DeriveSeries, RowsOfThreadsAreOneWhateverTheirNumber) {
  const auto text_of = [](int64_t rows) {
    const Tensor x = matrix_of({rows, 18});
    const Tensor norm = layer_norm(x, vector_of({18}, "scale"), vector_of({18}, "bias"));
    return for_v4(gelu(norm, Gelu::tanh, "y"), 2);
  };
  const std::string flat = "y.fuse(row, i1, flat)\n";
  const std::string divided = text_of(72051), prime = text_of(72053);
  EXPECT_TRUE(has(divided, "y.split(i0, i0, row, 73)\n" + flat)) << divided;
  EXPECT_TRUE(has(prime, "y.split(i0, i0, row, 64, guard)\ny.partition(i0)\n" + flat)) << prime;
}

// As many rows at a time as a call has, or fewer: the last ones are computed with others again.
TEST(DeriveSeries, OfARunTimeNumberOfRowsSomeAreABlock) {
  const std::string text = for_v4(gelu_of_sum({kRows, 15}));
  for (const char* line :
       {".alternative(B >= 256, y_rows32)\n", ".alternative(B >= 24, y_rows8)\n",
        "y_rows32.split(i0, i0, row, 32, shift_inwards)\n", "y_rows32.fuse(row, i1, flat)\n",
        "s_rows32.compute_at(y_rows32, i0)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  EXPECT_TRUE(has(for_v4(log_sigmoid({2 * kRows, 64})), ".alternative(2 * B >= 256, y_rows32)\n"));
  // Of fewer each vector goes through all parts.
  EXPECT_TRUE(has(text, "\ny.split(i1, i1, lane, 16, predicate)\n")) << text;
  const std::string long_rows = for_v4(gelu_of_sum({kRows, 23}));
  EXPECT_TRUE(has(long_rows, "\ny_long.split(i1, i1, within, 16, shift_inwards)\n")) << long_rows;
  EXPECT_TRUE(has(long_rows, "\ns.compute_at(y_long, i1)\n")) << long_rows;
  // Several axes of rows are one where the run-time size is the first.
  EXPECT_TRUE(has(for_v4(gelu_of_sum({kRows, 7, 15})), ".alternative(7 * B >= 256, y_rows32)\n"));
  EXPECT_TRUE(has(for_v4(gelu_of_sum({7, kRows, 15})), "y_rows32.split(i1, i1, row, 32, "));
  const Tensor turned = transpose(gelu_of_sum({kRows, 15}), {1, 0}, "z");
  EXPECT_FALSE(has(for_v4(turned), "_rows32")) << "what others read has no ways";
}

TEST(DeriveSeries, LeavesWhatIsBestInOneExpression) {
  const Shape shape = {64, 15}, full = {64, 64};
  const auto sum_of = [](const Shape& s) { return add(matrix_of(s), vector_of(s), "s"); };
  const Tensor x = matrix_of(shape), s = sum_of(shape);
  for (const Tensor& y : {
           gelu_of_sum(full), gelu_of_sum({64, 257}),      // few lanes are empty, or none
           relu(s, "y"),                                   // no series
           tanh(add(x, matrix_of(shape, "z"), "s"), "y"),  // flat as it is
           gelu_of_sum({kRows - kOther, 15}),              // a difference may be less than it seems
           mul(tanh(s), vector_of(shape, "c") * s, "y")    // more is read than one member
       }) {
    EXPECT_FALSE(has(for_v4(y), "compute_at")) << for_v4(y);
  }
}

TEST(DeriveSeries, LeavesChainsThatAreNotOfOneShapeAndType) {
  const Axis i("i", 64), k("k", 40);
  const Tensor x = input("x", f32, {64, 40}), across = input("x", f32, {40, 64});
  const Tensor wide = input("w", f32, {64, 80}), bytes = input("x", u8, {64, 40});
  const auto chain = [&](const Expr& e, DType type = f32) {
    const Tensor y = log(add(compute("e", {i, k}, exp(e)), 1.0F), "l");
    return has(for_v4(type == f32 ? y : cast(y, type)), "e.compute_at");
  };
  EXPECT_TRUE(chain(x(i, k)));
  EXPECT_TRUE(chain(cast(f32, bytes(i, k))));
  EXPECT_TRUE(chain(wide(i, 3) * x(i, k)));
  EXPECT_TRUE(chain(across(3, i)));
  EXPECT_FALSE(chain(x(i, k), u8));
  EXPECT_FALSE(chain(across(k, i)));
  EXPECT_FALSE(chain(wide(i, 2 * k)));
  EXPECT_FALSE(chain(wide(i, 79 - k)));
  EXPECT_FALSE(chain(wide(i, k + 1)));
  EXPECT_FALSE(chain(across(k, 3)));
  const Tensor in_f64 = compute("e", {i, k}, exp(cast(f64, x(i, k))));
  const std::string of_two = for_v4(log(add(cast(in_f64, f32), 1.0F), "l"));
  EXPECT_FALSE(has(of_two, "e.compute_at")) << of_two;
}

TEST(DeriveSeries, ComputesWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (int cores : {1, 2}) {
      const Target target = target_of(level, cores);
      for (const Shape& shape :
           {Shape{1, 1}, Shape{1, 7}, Shape{3, 5}, Shape{67, 15}, Shape{131, 33}, Shape{2, 1030},
            Shape{3, 5, 9}, Shape{40, 3}, Shape{9, 5, 4}}) {
        EXPECT_TRUE(derives(Graph(gelu_of_sum(shape)), target, {0}, 1e-5));
        EXPECT_TRUE(derives(Graph(log_sigmoid(shape)), target, {0}, 1e-5));
        const Tensor t = tanh(matrix_of(shape) * vector_of(shape));
        EXPECT_TRUE(derives(Graph(t * vector_of(shape, "c")), target, {0}, 1e-5));
      }
      for (const Shape& shape : {Shape{kRows, 5}, Shape{kRows, 33}, Shape{2 * kRows, 16},
                                 Shape{kRows, 3}, Shape{kRows, 3, 5}, Shape{3, kRows, 4}}) {
        const std::vector<int64_t> sizes = {0, 1, 2, 3, 5, 11, 31, 32, 39, 64, 261};
        EXPECT_TRUE(derives(Graph(gelu_of_sum(shape)), target, sizes, 1e-5));
        EXPECT_TRUE(derives(Graph(log_sigmoid(shape)), target, sizes, 1e-5));
        const Tensor t = tanh(sigmoid(matrix_of(shape) + vector_of(shape)) * vector_of(shape, "c"));
        EXPECT_TRUE(derives(Graph(t), target, sizes, 1e-5));
      }
      EXPECT_TRUE(derives(Graph(log_sigmoid({0})), target, {0}));
      EXPECT_TRUE(derives(Graph(log_sigmoid({2500})), target, {0}, 1e-5));
    }
  }
}

}  // namespace
}  // namespace emulsion
