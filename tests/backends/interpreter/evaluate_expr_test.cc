#include "backends/interpreter/evaluate_expr.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// A machine with the axis i, the buffers x (four floats) and y (one float), and the stage y.
class Machine {
 public:
  explicit Machine(bool f64 = false, OutOfBounds out_of_bounds = OutOfBounds::internal_error)
      : machine_(f64, out_of_bounds), i_(machine_.add_slot()) {
    x_ = add_buffer("x", &x_values, {4});
    y_ = add_buffer("y", &y_value, {});
    scope_.owner = "y";
    scope_.axis = scope_.size = [this](const std::string& name) {
      if (name != "i") fail("no variable {}", name);
      return i_;
    };
    scope_.buffer = [this](const ExprNode& read) { return read.name == "x" ? x_ : y_; };
  }

  float value(const Expr& expr, int64_t i = 0) {
    machine_.integer(i_) = i;
    machine_.run(machine_.assignment(machine_.compile(expr, scope_), y_, {}));
    return y_value;
  }
  int64_t index(const Expr& expr, int64_t i = 0) {
    machine_.integer(i_) = i;
    return machine_.run_index(machine_.compile_index(expr, scope_));
  }
  BufferView& x() { return machine_.buffer(x_); }
  BufferView& y() { return machine_.buffer(y_); }

  float x_values[4] = {10, 20, 30, 40};
  float y_value = 0;

 private:
  int add_buffer(const std::string& name, void* data, const std::vector<int64_t>& extents) {
    BufferView view;
    view.name = name;
    view.data = static_cast<uint8_t*>(data);
    view.live = true;
    view.set_block(extents);
    return machine_.add_buffer(std::move(view));
  }

  ExprMachine machine_;
  ExprMachine::Scope scope_;
  int i_, x_ = 0, y_ = 0;
};

const Expr kI = axis_value("i");

Expr x_at(const Expr& index) { return read_buffer("x", DType::f32, {index}); }

TEST(EvaluateExpr, ReadsAndComputes) { EXPECT_EQ(Machine().value(x_at(kI) * 2.0f + 1.0f, 2), 61); }

TEST(EvaluateExpr, UsesAnAxisAsAValue) {
  EXPECT_EQ(Machine().value(cast(f32, kI * 3) / 2.0f, 5), 7.5f);
}

TEST(EvaluateExpr, TakesABareConstantAndABareRead) {
  EXPECT_EQ(Machine().value(constant(f32, 2.5)), 2.5f);
  EXPECT_EQ(Machine().value(x_at(3)), 40);
}

TEST(EvaluateExpr, EvaluatesOnlyTheChosenBranch) {
  Machine machine;
  Expr guarded = select(kI < 3, x_at(kI + 1), -1.0f);
  EXPECT_EQ(machine.value(guarded, 2), 40);
  EXPECT_EQ(machine.value(guarded, 3), -1);
}

TEST(EvaluateExpr, SharesASubtreeOutsideABranchButNotOneInside) {
  // `inside` is first met in a branch that does not run: after it, it must be computed again.
  Machine machine;
  Expr inside = x_at(kI) + 1.0f;
  Expr expr = select(kI < 0, inside, 0.0f) + inside;
  EXPECT_EQ(machine.value(expr, 1), 21);
  Expr both = select(kI < 2, inside * 2.0f, inside * 3.0f);
  EXPECT_EQ(machine.value(both, 1), 42);
  EXPECT_EQ(machine.value(both, 2), 93);
}

TEST(EvaluateExpr, IsLinearInSharedSubtrees) {
  Expr doubled = x_at(kI);
  for (int i = 0; i < 60; ++i) doubled = doubled * 0.5f + doubled * 0.5f;
  EXPECT_EQ(Machine().value(doubled, 0), 10);
}

TEST(EvaluateExpr, NestsSelects) {
  Machine machine;
  Expr sign = select(kI < 0, constant(f32, -1), select(kI > 0, constant(f32, 1), 0.0f));
  EXPECT_EQ(machine.value(sign, -5), -1);
  EXPECT_EQ(machine.value(sign, 0), 0);
  EXPECT_EQ(machine.value(sign, 5), 1);
}

TEST(EvaluateExpr, ComputesF32InDoubleWhenAsked) {
  Expr rest = (x_at(0) * 1e8f + 1.0f) - x_at(0) * 1e8f;
  EXPECT_EQ(Machine(false).value(rest), 0);
  EXPECT_EQ(Machine(true).value(rest), 1);
}

TEST(EvaluateExpr, FindsElementsOfAPartThatIsStored) {
  Machine machine;
  machine.x().set_block({100}, {4});
  EXPECT_EQ(machine.value(x_at(kI), 102), 30);
}

TEST(EvaluateExpr, RoundsAWideAccumulatorForOthersOnly) {
  double wide = 1.0 + 1e-12;
  Machine machine(true);
  machine.x().data = reinterpret_cast<uint8_t*>(&wide);
  machine.x().wide = true;
  machine.x().set_block({1});
  EXPECT_EQ(machine.value((x_at(0) - 1.0f) * 1e12f), 0);
}

TEST(EvaluateExpr, AnIndexDoesNotWrap) {
  EXPECT_EQ(Machine().index(kI * 2000000000, 4), 8000000000);
}

TEST(EvaluateExpr, AValueWraps) { EXPECT_EQ(Machine().value(cast(f32, kI * 65536 * 65536), 3), 0); }

TEST(EvaluateExpr, RefusesAReadPastTheEnd) {
  EXPECT_INTERNAL_ERROR(Machine().value(x_at(kI), 4),
                        "y reads x[4]: expected an index from [0], [4] of them on each axis");
}

TEST(EvaluateExpr, RefusesAReadBeforeTheStart) {
  EXPECT_INTERNAL_ERROR(Machine().value(x_at(kI), -1), "y reads x[-1]");
}

TEST(EvaluateExpr, BlamesWhoItIsToldTo) {
  EXPECT_ERROR(Machine(false, OutOfBounds::error).value(x_at(kI), 4), "y reads x[4]");
}

TEST(EvaluateExpr, RefusesABufferThatIsNotLive) {
  Machine machine;
  machine.x().live = false;
  EXPECT_INTERNAL_ERROR(machine.value(x_at(0)), "y reads x[0]: no storage is live here");
}

TEST(EvaluateExpr, RefusesAWriteWithoutStorage) {
  Machine machine;
  machine.y().live = false;
  EXPECT_INTERNAL_ERROR(machine.value(x_at(0)), "y writes y[]: no storage is live here");
}

TEST(EvaluateExpr, RefusesAReadOfAnotherType) {
  EXPECT_INTERNAL_ERROR(Machine().value(cast(f32, read_buffer("x", DType::i32, {kI}))),
                        "y reads x as i32, it is f32");
}

TEST(EvaluateExpr, RefusesAReadOfAnotherRank) {
  EXPECT_INTERNAL_ERROR(Machine().value(read_buffer("x", DType::f32, {kI, kI})),
                        "y reads x with 2 indices for 1 axes");
}

TEST(EvaluateExpr, RefusesAReduction) {
  EXPECT_INTERNAL_ERROR(Machine().value(sum(Axis("i", 4), x_at(kI))), "y: a reduction inside");
}

TEST(EvaluateExpr, RefusesTypesWithoutKernels) {
  EXPECT_ERROR(Machine().value(constant(bf16, 1)), "got bf16");
}

TEST(EvaluateExpr, RefusesAnIndexThatIsAFloat) {
  EXPECT_INTERNAL_ERROR(Machine().index(x_at(0)), "y: an index of type f32");
}

TEST(EvaluateExpr, RefusesAnUnknownName) {
  EXPECT_ERROR(Machine().index(axis_value("q")), "no variable q");
}

}  // namespace
}  // namespace emulsion
