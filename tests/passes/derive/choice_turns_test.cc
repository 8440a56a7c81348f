#include "passes/derive/choice_turns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("C"), kOther = Extent::size("D");
const Expr size = size_value("C");

// Of y[i, j] = body over columns j; "none" where they cannot be told.
std::string turns_of(const Extent& columns, const std::function<Expr(const Expr&)>& body) {
  const Axis i("i", 3), j("j", columns);
  const Graph graph(compute("y", {i, j}, body(Expr(j)) + cast(f32, Expr(i))));
  const auto turns = turns_along(*graph.ops().back(), j);
  if (!turns) return "none";
  std::string text;
  for (const Extent& turn : *turns) text += (text.empty() ? "" : ", ") + turn.to_string();
  return text;
}

std::string turns_where(const Extent& columns, const std::function<Expr(const Expr&)>& condition) {
  return turns_of(columns, [&](const Expr& j) { return select(condition(j), 1.0f, 2.0f); });
}

TEST(ChoiceTurns, AreWhereComparisonsTurn) {
  const Extent columns = kSize + 9;
  EXPECT_EQ(turns_where(columns, [](const Expr& j) { return j < size; }), "C");
  EXPECT_EQ(turns_where(columns, [](const Expr& j) { return j <= size; }), "C + 1");
  EXPECT_EQ(turns_where(columns, [](const Expr& j) { return j > 3; }), "4");
  EXPECT_EQ(turns_where(columns, [](const Expr& j) { return j >= 3; }), "3");
  EXPECT_EQ(turns_where(columns, [](const Expr& j) { return size - j > 0; }), "C");
  EXPECT_EQ(turns_where(columns, [](const Expr& j) { return j == 3; }), "3, 4");
}

TEST(ChoiceTurns, AreInOrderAndOnce) {
  const auto bordered = [](const Expr& j) { return j < size + 3 && !(j < 3) && size + 3 > j; };
  EXPECT_EQ(turns_where(kSize + 6, bordered), "3, C + 3");
}

TEST(ChoiceTurns, OfARemainderAreWhereItStartsAnew) {
  const Tensor x = input("x", f32, {kSize});
  EXPECT_EQ(turns_of(2 * kSize, [&](const Expr& j) { return x(j % size); }), "C");
  const Tensor z = input("z", f32, {2 * kSize});
  EXPECT_EQ(turns_of(2 * kSize, [&](const Expr& j) { return z((j + size) % (2 * size)); }), "C");
}

TEST(ChoiceTurns, ThereAreNoneOutsideOfTheAxis) {
  EXPECT_EQ(turns_where(kSize, [](const Expr& j) { return j < size; }), "");
  EXPECT_EQ(turns_where(kSize, [](const Expr& j) { return j >= 0; }), "");
  EXPECT_EQ(turns_of(kSize, [](const Expr&) { return constant(f32, 1); }), "");
}

TEST(ChoiceTurns, OfDataThereAreNone) {
  const Tensor x = input("x", f32, {kSize + 4});
  EXPECT_EQ(turns_where(kSize + 4, [&](const Expr& j) { return x(j) < 1.0f; }), "");
}

TEST(ChoiceTurns, CannotBeToldWhereTheyMayBeOutside) {
  EXPECT_EQ(turns_where(kSize, [](const Expr& j) { return j < 1; }), "none");
  EXPECT_EQ(turns_where(kSize + 2, [](const Expr& j) { return j < 2 * size; }), "none");
}

// Where there is something to read its length is at least 1.
TEST(ChoiceTurns, AreThoseOfTheSizesThatMatter) {
  const Tensor x = input("x", f32, {kSize});
  const auto turns = [&](const Expr& condition, bool is_first, const Expr& other) {
    return turns_of(kSize + 2, [&](const Expr& j) {
      const Expr read = x(clamp((j + size - 1) % size, 0, size - 1));
      return is_first ? select(condition, read, other) : select(condition, other, read);
    });
  };
  const Expr none = constant(f32, 0), by_place = cast(f32, axis_value("j"));
  EXPECT_EQ(turns(size > 0, true, none), "1, C + 1");
  EXPECT_EQ(turns(size != 0, true, none), "1, C + 1");
  EXPECT_EQ(turns(size > 0 && size_value("D") > 0, true, none), "1, C + 1");
  EXPECT_EQ(turns(size == 0, false, none), "1, C + 1");
  EXPECT_EQ(turns(!(size > 0), false, none), "1, C + 1");
  EXPECT_EQ(turns(size > 0, true, by_place), "none");  // there the axis matters without it
}

TEST(ChoiceTurns, CannotBeToldWithoutAnOrder) {
  const auto either = [](const Expr& j) { return j < size || j > size_value("D"); };
  EXPECT_EQ(turns_where(kSize + kOther + 2, either), "none");
}

TEST(ChoiceTurns, CannotBeToldOfStepsOrOtherAxes) {
  EXPECT_EQ(turns_where(2 * kSize, [](const Expr& j) { return 2 * j < size; }), "none");
  const Axis i("i", kSize), j("j", kSize);
  const Graph graph(compute("y", {i, j}, select(j < i, 1.0f, 2.0f)));
  EXPECT_FALSE(turns_along(*graph.ops().back(), j));
  EXPECT_EQ(turns_of(kSize + 4, [](const Expr& k) { return cast(f32, k % 4); }), "none");
}

Graph joined(const Extent& left, const Extent& right, DType dtype = f32) {
  return Graph(concat({input("a", dtype, {3, left}), input("b", dtype, {3, right})}, 1, "y"));
}

// The cuts of what is derived of a graph, one a line.
std::string cuts_of(const Graph& graph, const std::string& level) {
  const std::string schedule = to_string(run_pipeline(graph, target_of(level.c_str(), 1)).schedule);
  std::string cuts;
  for (size_t at = schedule.find("y.cut("); at != std::string::npos;
       at = schedule.find("y.cut(", at + 1)) {
    cuts += schedule.substr(at, schedule.find('\n', at) + 1 - at);
  }
  return cuts;
}

TEST(TurnsToCutAt, AreThoseOfRowsOfARunTimeLength) {
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    EXPECT_EQ(cuts_of(joined(kSize, kOther), level), "y.cut(i1, C)\n") << level;
    EXPECT_EQ(cuts_of(joined(700, 300), level), "") << level;
  }
}

TEST(TurnsToCutAt, WithoutMasksPiecesFillVectors) {
  const Graph bytes = joined(kSize, kSize, u8);
  const Lowered lowered = run_pipeline(bytes, target_of("x86-64-v3", 1));
  const std::string schedule = to_string(lowered.schedule);
  EXPECT_TRUE(has(schedule,
                  "y.specialize(C >= 32)\ny.cut(i1, C)\ny.split(i1, i1, i1_v, 32, "
                  "shift_inwards)"))
      << schedule;
  EXPECT_FALSE(has(schedule, "predicate)\ny.cut")) << schedule;
}

TEST(TurnsToCutAt, WithoutMasksAShortPieceIsNotCut) {
  const Graph bordered(pad(input("x", u8, {3, kSize}), {0, 3}, {0, 3}, 0, "y"));
  EXPECT_EQ(cuts_of(bordered, "x86-64-v3"), "");
  EXPECT_EQ(cuts_of(bordered, "x86-64-v4"), "y.cut(i1, 3)\ny.cut(i1, C + 3)\n");
}

TEST(TurnsToCutAt, ThereAreNoneOfManyParts) {
  const std::vector<Tensor> parts(20, input("x", f32, {3, kSize}));
  EXPECT_EQ(cuts_of(Graph(concat(parts, 1, "y")), "x86-64-v4"), "");
}

TEST(TurnsToCutAt, ThereAreNoneOfWhatIsReadApart) {
  const Axis i("i", 3), j("j", 2 * kSize);
  const Tensor x = input("x", f32, {3, 2 * kSize});
  const Expr apart = x(i, max(2 * (j - size), 0));
  EXPECT_EQ(cuts_of(Graph(compute("y", {i, j}, select(j < size, x(i, j), apart))), "x86-64-v4"),
            "");
}

TEST(TurnsToCutAt, WhatIsDerivedComputesTheSame) {
  const std::vector<int64_t> sizes = {0, 1, 3, 15, 16, 17, 40, 70};
  const Axis i("i", 3), j("j", 2 * kSize);
  const Tensor x = input("x", f32, {3, 2 * kSize});
  const Expr other = x(i, (j + size) % (2 * size));
  const Graph rotated(
      compute("y", {i, j}, x(i, j) * 2.0f + select(j < size, -other, other) * x(i, j % size)));
  const Graph row(concat({input("a", f32, {kSize}), input("b", f32, {kSize + 5})}, 0, "y"));
  const Graph bordered(pad(input("x", f32, {4, kSize}), {2, 3}, {2, 3}, 0, "y"));
  const Axis k("k", kSize + 2);
  const Tensor z = input("z", u8, {3, kSize});
  const Graph around(
      compute("y", {i, k}, select(size > 0, z(i, (k + size - 1) % size), cast(u8, 7))));
  for (const char* level : kLevels) {
    for (const Graph& graph :
         {joined(kSize, kSize), joined(kSize, kSize, u8), rotated, row, bordered, around}) {
      EXPECT_TRUE(derives(graph, target_of(level, 2), sizes)) << level;
    }
  }
}

// y[i, j] of so many columns, made of columns beside it.
enum class Ends { clamped, reflected, around, chosen, clamped_far };
Graph with_ends(Ends ends, const Extent& columns, DType dtype = f32) {
  const Axis i("i", 3), j("j", columns);
  const Tensor x = input("x", dtype, {3, columns});
  const Expr length = extent_value(columns), last = length - 1;
  const auto at = [&](int64_t apart) -> Expr {
    const Expr k = j + int_constant(apart);
    if (ends == Ends::reflected) return x(i, min(abs(k), last));
    if (ends == Ends::around) return x(i, (k + length) % length);
    const Expr held = x(i, min(max(k, 0), last));
    return ends == Ends::chosen ? select(k >= 0 && k < length, held, cast(dtype, Expr(0))) : held;
  };
  const int64_t far = ends == Ends::clamped_far ? 9 : 2;
  return Graph(compute("y", {i, j}, at(-1) + at(0) * at(far)));
}

TEST(EndsToCutAt, AreWhereNoIndexIsHeldAnyMore) {
  for (const Ends ends : {Ends::clamped, Ends::reflected, Ends::around, Ends::chosen}) {
    for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
      EXPECT_EQ(cuts_of(with_ends(ends, kSize), level), "y.cut(j, 1)\ny.cut(j, C - 2)\n") << level;
    }
  }
  const Graph known = with_ends(Ends::around, 50);
  EXPECT_EQ(cuts_of(known, "x86-64-v4"), "y.cut(j, 1)\ny.cut(j, 48)\n");
  EXPECT_TRUE(has(derived(with_ends(Ends::clamped, kSize), target_of("x86-64-v4", 1)),
                  "y.specialize(C >= 16)\ny.cut(j, 1)\n"));
}

TEST(EndsToCutAt, ThereAreNoneFarFromTheEnds) {
  EXPECT_EQ(cuts_of(with_ends(Ends::clamped_far, kSize), "x86-64-v4"), "");
  const Axis i("i", 3), j("j", kSize + 40);
  const Tensor x = input("x", f32, {3, kSize + 40});
  const Expr held = x(i, max(j - 1, 0)), some = x(i, j);
  const Graph inside(compute("y", {i, j}, select(j < 20, held, some)));
  EXPECT_FALSE(has(cuts_of(inside, "x86-64-v4"), "y.cut(j, 1)")) << "another choice at 20";
}

TEST(EndsToCutAt, ThereAreNoneOfRowsOfAVector) {
  EXPECT_EQ(cuts_of(with_ends(Ends::around, 18), "x86-64-v4"), "") << "15 between";
  EXPECT_EQ(cuts_of(with_ends(Ends::around, 19), "x86-64-v4"), "y.cut(j, 1)\ny.cut(j, 17)\n");
}

TEST(EndsToCutAt, ThereAreNoneWithoutMasksOrOfNarrowElements) {
  EXPECT_EQ(cuts_of(with_ends(Ends::clamped, kSize), "x86-64-v2"), "");
  EXPECT_EQ(cuts_of(with_ends(Ends::clamped, kSize, u8), "x86-64-v3"), "");
  EXPECT_EQ(cuts_of(with_ends(Ends::clamped, kSize, u8), "x86-64-v4"), "");
}

TEST(EndsToCutAt, ThereAreNoneOfWhatIsReadApart) {
  const Axis i("i", 3), j("j", kSize);
  const Tensor x = input("x", f32, {3, 2 * kSize});
  EXPECT_EQ(cuts_of(Graph(compute("y", {i, j}, x(i, max(2 * j - 1, 0)))), "x86-64-v4"), "");
}

TEST(EndsToCutAt, WhatIsDerivedComputesTheSame) {
  const std::vector<int64_t> sizes = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 19, 40, 70};
  for (const char* level : kLevels) {
    for (const Ends ends : {Ends::clamped, Ends::reflected, Ends::around, Ends::chosen}) {
      EXPECT_TRUE(derives(with_ends(ends, kSize), target_of(level, 2), sizes)) << level;
      EXPECT_TRUE(derives(with_ends(ends, kSize, u8), target_of(level, 2), sizes)) << level;
      for (const int columns : {3, 18, 19, 34, 50}) {
        EXPECT_TRUE(derives(with_ends(ends, columns), target_of(level, 2), {1})) << columns;
      }
    }
  }
}

// Three columns of nothing on either side, or as many as are asked for.
Graph padded(DType dtype, int64_t left = 3, int64_t right = 3) {
  return Graph(pad(input("x", dtype, {4, kSize}), {0, left}, {0, right}, 0, "y"));
}

TEST(StepsWithoutReads, AreInVectorsWithOthers) {
  const auto is_whole = [](const Graph& graph, const std::string& level, int64_t lanes) {
    const std::string text = derived(graph, target_of(level.c_str(), 1));
    return has(text, fmt::format("y.specialize(C >= {0})\ny.split(i1, i1, i1_v, {0}, predicate)\n"
                                 "y.vectorize(i1_v)\ny.partition(i1)\n",
                                 lanes));
  };
  EXPECT_TRUE(is_whole(padded(f32), "x86-64-v3", 8));
  EXPECT_TRUE(is_whole(padded(f32), "x86-64-v4", 16));
  EXPECT_TRUE(is_whole(padded(u8), "x86-64-v4", 64));
  EXPECT_TRUE(is_whole(padded(f32, 1, 15), "x86-64-v4", 16));
  const Tensor inlined = pad(input("x", f32, {4, kSize}), {0, 3}, {0, 3});
  EXPECT_TRUE(is_whole(Graph(relu(inlined, "y")), "x86-64-v4", 16));
  const Tensor number = input("s", f32, {});
  EXPECT_TRUE(is_whole(Graph(mul(inlined, number, "y")), "x86-64-v4", 16)) << "no index";

  const Axis i("i0", 4), j("i1", kSize + 2);
  const Expr value = input("x", f32, {4, kSize + 2})(i, j);
  const Graph framed(compute("y", {i, j}, select(j == 0 || j == size + 1, 0.0f, value)));
  EXPECT_TRUE(is_whole(framed, "x86-64-v4", 16)) << "no order";
  EXPECT_FALSE(is_whole(Graph(exp(inlined, "y")), "x86-64-v4", 16)) << "much for an element";
  EXPECT_FALSE(is_whole(padded(u8), "x86-64-v3", 32)) << "no masks";
  EXPECT_FALSE(is_whole(padded(f32, 3, 0), "x86-64-v4", 16)) << "one end";
  EXPECT_FALSE(is_whole(padded(f32, 3, 16), "x86-64-v4", 16)) << "a vector of them";
  const Tensor edge = input("e", f32, {4, 1});
  const Graph joined(concat({edge, input("x", f32, {4, kSize}), edge}, 1, "y"));
  EXPECT_FALSE(is_whole(joined, "x86-64-v4", 16)) << "reads at other places";
}

TEST(StepsWithoutReads, WhatIsDerivedComputesTheSame) {
  const std::vector<int64_t> sizes = {0, 1, 3, 10, 15, 16, 17, 29, 40, 63, 64, 70, 125, 150};
  for (const char* level : kLevels) {
    for (const DType dtype : {u8, u16, f32, f64}) {
      EXPECT_TRUE(derives(padded(dtype), target_of(level, 2), sizes)) << level;
    }
    EXPECT_TRUE(derives(padded(f32, 1, 7), target_of(level, 1), sizes)) << level;
  }
}

// A step of Jacobi's: the border stays.
Graph jacobi(const Extent& height, const Extent& width) {
  const Axis i("i", height), j("j", width);
  const Tensor x = input("x", f32, {height, width});
  const Expr is_border = i == 0 || i == height - 1 || j == 0 || j == width - 1;
  const Expr mean = (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1)) * 0.25F;
  return Graph(compute("y", {i, j}, select(is_border, x(i, j), mean)));
}

TEST(OtherRowsAtEnds, HaveALoopOfTheirOwn) {
  const auto has_rows = [](const Graph& graph, int cores = 1) {
    return has(derived(graph, target_of("x86-64-v4", cores)), "y.partition(i)\n");
  };
  EXPECT_TRUE(has_rows(jacobi(kSize, kOther)));
  EXPECT_TRUE(has_rows(jacobi(kSize, 50)));
  EXPECT_TRUE(has_rows(jacobi(30, kOther)));
  EXPECT_TRUE(has_rows(jacobi(30, 50)));
  EXPECT_FALSE(has_rows(jacobi(8, 50))) << "most rows are at the ends";
  EXPECT_FALSE(has_rows(jacobi(30, 1000))) << "long rows";
  EXPECT_FALSE(has_rows(with_ends(Ends::clamped, kSize))) << "rows alike";
  const Axis i("i", 30), j("j", 50);
  const Tensor x = input("x", f32, {30, 50}), at = input("at", i32, {30});
  EXPECT_FALSE(has_rows(Graph(compute("y", {i, j}, x(clamp(at(i), 0, 29), j) + x(i, j)))));
  EXPECT_FALSE(has_rows(Graph(compute("y", {i, j}, x(i % 4, j) + x(i, j))))) << "again and again";
  EXPECT_TRUE(has_rows(Graph(compute("y", {i, j}, x((i + 1) % 30, j) + x(i, j)))));
  const Expr far = x(max(i - 12, 0), j);
  EXPECT_FALSE(has_rows(Graph(compute("y", {i, j}, far + x(i, j))))) << "far from the ends";
}

// Threads would be woken for each part of the rows.
TEST(OtherRowsAtEnds, AreWithTheOthersWhereThreadsShareThem) {
  const std::string text = derived(jacobi(kSize, kOther), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(text, "y.partition(i)\n")) << text;
  EXPECT_FALSE(has(text, "y.partition(i)\ny.parallel") || has(text, "y.partition(task)")) << text;
}

TEST(OtherRowsAtEnds, WhatIsDerivedComputesTheSame) {
  const std::vector<int64_t> sizes = {1, 2, 3, 15, 16, 17, 18, 33, 50};
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      const Target target = target_of(level, cores);
      EXPECT_TRUE(derives(jacobi(kSize, kOther), target, sizes)) << level;
      EXPECT_TRUE(derives(jacobi(30, 50), target, {1})) << level;
    }
  }
}

}  // namespace
}  // namespace emulsion
