// Axes that a stage and all that reads it take as one loop: what is stored of a part of that loop,
// and where they stay as they are. Every nest is run against its graph.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis f("f"), g("g"), fo("fo"), fi("fi");

// m = 2 x, y = m + 1, both x[rows, 3, 5]
struct Cube {
  explicit Cube(const Extent& rows = 4, const Extent& inner = 3)
      : i("i", rows), j("j", inner), k("k", 5) {
    x = input("x", f32, {rows, inner, 5});
    m = compute("m", {i, j, k}, x(i, j, k) * 2.0f);
    y = compute("y", {i, j, k}, m(i, j, k) + 1.0f);
    schedule = Schedule(y);
  }

  // Rows of y, two at a time, with those of m inside.
  Cube& in_rows() {
    schedule[y].fuse(i, j, f).split(f, fo, fi, 2);
    schedule[m].fuse(i, j, g).compute_at(y, fo);
    return *this;
  }

  Axis i, j, k;
  Tensor x, m, y;
  Schedule schedule{Graph(compute("unused", {}, constant(f32, 0)))};
};

std::string nest_of(const Schedule& schedule) {
  EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"B", 3}}));
  EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"B", 0}}));
  return to_string(lower(schedule.graph(), schedule));
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(MergeFusedAxes, OfAPartOfTheLoop) {
  const std::string text = nest_of(Cube().in_rows().schedule);
  EXPECT_TRUE(has(text, "alloc m[y.fo * 2 .. +2, 0 .. +5]")) << text;
  EXPECT_TRUE(has(text, "execute m[g, k] = x[g / 3, g % 3, k] * 2f")) << text;
  EXPECT_TRUE(has(text, "= m[i * 3 + j, k] + 1f")) << text;
}

// The rows of y are cut in parts outside of the loop at which m is computed.
TEST(MergeFusedAxes, InsideOfAPartOfTheLoop) {
  Cube row;
  row.schedule[row.y].fuse(row.i, row.j, f);
  row.schedule[row.m].fuse(row.i, row.j, f).compute_at(row.y, row.k);
  EXPECT_TRUE(has(nest_of(row.schedule), "alloc m[y.f .. +1, y.k .. +1]"));
  Cube part;
  part.schedule[part.y].fuse(part.i, part.j, f).split(f, fo, fi, 5, Tail::shift_inwards);
  part.schedule[part.y].reorder({fi, part.k, fo});
  part.schedule[part.m].fuse(part.i, part.j, f).compute_at(part.y, part.k);
  EXPECT_TRUE(has(nest_of(part.schedule), "alloc m[min(y.fo * 5, 7) .. +5, y.k .. +1]"));
}

TEST(MergeFusedAxes, OfARunTimeNumberOfRows) {
  const std::string text = nest_of(Cube(Extent::size("B")).in_rows().schedule);
  EXPECT_TRUE(has(text, "alloc m[y.fo * 2 .. +2, 0 .. +5]")) << text;
}

TEST(MergeFusedAxes, OfRowsWithOneStep) {
  const std::string text = nest_of(Cube(4, 1).in_rows().schedule);
  EXPECT_TRUE(has(text, "alloc m[y.fo * 2 .. +2, 0 .. +5]")) << text;
}

// Also where the parts are no whole rows of the axis that is outside.
TEST(MergeFusedAxes, WhereThePartsDoNotDivideTheInnerAxis) {
  Cube t(5, 6);
  t.schedule[t.y].fuse(t.i, t.j, f).split(f, fo, fi, 4, Tail::predicate).vectorize(fi);
  t.schedule[t.m].fuse(t.i, t.j, g).vectorize(g).compute_at(t.y, fo);
  const std::string text = nest_of(t.schedule);
  EXPECT_TRUE(has(text, "alloc m[y.fo * 4 .. +4, 0 .. +5]")) << text;
}

TEST(MergeFusedAxes, OfThreeAxesAndOfTheLastTwo) {
  Cube t;
  t.schedule[t.y].fuse(t.j, t.k, g).fuse(t.i, g, f).split(f, fo, fi, 10);
  t.schedule[t.m].fuse(t.j, t.k, g).fuse(t.i, g, f).compute_at(t.y, fo);
  EXPECT_TRUE(has(nest_of(t.schedule), "alloc m[y.fo * 10 .. +10]"));
  Cube last;
  last.schedule[last.y].fuse(last.j, last.k, g).split(g, fo, fi, 3);
  last.schedule[last.m].fuse(last.j, last.k, f).compute_at(last.y, fo);
  EXPECT_TRUE(has(nest_of(last.schedule), "alloc m[y.i .. +1, y.fo * 3 .. +3]"));
}

// Sums of rows, in lanes: a chain of stages, each of which fuses.
TEST(MergeFusedAxes, OfWhatStandsBehindOneAnother) {
  const Axis i("i", 4), j("j", 3), k("k", 8), r("r", 8), lane("lane");
  const Tensor x = input("x", f32, {4, 3, 8});
  const Tensor s = compute("s", {i, j}, sum(r, x(i, j, r)));
  const Tensor y = compute("y", {i, j, k}, x(i, j, k) - s(i, j));
  Schedule schedule(y);
  schedule[y].fuse(i, j, f).split(f, fo, fi, 4);
  schedule[s].split(r, r, lane, 4).rfactor(lane, "lanes").fuse(i, j, f).compute_at(y, fo);
  schedule["lanes"].fuse(i, j, f).reorder({lane, r}).vectorize(lane).compute_at(s, f);
  const std::string text = nest_of(schedule);
  EXPECT_TRUE(has(text, "alloc s[y.fo * 4 .. +4]")) << text;
  EXPECT_TRUE(has(text, "execute lanes[f, lane] += x[f / 3, f % 3, r * 4 + lane]")) << text;
}

TEST(MergeFusedAxes, WhereStorageHasThemAsNeighbours) {
  Cube t = Cube().in_rows();
  t.schedule[t.m].reorder_storage({t.j, t.i, t.k});
  EXPECT_TRUE(has(nest_of(t.schedule), "alloc m[y.fo * 2 .. +2, 0 .. +5]"));
}

// Each of these keeps the axes of m, and what it means.
void stays(const Schedule& schedule) {
  const std::string text = nest_of(schedule);
  EXPECT_TRUE(has(text, "m[i, j, k] = ")) << text;
}

TEST(MergeFusedAxes, NotWhereStorageHasThemApart) {
  Cube t = Cube().in_rows();
  t.schedule[t.m].reorder_storage({t.i, t.j, t.k});
  stays(t.schedule);
  Cube apart = Cube().in_rows();
  apart.schedule[apart.m].reorder_storage({apart.j, apart.k, apart.i});
  stays(apart.schedule);
  Cube aligned = Cube().in_rows();
  aligned.schedule[aligned.m].align_storage(aligned.j, 4);
  stays(aligned.schedule);
}

TEST(MergeFusedAxes, NotWhereTheReaderDoesNotFuseThem) {
  Cube t;
  t.schedule[t.m].fuse(t.i, t.j, g).compute_at(t.y, t.i);
  stays(t.schedule);
  Cube others;
  others.schedule[others.y].fuse(others.j, others.k, f);
  others.schedule[others.m].fuse(others.i, others.j, g).compute_at(others.y, f);
  stays(others.schedule);
  const Cube two;
  const Tensor p = compute("p", {two.i, two.j, two.k}, two.m(two.i, two.j, two.k) + 1.0f);
  Schedule schedule(compute("y", {two.i, two.j, two.k}, p(two.i, two.j, two.k) * 2.0f));
  schedule["y"].fuse(two.i, two.j, f);
  schedule["p"].compute_at("y", f);
  schedule["m"].fuse(two.i, two.j, f).compute_at("y", f);
  stays(schedule);
}

// A part of another loop is whole rows, as the axes tell.
TEST(MergeFusedAxes, NotWhereItIsComputedOutsideOfThatLoop) {
  const Cube t;
  const Tensor p = compute("p", {t.i, t.j, t.k}, t.m(t.i, t.j, t.k) + 1.0f);
  Schedule schedule(compute("y", {t.i, t.j, t.k}, p(t.i, t.j, t.k) * 2.0f));
  schedule["y"].split(t.i, fo, fi, 2).fuse(fi, t.j, f);
  schedule["p"].fuse(t.i, t.j, f).compute_at("y", fo);
  schedule["m"].fuse(t.i, t.j, f).compute_at("y", fo);
  stays(schedule);
  Cube root;
  root.schedule[root.y].fuse(root.i, root.j, f);
  root.schedule[root.m].fuse(root.i, root.j, f);
  stays(root.schedule);
  Cube outer;
  outer.schedule[outer.y].fuse(outer.j, outer.k, f);
  outer.schedule[outer.m].fuse(outer.j, outer.k, f).compute_at(outer.y, outer.i);
  stays(outer.schedule);
}

TEST(MergeFusedAxes, NotWhereSomethingElseComesFirst) {
  Cube t;
  t.schedule[t.y].fuse(t.i, t.j, f);
  t.schedule[t.m].split(t.k, fo, fi, 5).fuse(t.i, t.j, g).compute_at(t.y, f);
  stays(t.schedule);
  Cube reader;
  reader.schedule[reader.y].split(reader.k, fo, fi, 5).fuse(reader.i, reader.j, f);
  reader.schedule[reader.m].fuse(reader.i, reader.j, g).compute_at(reader.y, f);
  stays(reader.schedule);
}

TEST(MergeFusedAxes, NotOfAxesThatAreNoNeighbours) {
  Cube t;
  t.schedule[t.y].reorder({t.j, t.k, t.i}).fuse(t.i, t.k, f);
  t.schedule[t.m].reorder({t.j, t.k, t.i}).fuse(t.i, t.k, f).compute_at(t.y, f);
  stays(t.schedule);
}

TEST(MergeFusedAxes, NotOfARunTimeNumberOfInnerRows) {
  Cube t(4, Extent::size("B"));
  t.schedule[t.y].fuse(t.i, t.j, f);
  t.schedule[t.m].fuse(t.i, t.j, f).compute_at(t.y, f);
  stays(t.schedule);
}

// What is read at other places than the reader's own.
TEST(MergeFusedAxes, NotOfWhatIsReadElsewhere) {
  const Axis i("i", 4), j("j", 3), k("k", 5), b("b", 3), a("a", 4), wide("wide", 2);
  const Tensor x = input("x", f32, {4, 3, 5});
  const Tensor m = compute("m", {i, j, k}, x(i, j, k) * 2.0f);
  const auto stays_in = [&](const Tensor& y, const Axis& outer, const Axis& inner) {
    Schedule schedule(y);
    schedule[y].fuse(outer, inner, f);
    schedule[m].fuse(i, j, f).compute_at(y, f);
    stays(schedule);
  };
  stays_in(compute("y", {i, j, k}, m(i, 2 - Expr(j), k)), i, j);
  stays_in(compute("y", {b, a, k}, m(a, b, k)), b, a);
  stays_in(compute("y", {i, wide, k}, m(i, wide, k)), i, wide);
  stays_in(compute("y", {i, j, k}, m(i, j, k) + m(i, 0, k)), i, j);
  const Tensor square = compute("m", {b, j, k}, x(b, j, k) * 2.0f);
  Schedule turned(compute("y", {b, j, k}, square(j, b, k)));
  turned["y"].fuse(b, j, f);
  turned["m"].fuse(b, j, f).compute_at("y", f);
  EXPECT_TRUE(has(nest_of(turned), "m[b, j, k] = "));
}

TEST(MergeFusedAxes, NotOfAnOutputOrWhatIsInTheMemoryOfOne) {
  const Cube t;
  Schedule both(Graph(std::vector<Tensor>{t.m, t.y}));
  both[t.y].fuse(t.i, t.j, f);
  both[t.m].fuse(t.i, t.j, f).compute_at(t.y, f);
  stays(both);
  Cube inside;
  inside.schedule[inside.y].fuse(inside.i, inside.j, f);
  inside.schedule[inside.m].fuse(inside.i, inside.j, f).compute_at(inside.y, f);
  inside.schedule[inside.m].store_in_output(inside.y);
  stays(inside.schedule);
}

// Loops of several stages are made of the same axes.
TEST(MergeFusedAxes, NotOfWhatSharesItsLoops) {
  const Cube t;
  const Tensor n = compute("n", {t.i, t.j, t.k}, t.x(t.i, t.j, t.k) + 5.0f);
  const Tensor y = compute("y", {t.i, t.j, t.k}, t.m(t.i, t.j, t.k) * n(t.i, t.j, t.k));
  Schedule schedule(y);
  schedule[y].fuse(t.i, t.j, f);
  schedule[t.m].fuse(t.i, t.j, f).compute_at(y, f);
  schedule[n].fuse(t.i, t.j, f).compute_at(y, f).compute_with(t.m, f);
  stays(schedule);
}

}  // namespace
}  // namespace emulsion
