// Axes that lie one after another in all that an operation reads: which are merged, which are not,
// and that the kernels of derived schedules compute the same.

#include "passes/derive/merge_axes.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Extent kSize = Extent::size("B");
const Axis a("a", 4), c("c", 5), h("h", 7), w("w", 7);

Tensor picture(const std::string& name = "x") { return input(name, f32, {4, 5, 7, 7}); }

// The shape of the view and the directives for its loops: "[4, 5, 49] fuse(h, w, flat)"; "" where
// nothing is merged.
std::string merged(const Graph& graph, size_t first = 0) {
  const Graph grouped = fuse_epilogues(graph);
  const std::optional<MergedAxes> found = merge_last_axes(*op_of(grouped, "y"), first, kV3);
  if (!found) return "";
  Schedule schedule(graph);
  found->fuse(&schedule["y"]);
  std::string text = to_string(found->view.shape);
  for (const Directive& d : schedule["y"].directives()) text += " " + to_string(d);
  return text;
}
std::string merged_reduction(const Tensor& y) {
  const std::optional<MergedAxes> found = merge_reduction_axes(*y.op(), kV3);
  return found ? found->view.reduction_axes.back().extent().to_string() : "";
}

TEST(MergeLastAxes, AllOfThem) {
  EXPECT_EQ(merged(Graph(compute("y", {a, c, h, w}, picture()(a, c, h, w) * 2.0f))),
            "[980] fuse(h, w, flat1) fuse(c, flat1, flat2) fuse(a, flat2, flat)");
  EXPECT_EQ(merged(Graph(relu(picture() + picture("z"), "y"))),
            "[980] fuse(i2, i3, flat1) fuse(i1, flat1, flat2) fuse(i0, flat2, flat)");
}

TEST(MergeLastAxes, BehindThoseThatSomethingElseIsReadAlong) {
  const Tensor bias = input("b", f32, {5}), scale = input("s", f32, {5, 1, 1});
  EXPECT_EQ(merged(Graph(compute("y", {a, c, h, w}, picture()(a, c, h, w) + bias(c)))),
            "[4, 5, 49] fuse(h, w, flat)");
  EXPECT_EQ(merged(Graph(relu(picture() * scale, "y"))), "[4, 5, 49] fuse(i2, i3, flat)");
}

// y[n, i, j] of [B, rows, columns], of the body over x[n, i, j], s[i], t[j, i] and z[i, j].
std::string few(int64_t rows, int64_t columns, const std::function<Expr(Axis, Axis, Axis)>& body,
                const Target& target = kV3) {
  const Axis n("n", kSize), i("i", rows), j("j", columns);
  const std::optional<MergedAxes> found =
      merge_few_elements(*compute("y", {n, i, j}, body(n, i, j)).op(), target);
  return found ? to_string(found->view.shape) + " " + to_string(found->view.body) : "";
}

TEST(MergeFewElements, WhatIsReadAlongOneOfThem) {
  const Tensor x = input("x", f32, {kSize, 4, 3}), s = input("s", f32, {4});
  EXPECT_EQ(
      few(4, 3, [&](const Axis& n, const Axis& i, const Axis& j) { return x(n, i, j) * s(i); }),
      "[B, 12] x[n, flat] * s[flat / 3]");
  const Tensor t = input("t", f32, {3});
  EXPECT_EQ(
      few(4, 3, [&](const Axis& n, const Axis& i, const Axis& j) { return x(n, i, j) - t(j); }),
      "[B, 12] x[n, flat] - t[flat % 3]");
}

TEST(MergeFewElements, WhatIsReadInAnyOrder) {
  const Tensor x = input("x", f32, {kSize, 3, 5});
  EXPECT_EQ(few(5, 3, [&](const Axis& n, const Axis& i, const Axis& j) { return x(n, j, i); }),
            "[B, 15] x[n, flat % 3, flat / 3]");
  EXPECT_EQ(few(3, 3, [&](const Axis& n, const Axis& i, const Axis& j) { return x(n, i, 2 - j); }),
            "[B, 9] x[n, flat / 3, 2 - flat % 3]");
}

TEST(MergeFewElements, NoMoreThanTwoVectors) {
  const Tensor x = input("x", f32, {kSize, 6, 3}), s = input("s", f32, {6});
  const auto body = [&](const Axis& n, const Axis& i, const Axis& j) { return x(n, i, j) * s(i); };
  EXPECT_EQ(few(6, 3, body), "") << "of 8 lanes";
  const Tensor t = input("t", f32, {3});
  EXPECT_EQ(few(6, 3, [&](const Axis&, const Axis& i, const Axis& j) { return s(i) * t(j); }), "")
      << "of 8 lanes, and few are read";
  EXPECT_NE(few(6, 3, body, Target::parse("x86-64-v4,cores=1")), "") << "of 16";
}

TEST(MergeFewElements, NotWhereTheLastAxisHasMostOfAVector) {
  const Tensor x = input("x", f32, {kSize, 3, 5}), s = input("s", f32, {3});
  EXPECT_EQ(
      few(3, 5, [&](const Axis& n, const Axis& i, const Axis& j) { return x(n, i, j) * s(i); }), "")
      << "5 of 8 lanes";
}

TEST(MergeFewElements, NotWhereElementsLieFarApart) {
  const Tensor x = input("x", f32, {4, kSize, 3}), far = input("far", f32, {kSize, 4, 50});
  const Tensor near = input("near", f32, {kSize, 4, 3});
  EXPECT_EQ(few(4, 3, [&](const Axis& n, const Axis& i, const Axis& j) { return x(i, n, j); }), "");
  EXPECT_EQ(few(4, 3, [&](const Axis& n, const Axis& i, const Axis& j) { return far(n, i, j); }),
            "");
  EXPECT_EQ(few(4, 3,
                [&](const Axis& n, const Axis& i, const Axis& j) {
                  return near(n, 3 - i, j) + cast(f32, Expr(j));
                }),
            "")
      << "a value of its place";
}

TEST(MergeFewElements, ComputeTheSame) {
  const Axis n("n", kSize), i("i", 4), j("j", 3);
  const Tensor x = input("x", f32, {kSize, 4, 3}), s = input("s", f32, {4}),
               t = input("t", f32, {kSize, 3, 4});
  for (const Expr& body : {x(n, i, j) * s(i), t(n, j, 3 - i) + x(n, i, j), x(n, i, 2 - j) - s(i)}) {
    const Graph graph(compute("y", {n, i, j}, body));
    for (const char* const level : kLevels) {
      EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 5, 33}));
    }
  }
  const std::string schedule =
      derived(Graph(compute("y", {n, i, j}, x(n, i, j) * s(i))), target_of("x86-64-v4", 1));
  EXPECT_EQ(schedule, "emulsion schedule 1\ny.fuse(i, j, flat)\ny.vectorize(flat)\n");
}

// Of what is read through, quotients of more would not cancel.
// y[i, j] of so many columns, of a body over x[i, j], z[i, j], w[j], b[i] and t[j, i]: the shape of
// the view and what is read of w and b.
std::string short_rows(const std::string& rows, int columns, const std::string& body,
                       const std::string& level = "x86-64-v4") {
  const std::string n = std::to_string(columns);
  const Graph graph = parse_graph((rows == "B" ? "emulsion graph 1\nsize B\ninput x: f32[B, "
                                               : "emulsion graph 1\ninput x: f32[") +
                                  (rows == "B" ? "" : rows + ", ") + n + "]\ninput w: f32[" + n +
                                  "]\ninput b: f32[" + rows + "]\ninput t: f32[" + n + ", " + rows +
                                  "]\ny[i: " + rows + ", j: " + n + "] = " + body + "\noutput y\n");
  const std::optional<MergedAxes> found = merge_short_rows(**graph.find("y"), target_of(level, 1));
  return found ? to_string(found->view.shape) + " " + to_string(found->view.body) : "";
}

TEST(MergeShortRows, WhatIsReadAlongOneOfThem) {
  EXPECT_EQ(short_rows("100", 5, "x[i, j] * w[j]"), "[500] x[flat] * w[flat % 5]");
  EXPECT_EQ(short_rows("100", 5, "x[i, j] - b[i]"), "[500] x[flat] - b[flat / 5]");
  EXPECT_EQ(short_rows("B", 6, "x[i, j] * w[j] + b[i]"),
            "[6*B] x[flat] * w[flat % 6] + b[flat / 6]");
  for (const int columns : {7, 9, 10, 11, 12, 13, 14}) {
    for (const char* const level : kLevels) {
      EXPECT_NE(short_rows("100", columns, "x[i, j] * w[j]", level), "") << columns << level;
    }
  }
}

// Outside of two there may be more, if w alone is read along the last.
TEST(MergeShortRows, OfMoreAxes) {
  const auto view = [](const std::string& body) {
    const Graph graph = parse_graph(
        "emulsion graph 1\ninput x: f32[8, 40, 5]\ninput w: f32[5]\ninput b: f32[40]\n"
        "input s: f32[8, 5]\ny[h: 8, i: 40, j: 5] = " +
        body + "\noutput y\n");
    const auto found = merge_short_rows(**graph.find("y"), target_of("x86-64-v4", 1));
    return found ? to_string(found->view.shape) : "";
  };
  EXPECT_EQ(view("x[h, i, j] * w[j]"), "[1600]");
  EXPECT_EQ(view("x[h, i, j] * b[i]"), "[8, 200]");
  EXPECT_EQ(view("x[h, i, j] * s[h, j] + b[i]"), "[8, 200]");
}

TEST(MergeShortRows, NotOfOtherRows) {
  EXPECT_EQ(short_rows("100", 4, "x[i, j] * w[j]"), "") << "pixels";
  EXPECT_EQ(short_rows("100", 8, "x[i, j] * w[j]"), "") << "half a vector";
  EXPECT_EQ(short_rows("100", 15, "x[i, j] * w[j]"), "") << "nearly a vector";
  EXPECT_EQ(short_rows("31", 5, "x[i, j] * w[j]"), "") << "less than two blocks";
  EXPECT_EQ(short_rows("100", 5, "w[j] * b[i]"), "") << "nothing that is read goes along both";
}

TEST(MergeShortRows, NotOfOtherReads) {
  EXPECT_EQ(short_rows("100", 5, "x[i, j] * w[4 - j]"), "");
  EXPECT_EQ(short_rows("100", 5, "x[i, j] * t[j, i]"), "");
  EXPECT_EQ(short_rows("100", 5, "x[i, j] * f32(j)"), "");
  EXPECT_EQ(short_rows("100", 5, "select(j < 3, x[i, j], w[j])"), "");
  EXPECT_EQ(short_rows("100", 5, "x[99 - i, j] * w[j]"), "");
}

TEST(MergeShortRows, ComputeTheSame) {
  for (const char* const type : {"f32", "f64", "u8", "i16"}) {
    for (const int columns : {5, 6, 7, 9, 11, 13, 14}) {
      const std::string n = std::to_string(columns), of = std::string(type) + "[";
      const Graph graph = parse_graph(
          "emulsion graph 1\nsize B\ninput x: " + of + "B, " + n + "]\ninput w: " + of + n +
          "]\ninput b: " + of + "B]\ny[i: B, j: " + n + "] = x[i, j] * w[j] + b[i]\noutput y\n");
      EXPECT_TRUE(derives_on_all(graph, {0, 1, 2, 33, 200})) << type << columns;
    }
  }
}

TEST(MergeResultAxes, TheLastTwoOfAReduction) {
  const auto merged = [](const Tensor& y, size_t first) {
    const std::optional<MergedAxes> found = merge_result_axes(*y.op(), first, kV3);
    return found ? to_string(found->view.shape) : "";
  };
  const Axis r("r", 4), wide("w", 6);
  const Tensor x = picture();
  EXPECT_EQ(merged(compute("y", {c, h, w}, sum(r, x(r, c, h, w))), 0), "[5, 49]");
  EXPECT_EQ(merged(compute("y", {c, h, w}, sum(r, x(r, c, h, w))), 1), "[5, 49]");
  EXPECT_EQ(merged(compute("y", {c, h, w}, sum(r, x(r, c, h, w))), 2), "") << "h says which row";
  EXPECT_EQ(merged(compute("y", {c, h, wide}, sum(r, x(r, c, h, wide))), 0), "") << "no whole rows";
  EXPECT_EQ(merged(compute("y", {w}, sum(r, x(r, 0, 0, w))), 0), "");
}

TEST(MergeLastAxes, BehindThoseOfRows) {
  const Graph graph(relu(picture() + picture("z"), "y"));
  EXPECT_EQ(merged(graph, 2), "[4, 5, 49] fuse(i2, i3, flat)");
  EXPECT_EQ(merged(graph, 3), "");
}

TEST(MergeLastAxes, TheOutermostMayBeARunTimeSizeOrLonger) {
  EXPECT_EQ(merged(Graph(relu(input("x", f32, {kSize, 10}) * 2.0f, "y"))),
            "[10*B] fuse(i0, i1, flat)");
  const Tensor longer = input("x", f32, {8, 7});
  EXPECT_EQ(merged(Graph(compute("y", {a, w}, longer(a, w)))), "[28] fuse(a, w, flat)");
}

TEST(MergeLastAxes, TheOutermostIsANumberWhereTheTargetLacksMasks) {
  const auto on = [](const char* level, DType type) {
    const Graph graph(max(input("x", type, {kSize, 10}), 2, "y"));
    return merge_last_axes(*op_of(graph, "y"), 0, Target::parse(level)).has_value();
  };
  EXPECT_TRUE(on("x86-64-v3", f32));
  EXPECT_FALSE(on("x86-64-v2", f32));
  EXPECT_FALSE(on("x86-64-v3", u8));
  EXPECT_TRUE(on("x86-64-v4", u8));
}

TEST(MergeLastAxes, NotARunTimeSizeOrALongerRowBehindIt) {
  EXPECT_EQ(merged(Graph(relu(input("x", f32, {10, kSize}) * 2.0f, "y"))), "");
  EXPECT_EQ(merged(Graph(relu(input("x", f32, {4, kSize, 10}) * 2.0f, "y"))),
            "[4, 10*B] fuse(i1, i2, flat)");
  EXPECT_EQ(merged(Graph(compute("y", {a, w}, input("x", f32, {4, 8})(a, w)))), "");
  EXPECT_EQ(merged(Graph(relu(input("x", f32, {3, 0}) * 2.0f, "y"))), "") << "nothing";
}

// Rows further on are as far on in the merged axis.
TEST(MergeLastAxes, OfRowsBehindThoseOfTheResult) {
  const auto view = [](const std::string& body) {
    const Graph graph = parse_graph(
        "emulsion graph 1\nsize N\ninput x: f32[N + 4, 7]\n"
        "input z: f32[7, N]\ny[i: N, j: 7] = " +
        body + "\noutput y\n");
    const auto found = merge_last_axes(**graph.find("y"), 0, kV3);
    return found ? to_string(found->view.body) : "";
  };
  EXPECT_EQ(view("x[i + 2, j] - x[i, j]"), "x[flat + 14] - x[flat]");
  EXPECT_EQ(view("x[i + 4, j] * 2f"), "x[flat + 28] * 2f");
  EXPECT_EQ(view("x[max(min(i + 1, N - 1), 0), j]"), "");
  EXPECT_EQ(view("x[i + 2, 6 - j]"), "");
  EXPECT_EQ(view("x[i / 2, j]"), "");
  EXPECT_EQ(view("z[j, i] + x[i + 1, j]"), "");
  const Graph differences = parse_graph(
      "emulsion graph 1\nsize N\ninput x: f32[N + 1, 7]\n"
      "y[i: N, j: 7] = x[i + 1, j] - x[i, j]\noutput y\n");
  EXPECT_TRUE(derives_on_all(differences, {0, 1, 2, 33}));
  const Graph pictures = parse_graph(
      "emulsion graph 1\ninput x: u8[9, 6, 7]\n"
      "y[c: 9, i: 4, j: 7] = x[c, i + 1, j] + x[c, i + 2, j]\noutput y\n");
  EXPECT_TRUE(derives_on_all(pictures, {1}));
}

TEST(MergeLastAxes, NotWhereTheLastFillsVectors) {
  EXPECT_NE(merged(Graph(relu(input("x", f32, {3, 127}) * 2.0f, "y"))), "");
  EXPECT_EQ(merged(Graph(relu(input("x", f32, {3, 128}) * 2.0f, "y"))), "") << "16 vectors of 8";
}

TEST(MergeLastAxes, NotWhereElementsLieElsewhere) {
  const Tensor x = input("x", f32, {7, 7}), row = input("r", f32, {7}),
               at = input("at", i32, {7, 7});
  const auto of = [](const Expr& body) { return merged(Graph(compute("y", {h, w}, body))); };
  EXPECT_NE(of(x(h, w) * 2.0f), "");
  EXPECT_EQ(of(x(w, h)), "") << "turned";
  EXPECT_EQ(of(x(h, w) + row(w)), "") << "the same row again";
  EXPECT_EQ(of(x(h, w) + row(h)), "") << "one value of a row";
  EXPECT_EQ(of(x(h, Expr(6) - w)), "") << "backwards";
  EXPECT_EQ(of(x(Expr(6) - h, w)), "") << "rows backwards";
  EXPECT_EQ(of(x(h, w) + cast(f32, Expr(w))), "") << "the axis itself";
  EXPECT_EQ(of(select(Expr(h) < 3, x(h, w), 0.0f)), "");
  EXPECT_EQ(of(x(min(max(at(h, w), 0), 6), w)), "") << "data";
  const Tensor cube = input("t", f32, {7, 7, 7});
  EXPECT_EQ(of(cube(h, h, w)), "") << "a diagonal";
  EXPECT_EQ(of(cube(0, h, w)), "[49] fuse(h, w, flat)");
}

TEST(MergeLastAxes, OfAGroupOnlyWhereAllOfItWalksThem) {
  const Tensor x = input("x", f32, {7, 7});
  const auto behind = [&](const Expr& body) {
    const Tensor t = compute("t", {h, w}, body);
    return merged(Graph(compute("y", {h, w}, exp(t(h, w)))));
  };
  EXPECT_NE(behind(x(h, w) * 2.0f), "");
  EXPECT_EQ(behind(x(w, h) * 2.0f), "");
}

TEST(MergeLastAxes, NotOfSums) {
  const Axis k("k", 7);
  const Graph graph(compute("y", {h, w}, sum(k, input("x", f32, {7, 7, 7})(k, h, w))));
  EXPECT_EQ(merged(graph), "");
}

TEST(MergeReductionAxes, ThoseThatAreReadInTheirOrder) {
  const Tensor x = picture(), row = input("r", f32, {7});
  EXPECT_EQ(merged_reduction(compute("y", {a, c}, sum({h, w}, x(a, c, h, w)))), "49");
  EXPECT_EQ(merged_reduction(compute("y", {a}, sum({c, h, w}, x(a, c, h, w)))), "245");
  EXPECT_EQ(merged_reduction(compute("y", {c}, sum({a, h, w}, x(a, c, h, w)))), "49");
  EXPECT_EQ(merged_reduction(compute("y", {a, c}, sum({w, h}, x(a, c, h, w)))), "") << "turned";
  EXPECT_EQ(merged_reduction(compute("y", {a, c}, sum({h, w}, x(a, c, h, w) * row(w)))), "");
  EXPECT_EQ(merged_reduction(compute("y", {a, c}, sum({h, w}, x(a, c, h, w) * row(c)))), "49");
  EXPECT_EQ(merged_reduction(compute("y", {a, c}, sum({w}, x(a, c, 0, w)))), "");
  const Axis many("w", 128);
  EXPECT_EQ(merged_reduction(compute("y", {}, sum({h, many}, input("x", f32, {7, 128})(h, many)))),
            "")
      << "fills vectors";
}

TEST(MergeAxes, NamesThatAreTakenAreLeft) {
  const Axis flat("flat", 7);
  EXPECT_EQ(merged(Graph(compute("y", {h, flat}, input("x", f32, {7, 7})(h, flat) * 2.0f))),
            "[49] fuse(h, flat, flat1)");
}

// y[i, j, c] of a picture that is made larger: the extent of the merged axis, and what is read; ""
// where nothing is merged.
std::string merged_pixels(const std::string& read, const std::string& x = "[9, W, 3]",
                          const std::string& y = "[i: 9, j: 2 * W, c: 3]",
                          const std::string& type = "u8", const char* target = "x86-64-v3") {
  const Graph graph = parse_graph("emulsion graph 1\nsize W\ninput x: " + type + x + "\ny" + y +
                                  " = " + read + "\noutput y\n");
  const std::optional<MergedAxes> found =
      merge_repeated_pixels(*op_of(graph, "y"), Target::parse(std::string(target) + ",cores=1"));
  if (!found) return "";
  return found->view.axes.back().extent().to_string() + ": " + to_string(found->view.body);
}

TEST(MergeRepeatedPixels, ThatNeighboursReadTogether) {
  EXPECT_EQ(merged_pixels("x[i, j / 2, c]"), "6*W: x[i, flat / 6, flat % 3]");
  EXPECT_EQ(merged_pixels("x[i, j / 3, c]", "[9, W, 3]", "[i: 9, j: 3 * W, c: 3]"),
            "9*W: x[i, flat / 9, flat % 3]");
  EXPECT_EQ(merged_pixels("x[i, j / 2, c]", "[9, W, 4]", "[i: 9, j: 2 * W, c: 4]"),
            "8*W: x[i, flat / 8, flat % 4]");
}

TEST(MergeRepeatedPixels, ThatAreShuffled) {
  EXPECT_NE(
      merged_pixels("x[i, j / 2, c * 4 + j % 2]", "[9, W, 12]", "[i: 9, j: 2 * W, c: 3]", "f32"),
      "");
  EXPECT_NE(merged_pixels("x[i, j / 2, c * 4 + j % 2]", "[9, W, 12]", "[i: 9, j: 2 * W, c: 3]",
                          "f32", "x86-64-v4"),
            "");
  EXPECT_EQ(
      merged_pixels("x[i, j / 2, c * 40 + j % 2]", "[9, W, 120]", "[i: 9, j: 2 * W, c: 3]", "f32"),
      "")
      << "far apart";
}

// Pixels in another order, values in another order, and rows of more values than a pixel has.
TEST(MergeRepeatedPixels, ThatAreReadBackwards) {
  const std::string pixels = "[9, 400, 3]", y = "[i: 9, j: 400, c: 3]";
  EXPECT_EQ(merged_pixels("x[i, 399 - j, c]", pixels, y), "1200: x[i, 399 - flat / 3, flat % 3]");
  EXPECT_EQ(merged_pixels("x[i, j, 1 - c]", "[9, 40, 2]", "[i: 9, j: 40, c: 2]"),
            "80: x[i, flat / 2, 1 - flat % 2]");
  const std::string rows = "[9, 40, 13]", of_rows = "[i: 9, j: 40, c: 13]";
  EXPECT_NE(merged_pixels("x[i, 39 - j, 12 - c]", rows, of_rows, "f32"), "");
  EXPECT_NE(merged_pixels("x[i, j, 1 - c]", "[9, 40, 2]", "[i: 9, j: 40, c: 2]", "f64"), "");

  EXPECT_EQ(merged_pixels("x[i, j, 2 - c]", pixels, y), "") << "colours, each of which is one";
  EXPECT_EQ(merged_pixels("x[8 - i, j, c]", pixels, y), "") << "rows, which are one anyway";
  EXPECT_EQ(merged_pixels("x[i, j, 14 - c]", "[9, 40, 15]", "[i: 9, j: 40, c: 15]"), "") << "long";
  EXPECT_EQ(merged_pixels("x[i, 2 * W - 1 - j, c]", "[9, 2 * W, 3]"), "") << "no known place";
  EXPECT_EQ(merged_pixels("x[i, j, 3 - c]", "[9, 40, 4]", "[i: 9, j: 40, c: 4]", "f32"), "")
      << "one short vector each";
  EXPECT_NE(merged_pixels("x[i, j, 3 - c]", "[9, 40, 4]", "[i: 9, j: 40, c: 4]"), "");
}

TEST(MergeRepeatedPixels, BackwardsIsWhatTheGraphSays) {
  for (const char* const type : {"u8", "i16", "f32", "f64"}) {
    for (const char* const read : {"x[i, 40 - j, c]", "x[i, j, 4 - c]", "x[i, 40 - j, 4 - c]"}) {
      const std::string text = std::string("emulsion graph 1\ninput x: ") + type +
                               "[3, 41, 5]\ny[i: 3, j: 41, c: 5] = " + read + "\noutput y\n";
      EXPECT_TRUE(derives_on_all(parse_graph(text), {1})) << text;
    }
  }
}

TEST(MergeRepeatedPixels, NotOfOthers) {
  EXPECT_EQ(merged_pixels("x[i, j, c]", "[9, 2 * W, 3]"), "") << "each is read once";
  EXPECT_EQ(merged_pixels("x[i, j / 6, c]", "[9, W, 3]", "[i: 9, j: 6 * W, c: 3]"), "")
      << "long turns";
  EXPECT_EQ(merged_pixels("x[i, j / 2, c]", "[9, W, 6]", "[i: 9, j: 2 * W, c: 6]"), "") << "rows";
  EXPECT_EQ(merged_pixels("x[j / 2, i, c]", "[W, 9, 3]"), "") << "of other rows, which lie apart";
  EXPECT_EQ(merged_pixels("select(c == 0, x[i, j / 2, 1], x[i, j / 2, c])"), "")
      << "what lanes choose";
}

TEST(MergeAxes, DerivedSchedulesComputeWhatTheGraphsSay) {
  const Tensor x = picture();
  const auto norm = [](const Tensor& t, const std::vector<int>& axes) {
    const Tensor centred = t - mean(t, axes, true);
    return centred / sqrt(mean(centred * centred, axes, true) + 1e-5f);
  };
  const Tensor rows = input("x", f32, {kSize, 10});
  const std::vector<Graph> graphs = {Graph(gelu(x)),
                                     Graph(relu(x * input("s", f32, {5, 1, 1}))),
                                     Graph(mean(x, {2, 3})),
                                     Graph(sum(x, {0, 1, 2, 3})),
                                     Graph(reduce_max(x, {1, 2, 3})),
                                     Graph(norm(x, {2, 3})),
                                     Graph(norm(x, {1, 2, 3})),
                                     Graph(sigmoid(rows)),
                                     Graph(rows * 2.0f + 1.0f)};
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      for (size_t i = 0; i < graphs.size(); ++i) {
        EXPECT_TRUE(derives(graphs[i], target_of(level, cores), {0, 1, 3, 500}, 1e-5))
            << level << ", " << cores << " cores: graph " << i;
      }
    }
  }
}

// In all others, what the fused loop stands for cancels in the address.
TEST(MergeAxes, TheLastStepOfSumsAloneHasClampedIndices) {
  const auto text = [](int rows) {
    return derived(sum(input("x", f32, {rows, 10}), {0, 1}, false, "y"), kV3);
  };
  EXPECT_TRUE(has(text(100), "y_lanes.partition(flat)\n")) << text(100);
  EXPECT_FALSE(has(text(32), "partition")) << "of 320 all steps are whole";
}

TEST(MergeAxes, InDerivedSchedules) {
  const auto text = [](const Tensor& y) { return derived(y, kV3); };
  EXPECT_TRUE(has(text(relu(picture(), "y")), "y.fuse(i0, flat2, flat)")) << "pointwise";
  EXPECT_TRUE(has(text(sum(picture(), {2, 3}, false, "y")), "y.fuse(r2, r3, flat)")) << "sums";
  const std::string rows = text(softmax(reshape(picture(), {4, 245}), 1, "y"));
  EXPECT_FALSE(has(rows, "flat")) << "one axis";
  const Tensor x = picture();
  const std::string norm = text(sub(x, mean(x, {2, 3}, true, "m"), "y"));
  EXPECT_TRUE(has(norm, "y.fuse(i2, i3, flat)") && has(norm, ".fuse(r2, r3, flat)")) << norm;
}

}  // namespace
}  // namespace emulsion
