// Axes that say which row, of rows that lie one after another: which groups have them as one axis,
// what is derived then, and that the kernels of derived schedules compute the same.

#include "passes/derive/merge_row_axes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

Tensor cube(const Shape& shape, const std::string& name = "x") { return input(name, f32, shape); }

// The merged axis of the only group of rows, and the loops that make it: "[24] i0 i1 rows"; ""
// where nothing is merged.
std::string merged(const Graph& graph, const Target& target = target_of("x86-64-v4", 1)) {
  const Groups groups(graph, target);
  if (groups.size() != 1) return "not one group";
  const std::optional<MergedRows> found = merge_row_axes(groups[0]);
  if (!found) return "";
  const RowFuses& fuses = found->fuses.at("y");
  const Op& reader = result_of(found->group.reader());
  std::string text = "[" + reader.axes[found->group.axes().back()].extent().to_string() + "]";
  for (const Axis& axis : fuses.axes) text += " " + axis.name();
  for (const std::string& loop : fuses.loops) text += " " + loop;
  return text;
}

Graph softmax_of(const Shape& shape) {
  return Graph(softmax(cube(shape), static_cast<int>(shape.size()) - 1, "y"));
}

TEST(MergeRowAxes, AllThatSayWhichRow) {
  EXPECT_EQ(merged(softmax_of({100, 3, 40})), "[300] i0 i1 rows");
  EXPECT_EQ(merged(softmax_of({10, 6, 1, 40})), "[60] i0 i1 i2 rows2 rows");
}

TEST(MergeRowAxes, OfARunTimeNumberTheOutermost) {
  EXPECT_EQ(merged(softmax_of({kSize, 3, 40})), "[3*B] i0 i1 rows");
  EXPECT_EQ(merged(softmax_of({5, kSize, 3, 40})), "[3*B] i1 i2 rows");
  EXPECT_EQ(merged(softmax_of({5, kSize, 40})), "") << "no number";
}

TEST(MergeRowAxes, NotOfOneAxis) { EXPECT_EQ(merged(softmax_of({100, 40})), ""); }

// What is read along some of these axes alone, or in another order, lies otherwise.
TEST(MergeRowAxes, NotWhereSomethingLiesOtherwise) {
  const Axis i("i", 30), j("j", 30), k("k", 40), r("r", 40);
  const auto text_of = [&](const Expr& read, const Expr& summed) {
    const Tensor s = compute("s", {i, j}, sum(r, summed));
    return merged(Graph(compute("y", {i, j, k}, read - s(i, j))));
  };
  const Tensor x = cube({30, 30, 40}), turned = cube({30, 30, 40}, "t"), bias = cube({30}, "b");
  EXPECT_EQ(text_of(x(i, j, k), x(i, j, r)), "[900] i j rows");
  EXPECT_EQ(text_of(x(i, j, k) * cube({40}, "g")(k), x(i, j, r)), "[900] i j rows");
  EXPECT_EQ(text_of(turned(j, i, k), x(i, j, r)), "");
  EXPECT_EQ(text_of(x(i, j, k), turned(j, i, r)), "");
  EXPECT_EQ(text_of(x(i, j, k) + bias(j), x(i, j, r)), "");
  EXPECT_EQ(text_of(x(i, j, k) + cube({30, 1}, "c")(i, 0), x(i, j, r)), "");
  EXPECT_EQ(text_of(x(29 - Expr(i), j, k), x(i, j, r)), "");
  EXPECT_EQ(text_of(cube({30, 31, 40}, "l")(i, j, k), x(i, j, r)), "") << "rows that are left out";
  EXPECT_EQ(text_of(x(i, j, k) + cast(f32, Expr(i)), x(i, j, r)), "") << "a value of its place";
}

// Those inside, where the outermost lies otherwise.
TEST(MergeRowAxes, AsManyAsLieOneAfterAnother) {
  const Axis h("h", 5), i("i", 30), j("j", 30), k("k", 40), r("r", 40);
  const Tensor x = cube({5, 30, 30, 40});
  const auto text_of = [&](const Expr& bias) {
    const Tensor s = compute("s", {h, i, j}, sum(r, x(h, i, j, r)));
    return merged(Graph(compute("y", {h, i, j, k}, x(h, i, j, k) - s(h, i, j) * bias)));
  };
  EXPECT_EQ(text_of(2.0f), "[4500] h i j rows2 rows");
  EXPECT_EQ(text_of(cube({5}, "b")(h)), "[900] i j rows");
  EXPECT_EQ(text_of(cube({30}, "b")(j)), "");
}

// At whatever index: of what comes from outside of the group.
TEST(MergeRowAxes, AtOtherIndicesOfWhatIsRead) {
  const Axis i("i", 30), j("j", 30), k("k", 40), r("r", 40);
  const auto text_of = [&](const Expr& read) {
    const Tensor s = compute("s", {i, j}, sum(r, cube({30, 30, 40})(i, j, r)));
    return merged(Graph(compute("y", {i, j, k}, read - s(i, j))));
  };
  EXPECT_EQ(text_of(cube({2, 30, 30, 40}, "z")(1, i, j, k)), "[900] i j rows");
  EXPECT_EQ(text_of(cube({40, 30, 30}, "z")(k, i, j)), "[900] i j rows");
  EXPECT_EQ(text_of(cube({30, 40, 30}, "z")(i, k, j)), "");
  const Axis l("l", 30), t("t", 30);
  const Tensor s = compute("s", {i, j}, sum(t, cube({30, 30, 30})(i, j, t)));
  const Expr one = cube({30, 30}, "z")(i, l);
  EXPECT_EQ(merged(Graph(compute("y", {i, j, l}, one - s(i, j)))), "") << "along one of them alone";
}

TEST(MergeRowAxes, NotWhereSomethingIsKept) {
  const Groups groups(softmax_of({100, 3, 40}), target_of("x86-64-v4", 1));
  RowGroup group = groups[0];
  ASSERT_GT(group.members.size(), 1U);
  EXPECT_TRUE(merge_row_axes(group));
  group.members.back().is_kept = true;
  EXPECT_FALSE(merge_row_axes(group));
}

// Where more rows are computed at a time than the last axis has.
TEST(DeriveMergedRows, OfFewRows) {
  const Target target = target_of("x86-64-v4", 1);
  const std::string text = derived(softmax_of({100, 2, 60}), target);
  EXPECT_TRUE(has(text, "y.fuse(i0, i1, rows)\n")) << text;
  EXPECT_TRUE(has(text, "y_max.fuse(i0, i1, rows)\n")) << text;
  EXPECT_TRUE(has(text, "y.split(rows, rows, row, ")) << text;
  EXPECT_FALSE(has(derived(softmax_of({100, 40, 60}), target), "rows")) << "many rows";
  EXPECT_FALSE(has(derived(softmax_of({100, 3, 6000}), target), "rows")) << "one at a time";
}

// The lanes of vectors across the rows are filled.
TEST(DeriveMergedRows, OfAFewElements) {
  const Target target = target_of("x86-64-v4", 1);
  const std::string text = derived(softmax_of({100, 3, 10}), target);
  EXPECT_TRUE(has(text, "y.split(rows, tile, lane, 16")) << text;
  EXPECT_TRUE(has(derived(softmax_of({100, 20, 10}), target), "y.fuse(i0, i1, rows)\n"));
  EXPECT_FALSE(has(derived(softmax_of({100, 32, 10}), target), "rows")) << "full vectors";
  const Axis i("i", 100), j("j", 3), k("k", 10), r("r", 10);
  const Tensor x = cube({100, 3, 10}), bias = cube({3}, "b");
  const Tensor s = compute("s", {i, j}, reduce_max(r, x(i, j, r) + bias(j)));
  const Graph apart(compute("y", {i, j, k}, x(i, j, k) - s(i, j)));
  EXPECT_FALSE(has(derived(apart, target), "tile, lane")) << "rows that are not merged";
}

TEST(DeriveMergedRows, AreRight) {
  for (const char* level : kLevels) {
    for (const Shape& shape :
         std::vector<Shape>{{7, 3, 10}, {19, 1, 30}, {5, 2, 3, 20}, {9, 6, 70}, {9, 2, 64}}) {
      const Tensor x = cube(shape), g = cube({shape.back()}, "g");
      const int last = static_cast<int>(shape.size()) - 1;
      for (const Tensor& y :
           {softmax(x, last), relu(layer_norm(gelu(x), g, g)), rms_norm(x, g),
            gelu(layer_norm(x, g, g), Gelu::tanh),
            log(sum(exp(x - reduce_max(x, {last}, true)), {last}, true)) + mean(x, {last}, true)}) {
        EXPECT_TRUE(derives(Graph(y), target_of(level, 2), {0}, 1e-4)) << level;
      }
    }
    const Tensor x = cube({kSize, 3, 18}), g = cube({18}, "g");
    EXPECT_TRUE(
        derives(Graph(gelu(layer_norm(x, g, g))), target_of(level, 2), {0, 1, 5, 40}, 1e-4));
    EXPECT_TRUE(derives(Graph(softmax(x)), target_of(level, 2), {0, 1, 5, 40}, 1e-4));
  }
}

TEST(DeriveMergedRows, ThreadsShareAllRows) {
  const std::string text = derived(softmax_of({4000, 2, 60}), target_of("x86-64-v4", 4));
  EXPECT_TRUE(has(text, "y.fuse(i0, i1, rows)\n")) << text;
  EXPECT_TRUE(has(text, "y.parallel(")) << text;
}

// Loops that end with the rows of the last tile are those of a reduction here, not of what is
// stored of each row.
TEST(MergeRowAxes, RowsThatAreCombinedAgain) {
  const Axis i("i", kSize), j("j", 6), k("k", 18);
  const Tensor x = cube({kSize, 6, 18}), s = compute("s", {i, j}, sum(k, x(i, j, k)));
  const Graph graph(compute("y", {i, j}, reduce_max(k, x(i, j, k) - s(i, j))));
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      EXPECT_TRUE(derives(graph, target_of(level, cores), {0, 1, 5, 6, 17})) << level << cores;
    }
  }
}

}  // namespace
}  // namespace emulsion
