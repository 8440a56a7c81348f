// A pass sees names in place of what is set apart, and behind it everything is there again.

#include "backends/halide/set_apart.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/backends/halide/vector_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Products of numbers, and what is stored in "apart".
class Products : public SetApart {
  using SetApart::visit;
  Halide::Expr visit(const hi::Mul* op) override { return set_apart(Halide::Expr(op)); }
  Stmt visit(const hi::Store* op) override {
    return op->name == "apart" ? set_apart(Stmt(op)) : SetApart::visit(op);
  }
};

Stmt store(const std::string& name, const Halide::Expr& value) {
  return hi::Store::make(name, value, 0, {}, hi::const_true(), {});
}
Stmt without_change(const Stmt& statement) { return statement; }

TEST(SetApart, IsPutBack) {
  const Stmt statement = hi::Block::make(
      {store("y", number("a") * 2 + number("a") * 2), store("apart", number("b") * 3)});
  const Stmt made = Products().run(without_change, statement);
  EXPECT_TRUE(hi::equal(made, statement)) << made;
}

TEST(SetApart, IsHiddenFromThePass) {
  const Stmt statement =
      hi::Block::make(store("y", number("a") * 2 + number("b")), store("apart", number("a")));
  const auto with_three = [](const Stmt& seen) { return hi::substitute("a", 3, seen); };
  const Stmt made = Products().run(with_three, statement);
  EXPECT_TRUE(hi::equal(made, statement)) << made;
}

TEST(SetApart, TheRestIsSeen) {
  const Stmt statement = store("y", number("a") * 2 + number("b"));
  const auto with_three = [](const Stmt& seen) { return hi::substitute("b", 3, seen); };
  const Stmt made = Products().run(with_three, statement);
  EXPECT_TRUE(hi::equal(made, store("y", number("a") * 2 + 3))) << made;
}

TEST(SetApart, ThePassMayMoveAndRepeatIt) {
  const auto twice = [](const Stmt& seen) { return hi::Block::make(seen, seen); };
  for (const Stmt& part : {store("y", number("a") * 2), store("apart", number("a"))}) {
    const Stmt made = Products().run(twice, part);
    EXPECT_TRUE(hi::equal(made, hi::Block::make(part, part))) << made;
  }
}

}  // namespace
}  // namespace emulsion
