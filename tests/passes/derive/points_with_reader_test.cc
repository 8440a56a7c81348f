// Pointwise operations with each vector of what reads them: which are, which are not and why, and
// that the nests compute what the graphs say at every size.

#include "passes/derive/points_with_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("N");
const Target kV3 = Target::parse("x86-64-v3,cores=1,l1=32768");

// The names of the members, the reader first: "w: m; y: a".
std::string found(const Graph& graph, const Target& target = kV3) {
  const Graph grouped = fuse_epilogues(graph);
  std::string names;
  for (const PointsWithReader& points :
       points_with_readers(grouped, target, {}, [](const auto&) { return true; })) {
    for (const Op* op : members_of(points)) {
      names += (op == points.reader ? (names.empty() ? "" : "; ") : " ") + op->name +
               (op == points.reader ? ":" : "");
    }
  }
  return names;
}

// What a step of training does: a mean that goes on, and what it moves.
Graph momentum(const Shape& shape) {
  const Tensor m0 = input("m0", f32, shape), g = input("g", f32, shape),
               w0 = input("w0", f32, shape);
  const Tensor m = add(m0 * 0.5F, g, "m");
  return Graph({m, sub(w0, m * 0.25F, "w")});
}

// Two stages of a filter: what comes out, and four rows of states.
Graph filter(const Extent& channels) {
  const Axis c("c", channels), r("r", 4);
  const Tensor x = input("x", f32, {channels}), z = input("z", f32, {4, channels});
  const Tensor between = compute("between", {c}, 2.0F * x(c) + z(0, c));
  const Tensor y = compute("y", {c}, 3.0F * between(c) + z(2, c));
  const Expr rest = select(r == 2, y(c) + z(3, c), between(c) - y(c));
  const Expr second = select(r == 1, x(c) - between(c), rest);
  return Graph({y, compute("next", {r, c}, select(r == 0, x(c) + between(c) + z(1, c), second))});
}

// What two read, of the same place or `apart`.
Graph read_by_two(const Extent& extent, int apart = 0) {
  const Axis i("i", extent);
  const Tensor x = input("x", f32, {extent + apart});
  const Axis j("j", extent + apart);
  const Tensor p = compute("p", {j}, x(j) * 2.0F), a = compute("a", {i}, p(i) * x(i));
  return Graph({a, compute("b", {i}, (apart > 0 ? p(i + apart) : p(i)) + a(i))});
}

std::string why_not(const Tensor& y) {
  return why_not_with_others(*op_of(fuse_epilogues(Graph(y)), "y"), kV3).value_or("");
}

TEST(PointsWithReader, WhatIsAnOutputAndRead) {
  EXPECT_EQ(found(momentum({kSize})), "w: m");
  EXPECT_EQ(found(momentum({64, 1000})), "w: m");
  EXPECT_EQ(found(momentum({kSize, 1000})), "w: m");
}

TEST(PointsWithReader, WhatSeveralRead) {
  EXPECT_EQ(found(read_by_two(kSize)), "b: a p");
  EXPECT_EQ(found(filter(kSize)), "next: y between");
}

TEST(PointsWithReader, NotAtAnotherPlace) { EXPECT_EQ(found(read_by_two(kSize, 1)), "b: a"); }

TEST(PointsWithReader, NotWhereSomethingElseReadsIt) {
  const Tensor x = input("x", f32, {kSize, 100});
  const Tensor m = mul(x, x, "m"), w = sub(x, m, "w");
  EXPECT_EQ(found(Graph({m, w})), "w: m");
  EXPECT_EQ(found(Graph({m, w, sum(m, {0}, false, "total")})), "");
  EXPECT_EQ(found(Graph({m, w, sub(x * 2.0F, m, "v")})), "") << "neither reads the other";
}

TEST(PointsWithReader, NotWhatOneReads) {
  const Tensor x = input("x", f32, {kSize}), m = exp(x, "m");
  EXPECT_EQ(found(Graph(sub(x, m, "w"))), "") << "one expression";
}

// Of planes in front of the rows, and of such between them: of an output, and of what two read.
TEST(PointsWithReader, NotAnOutputWithPlanesBetweenItsAxes) {
  const Axis i("i", kSize), r("r", 2), c("c", 64);
  const Tensor x = input("x", f32, {kSize, 64}), z = input("z", f32, {2, 64});
  const Tensor y = compute("y", {i, c}, 2.0F * x(i, c));
  const Graph in_front({y, compute("next", {r, i, c}, y(i, c) + z(r, c))});
  const Graph between({y, compute("next", {i, r, c}, y(i, c) + z(r, c))});
  EXPECT_EQ(found(in_front), "next: y");
  EXPECT_EQ(found(between), "");
  const Tensor v = compute("v", {i, c}, y(i, c) * y(i, c));
  const Graph of_two(compute("next", {i, r, c}, y(i, c) + v(i, c) * z(r, c)));
  for (const Graph* graph : {&in_front, &between, &of_two}) {
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(*graph, target_of(level, 2))) << level;
    }
  }
}

TEST(PointsWithReader, NotWhatIsDone) {
  const Graph graph = fuse_epilogues(momentum({kSize}));
  for (const char* done : {"m", "w"}) {
    const std::unordered_set<const Op*> ops = {op_of(graph, done).get()};
    const auto all = [](const auto&) { return true; };
    EXPECT_TRUE(points_with_readers(graph, kV3, ops, all).empty()) << done;
  }
}

TEST(PointsWithReader, NotWhatIsNotWanted) {
  const Graph graph = fuse_epilogues(momentum({kSize}));
  std::vector<std::string> asked;
  const auto none = [&](const std::vector<const Op*>& members) {
    for (const Op* op : members) asked.push_back(op->name);
    return false;
  };
  EXPECT_TRUE(points_with_readers(graph, kV3, {}, none).empty());
  EXPECT_EQ(asked, (std::vector<std::string>{"w", "m"}));
}

TEST(WhyNotWithOthers, WhatIsNoPlainWalk) {
  const Axis i("i", 4), j("j", 1000), k("k", 1000);
  const Tensor x = input("x", f32, {4, 1000}), at = input("at", i32, {1000});
  EXPECT_EQ(why_not(compute("y", {i, j}, x(i, j) * 2.0F)), "");
  EXPECT_EQ(why_not(compute("y", {i, j}, x(i, j) * x(0, 7))), "");
  EXPECT_EQ(why_not_with_others(*x.op(), kV3), "expected x to be computed");
  EXPECT_EQ(why_not(compute("y", {j}, sum(i, x(i, j)))), "expected y to combine nothing");
  EXPECT_EQ(why_not(compute("y", {}, x(0, 7) * 2.0F)), "expected y to have rows, got shape []");
  EXPECT_EQ(why_not(compute("y", {i, Axis("e", 0)}, x(i, 0) * 2.0F)),
            "expected y to have rows, got shape [4, 0]");
  EXPECT_EQ(why_not(compute("y", {i, j}, exp(x(i, j)))),
            "expected y to wait for memory, got a series of each element");
  const std::string neighbours = "expected y to read neighbours along its rows";
  EXPECT_EQ(why_not(compute("y", {i, j}, x(i, Expr(999) - j))), neighbours);
  EXPECT_EQ(why_not(compute("y", {i, j}, x(i, clamp(at(j), 0, 999)))), neighbours);
  EXPECT_EQ(why_not(compute("y", {j, i}, x(i, j) + 1.0F)), neighbours) << "across the rows";
  EXPECT_EQ(why_not(compute("y", {i, j}, select(j < 500, x(i, j), 1.0F))),
            "expected y to be the same at all places of a row, got choices");
}

TEST(WhyNotWorthWithReader, WhatIsSmallOrMuch) {
  const auto reason = [](const Graph& graph, const std::string& reader,
                         const std::vector<std::string>& producers) {
    PointsWithReader points{op_of(graph, reader).get(), {}, std::nullopt};
    for (const std::string& name : producers) points.producers.push_back(op_of(graph, name).get());
    return why_not_worth_with_reader(points, kV3).value_or("");
  };
  EXPECT_EQ(reason(momentum({kSize}), "w", {"m"}), "");
  EXPECT_EQ(reason(momentum({5000}), "w", {"m"}), "");
  EXPECT_EQ(reason(momentum({4000}), "w", {"m"}),
            "expected more than the 16384 bytes that stay in a cache from m to w, got 16000");
  EXPECT_EQ(reason(momentum({kSize, 31}), "w", {"m"}),
            "expected rows of m of 32 elements or more, got 31");
  EXPECT_EQ(reason(momentum({40, kSize}), "w", {"m"}),
            "expected rows of m of 32 elements or more, got N");
  const Axis i("i", kSize);
  Expr many = 0.0F, same = 0.0F;
  const Tensor z = input("z", f32, {24, kSize});
  for (int n = 0; n < 24; ++n) many = many + z(n, i);
  for (int n = 0; n < 700; ++n) same = same * z(0, i);
  const Tensor m = compute("m", {i}, many), l = compute("l", {i}, same);
  const auto with = [&](const Tensor& p) { return Graph({p, compute("w", {i}, p(i) * 2.0F)}); };
  EXPECT_EQ(reason(with(m), "w", {"m"}), "expected at most 24 streams to and from memory, got 26");
  EXPECT_EQ(reason(with(l), "w", {"l"}).substr(0, 44),
            "expected at most 2000 operations in one loop");
}

TEST(DerivePointsWithReader, IsComputedInItsVectors) {
  const Schedule schedule = derive_schedule(filter(kSize), target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(to_string(schedule), "between.vectorize(c)\nbetween.compute_at(next, c)"))
      << to_string(schedule);
  const std::string nest = to_string(run_pipeline(filter(kSize), target_of("x86-64-v3", 1)).nest);
  EXPECT_FALSE(has(nest, "heap")) << nest;
  EXPECT_TRUE(has(nest, "alloc between[next.c * 32 .. +32]")) << nest;
  EXPECT_TRUE(has(nest, "part y[next.c * 32 .. +32]")) << nest;
  EXPECT_TRUE(has(nest, "unrolled next.r in 4")) << nest;
}

// Of what is stored a row at a time, that is read again before it leaves the second cache.
TEST(DerivePointsWithReader, ARowOrABlockAtATimeWhereAllIsStored) {
  const auto text_of = [](const Graph& graph, const std::string& l2 = "1048576") {
    return to_string(derive_schedule(graph, Target::parse("x86-64-v3,cores=1,l2=" + l2)));
  };
  for (const Extent& rows : {Extent(600), kSize}) {
    const std::string text = text_of(momentum({rows, 257}));
    EXPECT_TRUE(has(text,
                    "m.split(i1, i1, lane, 32, predicate)\nm.vectorize(lane)\n"
                    "m.partition(i1)\nm.compute_at(w, i0)\n"))
        << text;
  }
  // Each of these rows has 5 streams of 4 bytes.
  EXPECT_TRUE(has(text_of(momentum({600, 1600}), "64000"), "m.compute_at(w, i0)\n"));
  const std::string of_block =
      "w.split(i1, i1, within, 256, guard)\nw.split(within, within, lane, 32)\n";
  for (const Extent& columns : {Extent(1601), kSize}) {
    const std::string text = text_of(momentum({600, columns}), "64000");
    EXPECT_EQ(has(text, of_block), columns.is_constant()) << "no output of short rows: " << text;
    EXPECT_EQ(has(text, "m.compute_at(w, i1)\n"), columns.is_constant()) << text;
  }
  const Axis i("i", 600), j("j", 512);
  const Tensor x = input("x", f32, {600, 512});
  const Tensor p = compute("p", {i, j}, x(i, j) * 2.0F),
               a = compute("a", {i, j}, p(i, j) * x(i, j));
  const std::string in_registers = text_of(Graph({a, compute("b", {i, j}, p(i, j) + a(i, j))}));
  EXPECT_TRUE(has(in_registers, "a.compute_at(b, j)\n")) << in_registers;
  // Of one axis, a block.
  const std::string block = "w.split(i0, i0, within, 256, guard)\n";
  EXPECT_TRUE(has(text_of(momentum({kSize})), block + "w.split(within, within, lane, 32)\n"));
  EXPECT_TRUE(has(text_of(momentum({100001})), block));
  EXPECT_TRUE(has(text_of(momentum({1 << 20})), "w.split(i0, i0, within, 256)\n"));
  EXPECT_TRUE(has(text_of(read_by_two(kSize)), "a.vectorize(i)\na.compute_at(b, i)\n"));
  const std::string shared =
      to_string(derive_schedule(momentum({1024, 1000}), target_of("x86-64-v3", 4)));
  EXPECT_TRUE(has(shared, "m.compute_at(w, i0)\n")) << shared;
}

TEST(DerivePointsWithReader, ThreadsShareTheRowOrRows) {
  const auto nest_of = [](const Graph& graph) {
    return to_string(run_pipeline(graph, target_of("x86-64-v3", 4)).nest);
  };
  EXPECT_TRUE(has(nest_of(momentum({kSize})), "parallel w.i0 in N / 256"))
      << nest_of(momentum({kSize}));
  EXPECT_TRUE(has(nest_of(momentum({1 << 20})), "parallel w.i0 in 4096"));
  EXPECT_TRUE(has(nest_of(momentum({1024, 1000})), "parallel w.block in"))
      << nest_of(momentum({1024, 1000}));
  EXPECT_FALSE(has(nest_of(momentum({8, 1000})), "parallel"));
}

TEST(DerivePointsWithReader, SeveralVectorsWhereTheyAreASmallPartOfARow) {
  const auto schedule_of = [](const Extent& row) {
    return to_string(derive_schedule(momentum({600, row}), target_of("x86-64-v3", 1)));
  };
  EXPECT_TRUE(has(schedule_of(256), "w.split(i1, i1, lane, 32)"));
  EXPECT_TRUE(has(schedule_of(257), "w.split(i1, i1, lane, 32, predicate)"));
  EXPECT_TRUE(has(schedule_of(96), "w.split(i1, i1, lane, 32)")) << schedule_of(96);
  EXPECT_TRUE(has(schedule_of(80), "w.split(i1, i1, lane, 16)"));
  EXPECT_TRUE(has(schedule_of(33), "w.split(i1, i1, lane, 8, predicate)"));
}

TEST(DerivePointsWithReader, TheReportSaysSo) {
  const Lowered lowered = run_pipeline(momentum({kSize}), target_of("x86-64-v3", 1));
  const auto& decisions = lowered.fusion.decisions;
  EXPECT_TRUE(std::any_of(decisions.begin(), decisions.end(), [](const FusionDecision& d) {
    return d.producer == "m" && d.consumer == "w" && d.fused && d.pattern == kSharedColumns;
  })) << to_string(lowered.fusion);
}

TEST(DerivePointsWithReader, ComputesWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const Graph& graph : {momentum({kSize}), read_by_two(kSize), filter(kSize)}) {
        EXPECT_TRUE(derives(graph, target, {0, 1, 7, 16, 33, 8192, 8200, 70001})) << level << cores;
      }
      for (const Graph& graph :
           {momentum({20001}), momentum({kSize, 1001}), momentum({65, 1001})}) {
        EXPECT_TRUE(derives(graph, target, {0, 1, 3, 70})) << level << cores;
      }
    }
  }
}

TEST(DerivePointsWithReader, TypesOfSeveralSizes) {
  const Axis i("i", kSize);
  const Tensor x = input("x", u8, {kSize});
  const Tensor wide = compute("wide", {i}, cast(f64, x(i)) * 2.0);
  const Graph graph({wide, compute("y", {i}, cast(u8, wide(i)))});
  for (const char* level : kLevels) {
    EXPECT_EQ(found(graph, target_of(level, 1)), "y: wide") << level;
    EXPECT_TRUE(derives(graph, target_of(level, 4), {0, 1, 7, 16, 33, 8200})) << level;
  }
}

}  // namespace
}  // namespace emulsion
