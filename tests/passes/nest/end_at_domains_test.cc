// Which loops end with the domain in the last edge of a partitioned loop, and that values stay.

#include "passes/nest/end_at_domains.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/analyse/measure_work.h"
#include "passes/lower/lower.h"
#include "passes/nest/partition_loops.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");
const Axis io("io"), ii("ii");

// q = 2 x, p = q + 1 and y = p * p; y in tiles of 4, q and p computed in the loop over them.
Schedule chain(const Extent& extent, Tail tail = Tail::guard) {
  const Axis i("i", extent);
  Tensor q = compute("q", {i}, input("x", f32, {extent})(i) * 2.0f);
  Tensor p = compute("p", {i}, q(i) + 1.0f);
  Schedule schedule(compute("y", {i}, p(i) * p(i)));
  schedule["y"].split(i, io, ii, 4, tail);
  schedule["p"].compute_at("y", io);
  schedule["q"].compute_at("y", io);
  return schedule;
}

// p = 2 x and y[i] = p[i] + p[other], in tiles of 4, p computed in the loop over them.
Schedule two_reads(const Axis& i, const Expr& other) {
  Tensor p = compute("p", {i}, input("x", f32, {i.extent()})(i) * 2.0f);
  Schedule schedule(compute("y", {i}, p(other) + p(i)));
  schedule["y"].split(i, io, ii, 4);
  schedule["p"].compute_at("y", io);
  return schedule;
}

LoopNest partitioned(const Schedule& schedule, const std::string& variable = "y.io") {
  return partition_loops(lower(schedule.graph(), schedule), {variable});
}

// The text of the last part of the loop.
std::string last_edge(const LoopNest& nest, const std::string& variable = "y.io") {
  const std::string text = to_string(nest);
  const size_t from = text.rfind("for " + variable + " in ");
  return from == std::string::npos ? "no loop " + variable : text.substr(from);
}

bool has_loop(const std::string& text, const std::string& loop) {
  return text.find(loop + "\n") != std::string::npos;
}

testing::AssertionResult computes_any_size(const Schedule& schedule,
                                           const std::string& variable = "y.io") {
  const LoopNest nest = partitioned(schedule, variable);
  for (int64_t size : {0, 1, 3, 4, 5, 7, 8, 23}) {
    SizeValues sizes;
    for (const std::string& name : nest.sizes) sizes[name] = size;
    testing::AssertionResult result = computes(nest, schedule.graph(), sizes);
    if (!result) return result << "\nat " << size;
  }
  return testing::AssertionSuccess();
}

TEST(EndAtDomains, ProducersOfARunTimeSize) {
  EXPECT_EQ(last_edge(partitioned(chain(B))), R"(for y.io in B / 4 .. +((B + 3) / 4 - B / 4)
  alloc q[y.io * 4 .. +4] in stack
    for q.i in B % 4
      execute q[i] = x[min(i, B - 1)] * 2f  where i = y.io * 4 + q.i
    alloc p[y.io * 4 .. +4] in stack
      for p.i in B % 4
        execute p[i] = q[i] + 1f  where i = y.io * 4 + p.i
      for y.ii in 4
        store y[i] = p[i] * p[i]  where i = y.io * 4 + y.ii  if i < B
)");
  EXPECT_TRUE(computes_any_size(chain(B)));
}

TEST(EndAtDomains, ProducersOfANumber) {
  const std::string edge = last_edge(partitioned(chain(10)));
  EXPECT_TRUE(has_loop(edge, "for q.i in 2") && has_loop(edge, "for p.i in 2")) << edge;
  EXPECT_TRUE(computes_any_size(chain(10)));
}

TEST(EndAtDomains, WhereAMaskOrAClampKeepsTheReaderInside) {
  const std::string masked = last_edge(partitioned(chain(B, Tail::predicate)));
  EXPECT_TRUE(has_loop(masked, "for p.i in B % 4")) << masked;
  const Axis i("i", B);
  const Schedule schedule = two_reads(i, min(Expr(i) + 1, size_value("B") - 1));
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "for p.i in min(B - max((B - 1) / 4, 0) * 4, 5)")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

// Both parts of a sum, and what is computed in one of its rows with it.
TEST(EndAtDomains, SumsAndWhatIsComputedInside) {
  const Axis i("i", B), k("k", 6), lane("lane"), j("k", 6);
  Tensor s = compute("s", {i}, sum(k, input("x", f32, {B, 6})(i, k)));
  Schedule schedule(compute("y", {i, j}, s(i) * 2.0f));
  schedule["y"].split(i, io, ii, 4);
  schedule["s"].compute_at("y", io).split(k, k, lane, 2).rfactor(lane, "lanes");
  schedule["lanes"].compute_at("s", i);
  const LoopNest nest = partitioned(schedule);
  const std::string edge = last_edge(nest);
  const size_t first = edge.find("for s.i in B % 4\n");
  EXPECT_NE(first, std::string::npos) << edge;
  EXPECT_NE(edge.find("for s.i in B % 4\n", first + 1), std::string::npos) << edge;
  EXPECT_TRUE(has_loop(edge, "for lanes.i in 1")) << edge;
  for (const StageWork& work : measure_work(nest, {{"B", 5}}).stages) {
    EXPECT_EQ(work.points, work.needed) << work.stage;
  }
  EXPECT_TRUE(computes_any_size(schedule));
}

// The number of steps is right where the region starts before the tile.
TEST(EndAtDomains, ARegionThatStartsEarlier) {
  const Axis i("i", B);
  const Schedule schedule = two_reads(i, max(Expr(i) - 1, 0));
  EXPECT_TRUE(computes_any_size(schedule));
}

// --- vectors ------------------------------------------------------------------------------------

// y in tiles of so many, vectors of four of them at a time; p in one vector.
Schedule in_vectors(const Extent& extent, int64_t tile) {
  Schedule schedule(chain(extent).graph());
  const Axis i("i", extent), lane("lane");
  schedule["y"].split(i, io, ii, tile, Tail::predicate).split(ii, ii, lane, 4).vectorize(lane);
  schedule["p"].compute_at("y", io).vectorize(i);
  schedule["q"].compute_inline();
  return schedule;
}

// The parts of the loop over tiles, with how long p's vector is in each.
std::vector<std::string> parts_of(const LoopNest& nest) {
  std::vector<std::string> parts;
  const auto part_of = [&](const std::string& line, const std::string& word) {
    const size_t at = line.find(word);
    return at == std::string::npos ? "" : line.substr(at + word.size());
  };
  std::istringstream lines(to_string(nest));
  for (std::string line; std::getline(lines, line);) {
    const std::string from = part_of(line, "for y.io in "), width = part_of(line, "ized p.i in ");
    if (!from.empty()) parts.push_back(from);
    if (!width.empty() && !parts.empty()) parts.back() += ": " + width;
  }
  return parts;
}

using Lines = std::vector<std::string>;

TEST(ShortenVectors, OfARunTimeSizeTheLastStepHasHalf) {
  EXPECT_EQ(parts_of(partitioned(in_vectors(B, 8))),
            (Lines{"B / 8: 8", "B / 8 .. +((B + 3) / 8 - B / 8): 8",
                   "(B + 3) / 8 .. +((B + 7) / 8 - (B + 3) / 8): 4"}));
  EXPECT_TRUE(computes_any_size(in_vectors(B, 8)));
}

// Of three vectors two are left.
TEST(ShortenVectors, WholeVectorsAreLeft) {
  const Lines parts = parts_of(partitioned(in_vectors(B, 12)));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[2], "(B + 3) / 12 .. +((B + 11) / 12 - (B + 3) / 12): 8");
  EXPECT_TRUE(computes_any_size(in_vectors(B, 12)));
}

TEST(ShortenVectors, OfANumberOneOfBothIsLeft) {
  EXPECT_EQ(parts_of(partitioned(in_vectors(19, 8))), (Lines{"2: 8", "2 .. +1: 4"}));
  EXPECT_EQ(parts_of(partitioned(in_vectors(21, 8))), (Lines{"2: 8", "2 .. +1: 8"}));
  EXPECT_TRUE(computes_any_size(in_vectors(19, 8)));
}

TEST(ShortenVectors, BothPartsOfASum) {
  const Axis i("i", B), k("k", 6), lane("lane");
  Tensor s = compute("s", {i}, sum(k, input("x", f32, {6, B})(k, i)));
  Schedule schedule(compute("y", {i}, s(i) * 2.0f));
  schedule["y"].split(i, io, ii, 8, Tail::predicate).split(ii, ii, lane, 4).vectorize(lane);
  schedule["s"].compute_at("y", io).reorder({i, k}).vectorize(i);
  const std::string edge = last_edge(partitioned(schedule));
  const size_t first = edge.find("vectorized s.i in 4\n");
  ASSERT_NE(first, std::string::npos) << edge;
  EXPECT_NE(edge.find("vectorized s.i in 4\n", first + 1), std::string::npos) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

TEST(ShortenVectors, NotOneVector) {
  Schedule schedule = chain(B, Tail::predicate);
  schedule["p"].vectorize(Axis("i"));
  EXPECT_EQ(parts_of(partitioned(schedule)).size(), 2U);
}

TEST(ShortenVectors, NotWhereTheReaderLoadsPastTheEnd) {
  LoopNest nest = partitioned(in_vectors(B, 8));
  const NodePtr body = lower(in_vectors(B, 8).graph(), in_vectors(B, 8)).root->as<Loop>()->body;
  const auto shortened = [&](GuardMask mask) {
    const NodePtr masked = edit<UopNode>(body, [&](UopNode* uop) {
      for (Guard& guard : uop->guards) guard.mask = mask;
    });
    return shorten_vectors(nest, masked, "y.io", size_value("B") / 8).has_value();
  };
  EXPECT_TRUE(shortened(GuardMask::loads));
  EXPECT_FALSE(shortened(GuardMask::stores));
}

// a = 2 x of `longer` elements, and y of what p says of them, all in vectors.
Schedule in_vectors_of_vectors(const Extent& longer) {
  const Axis i("i", B), j("i", longer), lane("lane");
  Tensor a = compute("a", {j}, input("x", f32, {longer})(j) * 2.0f);
  Tensor p = compute("p", {i}, a(i) + 1.0f);
  Schedule schedule(compute("y", {i}, p(i) * p(i)));
  schedule["y"].split(i, io, ii, 8, Tail::predicate).split(ii, ii, lane, 4).vectorize(lane);
  for (const char* name : {"p", "a"}) schedule[name].compute_at("y", io).vectorize(i);
  return schedule;
}

TEST(ShortenVectors, AndWhatAVectorReads) {
  const std::string edge = last_edge(partitioned(in_vectors_of_vectors(B)));
  EXPECT_TRUE(has_loop(edge, "vectorized p.i in 4") && has_loop(edge, "vectorized a.i in 4"))
      << edge;
  EXPECT_TRUE(computes_any_size(in_vectors_of_vectors(B)));
}

TEST(ShortenVectors, NotWhatAVectorReadsThatEndsElsewhere) {
  const std::string edge = last_edge(partitioned(in_vectors_of_vectors(B + Extent(3))));
  EXPECT_TRUE(has_loop(edge, "vectorized p.i in 4") && has_loop(edge, "vectorized a.i in 8"))
      << edge;
  EXPECT_TRUE(computes_any_size(in_vectors_of_vectors(B + Extent(3))));
}

// y = 2 s, s a product in tiles of a few rows, whose sums are in registers.
Schedule in_rows(const Extent& rows, Memory memory = Memory::registers, bool unrolled = true,
                 int64_t tile = 4) {
  const Axis m("m", rows), n("n", 8), k("k", 5);
  const Tensor x = input("x", f32, {rows, 5}), w = input("w", f32, {5, 8});
  const Tensor s = compute("s", {m, n}, sum(k, x(m, k) * w(k, n)));
  Schedule schedule(compute("y", {m, n}, s(m, n) * 2.0f));
  schedule["y"].split(m, io, ii, tile, Tail::guard).reorder({n, ii, io}).unroll(ii).vectorize(n);
  schedule["s"].compute_at("y", io).store_in(memory).reorder({n, m, k}).vectorize(n);
  if (unrolled) schedule["s"].unroll(m);
  return schedule;
}

TEST(ShortenRows, OfARunTimeNumberTheLastStepHasOne) {
  const LoopNest nest = partitioned(in_rows(B));
  const std::string text = to_string(nest);
  const size_t three = text.find("for y.io in B / 4 .. +((B + 1) / 4 - B / 4)\n");
  const size_t two = text.find("for y.io in (B + 1) / 4 .. +((B + 2) / 4 - (B + 1) / 4)\n");
  ASSERT_TRUE(three < two && two != std::string::npos) << text;
  EXPECT_TRUE(has_loop(text.substr(three, two - three), "unrolled s.m in 3")) << text;
  EXPECT_FALSE(has_loop(text.substr(three), "unrolled s.m in 4")) << text;
  EXPECT_TRUE(has_loop(text.substr(two), "unrolled s.m in 2")) << text;
  const std::string edge = last_edge(nest);
  EXPECT_EQ(edge.find("for y.io in (B + 2) / 4 .. +((B + 3) / 4 - (B + 2) / 4)\n"), 0U) << edge;
  const size_t start = edge.find("unrolled s.m in 1\n");
  ASSERT_NE(start, std::string::npos) << edge;
  EXPECT_NE(edge.find("unrolled s.m in 1\n", start + 1), std::string::npos) << edge;
  EXPECT_TRUE(has_loop(edge, "unrolled y.ii in 4")) << edge;
  EXPECT_TRUE(computes_any_size(in_rows(B)));
}

TEST(ShortenRows, OfANumberOneOfAllIsLeft) {
  EXPECT_TRUE(has_loop(last_edge(partitioned(in_rows(9))), "unrolled s.m in 1"));
  EXPECT_TRUE(has_loop(last_edge(partitioned(in_rows(10))), "unrolled s.m in 2"));
  EXPECT_TRUE(has_loop(last_edge(partitioned(in_rows(11))), "unrolled s.m in 3"));
  EXPECT_TRUE(computes_any_size(in_rows(9)));
}

TEST(ShortenRows, AllButOneThenHalf) {
  const Schedule eight = in_rows(B, Memory::registers, true, 8);
  const std::string text = to_string(partitioned(eight));
  const size_t half = text.find("for y.io in (B + 3) / 8 .. +((B + 6) / 8 - (B + 3) / 8)\n");
  const size_t one = text.find("for y.io in (B + 6) / 8 .. +((B + 7) / 8 - (B + 6) / 8)\n");
  ASSERT_TRUE(half < one && one != std::string::npos) << text;
  EXPECT_TRUE(has_loop(text.substr(0, half), "unrolled s.m in 7")) << text;
  EXPECT_TRUE(has_loop(text.substr(half, one - half), "unrolled s.m in 4")) << text;
  EXPECT_TRUE(has_loop(text.substr(one), "unrolled s.m in 1")) << text;
  EXPECT_TRUE(computes_any_size(eight));
}

TEST(ShortenRows, OfANumberOneOfThreeIsLeft) {
  for (const auto& [rows, computed] : {std::pair(17, 1), {18, 4}, {20, 4}, {21, 7}, {23, 7}}) {
    const Schedule schedule = in_rows(rows, Memory::registers, true, 8);
    const std::string edge = last_edge(partitioned(schedule));
    EXPECT_TRUE(has_loop(edge, "unrolled s.m in " + std::to_string(computed))) << rows << edge;
    EXPECT_TRUE(computes_any_size(schedule)) << rows;
  }
}

// As a step for one alone, if that is half of them.
TEST(ShortenRows, OfFewNoNumberTwice) {
  for (const int tile : {2, 3}) {
    const Schedule schedule = in_rows(B, Memory::registers, true, tile);
    const std::string text = to_string(partitioned(schedule));
    const size_t one = text.find("unrolled s.m in 1\n");
    ASSERT_NE(one, std::string::npos) << text;
    EXPECT_EQ(text.find("\nfor", one), std::string::npos) << "the last edge: " << text;
    EXPECT_TRUE(has_loop(text, "unrolled s.m in 2")) << text;
    EXPECT_TRUE(computes_any_size(schedule)) << tile;
  }
}

TEST(ShortenRows, NotInMemory) {
  const std::string edge = last_edge(partitioned(in_rows(B, Memory::stack)));
  EXPECT_FALSE(has_loop(edge, "unrolled s.m in 1")) << edge;
  EXPECT_TRUE(has_loop(edge, "unrolled s.m in 4")) << edge;
}

// y = 2 t and t = s + 1, of rows of s that are in registers.
Schedule in_rows_behind_rows(const Extent& rows) {
  const Axis m("m", rows), n("n", 8), k("k", 5);
  const Tensor x = input("x", f32, {rows, 5}), w = input("w", f32, {5, 8});
  const Tensor s = compute("s", {m, n}, sum(k, x(m, k) * w(k, n)));
  const Tensor t = compute("t", {m, n}, s(m, n) + 1.0f);
  Schedule schedule(compute("y", {m, n}, t(m, n) * 2.0f));
  schedule["y"].split(m, io, ii, 4, Tail::guard).reorder({n, ii, io}).unroll(ii).vectorize(n);
  schedule["t"].compute_at("y", io).reorder({n, m}).unroll(m).vectorize(n);
  schedule["s"].compute_at("y", io).store_in(Memory::registers).reorder({n, m, k});
  schedule["s"].unroll(m).vectorize(n);
  return schedule;
}

TEST(ShortenRows, AndWhatReadsThem) {
  const std::string edge = last_edge(partitioned(in_rows_behind_rows(B)));
  EXPECT_TRUE(has_loop(edge, "unrolled s.m in 1") && has_loop(edge, "unrolled t.m in 1")) << edge;
  EXPECT_FALSE(has_loop(edge, "unrolled s.m in 4")) << edge;
  EXPECT_TRUE(computes_any_size(in_rows_behind_rows(B)));
  EXPECT_TRUE(computes_any_size(in_rows_behind_rows(9)));
}

TEST(ShortenRows, NotWhereWhatReadsThemGoesOn) {
  const Axis m("m", B), n("n", 8), k("k", 5), mo("mo"), mi("mi");
  Schedule split(in_rows_behind_rows(B).graph());
  split["y"].split(m, io, ii, 4, Tail::guard).reorder({n, ii, io}).unroll(ii).vectorize(n);
  split["t"].compute_at("y", io).split(m, mo, mi, 2).reorder({n, mi, mo}).unroll(mi).vectorize(n);
  split["s"].compute_at("y", io).store_in(Memory::registers).reorder({n, m, k});
  split["s"].unroll(m).vectorize(n);
  const std::string edge = last_edge(partitioned(split));
  EXPECT_TRUE(has_loop(edge, "unrolled s.m in 4")) << edge;
  EXPECT_FALSE(has_loop(edge, "unrolled s.m in 1")) << edge;
  EXPECT_TRUE(computes_any_size(split));
}

// t reads s at its own row and at the next one.
TEST(ShortenRows, NotWhereWhatReadsThemReadsOthers) {
  const Axis m("m", B), n("n", 8), k("k", 5);
  const Tensor x = input("x", f32, {B, 5}), w = input("w", f32, {5, 8});
  const Tensor s = compute("s", {m, n}, sum(k, x(m, k) * w(k, n)));
  const Tensor t = compute("t", {m, n}, s(m, n) + s(min(Expr(m) + 1, size_value("B") - 1), n));
  Schedule schedule(compute("y", {m, n}, t(m, n) * 2.0f));
  schedule["y"].split(m, io, ii, 4, Tail::guard).reorder({n, ii, io}).unroll(ii).vectorize(n);
  schedule["t"].compute_at("y", io).reorder({n, m}).unroll(m).vectorize(n);
  schedule["s"].compute_at("y", io).store_in(Memory::registers).reorder({n, m, k});
  schedule["s"].unroll(m).vectorize(n);
  EXPECT_FALSE(has_loop(last_edge(partitioned(schedule)), "unrolled s.m in 1"));
  EXPECT_TRUE(computes_any_size(schedule));
}

// Loops that are not unrolled end wherever the domain does.
TEST(ShortenRows, NotSerialLoops) {
  const std::string edge = last_edge(partitioned(in_rows(B, Memory::registers, false)));
  EXPECT_TRUE(has_loop(edge, "for s.m in B % 4")) << edge;
}

TEST(ShortenRows, NotWhereTheReaderLoadsPastTheEnd) {
  const LoopNest nest = lower(in_rows(B).graph(), in_rows(B));
  const NodePtr body = nest.root->as<Loop>()->body;
  const auto shortened = [&](GuardMask mask) {
    const NodePtr masked = edit<UopNode>(body, [&](UopNode* uop) {
      for (Guard& guard : uop->guards) guard.mask = mask;
    });
    return shorten_rows(nest, masked, "y.io", size_value("B") / 4).size() == 3;
  };
  EXPECT_TRUE(shortened(GuardMask::loads_and_stores));
  EXPECT_FALSE(shortened(GuardMask::stores));
}

// --- what stays as it is ------------------------------------------------------------------------

TEST(EndAtDomains, NotWhereTheReaderLoadsPastTheEnd) {
  LoopNest nest = lower(chain(10).graph(), chain(10));
  const auto body_at_the_end = [&](GuardMask mask) {
    nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
      for (Guard& guard : uop->guards) guard.mask = mask;
    });
    const NodePtr body = nest.root->as<Loop>()->body;
    return end_at_domains(nest, body, "y.io", int_constant(2)) == body;
  };
  EXPECT_TRUE(body_at_the_end(GuardMask::stores));
  EXPECT_FALSE(body_at_the_end(GuardMask::loads));
  EXPECT_FALSE(body_at_the_end(GuardMask::loads_and_stores));
}

TEST(EndAtDomains, NotWhereAReaderGoesOn) {
  // p is in vectors, so it goes on to its end: what it reads is there.
  Schedule schedule = chain(B);
  schedule["p"].vectorize(Axis("i"));
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "vectorized p.i in 4")) << edge;
  EXPECT_TRUE(has_loop(edge, "for q.i in 4")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

TEST(EndAtDomains, NotWhereTheReaderOfAReaderGoesOn) {
  const Axis i("i", B);
  Tensor r = compute("r", {i}, input("x", f32, {B})(i) - 3.0f);
  Tensor q = compute("q", {i}, r(i) * 2.0f);
  Tensor p = compute("p", {i}, q(i) + 1.0f);
  Schedule schedule(compute("y", {i}, p(i) * p(i)));
  schedule["y"].split(i, io, ii, 4);
  schedule["p"].compute_at("y", io).vectorize(i);
  for (const char* name : {"q", "r"}) schedule[name].compute_at("y", io);
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "for q.i in 4") && has_loop(edge, "for r.i in 4")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

TEST(EndAtDomains, NotLoopsThatAreSplit) {
  Schedule schedule = chain(B);
  schedule["p"].split(Axis("i"), Axis("i"), Axis("j"), 2);
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "for p.i in 2") && has_loop(edge, "for q.i in 4")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

TEST(EndAtDomains, NotWhatIsKeptForLaterSteps) {
  Schedule schedule = chain(B);
  schedule["q"].store_root();
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "for q.i in 4")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

// Of what a window keeps each step computes a part.
TEST(EndAtDomains, NotWhatAWindowKeepsInside) {
  const Axis i("i", 6), wide("i", 7), j("j", B), jo("jo"), ji("ji");
  Tensor s = compute("s", {wide, j}, input("x", f32, {7, B})(wide, j) * 2.0f);
  Schedule schedule(compute("y", {i, j}, s(i, j) + s(Expr(i) + 1, j)));
  schedule["y"].split(j, jo, ji, 4).reorder({ji, i, jo});
  schedule["s"].compute_at("y", i);
  EXPECT_TRUE(has_loop(last_edge(partitioned(schedule, "y.jo"), "y.jo"), "for s.j in B % 4"))
      << "of storage for each step";
  schedule["s"].store_at("y", jo);
  const std::string edge = last_edge(partitioned(schedule, "y.jo"), "y.jo");
  EXPECT_TRUE(has_loop(edge, "for s.j in 4")) << edge;
  EXPECT_TRUE(computes_any_size(schedule, "y.jo"));
}

TEST(EndAtDomains, NotLoopsThatStagesShare) {
  const Axis i("i", B);
  Tensor x = input("x", f32, {B});
  Tensor q = compute("q", {i}, x(i) * 2.0f), p = compute("p", {i}, x(i) + 1.0f);
  Schedule schedule(compute("y", {i}, q(i) * p(i)));
  schedule["y"].split(i, io, ii, 4);
  schedule["p"].compute_at("y", io);
  schedule["q"].compute_at("y", io).compute_with("p", i);
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "for p.i with q.i in 4")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

TEST(EndAtDomains, NotWhatIsCutIntoTiles) {
  const Extent batch = Extent::size("B");
  const Axis b("b", batch), m("m", 4), n("n", 5), k("k", 6), bo("bo"), bi("bi");
  Tensor x = input("x", f32, {batch, 4, 6}), w = input("w", f32, {batch, 6, 5});
  Schedule schedule(compute("y", {b, m, n}, sum(k, x(b, m, k) * w(b, k, n))));
  schedule["y"].cache_write("acc").split(b, bo, bi, 2);
  schedule["acc"].compute_at("y", bo).tensorize(m);
  const LoopNest nest = partitioned(schedule, "y.bo");
  ASSERT_EQ(nest.tile_grids.size(), 1U);
  const std::string edge = last_edge(nest, "y.bo");
  EXPECT_TRUE(has_loop(edge, "for acc.b in 2")) << edge;
  EXPECT_TRUE(computes_any_size(schedule, "y.bo"));
}

TEST(EndAtDomains, NotWhereAnEdgeHasSeveralSteps) {
  const Axis i("i", B);
  const Schedule schedule = two_reads(i, min(Expr(i) + 6, size_value("B") - 1));
  const std::string edge = last_edge(partitioned(schedule));
  EXPECT_TRUE(has_loop(edge, "for p.i in 10")) << edge;
  EXPECT_TRUE(computes_any_size(schedule));
}

TEST(EndAtDomains, TheSameNodeWhereNothingEnds) {
  const LoopNest nest = lower(chain(10).graph(), chain(10));
  const NodePtr body = nest.root->as<Loop>()->body;
  EXPECT_EQ(end_at_domains(nest, body, "y.io", int_constant(1)), body);
  EXPECT_NE(end_at_domains(nest, body, "y.io", int_constant(2)), body);
  EXPECT_EQ(end_at_domains(nest, body, "y.ii", int_constant(2)), body);
}

}  // namespace
}  // namespace emulsion
