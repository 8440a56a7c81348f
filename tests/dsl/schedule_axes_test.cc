#include "dsl/schedule_axes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

Axis m("m", 128), n("n", 512), k("k", 256), l("l", 3);
Axis mo("mo"), mi("mi"), no("no"), ni("ni"), ko("ko"), ki("ki"), f("f");

Tensor linear() {
  Tensor x = input("x", f32, {128, 256, 3});
  Tensor w = weight("w", f32, {256, 512});
  Tensor mm = compute("mm", {m, n}, sum({k, l}, x(m, k, l) * w(k, n)));
  return compute("y", {m, n}, max(mm(m, n), 0.0f));
}

Names loops(const Schedule& schedule, const std::string& stage) {
  return names_of(loops_after(schedule).at(stage).loops());
}

TEST(ScheduleAxes, StartWithPureThenReduction) {
  Schedule s(linear());
  EXPECT_EQ(loops(s, "mm"), (Names{"m", "n", "k", "l"}));
  EXPECT_EQ(loops(s, "y"), (Names{"m", "n"}));
  EXPECT_EQ(loops_after(s).count("x"), 0u);
}

TEST(ScheduleAxes, SplitAndFuseReplace) {
  Schedule s(linear());
  s["mm"].split(m, mo, mi, 6);
  EXPECT_EQ(loops(s, "mm"), (Names{"mo", "mi", "n", "k", "l"}));
  s["mm"].fuse(mo, n, f);
  EXPECT_EQ(loops(s, "mm"), (Names{"f", "mi", "k", "l"}));
  s["mm"].fuse(l, f, Axis("u"));
  EXPECT_EQ(loops(s, "mm"), (Names{"mi", "k", "u"}));
}

TEST(ScheduleAxes, AnOuterLoopMayKeepTheName) {
  Schedule s(linear());
  s["y"].vectorize(n, 16);
  EXPECT_EQ(loops(s, "y"), (Names{"m", "n", "n_v"}));
}

TEST(ScheduleAxes, ReorderIsInnermostFirstAmongThePlacesItNames) {
  Schedule s(linear());
  s["mm"].reorder({n, k});
  EXPECT_EQ(loops(s, "mm"), (Names{"m", "k", "n", "l"}));
  s["mm"].reorder({m, n, k, l});
  EXPECT_EQ(loops(s, "mm"), (Names{"l", "k", "n", "m"}));
}

TEST(ScheduleAxes, CacheWriteLeavesThePureLoops) {
  Schedule s(linear());
  s["mm"].split(k, ko, ki, 4).split(m, mo, mi, 6).cache_write("acc");
  s["acc"].split(k, ko, ki, 8);
  EXPECT_EQ(loops(s, "mm"), (Names{"mo", "mi", "n"}));
  EXPECT_EQ(loops(s, "acc"), (Names{"m", "n", "ko", "ki", "l"}));
}

TEST(ScheduleAxes, RfactorMakesALoopPure) {
  Schedule s(linear());
  s["mm"].split(k, ko, ki, 16).rfactor(ki, "partial");
  EXPECT_EQ(loops(s, "mm"), (Names{"m", "n", "ki"}));
  EXPECT_EQ(loops(s, "partial"), (Names{"m", "n", "ki", "ko", "l"}));
}

TEST(ScheduleAxes, AtomicLeavesTheLoops) {
  Schedule s(linear());
  s["mm"].atomic().vectorize(k);
  EXPECT_EQ(loops(s, "mm"), (Names{"m", "n", "k", "l"}));
}

TEST(ScheduleAxes, ACopyHasTheAxesOfWhatItCopies) {
  Schedule s(linear());
  s["mm"].split(m, mo, mi, 6).copy_in("x", "x_tile");
  s["y"].copy_in("mm", "mm_tile");
  s["mm_tile"].copy_in("mm", "again");
  EXPECT_EQ(loops(s, "x_tile"), (Names{"i0", "i1", "i2"}));
  EXPECT_EQ(loops(s, "mm_tile"), (Names{"m", "n"}));
  EXPECT_EQ(loops(s, "again"), (Names{"m", "n"}));
  EXPECT_EQ(loops(s, "mm"), (Names{"mo", "mi", "n", "k", "l"}));
}

TEST(ScheduleAxes, ACopyPrintsBehindItsReader) {
  Schedule s(linear());
  s["aa"].parallel(Axis("i0"));
  s["mm"].copy_in("x", "aa");
  EXPECT_EQ(stage_order(s.graph(), s.stages()), (Names{"mm", "aa"}));
}

Tensor batched() {
  const Axis b("b", Extent::size("B"));
  return compute("y", {b, l}, input("x", f32, {Extent::size("B"), 3})(b, l) * 2.0f);
}

TEST(ScheduleAxes, AnAlternativeHasTheAxesOfWhatItStandsFor) {
  Schedule s(batched());
  s["y"].cache_write("many");
  s["many"].alternative(size_value("B") <= 4, "few");
  const Names axes = loops(s, "many");
  EXPECT_FALSE(axes.empty());
  EXPECT_EQ(loops(s, "few"), axes);
  EXPECT_EQ(stage_order(s.graph(), s.stages()), (Names{"y", "many"}));
  s["few"].parallel(Axis("b"));
  EXPECT_EQ(stage_order(s.graph(), s.stages()), (Names{"y", "many", "few"}));
}

TEST(ScheduleAxes, ASpecializationStartsFromTheGeneralLoops) {
  const Expr B = size_value("B");
  Schedule s(batched());
  s["y"]
      .split(l, mo, mi, 2)
      .specialize(B == 1)
      .split(mi, no, ni, 2)
      .specialize(B == 2)
      .reorder({Axis("b"), mi});
  const StageLoops y = loops_after(s).at("y");
  EXPECT_EQ(names_of(y.loops()), (Names{"mi", "mo", "b"}));
  std::vector<Names> cases;
  for (const std::vector<ScheduledLoop>& loops : y.all_cases()) cases.push_back(names_of(loops));
  EXPECT_EQ(cases,
            (std::vector<Names>{{"b", "mo", "mi"}, {"b", "mo", "no", "ni"}, {"mi", "mo", "b"}}));
  EXPECT_EQ(y.common_loops(), (Names{"mo", "b"}));
}

TEST(ScheduleAxes, AStageMayComeFromAStageThatADirectiveMade) {
  Schedule s(linear());
  s["mm"].cache_write("zz");
  s["zz"].split(l, l, Axis("lane"), 3).rfactor(Axis("lane"), "aa");
  s["aa"].parallel(Axis("lane"));
  EXPECT_EQ(loops(s, "aa"), (Names{"m", "n", "lane", "k", "l"}));
}

TEST(ScheduleAxes, TargetsAreCheckedAgainstTheLoopsAtTheEnd) {
  Schedule s(linear());
  s["mm"].compute_at(linear(), no);
  s["y"].tile(m, n, mo, no, mi, ni, 6, 64);
  EXPECT_NO_THROW(loops_after(s));
}

TEST(ScheduleAxes, StagesComeConsumersFirst) {
  Schedule s(linear());
  s["acc"].parallel(m);
  s["mm"].cache_write("acc");
  s["y"].parallel(m);
  s["a_stranger"].parallel(m);
  EXPECT_EQ(stage_order(s.graph(), s.stages()), (Names{"y", "mm", "acc", "a_stranger"}));
}

void check(const std::string& stage, const std::function<void(StageSchedule&)>& directives) {
  Schedule s(linear());
  directives(s[stage]);
  loops_after(s);
}

void check_raw(DirectiveKind kind, const Names& axes, const std::string& target) {
  Directive d;
  d.kind = kind;
  d.axes = axes;
  d.target = target;
  check("mm", [&](StageSchedule& s) { s.add(d); });
}

class AxesRefusal : public RefusalTest {};
TEST_P(AxesRefusal, NamesTheCause) { check(); }
#define ON(stage, calls) [] { check(stage, [](StageSchedule& s) { s.calls; }); }
INSTANTIATE_TEST_SUITE_P(
    Table, AxesRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"SplitOfNoLoop", ON("y", split(k, ko, ki, 4)),
         "y.split(k, ko, ki, 4): expected a loop of y (m or n), got k"},
        {"SplitTwice", ON("y", split(m, mo, mi, 4).split(m, mo, mi, 4)),
         "expected a loop of y (mo, mi or n), got m"},
        {"NewNameInUse", ON("y", split(m, n, mi, 4)),
         "expected a name that no other loop of y has (n), got n"},
        {"OneNewNameTwice", ON("y", split(m, mo, mo, 4)), "expected distinct loops, got mo twice"},
        {"FuseOfNoLoop", ON("y", fuse(m, k, f)), "y.fuse(m, k, f): expected a loop of y"},
        {"FuseWithItself", ON("y", fuse(m, m, f)), "got m twice"},
        {"ReorderOfNoLoop", ON("y", reorder({n, m, k})), "got k"},
        {"ReorderOneTwice", ON("y", reorder({n, n})), "expected distinct loops, got n twice"},
        {"VectorizeOfNoLoop", ON("y", vectorize(ni)), "y.vectorize(ni): expected a loop of y"},
        {"UnrollOfNoLoop", ON("mm", unroll(ki)), "(m, n, k or l), got ki"},
        {"ParallelOfNoLoop", ON("y", parallel(k)), "y.parallel(k)"},
        {"ReductionLoopAfterCacheWrite", ON("mm", cache_write("acc").unroll(k)),
         "mm.unroll(k): expected a loop of mm (m or n), got k"},
        {"CacheWriteToAnOperation", ON("mm", cache_write("x")),
         "expected a name that no operation has, got x"},
        {"CacheWriteTwiceToOne", ON("mm", cache_write("acc").cache_write("acc")), "got acc"},
        {"CopyOfNothingKnown", ON("mm", copy_in("q", "c")),
         "mm.copy_in(q, c): expected an operand of mm (x or w), got q"},
        {"CopyOfItself", ON("mm", copy_in("mm", "c")), "expected an operand of mm (x or w), got mm"},
        {"CopyWithANameInUse", ON("mm", copy_in("x", "y")),
         "mm.copy_in(x, y): expected a name that no operation has, got y"},
        {"CopyWithTheNameOfAnInput", ON("mm", copy_in("x", "w")), "got w"},
        {"TwoCopiesWithOneName", ON("mm", copy_in("x", "c").copy_in("w", "c")), "got c"},
        {"LoopThatTheCopyHasNot", [] {
           Schedule s(linear());
           s["mm"].copy_in("w", "c");
           s["c"].unroll(Axis("i2"));
           loops_after(s);
         }, "c.unroll(i2): expected a loop of c (i0 or i1), got i2"},
        {"CopyInsideALoopOfItsInput", [] {
           Schedule s(linear());
           s["mm"].copy_in("x", "c");
           s["c"].compute_at("x", m);
           loops_after(s);
         }, "c.compute_at(x, m): expected another operation that has loops"},
        {"ComputeWithNoLoop", [] { check_raw(DirectiveKind::compute_with, {"k"}, "y"); },
         "mm.compute_with(y, k): expected a loop of y (m or n), got k"},
        {"ComputeWithALoopThatIsNotItsOwn", ON("y", compute_with(linear(), l)),
         "expected a loop of y (m or n), got l"},
        {"PrefetchAtNoLoop", ON("mm", prefetch(weight("w", f32, {256, 512}), no, 1)),
         "mm.prefetch(w, no, 1): expected a loop of mm"},
        {"RfactorOfAPureAxis", ON("mm", rfactor(m, "p")),
         "expected a reduction loop of mm (k or l), got m"},
        {"RfactorOfASplitAxis", ON("mm", split(k, ko, ki, 4).rfactor(k, "p")),
         "expected a reduction loop of mm (ko, ki or l), got k"},
        {"RfactorWithoutReduction", ON("y", rfactor(m, "p")), "(none), got m"},
        {"RfactorIntoAnOperation", ON("mm", rfactor(k, "y")),
         "expected a name that no operation has, got y"},
        {"RfactorTwiceOfOneLoop", ON("mm", rfactor(k, "p").rfactor(l, "q")),
         "expected a reduction loop of mm (k), got l"},
        {"PackAlongNoAxis", ON("mm", pack(weight("w", f32, {256, 512}), ni, 64)),
         "mm.pack(w, ni, 64): expected an axis of mm as it was written (m, n, k or l), got ni"},
        {"PackOfAnOperation", [] { check_raw(DirectiveKind::pack, {"n"}, "y"); },
         "expected a weight or a constant (w), got y"},
        {"ComputeAtNoLoop", [] { check_raw(DirectiveKind::compute_at, {"no"}, "y"); },
         "mm.compute_at(y, no): expected a loop of y (m or n), got no"},
        {"ComputeAtNoOperation", [] { check_raw(DirectiveKind::compute_at, {"m"}, "z"); },
         "expected another operation that has loops (y), got z"},
        {"ComputeAtAnInput", [] { check_raw(DirectiveKind::compute_at, {"m"}, "x"); }, "got x"},
        {"StoreAtItself", [] { check_raw(DirectiveKind::store_at, {"m"}, "mm"); },
         "expected another operation that has loops (y), got mm"},
        {"InNoOutput", [] { check_raw(DirectiveKind::store_in_output, {}, "z"); },
         "mm.store_in_output(z): expected another operation that has loops (y), got z"},
        {"HoistToNoLoop", [] { check_raw(DirectiveKind::hoist_storage, {"no"}, "y"); },
         "mm.hoist_storage(y, no): expected a loop of y (m or n), got no"},
        {"FoldAlongNoAxis", ON("mm", fold_storage(k, 4)),
         "mm.fold_storage(k, 4): expected an axis of mm as it was written (m or n), got k"},
        {"FoldAlongALoop", ON("mm", split(m, mo, mi, 4).fold_storage(mi, 4)), "got mi"},
        {"AlignAlongNoAxis", ON("mm", align_storage(k, 16)), "mm.align_storage(k, 16): expected"},
        {"ReorderStorageOfNoAxis", ON("mm", reorder_storage({k})), "(m or n), got k"},
        {"ReorderStorageOneTwice", ON("mm", reorder_storage({m, m})), "got m twice"},
        {"DirectiveWithoutAxes", [] { check_raw(DirectiveKind::split, {}, ""); },
         "expected 3 axes, got 0"},
        {"DirectiveOnAnInput", ON("x", parallel(m)),
         "expected an operation that has loops (mm or y), got x, which is given and not computed"},
        {"DirectiveOnAStranger", ON("z", parallel(m)),
         "z.parallel(m): expected an operation that has loops (mm or y), got z"},
    }),
    refusal_name);
#undef ON

TEST(ScheduleAxes, ReplayKeepsWhatEachDirectiveFound) {
  Schedule s(linear());
  s["mm"].split(k, ko, ki, 4).rfactor(ki, "partial").parallel(m);
  s["partial"].unroll(ki);
  const ScheduleLoops loops = replay(s.graph(), s);
  ASSERT_EQ(loops.before.size(), 2U);  // y has no directives
  const std::vector<StageLoops>& mm = loops.before.at("mm");
  ASSERT_EQ(mm.size(), 3U);
  EXPECT_EQ(names_of(mm[0].loops()), (Names{"m", "n", "k", "l"}));
  EXPECT_EQ(names_of(mm[1].loops()), (Names{"m", "n", "ko", "ki", "l"}));
  EXPECT_EQ(names_of(mm[2].loops()), (Names{"m", "n", "ki"}));
  EXPECT_EQ(mm[2].loops()[0].kind, LoopKind::serial);
  EXPECT_EQ(names_of(loops.before.at("partial").at(0).loops()), (Names{"m", "n", "ki", "ko", "l"}));
  EXPECT_EQ(loops.after.at("mm").loops()[0].kind, LoopKind::parallel);
  EXPECT_EQ(names_of(loops.after.at("y").loops()), (Names{"m", "n"}));
}

TEST(ScheduleAxes, SaysWhichDirectiveWasRefused) {
  Schedule s(linear());
  s["y"].parallel(m).unroll(n).unroll(k);
  DirectivePlace place;
  expect_refusal([&] { loops_after(s, &place); }, "y.unroll(k)");
  EXPECT_EQ(place.stage, "y");
  EXPECT_EQ(place.index, 2u);
}

}  // namespace
}  // namespace emulsion
