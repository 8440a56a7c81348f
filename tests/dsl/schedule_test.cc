#include "dsl/schedule.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Axis m("m", 128), n("n", 512), k("k", 256);
Axis mo("mo"), mi("mi"), no("no"), ni("ni");

struct Linear {
  Tensor x = input("x", f32, {128, 256});
  Tensor w = weight("w", f32, {256, 512});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
};

std::string text_of(const StageSchedule& stage) {
  std::string text;
  for (const Directive& d : stage.directives()) text += to_string(d) + "\n";
  return text;
}

TEST(Schedule, RecordsDirectivesInTheOrderOfTheCalls) {
  Linear l;
  Schedule s(l.y);
  s[l.y].split(m, mo, mi, 6, Tail::guard).parallel(mo).reorder({mi, n, mo}).store_in(Memory::heap);
  EXPECT_EQ(text_of(s["y"]),
            "split(m, mo, mi, 6, guard)\nparallel(mo)\nreorder(mi, n, mo)\nstore_in(heap)\n");
}

TEST(Schedule, TileIsTwoSplitsAndAReorder) {
  Linear l;
  Schedule s(l.y);
  s[l.y].tile(m, n, mo, no, mi, ni, 6, 64);
  EXPECT_EQ(text_of(s["y"]),
            "split(m, mo, mi, 6)\nsplit(n, no, ni, 64)\nreorder(ni, mi, no, mo)\n");
  Schedule with_tail(l.y);
  with_tail[l.y].tile(m, n, mo, no, mi, ni, 6, 64, Tail::round_up);
  EXPECT_EQ(text_of(with_tail["y"]),
            "split(m, mo, mi, 6, round_up)\nsplit(n, no, ni, 64, round_up)\n"
            "reorder(ni, mi, no, mo)\n");
}

TEST(Schedule, AFactorSplitsFirst) {
  Linear l;
  Schedule s(l.y);
  s[l.y].vectorize(n, 16, Tail::predicate).unroll(m, 4);
  EXPECT_EQ(text_of(s["y"]),
            "split(n, n, n_v, 16, predicate)\nvectorize(n_v)\nsplit(m, m, m_u, 4)\nunroll(m_u)\n");
  Schedule with_tail(l.y);
  with_tail[l.y].unroll(m, 4, Tail::guard);
  EXPECT_EQ(text_of(with_tail["y"]), "split(m, m, m_u, 4, guard)\nunroll(m_u)\n");
}

TEST(Schedule, NamesOtherOperations) {
  Linear l;
  Schedule s(l.y);
  s[l.mm].compute_at(l.y, no).store_at(l.y, mo).pack(l.w, n, 64).cache_write("acc");
  s["acc"].split(k, k, Axis("lane"), 16).rfactor(Axis("lane"), "partial").fuse(m, n, Axis("t"));
  EXPECT_EQ(text_of(s["mm"]),
            "compute_at(y, no)\nstore_at(y, mo)\npack(w, n, 64)\ncache_write(acc)\n");
  s["mm"].prefetch(l.x, m, 2);
  EXPECT_EQ(to_string(s["mm"].directives().back()), "prefetch(x, m, 2)");
  s["mm"].compute_with(l.y, m);
  EXPECT_EQ(to_string(s["mm"].directives().back()), "compute_with(y, m)");
  EXPECT_EQ(text_of(s["acc"]), "split(k, k, lane, 16)\nrfactor(lane, partial)\nfuse(m, n, t)\n");
}

TEST(Schedule, CopiesAnOperandOrAStageByName) {
  Linear l;
  Schedule s(l.y);
  s[l.mm].copy_in(l.x, "x_tile").copy_in(l.w, "w_tile");
  s[l.y].copy_in(l.mm, "mm_rows");
  s["mm_rows"].copy_in("mm", "again");
  EXPECT_EQ(text_of(s["mm"]), "copy_in(x, x_tile)\ncopy_in(w, w_tile)\n");
  EXPECT_EQ(text_of(s["y"]), "copy_in(mm, mm_rows)\n");
  EXPECT_EQ(text_of(s["mm_rows"]), "copy_in(mm, again)\n");
}

TEST(Schedule, ACopyOfAnotherOperandIsAnotherDirective) {
  Linear l;
  Schedule a(l.y), b(l.y);
  a[l.mm].copy_in(l.x, "tile");
  b[l.mm].copy_in(l.w, "tile");
  EXPECT_FALSE(a == b);
}

TEST(Schedule, AnAlternativeSaysWhereItIsTaken) {
  Linear l;
  Schedule s(l.y), other(l.y);
  s[l.mm].alternative(size_value("B") <= 4, "few").parallel(m);
  EXPECT_EQ(text_of(s["mm"]), "alternative(B <= 4, few)\nparallel(m)\n");
  other[l.mm].alternative(size_value("B") <= 5, "few").parallel(m);
  EXPECT_FALSE(s == other);
}

TEST(Schedule, SpecializationsAreLinesOfTheirOwn) {
  const Expr B = size_value("B");
  Schedule s(Linear().y);
  s["y"].parallel(m).specialize(B == 1).unroll(n).specialize(B >= 16 && B % 8 == 0).vectorize(n);
  EXPECT_EQ(text_of(s["y"]),
            "parallel(m)\nspecialize(B == 1)\nunroll(n)\nspecialize(B >= 16 && B % 8 == 0)\n"
            "vectorize(n)\n");
}

TEST(Schedule, APartitionNamesItsLoop) {
  Schedule s(Linear().y);
  s["y"].parallel(m).partition(m);
  EXPECT_EQ(text_of(s["y"]), "parallel(m)\npartition(m)\n");
}

TEST(Schedule, ACutNamesAnIndexOfItsAxis) {
  const Extent half = Extent::size("C") * 2 + 3;
  Schedule s(Linear().y);
  s["y"].cut(n, half).cut(n, 2);
  EXPECT_EQ(text_of(s["y"]), "cut(n, 2*C + 3)\ncut(n, 2)\n");
  Schedule other(Linear().y);
  other["y"].cut(n, half).cut(n, 3);
  EXPECT_FALSE(s == other);
}

TEST(Schedule, AnotherConditionIsAnotherDirective) {
  Schedule a(Linear().y), b(Linear().y), c(Linear().y);
  a["y"].specialize(size_value("B") == 1);
  b["y"].specialize(size_value("B") == 2);
  c["y"].specialize(size_value("B") == 1);
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(a == c);
}

TEST(Schedule, SaysWhereAndHowAnOperationIsStored) {
  Linear l;
  Schedule s(l.y);
  s[l.mm].compute_at(l.y, n).store_root().hoist_storage(l.y, m).fold_storage(m, 4);
  s[l.mm].reorder_storage({m, n}).align_storage(m, 16).store_in(Memory::scratchpad);
  EXPECT_EQ(text_of(s["mm"]),
            "compute_at(y, n)\nstore_root()\nhoist_storage(y, m)\nfold_storage(m, 4)\n"
            "reorder_storage(m, n)\nalign_storage(m, 16)\nstore_in(scratchpad)\n");
  Schedule shared(l.y);
  shared[l.mm].store_in_output(l.y);
  shared["mm"].store_in_output("y");
  EXPECT_EQ(text_of(shared["mm"]), "store_in_output(y)\nstore_in_output(y)\n");
}

TEST(Schedule, PrintsEveryTailAndMemory) {
  EXPECT_EQ(to_string(Tail::automatic), "automatic");
  EXPECT_EQ(to_string(Tail::guard), "guard");
  EXPECT_EQ(to_string(Tail::predicate), "predicate");
  EXPECT_EQ(to_string(Tail::round_up), "round_up");
  EXPECT_EQ(to_string(Tail::shift_inwards), "shift_inwards");
  EXPECT_EQ(to_string(Tail::predicate_loads), "predicate_loads");
  EXPECT_EQ(to_string(Tail::predicate_stores), "predicate_stores");
  EXPECT_EQ(to_string(Memory::automatic), "automatic");
  EXPECT_EQ(to_string(Memory::heap), "heap");
  EXPECT_EQ(to_string(Memory::stack), "stack");
  EXPECT_EQ(to_string(Memory::registers), "registers");
  EXPECT_EQ(to_string(Memory::scratchpad), "scratchpad");
}

TEST(Schedule, AFunctionIsFoundLikeItsTensor) {
  Func f("f");
  f(m) = cast(f32, Expr(m));
  Schedule s(f);
  s[f].compute_root();
  EXPECT_EQ(text_of(s[f.tensor()]), "compute_root()\n");
}

TEST(Schedule, ACopyStandsOnItsOwn) {
  Linear l;
  auto first = std::make_unique<Schedule>(l.y);
  (*first)[l.y].parallel(m);
  Schedule copy = *first;
  first.reset();
  copy[l.mm].compute_at(l.y, m);
  EXPECT_EQ(text_of(copy["mm"]), "compute_at(y, m)\n");
}

TEST(Schedule, OneWithoutDirectivesIsOfTheSameGraph) {
  Linear l;
  Schedule schedule(l.y);
  schedule[l.y].parallel(m);
  const Schedule bare = schedule.without_directives();
  EXPECT_TRUE(bare.stages().empty());
  EXPECT_EQ(&bare.graph(), &schedule.graph());
  EXPECT_EQ(text_of(schedule["y"]), "parallel(m)\n");
}

TEST(Schedule, EqualityIsThatOfTheDirectives) {
  Linear l;
  Schedule a(l.y), b(l.y);
  a[l.y].parallel(m);
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(b == a);
  b[l.y].parallel(m);
  EXPECT_TRUE(a == b);
  b[l.y].unroll(n);
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(b == a);
}

TEST(Schedule, AnotherMemoryIsAnotherDirective) {
  Linear l;
  Schedule a(l.y), b(l.y), c(l.y);
  a[l.mm].store_in(Memory::heap);
  b[l.mm].store_in(Memory::stack);
  c[l.mm].store_in(Memory::stack);
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(b == c);
}

TEST(Schedule, LookingAtAStageChangesNothing) {
  Linear l;
  Schedule a(l.y), b(l.y);
  a[l.mm];
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(b == a);
  EXPECT_EQ(b.find("mm"), nullptr);
}

class ScheduleRefusal : public RefusalTest {};
TEST_P(ScheduleRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, ScheduleRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"SplitByZero", [] { Schedule(Linear().y)["y"].split(m, mo, mi, 0); },
         "argument 4 (factor) of split: expected a positive integer, got 0"},
        {"TileByMinusOne", [] { Schedule(Linear().y)["y"].tile(m, n, mo, no, mi, ni, 6, -1); },
         "argument 8 (factor) of tile: expected a positive integer, got -1"},
        {"VectorizeByZero", [] { Schedule(Linear().y)["y"].vectorize(n, 0); },
         "argument 2 (factor) of vectorize"},
        {"UnrollByZero", [] { Schedule(Linear().y)["y"].unroll(n, 0); },
         "argument 2 (factor) of unroll"},
        {"PackByZero",
         [] {
           Linear l;
           Schedule(l.y)[l.mm].pack(l.w, n, 0);
         },
         "argument 3 (factor) of pack"},
        {"PrefetchOfTheStepItself",
         [] {
           Linear l;
           Schedule(l.y)[l.mm].prefetch(l.x, m, 0);
         },
         "argument 3 (distance) of prefetch"},
        {"CacheWriteToAKeyword", [] { Schedule(Linear().y)["mm"].cache_write("auto"); },
         "stage made by cache_write 'auto'"},
        {"PartialWithoutName", [] { Schedule(Linear().y)["mm"].rfactor(k, ""); },
         "stage made by rfactor ''"},
        {"CopyOfAStranger",
         [] { Schedule(Linear().y)["mm"].copy_in(input("other", f32, {3}), "c"); }, "got other"},
        {"CopyToAKeyword", [] { Schedule(Linear().y)["mm"].copy_in("x", "int"); },
         "stage made by copy_in 'int'"},
        {"CopyWithoutName", [] { Schedule(Linear().y)["mm"].copy_in("x", ""); },
         "stage made by copy_in ''"},
        {"AlternativeOnNothing", [] { Schedule(Linear().y)["mm"].alternative(Expr(), "few"); },
         "argument 1 (condition) of alternative: expected a condition over run-time sizes, such as "
         "size_value(\"B\") == 1, got none"},
        {"AlternativeOnALoop", [] { Schedule(Linear().y)["mm"].alternative(Expr(m) == 1, "few"); },
         "argument 1 (condition) of alternative"},
        {"AlternativeWithAKeyword",
         [] { Schedule(Linear().y)["mm"].alternative(size_value("B") == 1, "int"); },
         "stage made by alternative 'int'"},
        {"SpecializeOnNothing", [] { Schedule(Linear().y)["y"].specialize(Expr()); },
         "argument 1 (condition) of specialize: expected a condition over run-time sizes, such as "
         "size_value(\"B\") == 1, got none"},
        {"SpecializeOnWhatCppHasCompared",
         [] { Schedule(Linear().y)["y"].specialize(Extent::size("B") == Extent(1)); }, "got false"},
        {"SpecializeOnALoop", [] { Schedule(Linear().y)["y"].specialize(Expr(m) == 1); },
         "got m == 1"},
        {"SpecializeOnANumber", [] { Schedule(Linear().y)["y"].specialize(size_value("B") + 1); },
         "got B + 1"},
        {"SpecializeOnAFloat",
         [] { Schedule(Linear().y)["y"].specialize(cast(f32, size_value("B")) < 1.5f); },
         "expected a condition over run-time sizes"},
        {"SpecializeOnAChoice",
         [] {
           const Expr size = size_value("B");
           Schedule(Linear().y)["y"].specialize(select(size == 1, size < 3, size < 5));
         },
         "got select(B == 1, B < 3, B < 5)"},
        {"SpecializeOnACast",
         [] { Schedule(Linear().y)["y"].specialize(cast(bool_, size_value("B"))); }, "got bool(B)"},
        {"SpecializeOnData",
         [] {
           Schedule(Linear().y)["y"].specialize(read_buffer("u", i32, {}) == 1 &&
                                                size_value("B") == 1);
         },
         "expected a condition over run-time sizes"},
        {"ComputeAtAStranger",
         [] { Schedule(Linear().y)["mm"].compute_at(input("other", f32, {3}), m); }, "got other"},
        {"PackOfAStranger", [] { Schedule(Linear().y)["mm"].pack(weight("v", f32, {3}), n, 8); },
         "got v"},
        {"StageOfAStranger", [] { Schedule(Linear().y)[input("other", f32, {3})]; },
         "expected one of its operations (x, w, mm, y), got other"},
        {"UndefinedTensor", [] { Schedule(Linear().y)[Tensor()]; }, "an undefined tensor"},
        {"AxisWithAKeyword", [] { Schedule(Linear().y)["y"].parallel(Axis("for")); }, "axis 'for'"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion
