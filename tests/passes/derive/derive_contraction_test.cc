// Contractions of every extent and body; what their schedules mean is told by the interpreter.

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Extent kM = Extent::size("M"), kN = Extent::size("N"), kS = Extent::size("S");

// Of wide tiles: few rows or columns have ways of their own (tests of combined rows and of dots).
std::vector<Directive> all(const Schedule& schedule, DirectiveKind kind) {
  std::vector<Directive> found;
  for (const auto& [name, stage] : schedule.stages()) {
    if (std::regex_search(name, std::regex("_few|_of_|_narrow|_dots|_flat"))) continue;
    const bool chooses = schedule.find(name + "_long") && !schedule.find(name + "_short");
    if (chooses || schedule.find(name + "_few")) continue;
    for (const Directive& d : stage.directives()) {
      if (d.kind == kind) found.push_back(d);
    }
  }
  return found;
}

std::optional<Directive> split_of(const Schedule& schedule, const std::string& axis) {
  for (const Directive& d : all(schedule, DirectiveKind::split)) {
    if (d.axes[0] == axis) return d;
  }
  return std::nullopt;
}

bool has(const Schedule& schedule, DirectiveKind kind) { return !all(schedule, kind).empty(); }

// What is parallel, and the condition: "panel if N >= 100", "tile", "nothing".
std::string shared_by(const Schedule& schedule) {
  const std::vector<Directive> parallel = all(schedule, DirectiveKind::parallel);
  if (parallel.empty()) return "nothing";
  const std::vector<Directive> cases = all(schedule, DirectiveKind::specialize);
  return parallel[0].axes[0] + (cases.empty() ? "" : " if " + to_string(cases[0].condition));
}

// The sums, or whatever else is accumulated, are in registers, several vectors of them.
void expect_register_tile(const Schedule& schedule, const Target& target) {
  SCOPED_TRACE(to_string(schedule));
  const std::vector<Directive> stored = all(schedule, DirectiveKind::store_in);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].memory, Memory::registers);
  EXPECT_FALSE(has(schedule, DirectiveKind::rfactor));
  const std::optional<Directive> columns = split_of(schedule, "n"), rows = split_of(schedule, "m");
  ASSERT_TRUE(columns && rows);
  const int64_t lanes = target.vector_lanes(f32);
  EXPECT_EQ(columns->factor % lanes, 0);
  EXPECT_GE(columns->factor / lanes * rows->factor, 8);
}

// y[m, n] = combined over k of x[m, k] and w[k, n], or w[n, k].
using Body = Expr (*)(const Expr&, const Expr&);
Expr product(const Expr& x, const Expr& w) { return x * w; }
Expr squared(const Expr& x, const Expr& w) { return (x - w) * (x - w); }
Expr apart(const Expr& x, const Expr& w) { return abs(x - w); }
Expr together(const Expr& x, const Expr& w) { return x + w; }
Expr least(const Expr& x, const Expr& w) { return min(x, w); }

Tensor pairs(const Extent& rows, const Extent& depth, const Extent& columns, Body body,
             Combiner combiner = Combiner::sum, bool by_columns = false, DType type = f32) {
  const Axis m("m", rows), n("n", columns), k("k", depth);
  const Tensor x = input("x", type, {rows, depth});
  const Tensor w =
      by_columns ? input("w", type, {columns, depth}) : input("w", type, {depth, columns});
  const Expr value = body(x(m, k), by_columns ? w(n, k) : w(k, n));
  switch (combiner) {
    case Combiner::max:
      return compute("y", {m, n}, reduce_max(k, value));
    case Combiner::min:
      return compute("y", {m, n}, reduce_min(k, value));
    default:
      return compute("y", {m, n}, sum(k, value));
  }
}

class DeriveContractions : public testing::TestWithParam<const char*> {
 protected:
  Target target_ = Target::parse(GetParam());
  const std::vector<int64_t> sizes_ = {0, 1, 5, 15, 16, 17, 33, 64, 65};
};

// --- columns of a run-time size -----------------------------------------------------------------

TEST_P(DeriveContractions, RunTimeColumnsHaveARegisterTileAndOnePanelWithMasks) {
  for (const Extent& rows : {Extent(100), kM}) {
    for (const Extent& depth : {Extent(64), Extent::size("K")}) {
      const Schedule schedule = derive_schedule(Graph(pairs(rows, depth, kN, product)), target_);
      expect_register_tile(schedule, target_);
      EXPECT_EQ(split_of(schedule, "n")->tail, Tail::predicate);
      const std::vector<Directive> parts = all(schedule, DirectiveKind::partition);
      ASSERT_EQ(parts.size(), 1U);
      EXPECT_EQ(parts[0].axes, std::vector<std::string>{"panel"});
    }
  }
}

TEST_P(DeriveContractions, ColumnsThatPanelsAlwaysDivideNeedNoMasks) {
  const Schedule schedule = derive_schedule(Graph(pairs(100, 64, kN * 64, product)), target_);
  expect_register_tile(schedule, target_);
  EXPECT_EQ(split_of(schedule, "n")->tail, Tail::automatic);
  EXPECT_FALSE(has(schedule, DirectiveKind::partition));
}

TEST_P(DeriveContractions, RunTimeColumnsMeanWhatTheGraphMeans) {
  const std::vector<int64_t> few = {0, 1, 17, 66};
  EXPECT_TRUE(derives(pairs(7, 5, kN, product), target_, sizes_));
  EXPECT_TRUE(derives(pairs(1, 5, kN, product), target_, sizes_));
  EXPECT_TRUE(derives(pairs(kM, 5, kN, product), target_, few));
  EXPECT_TRUE(derives(pairs(kM, Extent::size("K"), kN, product), target_, few));
  EXPECT_TRUE(derives(pairs(70, 5, kN, product, Combiner::sum, true), target_, sizes_));
  EXPECT_TRUE(derives(pairs(9, 7, kN + 3, product), target_, few));
  EXPECT_TRUE(derives(pairs(9, 7, kN * 16, product), target_, {0, 1, 5}));
  EXPECT_TRUE(derives(pairs(kS, 5, kS, product, Combiner::sum, true), target_, few));
  for (DType type : {f64, i32}) {
    EXPECT_TRUE(derives(pairs(9, 7, kN, product, Combiner::sum, false, type), target_, few));
  }
}

TEST_P(DeriveContractions, RunTimeColumnsTakeAnEpilogue) {
  const Tensor x = input("x", f32, {9, 6}), w = input("w", f32, {6, kN});
  const Tensor y = relu(matmul(x, w) + input("b", f32, {kN}));
  EXPECT_TRUE(derives(y, target_, sizes_));
  const Schedule schedule = derive_schedule(Graph(y), target_);
  EXPECT_TRUE(has(schedule, DirectiveKind::compute_inline));
  EXPECT_TRUE(has(schedule, DirectiveKind::partition));
}

TEST_P(DeriveContractions, AttentionOfARunTimeLength) {
  const Axis h("h", 2), s("s", kS), t("t", kS), d("d", 10);
  const Tensor q = input("q", f32, {2, kS, 10}), k = input("k", f32, {2, kS, 10}),
               v = input("v", f32, {2, kS, 10}), p = input("p", f32, {2, kS, kS});
  const Tensor scores = compute("scores", {h, s, t}, sum(d, q(h, s, d) * k(h, t, d)));
  const Tensor mixed = compute("mixed", {h, s, d}, sum(t, p(h, s, t) * v(h, t, d)));
  for (const Tensor& y : {scores, mixed}) {
    EXPECT_TRUE(derives(y, target_, {0, 1, 17, 34}));
    const Schedule schedule = derive_schedule(Graph(y), target_);
    EXPECT_EQ(all(schedule, DirectiveKind::store_in).size(), 1U) << to_string(schedule);
    EXPECT_FALSE(has(schedule, DirectiveKind::rfactor));
  }
}

TEST(DeriveContraction, ThreadsShareTheRowsOrThePanelsOfRunTimeColumns) {
  const Target target = Target::parse("x86-64-v4,cores=4");
  auto shared = [&](const Extent& rows, const Extent& columns, bool by_columns = false,
                    int depth = 64) {
    return shared_by(derive_schedule(
        Graph(pairs(rows, depth, columns, product, Combiner::sum, by_columns)), target));
  };
  EXPECT_EQ(shared(4096, kN, false, 32), "tile if N >= 16");
  EXPECT_EQ(shared(8, kN), "panel if N >= 4096");
  EXPECT_EQ(shared(kM, kN, false, 32), "tile if min(M, 32768) * min(N, 32768) >= 65536");
  // Each thread copies the panels that it computes.
  EXPECT_EQ(shared(4096, kN), "panel if N >= 8");
  const std::string enough = "min(M, 32768) * min(N, 32768) >= 32768";
  for (const bool by_columns : {false, true}) {
    const Schedule schedule =
        derive_schedule(Graph(pairs(kM, 64, kN, product, Combiner::sum, by_columns)), target);
    EXPECT_EQ(shared_by(schedule), "panel if " + enough + " && N >= 128");
    // Four panels of 32 are one for each core. Of fewer the threads share the rows.
    const std::vector<Directive> cases = all(schedule, DirectiveKind::specialize),
                                 parallel = all(schedule, DirectiveKind::parallel);
    ASSERT_TRUE(cases.size() == 2 && parallel.size() == 2) << to_string(schedule);
    EXPECT_EQ(parallel[1].axes[0] + to_string(cases[1].condition), "tile" + enough);
  }
  EXPECT_EQ(shared_by(derive_schedule(Graph(pairs(kM, 64, kN, product)),
                                      Target::parse("x86-64-v4,cores=1"))),
            "nothing");
}

TEST(DeriveContraction, OneRowByRunTimeColumnsOfTheOtherLayoutIsSumsInLanes) {
  const Target target = Target::parse("x86-64-v4,cores=1");
  const Graph graph(pairs(1, 64, kN, product, Combiner::sum, true));
  EXPECT_TRUE(has(derive_schedule(graph, target), DirectiveKind::rfactor));
}

// --- other bodies -------------------------------------------------------------------------------

TEST_P(DeriveContractions, AnyBodyOfTwoOperandsHasTheTileOfAProduct) {
  for (Body body : {squared, apart, together, least}) {
    for (Combiner combiner : {Combiner::sum, Combiner::max, Combiner::min}) {
      for (const Extent& columns : {Extent(512), kN}) {
        const Tensor y = pairs(512, 48, columns, body, combiner);
        expect_register_tile(derive_schedule(Graph(y), target_), target_);
      }
    }
  }
}

TEST_P(DeriveContractions, AnyBodyMeansWhatTheGraphMeans) {
  for (Body body : {squared, apart, together, least}) {
    for (Combiner combiner : {Combiner::sum, Combiner::max, Combiner::min}) {
      for (int columns : {1, 3, 17, 64}) {
        EXPECT_TRUE(derives(pairs(7, 6, columns, body, combiner), target_));
      }
      EXPECT_TRUE(derives(pairs(kM, 6, kN, body, combiner), target_, {0, 1, 18}));
    }
    EXPECT_TRUE(derives(pairs(60, 6, 17, body, Combiner::sum, true), target_));
    EXPECT_TRUE(derives(pairs(6, 6, 17, body, Combiner::sum, false, f64), target_));
    EXPECT_TRUE(derives(pairs(6, 6, 17, body, Combiner::max, false, i32), target_));
  }
}

TEST(DeriveContraction, AnOperandThatTheBodyReadsTwiceIsCopiedOnce) {
  const Target target = Target::parse("x86-64-v4,cores=1");
  const Schedule schedule =
      derive_schedule(Graph(pairs(512, 64, 512, squared, Combiner::sum, true)), target);
  const std::vector<Directive> copies = all(schedule, DirectiveKind::copy_in);
  ASSERT_EQ(copies.size(), 1U) << to_string(schedule);
  EXPECT_EQ(copies[0].operand, "w");
}

TEST(DeriveContraction, DistancesTakeAnEpilogue) {
  const Target target = Target::parse("x86-64-v3,cores=1");
  const Tensor y = sqrt(pairs(64, 16, 64, squared));
  const Schedule schedule = derive_schedule(Graph(y), target);
  EXPECT_EQ(all(schedule, DirectiveKind::compute_at).size(), 1U) << to_string(schedule);
  EXPECT_FALSE(has(schedule, DirectiveKind::cache_write));
}

// Masks of comparisons leave registers when a vector is several of the machine's.
TEST(DeriveContraction, ComparedFloatsAreVectorsOfTheMachine) {
  const Target target = Target::parse("x86-64-v3,cores=1");
  auto text = [&](Body body, Combiner combiner, DType type = f32) {
    return to_string(
        derive_schedule(Graph(pairs(512, 48, 512, body, combiner, false, type)), target));
  };
  const std::string whole_rows = "y_acc.vectorize(n)\n",
                    by_lanes = "y_acc.split(n, n, lane, 8)\ny_acc.vectorize(lane)\n";
  for (const std::string& compared :
       {text(together, Combiner::max), text(least, Combiner::sum), text(apart, Combiner::min)}) {
    EXPECT_NE(compared.find(by_lanes), std::string::npos) << compared;
  }
  for (const std::string& other : {text(squared, Combiner::sum), text(apart, Combiner::sum),
                                   text(together, Combiner::max, i32)}) {
    EXPECT_NE(other.find(whole_rows), std::string::npos) << other;
  }
}

// --- few columns --------------------------------------------------------------------------------

// Four lanes are added up one by one; of more, whole vectors are read, and then parts of them.
size_t times_combined(const Target& target) { return target.vector_lanes(f32) > 4 ? 3 : 1; }

TEST_P(DeriveContractions, OneColumnIsSumsInLanesOfSeveralRows) {
  for (const Extent& rows : {Extent(100), kM}) {
    const Tensor x = input("x", f32, {rows, 96});
    for (const Tensor& w : {input("w", f32, {96, 1}), weight("w", f32, {96, 1})}) {
      const Schedule schedule = derive_schedule(Graph(matmul(x, w, "y")), target_);
      SCOPED_TRACE(to_string(schedule));
      EXPECT_EQ(all(schedule, DirectiveKind::rfactor).size(), times_combined(target_));
      EXPECT_FALSE(has(schedule, DirectiveKind::pack) || has(schedule, DirectiveKind::copy_in));
      EXPECT_EQ(split_of(schedule, "m")->factor, 4);
    }
  }
}

TEST_P(DeriveContractions, AVectorIsSumsInLanesOfSeveralRows) {
  const Schedule schedule = derive_schedule(
      Graph(matmul(input("x", f32, {100, 96}), input("v", f32, {96}), "y")), target_);
  EXPECT_EQ(all(schedule, DirectiveKind::rfactor).size(), times_combined(target_));
  EXPECT_EQ(all(schedule, DirectiveKind::split)[0].factor, 4) << to_string(schedule);
}

TEST_P(DeriveContractions, FewColumnsAreTurnedToLieAlongTheReduction) {
  const int64_t lanes = target_.vector_lanes(f32);
  for (int64_t columns : {2, 3, 4, 5}) {
    const Schedule schedule = derive_schedule(Graph(pairs(100, 96, columns, product)), target_);
    const bool few = columns == 2 || 4 * columns <= lanes;
    EXPECT_EQ(has(schedule, DirectiveKind::rfactor), few) << columns << to_string(schedule);
    EXPECT_EQ(has(schedule, DirectiveKind::copy_in), few) << columns;
  }
}

TEST_P(DeriveContractions, WhatDoesNotLieAlongTheReductionOrIsShortIsNot) {
  const Axis m("m", 100), n("n", 1), k("k", 96);
  const Tensor across = input("x", f32, {96, 100}), w = input("w", f32, {96, 1});
  for (const Tensor& y :
       {compute("y", {m, n}, sum(k, across(k, m) * w(k, n))), pairs(100, 3, 1, product),
        pairs(100, 32, 2, product), pairs(8, 96, 2, product), pairs(kM, 96, 2, product)}) {
    EXPECT_FALSE(has(derive_schedule(Graph(y), target_), DirectiveKind::rfactor));
  }
}

// A matrix times a vector, whose length is a run-time size: only the last step has masks.
TEST_P(DeriveContractions, AVectorOfRunTimeLengthIsSumsInLanesToo) {
  for (const Extent& rows : {Extent(100), kM}) {
    const Extent depth = Extent::size("K");
    const Graph graph(matmul(input("x", f32, {rows, depth}), input("v", f32, {depth}), "y"));
    const Schedule schedule = derive_schedule(graph, target_);
    SCOPED_TRACE(to_string(schedule));
    EXPECT_TRUE(has(schedule, DirectiveKind::rfactor));
    // Of the depth, and of rows that are several at a time; of short ones in vectors, too.
    const bool is_cut = rows.is_constant() && rows.exact_quotient(target_.vector_lanes(f32));
    EXPECT_EQ(all(schedule, DirectiveKind::partition).size(), is_cut               ? 1U
                                                              : rows.is_constant() ? 2U
                                                                                   : 3U);
    EXPECT_TRUE(derives(graph, target_, {0, 1, 3, 4, 5, 15, 16, 17, 100}));
  }
}

TEST_P(DeriveContractions, AVectorThatLiesAcrossIsNot) {
  const Extent depth = Extent::size("K");
  const Axis m("m", kM), k("k", depth);
  const Tensor x = input("x", f32, {depth, kM}), v = input("v", f32, {depth});
  const Graph graph(compute("y", {m}, sum(k, x(k, m) * v(k))));
  EXPECT_FALSE(has(derive_schedule(graph, target_), DirectiveKind::rfactor));
  EXPECT_TRUE(derives(graph, target_, {0, 1, 15, 16, 17, 100}));
}

// --- several operands ---------------------------------------------------------------------------

// What is summed up beside x[m, k] and w[k, n], or w[n, k].
enum class Beside : uint8_t { step, column, row, all };

Tensor several(const Extent& rows, const Extent& depth, const Extent& columns, Beside beside,
               bool by_columns = false, DType type = f32) {
  const Axis m("m", rows), n("n", columns), k("k", depth);
  const Tensor x = input("x", type, {rows, depth});
  const Tensor w =
      by_columns ? input("w", type, {columns, depth}) : input("w", type, {depth, columns});
  const Expr pair = x(m, k) - (by_columns ? w(n, k) : w(k, n));
  Expr value = pair;
  const auto is = [&](Beside one) { return beside == one || beside == Beside::all; };
  if (is(Beside::step)) value = value * input("c", type, {depth})(k);
  if (is(Beside::column)) value = value * input("d", type, {columns})(n);
  if (is(Beside::row)) value = value * input("e", type, {rows})(m);
  return compute("y", {m, n}, sum(k, value));
}

constexpr Beside kBesides[] = {Beside::step, Beside::column, Beside::row, Beside::all};

TEST_P(DeriveContractions, SeveralOperandsHaveTheTileOfAProduct) {
  for (Beside beside : kBesides) {
    const Schedule known = derive_schedule(Graph(several(512, 48, 512, beside)), target_);
    expect_register_tile(known, target_);
    const int64_t vectors = split_of(known, "n")->factor / target_.vector_lanes(f32);
    const int64_t rows = split_of(known, "m")->factor, others = beside == Beside::all ? 3 : 1;
    EXPECT_LE((rows + 1) * vectors + 1 + 2 + others, target_.vector_registers());
    const Schedule open =
        derive_schedule(Graph(several(kM, Extent::size("K"), kN, beside)), target_);
    expect_register_tile(open, target_);
    EXPECT_EQ(split_of(open, "n")->tail, Tail::predicate);
    ASSERT_EQ(all(open, DirectiveKind::partition).size(), 1U);
  }
}

TEST_P(DeriveContractions, SeveralOperandsMeanWhatTheGraphMeans) {
  const int64_t lanes = target_.vector_lanes(f32);
  const std::vector<int64_t> around = {0, 1, lanes - 1, lanes, lanes + 1, 4 * lanes + 3};
  for (Beside beside : kBesides) {
    EXPECT_TRUE(derives(several(9, 5, kN, beside), target_, around));
    EXPECT_TRUE(derives(several(kM, 5, 3, beside), target_, around));
    EXPECT_TRUE(derives(several(kM, 4, kN, beside, true), target_, {0, 1, 18}));
    EXPECT_TRUE(derives(several(kS, kS, kS, beside), target_, {0, 1, 2, lanes, lanes + 1}));
    EXPECT_TRUE(derives(several(9, 70, 2, beside), target_));
    EXPECT_TRUE(derives(several(6, 6, 17, beside, false, f64), target_));
    EXPECT_TRUE(derives(several(6, 6, 17, beside, true, i32), target_));
  }
}

TEST_P(DeriveContractions, SeveralOperandsTakeAnEpilogue) {
  const Tensor y = sqrt(several(kM, 16, kN, Beside::step));
  const Schedule schedule = derive_schedule(Graph(y), target_);
  EXPECT_EQ(all(schedule, DirectiveKind::store_in).size(), 1U) << to_string(schedule);
  EXPECT_FALSE(has(schedule, DirectiveKind::cache_write));
  EXPECT_TRUE(derives(relu(several(kM, 3, kN, Beside::all)), target_, {0, 1, 18}));
}

TEST_P(DeriveContractions, NoTileWhereAnotherOperandCrossesTheColumnsOrHasBoth) {
  const Axis m("m", 64), n("n", 64), k("k", 64);
  const Tensor x = input("x", f32, {64, 64}), w = input("w", f32, {64, 64}),
               other = input("z", f32, {64, 64});
  for (const Expr& read : {other(n, k), other(m, n)}) {
    const Tensor y = compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * read));
    EXPECT_FALSE(has(derive_schedule(Graph(y), target_), DirectiveKind::store_in));
    EXPECT_TRUE(derives(y, target_));
  }
}

// A kernel for several targets has one packed weight, or none.
TEST(DeriveContraction, EveryTargetPacksANarrowWeightOrNone) {
  for (DType type : {f32, f64, i32, i8}) {
    for (int64_t depth : {16, 64, 96, 200}) {
      for (int64_t columns : {1, 2, 3, 4, 8}) {
        const Graph graph(
            matmul(input("x", type, {100, depth}), weight("w", type, {depth, columns})));
        std::vector<bool> packs;
        for (const char* name : {"x86-64-linux", "x86-64-v3", "x86-64-v4"}) {
          packs.push_back(has(derive_schedule(graph, Target::parse(name)), DirectiveKind::pack));
        }
        EXPECT_EQ(packs, std::vector<bool>(3, packs[0])) << depth << " " << columns;
      }
    }
  }
}

// By one reader in panels, and as it lies by another.
TEST(DeriveContraction, AWeightMayBeReadPackedAndNot) {
  const Axis m("m", 9), n("n", 1), k("k", 96);
  const Tensor w = weight("w", f32, {96, 1}), across = input("z", f32, {96, 9});
  const Tensor packed = compute("packed", {m, n}, sum(k, across(k, m) * w(k, n)));
  const Graph graph({matmul(input("x", f32, {9, 96}), w, "dots"), packed});
  const Target target = Target::parse("x86-64-v4,cores=1");
  const Schedule schedule = derive_schedule(graph, target);
  EXPECT_TRUE(has(schedule, DirectiveKind::pack) && has(schedule, DirectiveKind::rfactor));
  EXPECT_TRUE(derives(graph, target));
}

TEST(DeriveContraction, APanelThatIsAskedForIsPacked) {
  const Graph graph(matmul(input("x", f32, {100, 96}), weight("w", f32, {96, 1}), "y"));
  DeriveOptions options;
  options.panels["w"] = 16;
  const Schedule schedule = derive_schedule(graph, Target::parse("x86-64-v4"), options);
  EXPECT_TRUE(has(schedule, DirectiveKind::pack)) << to_string(schedule);
}

TEST(DeriveContraction, AnOddNumberOfColumnsIsAVectorWithAMask) {
  auto tile = [](const char* target, int64_t columns, DType type = f32) {
    const Schedule schedule = derive_schedule(
        Graph(pairs(100, 20, columns, product, Combiner::sum, false, type)), Target::parse(target));
    const std::optional<Directive> split = split_of(schedule, "n");
    return std::to_string(split->factor) + " " + to_string(split->tail);
  };
  EXPECT_EQ(tile("x86-64-v4", 15), "16 predicate");
  EXPECT_EQ(tile("x86-64-v4", 3), "16 predicate");
  EXPECT_EQ(tile("x86-64-v4", 8), "8 automatic");  // half a vector is one of its own
  EXPECT_EQ(tile("x86-64-v3", 5), "8 predicate");
  EXPECT_EQ(tile("x86-64-v3", 15), "8 shift_inwards");
  EXPECT_EQ(tile("x86-64-linux", 3), "3 automatic");  // no masks
  EXPECT_EQ(tile("x86-64-v4", 15, i8), "15 automatic");
}

// Panels of what lies along the reduction are copied, so they may be as wide as a vector.
TEST(DeriveContraction, AnOddNumberOfTurnedColumnsIsAVectorWithAMaskWhereItIsCopied) {
  const Target target = Target::parse("x86-64-v4,cores=1");
  for (const auto& [rows, tile] : {std::pair(100, "16 predicate"), {15, "3 automatic"}}) {
    const Schedule schedule =
        derive_schedule(Graph(pairs(rows, 20, 3, product, Combiner::sum, true)), target);
    const std::optional<Directive> split = split_of(schedule, "n");
    ASSERT_TRUE(split) << to_string(schedule);
    EXPECT_EQ(std::to_string(split->factor) + " " + to_string(split->tail), tile);
    EXPECT_EQ(has(schedule, DirectiveKind::copy_in), rows == 100);
  }
}

TEST_P(DeriveContractions, FewColumnsMeanWhatTheGraphMeans) {
  for (int columns = 1; columns <= 16; ++columns) {
    EXPECT_TRUE(derives(pairs(21, 67, columns, product), target_)) << columns;
    const Tensor x = input("x", f32, {kM, 67}), w = weight("w", f32, {67, columns});
    EXPECT_TRUE(derives(relu(matmul(x, w)), target_, {0, 1, 3, 18})) << columns;
  }
  for (const Extent& rows : {Extent(1), Extent(3), kM}) {
    EXPECT_TRUE(derives(matmul(input("x", f64, {rows, 70}), input("v", f64, {70})), target_,
                        {0, 1, 3, 4, 9}));
    EXPECT_TRUE(derives(matmul(input("x", f32, {2, 3, rows, 64}), input("w", f32, {2, 3, 64, 1})),
                        target_, {0, 1, 3, 4, 9}));
  }
  EXPECT_TRUE(derives(pairs(2, 80, kN, product, Combiner::sum, true), target_, {0, 1, 4, 9}));
  EXPECT_TRUE(derives(pairs(20, 80, 2, apart, Combiner::max), target_));
  for (int columns : {3, 7, 15, 17}) {
    EXPECT_TRUE(derives(pairs(kM, 5, columns, squared, Combiner::sum, true), target_, {0, 1, 18}));
    EXPECT_TRUE(derives(pairs(21, 5, columns, apart, Combiner::max, true), target_));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DeriveContractions,
                         testing::Values("x86-64-linux,cores=1", "x86-64-v3,cores=4",
                                         "x86-64-v4,cores=1", "x86-64-v4,cores=4"));

// As many products as cores are one for each; fewer leave a core idle, and their tiles are shared.
TEST(DeriveContraction, ThreadsTakeWholeProductsWhenThereIsOneForEachCore) {
  const Target target = Target::parse("x86-64-v3,cores=4");
  const auto shared = [&](int64_t products) {
    const Axis b("b", products), m("m", 128), n("n", 128), k("k", 128);
    const Tensor x = input("x", f32, {products, 128, 128}),
                 w = input("w", f32, {products, 128, 128});
    const Tensor y = compute("y", {b, m, n}, sum(k, x(b, m, k) * w(b, k, n)));
    return shared_by(derive_schedule(Graph(y), target));
  };
  EXPECT_EQ(shared(5), "b");
  EXPECT_EQ(shared(4), "b");
  EXPECT_NE(shared(3), "b");
}

}  // namespace
}  // namespace emulsion
