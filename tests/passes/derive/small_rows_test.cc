// Small things in lanes: which operations compute them, which are together, what is written down,
// and that the nests compute what the graphs say at every size.

#include "passes/derive/small_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Extent kBatch = Extent::size("B");
const Target kTarget = Target::parse("x86-64-v3,cores=1");

// The inverses of matrices of 3 x 3: cofactors, which two read, determinants, quotients.
Graph inverses(const Extent& batch, DType dtype = f32, bool keeps_cofactors = false) {
  const Tensor a = input("a", dtype, {batch, 3, 3});
  const Axis b("b", batch), i("i", 3), j("j", 3);
  const auto at = [&](const Expr& r, const Expr& c) { return a(b, r % 3, c % 3); };
  Func cof("cof"), det("det"), y("y");
  cof(b, i, j) = at(j + 1, i + 1) * at(j + 2, i + 2) - at(j + 1, i + 2) * at(j + 2, i + 1);
  det(b) = a(b, 0, 0) * cof(b, 0, 0) + a(b, 0, 1) * cof(b, 1, 0) + a(b, 0, 2) * cof(b, 2, 0);
  y(b, i, j) = cof(b, i, j) * det(b);
  return keeps_cofactors ? Graph({cof, y}) : Graph(y);
}

// One operation.
Graph inverses_of_2(const Extent& batch, DType dtype = f32) {
  const Tensor a = input("a", dtype, {batch, 2, 2});
  const Axis b("b", batch), i("i", 2), j("j", 2);
  const Expr det = a(b, 0, 0) * a(b, 1, 1) - a(b, 0, 1) * a(b, 1, 0);
  return Graph(compute("y", {b, i, j}, select(i == j, a(b, 1 - i, 1 - j), -a(b, i, j)) * det));
}

// Sums of turned pairs of matrices.
Graph turned_products(const Extent& batch) {
  const Tensor a = input("a", f32, {2, batch, 2, 3, 3});
  const Axis n("n", 2), b("b", batch), i("i", 3), j("j", 3), k("k", 3);
  return Graph(compute("y", {n, b, i}, sum({k, j}, a(n, b, 0, k, (j + i) % 3) * a(n, b, 1, j, k))));
}

// Sums behind what two read, and before the last.
Graph sums_of_turned(const Extent& batch) {
  const Tensor a = input("a", f32, {batch, 3, 3});
  const Axis b("b", batch), i("i", 3), j("j", 3), k("k", 3);
  Func turned("turned"), total("total"), y("y");
  turned(b, i, j) = a(b, (i + j) % 3, j) - a(b, i, (i + j) % 3);
  total(b, i) = sum(k, turned(b, i, k) * turned(b, k, i));
  y(b, i, j) = turned(b, i, j) * total(b, j) + total(b, i);
  return Graph(y);
}

bool has_groups(const Graph& graph, const Target& target = kTarget) {
  return !small_rows(fuse_epilogues(graph), target).empty();
}

bool is_alone(const Tensor& y, const Target& target = kTarget) {
  return small_rows_alone(*y.op(), target).has_value();
}

TEST(SmallRows, WhichAxesSayWhich) {
  const auto rows = [](const Shape& shape) { return axes_of_things(*input("x", f32, shape).op()); };
  EXPECT_EQ(rows({kBatch, 3, 3}), 1u);
  EXPECT_EQ(rows({kBatch, 4, 4}), 1u);
  EXPECT_EQ(rows({kBatch, 4, 5}), 2u);
  EXPECT_EQ(rows({kBatch, kBatch, 3}), 2u);
  EXPECT_EQ(rows({kBatch}), 1u);
  EXPECT_EQ(rows({100, 2, 2, 2}), 1u);
  EXPECT_EQ(rows({100, 0}), 2u);
  EXPECT_EQ(rows({kBatch, 24}), 1u) << "a row may be longer";
  EXPECT_EQ(rows({kBatch, 25}), 2u);
  EXPECT_EQ(rows({kBatch, 2, 12}), 2u);
  EXPECT_EQ(rows({2, 3}), 0u);
}

TEST(SmallRows, WhyNotSmall) {
  const Tensor x = input("x", f32, {kBatch, 3, 3}), bytes = input("u", u8, {kBatch, 3, 3});
  const Tensor large = input("l", f32, {kBatch, 5, 5});
  const auto why_not = [](const Tensor& y, size_t rows) {
    return why_not_small(*y.op(), rows).value_or("");
  };
  EXPECT_EQ(why_not(relu(x, "y"), 1), "");
  EXPECT_EQ(why_not(x, 1), "expected x to be computed");
  EXPECT_EQ(why_not(relu(x, "y"), 4), "expected y to have 4 axes to say which, got 3");
  EXPECT_EQ(why_not(relu(bytes, "y"), 1), "expected values of at least 4 bytes in y");
  EXPECT_EQ(why_not(cast(bytes, f32, "y"), 1), "expected values of at least 4 bytes in y");
  EXPECT_EQ(why_not(relu(large, "y"), 1),
            "expected at most 24 elements of y, each of at most 16 steps");
  EXPECT_EQ(why_not(relu(large, "y"), 2), "");
  EXPECT_EQ(why_not(sum(large, {1, 2}, false, "y"), 1), "") << "25 steps of one element";
  EXPECT_EQ(why_not(sum(input("m", f32, {kBatch, 300}), {1}, false, "y"), 1),
            "expected at most 24 elements of y, each of at most 16 steps");
}

TEST(SmallRows, WhichDifferByElement) {
  const Tensor x = input("x", f32, {kBatch, 3, 4}), places = input("places", i32, {4});
  const Axis b("b", kBatch), i("i", 3), j("j", 4);
  const auto differs = [&](const Expr& body) {
    return differs_by_element(*compute("y", {b, i, j}, body).op(), 1);
  };
  EXPECT_TRUE(differs(x(b, (i + 1) % 3, j)));
  EXPECT_TRUE(differs(select(i == j, x(b, i, j), 0.0f)));
  EXPECT_FALSE(differs(x(b, i, j) * 2.0f));
  EXPECT_FALSE(differs(x(b, 2 - i, j)));
  EXPECT_FALSE(differs(x(b, i, clamp(places(j), 0, 3)))) << "data say where";
  EXPECT_FALSE(differs(select(x(b, i, j) > 0.0f, x(b, i, j), 0.0f))) << "data say what";
  EXPECT_FALSE(differs(x(b, (i * 4 + j) / 4, (i * 4 + j) % 4))) << "of a reshape";
  EXPECT_FALSE(differs_by_element(*reshape(x, {kBatch, 2, 6}, "y").op(), 1));
  EXPECT_FALSE(differs(select(Expr(i) < 2, x(b, min(i, 1), j), 0.0f))) << "padded";
  const Axis one("i", 1);
  EXPECT_FALSE(differs_by_element(
      *compute("y", {b, one, j}, select(Expr(one) == 0, x(b, one, j), -x(b, 1, j))).op(), 1))
      << "of one step";
  const Tensor deep = input("deep", f32, {kBatch, 3, 4, kBatch});
  const Axis last("last", kBatch);
  EXPECT_FALSE(
      differs_by_element(*compute("y", {b, last}, sum({i, j}, deep(b, i, j, last))).op(), 2))
      << "rows of a run-time length lie between";
  EXPECT_TRUE(differs_by_element(
      *compute("y", {b, last}, sum({i, j}, deep(b, (i + 1) % 3, j, last))).op(), 2));
  const Tensor turned = compute("s", {b, i, j}, x(b, (i + 1) % 3, j) + x(b, i, j));
  const OpPtr group = make_group({turned.op(), relu(turned, "y").op()});
  EXPECT_TRUE(differs_by_element(*group, 1)) << "of a member";
  const Axis k("k", 4);
  EXPECT_TRUE(differs_by_element(*compute("y", {b, i}, sum(k, x(b, i, (k + i) % 4))).op(), 1));
}

// By the step alone: vectors along the elements compute nothing in vain where these fill one.
TEST(SmallRows, WhichDifferByStep) {
  const Axis b("b", kBatch), i("i", 3), k("k", 3);
  const auto differs = [&](int64_t elements) {
    const Tensor x = input("x", f32, {kBatch, 3, elements});
    const Axis j("j", elements);
    const Expr even = (b + k) % 2 == 0;
    return differs_by_element(
        *compute("y", {b, j}, sum(k, select(even, x(b, k, j), 0.0f) * x(b, (k + 1) % 3, j))).op(),
        1);
  };
  EXPECT_FALSE(differs(4));
  EXPECT_FALSE(differs(8));
  EXPECT_TRUE(differs(3));
  const Tensor x = input("x", f32, {kBatch, 8});
  const Axis j("j", 8);
  EXPECT_TRUE(differs_by_element(
      *compute("y", {b, j}, sum(k, select(k + j < 8, x(b, min(k + j, 7)), 0.0f))).op(), 1));
}

TEST(SmallRows, OneOperationAlone) {
  EXPECT_TRUE(is_alone(Tensor(inverses_of_2(kBatch).outputs()[0])));
  EXPECT_TRUE(is_alone(Tensor(inverses_of_2(8).outputs()[0])));
  EXPECT_FALSE(is_alone(Tensor(inverses_of_2(7).outputs()[0]))) << "fewer than a vector";
  EXPECT_FALSE(is_alone(Tensor(inverses_of_2(kBatch, u8).outputs()[0])));
  const Tensor x = input("x", f32, {kBatch, 4, 4});
  const Axis b("b", kBatch), i("i", 4), j("j", 4);
  EXPECT_TRUE(is_alone(compute("y", {b, i, j}, x(b, i, (i + j) % 4))));
  EXPECT_FALSE(is_alone(compute("y", {b, i, j}, x(b, j, i)))) << "all are computed alike";
  EXPECT_FALSE(is_alone(compute("y", {b, i}, x(b, 0, (i + 1) % 4)))) << "of one axis";
  EXPECT_FALSE(is_alone(
      compute("y", {b, i, j}, select(Expr(i) < 2, x(b, i, (i + j) % 4) * 2.0f, x(b, 0, 0)))))
      << "its loop is cut";
  EXPECT_FALSE(is_alone(x));
}

TEST(SmallRows, WhatNothingElseReadsIsTogether) {
  const auto names = [](const Graph& graph) {
    std::vector<std::string> found;
    for (const RowGroup& group : small_rows(graph, kTarget)) {
      for (const Op* op : members_of(group)) found.push_back(op->name);
    }
    return found;
  };
  EXPECT_THAT(names(inverses(kBatch)), ElementsAre("y", "det", "cof"));
  EXPECT_THAT(names(sums_of_turned(kBatch)), ElementsAre("y", "total", "turned"));
  EXPECT_THAT(names(inverses(kBatch, f32, true)), ElementsAre()) << "cof is an output";
  EXPECT_THAT(names(inverses(4)), ElementsAre()) << "fewer than a vector";
  EXPECT_THAT(names(inverses_of_2(kBatch)), ElementsAre()) << "nothing is on the way";
  const Graph graph = inverses(kBatch);
  EXPECT_TRUE(small_rows(graph, kTarget, {graph.outputs()[0].get()}).empty());
  EXPECT_TRUE(small_rows(graph, kTarget, {op_of(graph, "cof").get()}).empty());
}

TEST(SmallRows, NotWhatIsReadInOtherRows) {
  const Tensor a = input("a", f32, {64, 3, 3});
  const Axis b("b", 64), i("i", 3), j("j", 3);
  Func turned("turned"), y("y");
  turned(b, i, j) = a(b, (i + j) % 3, j) + a(b, j, i);
  y(b, i, j) = turned(63 - b, i, j) * turned(b, j, i);
  EXPECT_FALSE(has_groups(Graph(y)));
}

TEST(SmallRows, NotWhereAllIsComputedAlike) {
  const Tensor a = input("a", f32, {kBatch, 3, 3});
  const Axis b("b", kBatch), i("i", 3), j("j", 3);
  Func twice("twice"), y("y");
  twice(b, i, j) = a(b, i, j) * 2.0f;
  y(b, i, j) = twice(b, i, j) * twice(b, j, i);
  EXPECT_FALSE(has_groups(Graph(y)));
}

Graph softmax_of(const Extent& rows, int columns, DType dtype = f32) {
  return Graph(softmax(input("x", dtype, {rows, columns}), -1, "y"));
}
Graph rms_norm_of(const Extent& rows, int columns, DType dtype = f32) {
  const Tensor x = input("x", dtype, {rows, columns}), g = input("g", dtype, {columns});
  return Graph(rms_norm(x, g, 1e-5, "y"));
}

// Across the rows, not along them.
TEST(SmallRows, SumsOfAFewElements) {
  const Target v2 = target_of("x86-64-v2", 1), v4 = target_of("x86-64-v4", 1);
  for (const Extent& rows : {Extent(37), kBatch}) {
    for (const Target& target : {kTarget, v4}) {
      for (const int columns : {2, 3, 4, 5, 7, 8, 16, 24}) {
        EXPECT_TRUE(has_groups(softmax_of(rows, columns), target)) << columns;
      }
      for (const int columns : {2, 3, 4}) {
        EXPECT_TRUE(has_groups(rms_norm_of(rows, columns), target)) << columns;
        EXPECT_FALSE(has_groups(softmax_of(rows, columns), v2)) << "vectors of few lanes";
        EXPECT_FALSE(has_groups(rms_norm_of(rows, columns), v2)) << columns;
      }
      EXPECT_FALSE(has_groups(softmax_of(rows, 25), target)) << "these do not stay in registers";
      EXPECT_TRUE(has_groups(softmax_of(rows, 7, f64), target));
      EXPECT_FALSE(has_groups(softmax_of(rows, 8, f64), target)) << "parts of two elements";
    }
    EXPECT_TRUE(has_groups(softmax_of(rows, 7), v2));
    EXPECT_FALSE(has_groups(softmax_of(rows, 8), v2)) << "these have vectors";
  }
  EXPECT_FALSE(has_groups(softmax_of(7, 5))) << "fewer than a vector";
}

TEST(SmallRows, SumsWithoutMaxima) {
  const Target v2 = target_of("x86-64-v2", 1), v4 = target_of("x86-64-v4", 1);
  EXPECT_TRUE(has_groups(rms_norm_of(37, 5), v2));
  EXPECT_FALSE(has_groups(rms_norm_of(37, 6), v2)) << "each is stored by itself";
  EXPECT_FALSE(has_groups(rms_norm_of(kBatch, 5), v2)) << "and a branch where masks lack";
  for (const Extent& rows : {Extent(37), kBatch}) {
    EXPECT_TRUE(has_groups(rms_norm_of(rows, 8)));
    EXPECT_FALSE(has_groups(rms_norm_of(rows, 9))) << "of sixteen registers too many";
    EXPECT_TRUE(has_groups(rms_norm_of(rows, 16), v4));
    EXPECT_TRUE(has_groups(rms_norm_of(rows, 8, f64), v4));
    EXPECT_FALSE(has_groups(rms_norm_of(rows, 9, f64), v4)) << "parts of two elements";
  }
  EXPECT_TRUE(has_groups(rms_norm_of(37, 24), v4));
  EXPECT_FALSE(has_groups(rms_norm_of(37, 25), v4));
  EXPECT_FALSE(has_groups(rms_norm_of(kBatch, 17), v4)) << "the last tile is rarely full";
}

// Statistics of rows that others go along are computed with these.
TEST(SmallRows, NotPartsOfRows) {
  const Target v4 = target_of("x86-64-v4", 1);
  const auto ends = [&](const std::vector<Tensor>& outputs) {
    std::vector<std::string> names;
    for (const RowGroup& group : small_rows(fuse_epilogues(Graph(outputs)), v4)) {
      names.push_back(result_of(group.reader()).name);
    }
    return names;
  };
  for (const int columns : {7, 16}) {
    const Tensor x = input("x", f32, {37, columns}), g = input("g", f32, {columns});
    const Tensor root = sqrt(sum(x * x, {1}, true, "squares"), "root");
    const Tensor log_of_sum = log(sum(exp(x - reduce_max(x, {1}, true)), {1}, true), "log");
    EXPECT_THAT(ends({log_of_sum}), ElementsAre("log")) << columns;
    EXPECT_EQ(ends({root, x / root}).size(), columns == 7 ? 1U : 0U);
    const std::vector<std::string> series = ends({tanh(rms_norm(x, g), "y")});
    EXPECT_EQ(series.size(), columns == 7 ? 1U : 0U) << "vectors along them are nearly empty";
    const std::vector<std::string> beside = ends({rms_norm(x, g, 1e-5, "y"), relu(x, "z")});
    EXPECT_THAT(beside, ElementsAre("y")) << columns;
  }
}

// The sums in front of a series are in lanes, and it is by itself.
TEST(SmallRows, NoSeriesBehindSums) {
  const Tensor x = input("x", f32, {37, 5}), g = input("g", f32, {5});
  const auto ends = [](const Tensor& y) {
    std::vector<std::string> names;
    for (const RowGroup& group : small_rows(fuse_epilogues(Graph(y)), kTarget)) {
      names.push_back(result_of(group.reader()).name);
    }
    return names;
  };
  EXPECT_THAT(ends(relu(rms_norm(x, g), "y")), ElementsAre("y"));
  EXPECT_THAT(ends(tanh(rms_norm(x, g), "y")), ElementsAre(HasSubstr("scale")));
  EXPECT_THAT(ends(sum(exp(x), {1}, true, "y")), ElementsAre("y"));
  EXPECT_THAT(ends(sum(x, {1}, true, "y")), ElementsAre()) << "alone";
  EXPECT_THAT(ends(mul(x, x * 2.0F, "y")), ElementsAre()) << "no sums";
}

// Of a run-time number of rows it would be computed a few rows at a time otherwise.
TEST(SmallRows, ASeriesBehindSumsOfARunTimeNumberOfRows) {
  const auto of = [](const Extent& rows, int columns) {
    const Tensor x = input("x", f32, {rows, columns}), g = input("g", f32, {columns});
    return Graph(tanh(rms_norm(x, g), "y"));
  };
  const auto is_all_in_lanes = [&](const Extent& rows, int columns) {
    const Graph grouped = fuse_epilogues(of(rows, columns));
    const std::vector<RowGroup> groups = small_rows(grouped, kTarget);
    return groups.size() == 1 && result_of(groups[0].reader()).name == "y";
  };
  for (const int columns : {5, 7}) {
    EXPECT_TRUE(is_all_in_lanes(kBatch, columns)) << columns;
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(of(kBatch, columns), target_of(level, 2), {0, 1, 5, 16, 33}, 1e-5));
    }
  }
  EXPECT_FALSE(is_all_in_lanes(37, 5)) << "known";
  EXPECT_FALSE(is_all_in_lanes(kBatch, 8)) << "these have vectors";
}

// A chain of any length is cut into groups.
TEST(SmallRows, GroupsAreNoLongerThanSoMany) {
  Tensor s = input("s", f32, {kBatch, 2, 2});
  const Axis b("b", kBatch), i("i", 2), j("j", 2);
  for (int n = 0; n < 100; ++n) {
    s = compute("s" + std::to_string(n), {b, i, j}, s(b, (i + j) % 2, j) * s(b, j, i));
  }
  const std::vector<RowGroup> groups = small_rows(Graph(s), kTarget);
  ASSERT_EQ(groups.size(), 3u) << "of a hundred the first is alone";
  EXPECT_EQ(groups[0].members.size(), 33u);
}

TEST(SmallRows, AVectorOfEachElement) {
  EXPECT_EQ(derived(inverses(kBatch), kTarget),
            "emulsion schedule 1\n"
            "y.split(b, tile, lane, 8, predicate)\ny.reorder(lane, j, i, tile)\n"
            "y.vectorize(lane)\ny.partition(tile)\ny.unroll(i)\ny.unroll(j)\n"
            "det.reorder(b)\ndet.vectorize(b)\ndet.compute_at(y, tile)\n"
            "cof.reorder(b, j, i)\ncof.vectorize(b)\ncof.reorder_storage(b, j, i)\n"
            "cof.compute_at(y, tile)\ncof.unroll(i)\ncof.unroll(j)\n");
  const std::string known = derived(inverses(100), kTarget);
  EXPECT_THAT(known, HasSubstr("y.split(b, tile, lane, 8, shift_inwards)\n"));
  EXPECT_THAT(known, Not(HasSubstr("partition")));
  EXPECT_THAT(derived(inverses(64), kTarget), HasSubstr("y.split(b, tile, lane, 8)\n"));
  EXPECT_THAT(derived(inverses_of_2(kBatch), kTarget), HasSubstr("y.unroll(i)\ny.unroll(j)\n"));
  EXPECT_THAT(derived(sums_of_turned(kBatch), kTarget), HasSubstr("total.unroll(i)\n"));
  EXPECT_THAT(derived(sums_of_turned(kBatch), kTarget), HasSubstr("total.unroll(k)\n"));
}

// A long body is unrolled in the inner loop only, or in none: the code would be too long for LLVM.
TEST(SmallRows, LongBodiesAreNotWrittenOutForAllElements) {
  const auto unrolled = [](int terms) {
    const Tensor x = input("x", f32, {kBatch, 16});
    const Axis b("b", kBatch), i("i", 16), r("r", 16);
    Expr body = x(b, r) * x(b, (i + r) % 16);
    for (int term = 1; term < terms; ++term) body = body + x(b, (i * term + r) % 16);
    const Tensor y = compute("y", {b, i}, sum(r, body));
    EXPECT_TRUE(is_alone(y)) << terms;
    const std::string text = derived(Graph(y), kTarget);
    const bool steps = text.find("y_acc.unroll(r)") != std::string::npos;
    const bool elements = text.find("y_acc.unroll(i)") != std::string::npos;
    EXPECT_TRUE(steps || !elements) << text;
    return (steps ? 1 : 0) + (elements ? 1 : 0);
  };
  EXPECT_EQ(unrolled(1), 2);
  EXPECT_EQ(unrolled(6), 1);
  EXPECT_EQ(unrolled(60), 0);
}

// The gates of an LSTM's step, and sums that read them from another place on: of few elements.
TEST(SmallRows, ManySeriesAreNotWrittenOut) {
  const auto sums_of_gates = [](int64_t elements) {
    const Tensor x = input("x", f32, {kBatch, 4 * elements}),
                 c = input("c", f32, {kBatch, elements});
    const Axis b("b", kBatch), i("i", elements), k("k", elements);
    const auto sigmoid_of = [&](int64_t gate) {
      return 1.0F / (1.0F + exp(-x(b, i + gate * elements)));
    };
    Func h("h"), y("y");
    h(b, i) = sigmoid_of(0) *
              tanh(sigmoid_of(1) * c(b, i) + sigmoid_of(2) * tanh(x(b, i + 3 * elements)));
    y(b) = sum(k, h(b, (k + 2) % elements));
    return Graph(y);
  };
  EXPECT_TRUE(has_groups(sums_of_gates(12))) << "60 series";
  EXPECT_FALSE(has_groups(sums_of_gates(13)));
  EXPECT_FALSE(has_groups(sums_of_gates(24)));
  const Tensor x = input("x", f32, {kBatch, 4, 4});
  const Axis b("b", kBatch), i("i", 4), j("j", 4);
  Expr series = x(b, i, (i + j) % 4);
  for (int n = 1; n <= 4; ++n) series = exp(series);
  EXPECT_TRUE(is_alone(compute("y", {b, i, j}, series)));
  EXPECT_FALSE(is_alone(compute("y", {b, i, j}, exp(series)))) << "80 series";
}

TEST(SmallRows, ThreadsShareTiles) {
  EXPECT_THAT(derived(inverses(1 << 20), target_of("x86-64-v3", 4)),
              HasSubstr("y.parallel(tile)\n"));
  const std::string text = derived(inverses(kBatch), target_of("x86-64-v3", 4));
  EXPECT_THAT(text, HasSubstr("y.specialize(B >= "));
  EXPECT_THAT(text, HasSubstr("y.parallel(tile)\n"));
}

TEST(SmallRows, AreALoopGroupAndInTheLedger) {
  const Graph shared = share_loops(fuse_epilogues(inverses(kBatch)), kTarget);
  EXPECT_THAT(to_string(shared), HasSubstr("over [b]"));
  const Lowered together = run_pipeline(inverses(kBatch), kTarget);
  EXPECT_EQ(together.fusion.fused_count(), 2) << to_string(together.fusion);
  for (const FusionDecision& decision : together.fusion.decisions) {
    const std::string is = decision.fused ? decision.pattern : kSharedRows;
    EXPECT_EQ(is, kSharedRows);
    EXPECT_EQ(decision.consumer, "y");
  }
  const FusionConfig off = parse_fusion_config(R"({"patterns": ["elementwise chain"]})");
  const Lowered apart = run_pipeline(inverses(kBatch), kTarget, {}, nullptr, off);
  EXPECT_THAT(to_string(apart.schedule), Not(HasSubstr("compute_at")));
}

TEST(SmallRows, OfAnySize) {
  const auto computes = [](const Graph& graph, const Target& target) {
    for (const int64_t batch : {0, 1, 5, 16, 37}) {
      SizeValues sizes;
      for (const std::string& size : graph.sizes()) sizes[size] = batch;
      auto result = lowers(graph, derive_schedule(graph, target), sizes);
      if (!result || sizes.empty()) return result;
    }
    return testing::AssertionSuccess();
  };
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const Extent& batch : {kBatch, Extent(1), Extent(37), Extent(64)}) {
        EXPECT_TRUE(computes(inverses(batch, i32), target)) << level << batch.to_string();
        EXPECT_TRUE(computes(inverses_of_2(batch), target)) << level << batch.to_string();
        EXPECT_TRUE(computes(sums_of_turned(batch), target)) << level << batch.to_string();
        EXPECT_TRUE(computes(turned_products(batch), target)) << level << batch.to_string();
        for (const int columns : {2, 5, 7, 8, 11, 24}) {
          EXPECT_TRUE(derives(softmax_of(batch, columns), target, {0, 1, 5, 37}, 1e-5)) << level;
          EXPECT_TRUE(derives(rms_norm_of(batch, columns), target, {0, 1, 5, 37}, 1e-5)) << level;
        }
      }
    }
  }
}

// Rows of five elements inside another axis: lanes are along that where a step has few rows.
TEST(SmallRows, FewRowsOfManySteps) {
  const Graph graph(softmax(input("x", f32, {40, kBatch, 5}), -1, "y"));
  const std::string text = derived(graph, Target::parse("x86-64-v4,cores=1"));
  EXPECT_THAT(text, HasSubstr(".alternative(B <= 8, y_apart)\n"));
  EXPECT_THAT(text, HasSubstr("y_apart.split(i0, tile, lane, 16, shift_inwards)\n"
                              "y_apart.reorder(lane, i2, i1, tile)\n"));
  EXPECT_THAT(text, HasSubstr(".compute_at(y_apart, i1)\n"));
  // Of fewer steps than lanes a shorter vector.
  const Graph fewer(softmax(input("x", f32, {15, kBatch, 5}), -1, "y"));
  EXPECT_THAT(derived(fewer, Target::parse("x86-64-v4,cores=1")),
              HasSubstr("y_apart.split(i0, tile, lane, 8, shift_inwards)\n"));
  const Graph few(softmax(input("x", f32, {7, kBatch, 5}), -1, "y"));
  EXPECT_THAT(derived(few, Target::parse("x86-64-v4,cores=1")), Not(HasSubstr("_apart")));
  for (const char* level : kLevels) {
    for (const auto& [steps, columns] : {std::pair(16, 5), {9, 12}, {40, 20}, {200, 5}}) {
      const Tensor x = input("x", f32, {steps, kBatch, columns});
      const Tensor below = x - reduce_max(x, {2}, true);
      for (const Graph& one : {Graph(softmax(x)), Graph(log(sum(exp(below), {2})))}) {
        EXPECT_TRUE(derives(one, target_of(level, 2), {0, 1, 3, 8, 9, 17}, 1e-5)) << level;
      }
    }
    const Graph any(softmax(input("x", f32, {Extent::size("N"), kBatch, 5})));
    const Schedule schedule = derive_schedule(any, target_of(level, 2));
    for (const int64_t steps : {31, 32, 45}) {
      EXPECT_TRUE(lowers(any, schedule, {{"B", 3}, {"N", steps}}, 1e-5)) << level;
    }
  }
}

}  // namespace
}  // namespace emulsion
