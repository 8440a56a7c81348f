// What is asked of the directives of a stage while a schedule is derived.

#include "passes/derive/stage_directives.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis m("m"), n("n");
const Expr kFew = size_value("M") < 8, kMany = size_value("M") >= 8;

StageSchedule unrolled() { return StageSchedule().split(n, n, m, 4, Tail::predicate).unroll(m); }

TEST(StageDirectives, AnyThatIsMeant) {
  const auto has_mask = [](const Directive& d) { return d.tail == Tail::predicate; };
  const auto is_of_n = [](const Directive& d) { return d.axes[0] == "n"; };
  EXPECT_TRUE(has_any(unrolled().directives(), has_mask));
  EXPECT_TRUE(has_any(unrolled().directives(), is_of_n));
  EXPECT_FALSE(has_any(StageSchedule().unroll(m).directives(), has_mask));
  EXPECT_FALSE(has_any(StageSchedule().unroll(m).directives(), is_of_n));
  EXPECT_FALSE(has_any({}, [](const Directive&) { return true; }));
}

TEST(StageDirectives, OfAKind) {
  EXPECT_TRUE(has_kind(unrolled().directives(), DirectiveKind::split));
  EXPECT_TRUE(has_kind(unrolled().directives(), DirectiveKind::unroll));
  EXPECT_FALSE(has_kind(unrolled().directives(), DirectiveKind::vectorize));
  EXPECT_FALSE(has_kind({}, DirectiveKind::split));
}

TEST(StageDirectives, TheCaseOfACondition) {
  const StageSchedule stage = unrolled().specialize(kFew).specialize(size_value("M") % 8 == 0);
  EXPECT_TRUE(has_case(stage, size_value("M") < 8));
  EXPECT_FALSE(has_case(stage, kMany));
  EXPECT_FALSE(has_case(stage, Expr()));
  EXPECT_FALSE(has_case(unrolled(), kFew));
  // An alternative has a condition, too.
  EXPECT_FALSE(has_case(StageSchedule().alternative(kFew, "few"), kFew));
}

TEST(StageDirectives, ComputedInline) {
  Schedule schedule(relu(exp(input("x", f32, {8}), "e"), "y"));
  EXPECT_FALSE(is_inline(schedule, "e"));
  schedule["e"].alternative(kFew, "few").compute_inline();
  schedule["y"].vectorize(Axis("i0"), 8);
  EXPECT_TRUE(is_inline(schedule, "e"));
  EXPECT_TRUE(is_inline(schedule["e"]));
  EXPECT_FALSE(is_inline(schedule, "y"));
  EXPECT_FALSE(is_inline(schedule, "no_stage"));
}

}  // namespace
}  // namespace emulsion
