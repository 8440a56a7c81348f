// Statements run the same before and after.

#include "backends/halide/simplify_statement.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/backends/halide/evaluate_halide.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;
using Sizes = std::map<std::string, int64_t>;

Halide::Expr name(const std::string& name) { return hi::Variable::make(Halide::Int(32), name); }
const Halide::Expr kH = name("H"), kW = name("W"), kI = name("i"), kJ = name("j");

Stmt store(const Halide::Expr& value, const Halide::Expr& index) {
  return hi::Store::make("y", value, index, {}, hi::const_true(), {});
}
Stmt loop(const std::string& name, const Halide::Expr& extent, const Stmt& body,
          hi::ForType type = hi::ForType::Serial) {
  return hi::For::make(name, 0, extent, type, Halide::Partition::Auto, Halide::DeviceAPI::None,
                       body);
}
Stmt only_if(const Halide::Expr& condition, const Stmt& body, const Stmt& otherwise = {}) {
  return hi::IfThenElse::make(condition, body, otherwise);
}

// What a statement leaves where.
class Run {
 public:
  Run(const Stmt& statement, Sizes sizes) : values_(std::move(sizes)) { run(statement); }

  std::unordered_map<int64_t, int64_t> stored;

 private:
  int64_t value(const Halide::Expr& e) const { return evaluate_halide(e, values_); }

  // NOLINTNEXTLINE(misc-no-recursion)
  void run(const Stmt& statement) {
    if (!statement.defined()) return;
    if (const auto* block = statement.as<hi::Block>()) {
      run(block->first);
      run(block->rest);
    } else if (const auto* choice = statement.as<hi::IfThenElse>()) {
      run(value(choice->condition) != 0 ? choice->then_case : choice->else_case);
    } else if (const auto* let = statement.as<hi::LetStmt>()) {
      values_[let->name] = value(let->value);
      run(let->body);
    } else if (const auto* of = statement.as<hi::For>()) {
      const int64_t min = value(of->min), extent = value(of->extent);
      for (int64_t step = 0; step < extent; ++step) {
        values_[of->name] = min + step;
        run(of->body);
      }
    } else if (const auto* one = statement.as<hi::Store>()) {
      stored[value(one->index)] = value(one->value);
    } else {
      ASSERT_NE(statement.as<hi::Evaluate>(), nullptr) << statement;
    }
  }

  std::map<std::string, int64_t> values_;
};

using Pass = std::function<Stmt(const Stmt&)>;
Stmt simplified_twice(const Stmt& s) { return simplify_statement(simplify_statement(s)); }
Stmt simplified_and_trimmed(const Stmt& s) {
  return simplify_statement(hi::rebase_loops_to_zero(trim_guarded(simplify_statement(s))));
}
const std::vector<std::pair<std::string, Pass>> kPasses = {
    {"simplify_statement", simplify_statement},
    {"twice", simplified_twice},
    {"unroll_steps", unroll_steps},
    {"trim_guarded", trim_guarded},
    {"simplified and trimmed", simplified_and_trimmed}};

// Whether all passes leave what is stored, of all sizes up to the largest one.
void expect_the_same(const Stmt& statement, int64_t largest) {
  std::vector<Stmt> made;
  for (const auto& [pass, made_by] : kPasses) made.push_back(made_by(statement));
  for (int64_t h = 0; h <= largest; ++h) {
    for (int64_t w = 0; w <= largest; ++w) {
      const Sizes sizes = {{"H", h}, {"W", w}};
      const Run before(statement, sizes);
      for (size_t i = 0; i < made.size(); ++i) {
        ASSERT_EQ(Run(made[i], sizes).stored, before.stored)
            << kPasses[i].first << " with H = " << h << ", W = " << w << " of\n"
            << statement << "made\n"
            << made[i];
      }
    }
  }
}

// W < min(H, 3) of the first one says that W is less than 3, and nothing more.
TEST(SimplifyStatement, DifferencesOfTwoSizes) {
  const Stmt row = loop("j", kW, store(kI * 100 + kJ, kI * kW + kJ));
  for (int32_t edge : {1, 3, 8}) {
    for (const Halide::Expr& extent :
         {max(min(kH, edge) - min(kH, kW), 0), max(min(min(edge, kH - kW), min(kW, kH - edge)), 0),
          max(min(max(kW, edge) - edge, kH - edge), 0), max(kH - max(kW, edge), 0),
          min(edge - min(kW, min(edge, kH)), kH - min(kW, min(edge, kH))),
          max(max(kW, edge) - min(kH, edge), 0), max(kH - kW - edge, 0)}) {
      expect_the_same(loop("i", extent, row), 17);
      expect_the_same(loop("k", 3, loop("i", extent, row), hi::ForType::Unrolled), 17);
    }
  }
}

// Of H it is known that it is at least 5, of W nothing is.
TEST(SimplifyStatement, ConditionsOfTwoSizes) {
  const Stmt row = loop("j", kH, store(kJ, kJ));
  const std::vector<Halide::Expr> ways = {kW < kH,  kW <= kH,   kH < kW,     kH <= kW,
                                          kW == kH, !(kH < kW), !(kW <= kH), kW < min(kH, 6)};
  for (int32_t edge : {1, 5, 9}) {
    for (const Halide::Expr& known : {kH > edge - 1, kH < edge, kH <= edge, kH >= edge}) {
      for (const Halide::Expr& way : ways) {
        const Stmt equal = only_if(kH == edge, row, store(kW, 2));
        expect_the_same(only_if(known, only_if(way, equal, store(kH, 1))), 11);
        expect_the_same(only_if(way, only_if(known, equal, store(kH, 1))), 11);
      }
    }
  }
}

// A loop that is trimmed, with one around sizes inside; and a name that is below 0, less than a
// loop.
TEST(SimplifyStatement, InsideOfALoopThatIsTrimmed) {
  const Stmt row = loop("j", kW, store(kI * 100 + kJ, kI * kW + kJ));
  const Stmt rows = loop("i", max(min(kH, 3) - min(kH, kW), 0), row);
  const Stmt trimmed = loop("k", 9, only_if(name("k") < kH, rows));
  expect_the_same(trimmed, 17);
  const Stmt guarded =
      loop("i", kH, only_if(name("below") < kI, store(max(kI, 1), kI), store(kW, kI)));
  const Stmt named = hi::LetStmt::make("below", min(kH * 3, kW * 2) - max(kH * 2, kW), guarded);
  expect_the_same(loop("k", 9, only_if(name("k") < kW, named)), 17);
  const Stmt inside = only_if(kI < kH && kI >= 2, store(kI, kI));
  const Stmt made = trim_guarded(loop("i", kW, inside));
  EXPECT_EQ(made.as<hi::For>(), nullptr) << made;  // the guards are of the loop now
}

// A u8 that is taken out of a cast is still known to be at least 0.
TEST(SimplifyStatement, WhatIsLeftOfACastHasTheBoundsOfItsType) {
  const Halide::Expr byte = hi::Load::make(Halide::UInt(8), "x", kI, {}, {}, hi::const_true(), {});
  const Halide::Expr n = name("n");
  const Stmt stored = only_if(n >= 3, store(n, kI), store(0, 1));
  const Stmt made = simplify_statement(
      loop("i", kW, hi::LetStmt::make("n", hi::Cast::make(Halide::Int(32), byte) + 3, stored)));
  const auto* rest = made.as<hi::For>();
  ASSERT_NE(rest, nullptr) << made;
  EXPECT_FALSE(hi::stmt_uses_var(rest->body, "n")) << made;
  const auto* let = rest->body.as<hi::LetStmt>();
  EXPECT_NE((let == nullptr ? rest->body : let->body).as<hi::Store>(), nullptr) << made;
}

TEST(SimplifyStatement, AnUnrolledLoopIsItsSteps) {
  const Stmt made = unroll_steps(loop("i", 3, loop("j", kW, store(kI, kJ)), hi::ForType::Unrolled));
  const auto* block = made.as<hi::Block>();
  ASSERT_NE(block, nullptr) << made;
  const auto* rest = block->rest.as<hi::Block>();
  ASSERT_NE(rest, nullptr) << made;
  EXPECT_NE(rest->rest.as<hi::For>(), nullptr) << made;
}

class RandomStatement {
 public:
  explicit RandomStatement(uint32_t seed) : random_(seed) {}

  // NOLINTNEXTLINE(misc-no-recursion)
  Stmt statement(int depth) {
    if (depth == 0) return store(number(2), number(2));
    const int kind = draw(depth == 4 ? 3 : 10);
    if (kind < 4) {
      const Halide::Expr extent = kind == 0 && draw(4) == 0 ? draw(3) + 2 : loop_extent();
      const std::string of = fresh();
      loops_.push_back(name(of));
      const auto type = extent.as<hi::IntImm>() ? hi::ForType::Unrolled : hi::ForType::Serial;
      const Stmt made = loop(of, extent, statement(depth - 1), type);
      loops_.pop_back();
      return made;
    }
    if (kind < 8) {
      const Halide::Expr chosen = condition();
      const Stmt first = statement(depth - 1);
      return only_if(chosen, first, draw(2) == 0 ? Stmt() : statement(depth - 1));
    }
    if (kind == 8) {
      const std::string of = fresh();
      const Halide::Expr value = number(2);
      loops_.push_back(name(of));
      const Stmt made = hi::LetStmt::make(of, value, statement(depth - 1));
      loops_.pop_back();
      return made;
    }
    const Stmt first = statement(depth - 1);
    return hi::Block::make(first, statement(depth - 1));
  }

 private:
  int draw(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  std::string fresh() { return "n" + std::to_string(names_++); }

  Halide::Expr leaf() {
    const int kind = draw(8);
    if (kind < 3) return kH;
    if (kind < 5) return kW;
    if (kind < 6 || loops_.empty()) return draw(7);
    return loops_[static_cast<size_t>(draw(static_cast<int>(loops_.size())))];
  }
  // NOLINTNEXTLINE(misc-no-recursion)
  Halide::Expr number(int depth) {
    if (depth == 0) return leaf();
    const Halide::Expr a = number(depth - 1), b = number(depth - 1);
    switch (draw(6)) {
      case 0:
        return min(a, b);
      case 1:
        return max(a, b);
      case 2:
        return a - b;
      case 3:
        return a + b;
      default:
        return a;
    }
  }
  Halide::Expr loop_extent() { return min(max(number(2), 0), 7); }
  Halide::Expr condition() {
    if (draw(3) > 0) return draw(2) == 0 ? leaf() < leaf() : leaf() <= leaf();
    const Halide::Expr a = number(draw(3)), b = number(draw(2));
    switch (draw(5)) {
      case 0:
        return a <= b;
      case 1:
        return a < b && number(1) <= number(1);
      case 2:
        return !(a < b);
      default:
        return a < b;
    }
  }

  std::mt19937 random_;
  std::vector<Halide::Expr> loops_;
  int names_ = 0;
};

TEST(SimplifyStatement, OfRandomStatements) {
  for (uint32_t seed = 0; seed < 300 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_the_same(RandomStatement(seed).statement(4), 7);
  }
}

}  // namespace
}  // namespace emulsion
