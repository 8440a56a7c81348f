// A name for a vector hides no lane, and nothing else is put in its place.

#include "backends/halide/named_vectors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/backends/halide/vector_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 4;
const Halide::Type kVector = Halide::Int(32, kLanes);

Expr vector(const std::string& name) { return hi::Variable::make(kVector, name); }
Expr load(const Expr& index) {
  const hi::ModulusRemainder any;
  return hi::Load::make(kVector, "x", index, {}, {}, hi::const_true(kLanes), any);
}

// The indices as they are seen through the names around them; each load is moved by one element.
class SeenIndices : public NamedVectors {
 public:
  std::vector<Expr> seen;

 private:
  using NamedVectors::visit;
  Expr visit(const hi::Load* op) override {
    seen.push_back(with_values(op->index));
    return load(op->index + same(1, kLanes));
  }
};

void expect_seen(const Expr& e, const std::vector<Expr>& wanted) {
  SeenIndices indices;
  indices.mutate(e);
  ASSERT_EQ(indices.seen.size(), wanted.size()) << e;
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(hi::equal(indices.seen[i], wanted[i])) << indices.seen[i] << " of " << e;
  }
}

TEST(NamedVectors, AreSeenThroughTheirNames) {
  const Expr value = ramp(number("n"), 2, kLanes);
  expect_seen(hi::Let::make("v", value, load(vector("v") + same(3, kLanes))),
              {value + same(3, kLanes)});
}

TEST(NamedVectors, AreSeenThroughNamesInTheirValues) {
  const Expr value = ramp(0, 1, kLanes), more = vector("v") * same(2, kLanes);
  const Expr inner = hi::Let::make("w", more, load(vector("w")));
  expect_seen(hi::Let::make("v", value, inner), {value * same(2, kLanes)});
}

TEST(NamedVectors, NumbersKeepTheirNames) {
  const Expr index = ramp(number("n"), 1, kLanes);
  expect_seen(hi::Let::make("n", number("m") * 3, load(index)), {index});
}

TEST(NamedVectors, AreUnknownBehindTheirScope) {
  const Expr value = ramp(0, 1, kLanes);
  const Expr inside = hi::Let::make("v", value, load(vector("v")));
  expect_seen(inside + load(vector("v")), {value, vector("v")});
}

TEST(NamedVectors, AreKnownAsThePassMadeThem) {
  const Expr index = ramp(0, 1, kLanes), moved = index + same(1, kLanes);
  expect_seen(hi::Let::make("v", load(index), load(vector("v"))), {index, load(moved)});
}

TEST(NamedVectors, OfStatementsKeepTheirNames) {
  const Expr value = ramp(0, 1, kLanes);
  SeenIndices indices;
  const hi::Stmt made =
      indices.mutate(hi::LetStmt::make("v", value, hi::Evaluate::make(load(vector("v")))));
  const hi::Stmt wanted =
      hi::LetStmt::make("v", value, hi::Evaluate::make(load(vector("v") + same(1, kLanes))));
  EXPECT_TRUE(hi::equal(made, wanted)) << made;
  ASSERT_EQ(indices.seen.size(), 1U);
  EXPECT_TRUE(hi::equal(indices.seen[0], value)) << indices.seen[0];
}

}  // namespace
}  // namespace emulsion
