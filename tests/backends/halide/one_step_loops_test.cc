// Loops of which data say the one step that changes something.

#include "backends/halide/one_step_loops.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "backends/halide/scalar_ops.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

Halide::Expr variable(const std::string& name) { return hi::Variable::make(Halide::Int(32), name); }
const Halide::Expr kC = variable("c"), kD = variable("d"), kM = variable("m");

Halide::Expr load(const std::string& name, const Halide::Expr& index,
                  const Halide::Expr& mask = hi::const_true()) {
  return hi::Load::make(Halide::Int(32), name, index, {}, {}, mask, {});
}
Halide::Expr which() { return load("which", kM); }

Stmt store(const Halide::Expr& value, const Halide::Expr& index, const std::string& name = "y") {
  return hi::Store::make(name, value, index, {}, hi::const_true(), {});
}
Stmt loop(const std::string& name, const Stmt& body, const Halide::Expr& extent = 10,
          hi::ForType type = hi::ForType::Serial) {
  return hi::For::make(name, 0, extent, type, Halide::Partition::Auto, Halide::DeviceAPI::None,
                       body);
}

// y[index] = select(condition, y[index] + x[m], y[index]), as emit_uop() writes it.
Stmt add_where(const Halide::Expr& condition, const Halide::Expr& index = kC) {
  const Halide::Expr before = load("y", index);
  return store(halide_select(condition, before + load("x", kM), before), index);
}

std::string text_of(const Stmt& statement) {
  std::ostringstream text;
  text << statement;
  return text.str();
}
bool is_left(const Stmt& statement) { return one_step_loops(statement).same_as(statement); }

// What is left: loops, conditions and selects.
struct Count : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int loops = 0, guards = 0, selects = 0;

  explicit Count(const Stmt& statement) { statement.accept(this); }

  void visit(const hi::For* op) override {
    ++loops;
    hi::IRVisitor::visit(op);
  }
  void visit(const hi::IfThenElse* op) override {
    ++guards;
    hi::IRVisitor::visit(op);
  }
  void visit(const hi::Select* op) override {
    ++selects;
    hi::IRVisitor::visit(op);
  }
};

TEST(OneStepLoops, OneStepIsLeft) {
  for (const Halide::Expr& condition : {which() == kC, kC == which(), kC * 1 == which() + 0}) {
    const Stmt made = one_step_loops(loop("m", loop("c", add_where(condition))));
    const Count count(made);
    EXPECT_EQ(count.loops, 1) << made;
    EXPECT_EQ(count.guards, 1) << made;
    EXPECT_EQ(count.selects, 0) << made;
    EXPECT_EQ(text_of(made).find("likely"), std::string::npos) << made;
  }
}

// Of a block of places that starts at 5 * b those from there on, and its own.
TEST(OneStepLoops, OnlyIfTheLoopHasIt) {
  const Stmt made = one_step_loops(loop("c", add_where(which() == variable("b") * 5 + kC), 5));
  const std::string text = text_of(made);
  EXPECT_NE(text.find("let place"), std::string::npos) << text;
  EXPECT_NE(text.find(">= (b*5)"), std::string::npos) << text;
  EXPECT_NE(text.find("< ((b*5) + 5)"), std::string::npos) << text;
  EXPECT_NE(text.find(" - (b*5)"), std::string::npos) << text;
}

TEST(OneStepLoops, WithLoopsAndGuardsInside) {
  const Halide::Expr index = kC * 16 + kD;
  const Stmt row = loop("d", add_where(which() == kC, index), 16, hi::ForType::Vectorized);
  const Stmt pieces = hi::Block::make(row, add_where(which() == kC, kC * 16 + 7));
  const Count count(one_step_loops(
      loop("m", loop("c", hi::IfThenElse::make(Halide::likely(kC < variable("n")), pieces)))));
  EXPECT_EQ(count.loops, 2);
  EXPECT_EQ(count.guards, 2);
  EXPECT_EQ(count.selects, 0);
}

TEST(OneStepLoops, OtherConditionsStay) {
  const Halide::Expr more = load("x", kM) > 3;
  const Count count(one_step_loops(loop("m", loop("c", add_where(more && which() == kC)))));
  EXPECT_EQ(count.loops, 1);
  EXPECT_EQ(count.selects, 1);
  // Along two axes.
  const Stmt two = loop("c", loop("d", add_where(which() == kC && load("z", kM) == kD, kC + kD)));
  const Count of_two(one_step_loops(loop("m", two)));
  EXPECT_EQ(of_two.loops, 1);
  EXPECT_EQ(of_two.guards, 2);
  EXPECT_EQ(of_two.selects, 0);
}

TEST(OneStepLoops, NotWhereAnotherStepChangesSomething) {
  EXPECT_TRUE(is_left(loop("c", add_where(which() < kC))));
  EXPECT_TRUE(is_left(loop("c", add_where(which() == kC || load("x", kM) > 3))));
  EXPECT_TRUE(is_left(loop("c", add_where(which() == kC * 2))));
  EXPECT_TRUE(is_left(loop("c", add_where(which() == kC % 3))));
  EXPECT_TRUE(is_left(loop("c", store(load("y", kC) + load("x", kM), kC)))) << "no condition";
  const Halide::Expr other = load("y", kC + 1);
  EXPECT_TRUE(is_left(loop("c", store(halide_select(which() == kC, other + 1, other), kC))))
      << "another element";
  const Halide::Expr elsewhere = load("z", kC);
  EXPECT_TRUE(is_left(loop("c", store(halide_select(which() == kC, elsewhere, elsewhere), kC))))
      << "other memory";
  const Stmt both = hi::Block::make(add_where(which() == kC), add_where(load("z", kM) == kC));
  EXPECT_TRUE(is_left(loop("c", both))) << "each another place";
  EXPECT_TRUE(is_left(loop("c", hi::Block::make(add_where(which() == kC), store(kC, kC, "z")))));
  const Stmt otherwise = hi::IfThenElse::make(kC < 5, add_where(which() == kC), store(kC, kC, "z"));
  EXPECT_TRUE(is_left(loop("c", otherwise)));
}

TEST(OneStepLoops, NotOfAPlaceThatTheLoopChanges) {
  EXPECT_TRUE(is_left(loop("c", add_where(load("which", kC) == kC)))) << "one for each step";
  EXPECT_TRUE(is_left(loop("c", loop("m", add_where(which() == kC))))) << "of a loop inside";
  EXPECT_TRUE(is_left(loop("c", add_where(load("y", kM) == kC)))) << "of what is stored";
}

// It may be outside of its memory where the guard does not hold, or the mask.
TEST(OneStepLoops, NotOfAPlaceBehindAGuard) {
  const Stmt guarded = hi::IfThenElse::make(kM + kC < variable("n"), add_where(which() == kC));
  EXPECT_FALSE(Count(one_step_loops(loop("m", loop("c", guarded)))).loops == 1);
  EXPECT_TRUE(is_left(loop("m", loop("c", add_where(load("which", kM, kM < 3) == kC)))));
}

// The guard is then the same in all steps, and stands around them.
TEST(OneStepLoops, OfAPlaceBehindAGuardOfAllThatIsStored) {
  const Halide::Expr ends = kM < variable("n");
  const auto guarded = [](const Halide::Expr& guard, const Stmt& body) {
    return hi::IfThenElse::make(Halide::likely(guard), body);
  };
  const Stmt made =
      one_step_loops(loop("m", loop("c", guarded(ends, add_where(which() == kC))), 16));
  EXPECT_EQ(Count(made).loops, 1) << made;
  const std::string text = text_of(made);
  EXPECT_LT(text.find("likely(m < n)"), text.find("let place")) << text;
  // Along two axes.
  const Halide::Expr both = which() == kC && load("z", kM) == kD;
  const Stmt two = loop("m", loop("c", loop("d", guarded(ends, add_where(both, kC + kD)))), 16);
  EXPECT_EQ(Count(one_step_loops(two)).loops, 1) << one_step_loops(two);
  const Stmt partly =
      hi::Block::make(guarded(ends, add_where(which() == kC)), add_where(which() == kC, kC + 20));
  EXPECT_EQ(Count(one_step_loops(loop("m", loop("c", partly)))).loops, 2) << "of a part";
  const Stmt stored = guarded(load("y", kM) < 3, add_where(which() == kC));
  EXPECT_EQ(Count(one_step_loops(loop("m", loop("c", stored)))).loops, 2) << "of what is stored";
}

TEST(OneStepLoops, NotOfLanesOrThreads) {
  for (const hi::ForType type :
       {hi::ForType::Vectorized, hi::ForType::Unrolled, hi::ForType::Parallel}) {
    EXPECT_TRUE(is_left(loop("c", add_where(which() == kC), 10, type)));
  }
  const Stmt inside = loop("c", add_where(which() == kC));
  EXPECT_TRUE(is_left(loop("m", inside, 8, hi::ForType::Vectorized)));
  EXPECT_FALSE(is_left(loop("m", inside, 8, hi::ForType::Parallel)));
}

}  // namespace
}  // namespace emulsion
