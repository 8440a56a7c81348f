// Sums that wait in registers for what alone reads them: which, which not and why.

#include "passes/derive/waiting_sums.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Axis i("i", 64), j("j", 32), k("k", 5);

Tensor x() { return input("x", f32, {5, 64, 32}); }
// s[i, j] = sum of x[k, i, j] over k: vectors along j.
Tensor sums() { return compute("s", {i, j}, sum(k, x()(k, i, j))); }

// Why s of a graph cannot wait for y; "" when it can.
std::string why_not(const Tensor& y, const Target& target = kV3) {
  const Graph grouped = fuse_epilogues(Graph(y));
  return why_not_wait(*op_of(grouped, "s"), *op_of(grouped, "y"), target).value_or("");
}
size_t count(const Graph& graph) { return waiting_sums(fuse_epilogues(graph), kV3).size(); }

TEST(WaitingSums, ForWhatReadsThemInPlace) {
  const Tensor s = sums();
  EXPECT_EQ(why_not(compute("y", {i, j}, s(i, j) / 5.0F)), "");
  EXPECT_EQ(why_not(exp(div(s, 5.0F), "y")), "") << "a group";
  const Graph grouped = fuse_epilogues(Graph(exp(div(s, 5.0F), "y")));
  const std::vector<WaitingSums> found = waiting_sums(grouped, kV3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].sums, (std::vector<const Op*>{op_of(grouped, "s").get()}));
  EXPECT_EQ(found[0].reader, op_of(grouped, "y").get());
  EXPECT_EQ(members_of(found[0]), (std::vector<const Op*>{found[0].reader, found[0].sums[0]}));
}

// An average is computed while its sum is in registers, also of every second or third place.
TEST(WaitingSums, OfWindowsThatStride) {
  const Axis c("c", 4), row("i", Extent::size("H")), a("a", 2), b("b", 2);
  for (const int64_t step : {1, 2, 3, 5}) {
    for (const Extent& width : {Extent(56), Extent::size("W")}) {
      const Axis col("j", width);
      const Tensor x = input("x", f32, {4, row.extent() + 1, width * step + 2});
      const Tensor s =
          compute("s", {c, row, col}, sum({a, b}, x(c, row + a, int_constant(step) * col + b)));
      const Tensor y = compute("y", {c, row, col}, s(c, row, col) * 0.25F);
      const std::string text = derived(y, kV3);
      const bool has_ways = step > 4 && !width.is_constant();
      EXPECT_TRUE(
          has(text, has_ways ? "s_filled.compute_at(y_filled, tile)\n" : "s.compute_at(y, tile)\n"))
          << text;
      EXPECT_EQ(has(text, "s.compute_at(y, j)\n"), has_ways) << "of less than a vector: " << text;
      for (const char* level : kLevels) {
        EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 2, 33}));
      }
    }
  }
}

TEST(WaitingSums, NotWhatIsNoSum) {
  const Tensor s = exp(x(), "s");
  EXPECT_EQ(why_not(compute("y", {i, j}, s.at({0, Expr(i), Expr(j)}) * 2.0F)),
            "expected s to be sums, and nothing behind them");
}

TEST(WaitingSums, NotOfNothing) {
  const Axis none("i", 0);
  const Tensor empty = input("x", f32, {5, 0, 32});
  const Tensor s = compute("s", {none, j}, sum(k, empty(k, none, j)));
  EXPECT_EQ(why_not(compute("y", {none, j}, s(none, j) / 5.0F)), "expected s to have elements");
}

TEST(WaitingSums, NotForAnotherSum) {
  const Axis l("l", 64);
  const Tensor s = sums();
  EXPECT_EQ(why_not(compute("y", {j}, sum(l, s(l, j)))), "expected y to combine nothing itself");
}

TEST(WaitingSums, NotForAReaderOfOtherPlaces) {
  const Tensor s = sums();
  const std::string own = "expected y to read s at its own places alone";
  EXPECT_EQ(why_not(compute("y", {i, j}, s(i, j) + s.at({Expr(i), Expr(31) - j}))), own);
  const Axis fewer("i", 63);
  EXPECT_EQ(why_not(compute("y", {fewer, j}, s(fewer, j) * 2.0F)), own);
}

TEST(WaitingSums, NotProductsInRegisterTiles) {
  const Tensor s = matmul(input("a", f32, {64, 32}), weight("w", f32, {32, 64}), "s");
  const Graph apart(exp(s, "y"));  // not grouped
  EXPECT_EQ(why_not_wait(*op_of(apart, "s"), *op_of(apart, "y"), kV3).value_or(""),
            "expected s to be in registers while y is computed");
}

// Sums that look like those of tiles, and that are derived as a reduction: a length in memory that
// no panel has.
TEST(WaitingSums, NotWhatNoTilesAreDerivedFor) {
  const Extent size = Extent::size("H");
  const Axis a("a", size), n("n", size), r("r", size);
  const Tensor x = input("x", u8, {size, size}), row = input("r", u8, {size});
  const Tensor turned = input("t", u8, {size});
  const Expr product = cast(i32, x(a, r)) * cast(i32, x(n, r));
  const Tensor s = compute("s", {a, n}, sum(r, clamp(product * cast(i32, row(n)), -8, 8)));
  const Tensor y = compute("y", {a, n}, s(a, n) * cast(i32, turned(size - 1 - n)));
  Target target = Target::parse("x86-64-linux-sse41,cores=2");
  target.l1_bytes = 2048;
  target.l2_bytes = 64;
  EXPECT_EQ(waiting_sums(fuse_epilogues(Graph(y)), target).size(), 0U);
  EXPECT_NO_THROW(run_pipeline(Graph(y), target)) << "else lowering refuses the loop group";
}

TEST(WaitingSums, NotForAReaderWithAnOperandAcross) {
  const Tensor s = compute("s", {i, Axis("c", 4096)},
                           sum(k, input("x", f32, {5, 64, 4096})(k, i, Axis("c", 4096))));
  const Tensor t = input("t", f32, {4096, 64});
  EXPECT_EQ(why_not(add(s, transpose(t, {1, 0}, "turned"), "y")), "") << "stored: in the graph";
  const Axis c("c", 4096);
  EXPECT_EQ(why_not(compute("y", {i, c}, s(i, c) + t(c, i))),
            "expected s to be in registers while y is computed");
}

TEST(WaitingSums, NotWhatTheOutsideReads) {
  const Tensor s = sums();
  const Tensor y = compute("y", {i, j}, s(i, j) / 5.0F);
  EXPECT_EQ(count(Graph(y)), 1U);
  EXPECT_EQ(count(Graph({y, s})), 0U) << "an output";
  EXPECT_EQ(count(Graph({y, exp(s, "z")})), 0U) << "two readers";
}

const Tensor& pixels() {
  static const Tensor p = input("p", f32, {160, 48});
  return p;
}
// Sums of a window of pixels: of each, or of its square.
Tensor sums_of_windows(const std::string& name, int64_t size, bool squares = false,
                       int64_t step = 1) {
  const Axis a("a", size), b("b", size);
  const Expr pixel = pixels()(int_constant(step) * i + a, j + b);
  return compute(name, {i, j}, sum({a, b}, squares ? pixel * pixel : pixel));
}

// How many sums wait together for what reads them all.
size_t together(const std::vector<Tensor>& all) {
  Expr total = Expr(0.0F);
  for (const Tensor& s : all) total = total + s(i, j) * s(i, j);
  const Graph grouped = fuse_epilogues(Graph(compute("y", {i, j}, total)));
  const std::vector<WaitingSums> found = waiting_sums(grouped, kV3);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? 0 : found.front().sums.size();
}

TEST(WaitingSums, SeveralOfWindowsWaitTogether) {
  const Tensor s = sums_of_windows("s", 3), t = sums_of_windows("t", 3, true);
  EXPECT_EQ(together({s, t}), 2U);
  EXPECT_EQ(together({s, sums_of_windows("u", 5), t}), 3U) << "of other windows, as many rows";
  const Graph grouped = fuse_epilogues(Graph(compute("y", {i, j}, s(i, j) / t(i, j))));
  const WaitingSums found = waiting_sums(grouped, kV3).at(0);
  EXPECT_EQ(members_of(found),
            (std::vector<const Op*>{op_of(grouped, "y").get(), op_of(grouped, "t").get(),
                                    op_of(grouped, "s").get()}));
}

TEST(WaitingSums, NotTogetherWhereOneIsNoShortWindowOrOfOtherRows) {
  const Tensor s = sums_of_windows("s", 3);
  EXPECT_EQ(together({s, sums_of_windows("t", 9)}), 1U) << "81 steps";
  EXPECT_EQ(together({sums_of_windows("t", 9), sums_of_windows("u", 9, true)}), 1U) << "each";
  EXPECT_EQ(together({s, compute("t", {i, j}, sum(k, x()(k, i, j)))}), 1U) << "no windows";
  EXPECT_EQ(together({s, sums_of_windows("t", 2, false, 2)}), 1U) << "one row at a time";
}

TEST(WaitingSums, NoMoreThanFourTogether) {
  std::vector<Tensor> all;
  for (const char* name : {"s", "t", "u", "v", "w"}) all.push_back(sums_of_windows(name, 3));
  EXPECT_EQ(together(all), 4U);
}

}  // namespace
}  // namespace emulsion
