// Which loops ask for what a prefetch of an outer loop is about.

#include "passes/nest/spread_prefetches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis i("i", 6), c("c", 96), r("r", 96);
const Axis co("co"), ci("ci"), ro("ro"), ri("ri");

// The lines of the nest that speak of a prefetch, without blanks in front.
std::vector<std::string> prefetches(const LoopNest& nest) {
  std::vector<std::string> lines;
  const std::string text = to_string(nest);
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    if (line.find("prefetching") != std::string::npos) {
      lines.push_back(line.substr(line.find_first_not_of(' ')));
    }
    start = end + 1;
  }
  return lines;
}

std::vector<std::string> spread(const Schedule& schedule) {
  const LoopNest nest = spread_prefetches(lower(schedule.graph(), schedule));
  EXPECT_NO_THROW(verify_nest(nest));
  EXPECT_TRUE(computes(nest, schedule.graph(), {}, 1e-6));
  EXPECT_EQ(to_string(spread_prefetches(nest)), to_string(nest)) << "once more";
  return prefetches(nest);
}

using Lines = std::vector<std::string>;

const Tensor x = input("x", f32, {6, 96});

// A row is summed, and then read again: y[i, c] = value(x[i, c], sum of row i).
struct Rows {
  Tensor sums, y;
  Schedule schedule;

  Rows(const Expr& summed, const std::function<Expr(const Expr& sum)>& value)
      : sums(compute("s", {i}, sum(r, summed))),
        y(compute("y", {i, c}, value(sums(i)))),
        schedule(y) {
    schedule[y].split(c, co, ci, 16).vectorize(ci);
    schedule[sums].compute_at(y, i);
    schedule[y].prefetch(x, i, 1);
  }
};

TEST(SpreadPrefetches, TheLastThatReadsAllAsksForItsShare) {
  const Rows rows(x(i, r), [](const Expr& sum) { return x(i, c) * sum; });
  EXPECT_EQ(spread(rows.schedule), Lines{"for y.co in 6, prefetching x 1 ahead of y.i"});
}

TEST(SpreadPrefetches, RatherTheOneThatComputesASeries) {
  Rows rows(exp(x(i, r) * 0.1f), [](const Expr& sum) { return x(i, c) * sum; });
  // A step of r reads four bytes, one of the loop around it a row.
  EXPECT_EQ(spread(rows.schedule), Lines{"for s.i in 1, prefetching x 1 ahead of y.i"});
  rows.schedule[rows.sums].split(r, ro, ri, 16).unroll(ri);
  EXPECT_EQ(spread(rows.schedule), Lines{"for s.ro in 6, prefetching x 1 ahead of y.i"});
  // Of what it reads: not a series of something else.
  const Tensor z = input("z", f32, {6});
  Rows of_other(x(i, r) * exp(z(i) * 0.1f), [](const Expr& sum) { return x(i, c) * sum; });
  of_other.schedule[of_other.sums].split(r, ro, ri, 16).unroll(ri);
  EXPECT_EQ(spread(of_other.schedule), Lines{"for y.co in 6, prefetching x 1 ahead of y.i"});
}

TEST(SpreadPrefetches, EachPieceOfALoop) {
  const Tensor y = compute("y", {i, c}, x(i, c) + 1.0f);
  Schedule schedule(y);
  schedule[y].split(c, co, ci, 36, Tail::guard).partition(co).vectorize(ci).prefetch(x, i, 2);
  const LoopNest whole = partition_loops(lower(schedule.graph(), schedule));
  const Lines both = prefetches(spread_prefetches(whole));
  ASSERT_EQ(both.size(), 2U) << to_string(whole);
  for (const std::string& line : both) {
    EXPECT_NE(line.find(", prefetching x 2 ahead of y.i"), std::string::npos) << line;
  }
}

TEST(SpreadPrefetches, NotBytesAtATime) {
  const Tensor y = compute("y", {i, c}, x(i, c) + 1.0f);
  Schedule schedule(y);
  schedule[y].prefetch(x, i, 1);
  EXPECT_EQ(spread(schedule), Lines{"for y.i in 6, prefetching x 1 ahead"});
  schedule[y].split(c, co, ci, 4).vectorize(ci);
  EXPECT_EQ(spread(schedule), Lines{"for y.i in 6, prefetching x 1 ahead"});
}

// Its own share is not all that is to come.
TEST(SpreadPrefetches, NotWhereNoneReadsAll) {
  const Axis half("half", 48);
  const Tensor first = compute("s", {i}, sum(half, x(i, half)));
  const Tensor last = compute("y", {i, half}, x(i, Expr(half) + 48) * first(i));
  Schedule schedule(last);
  schedule[first].compute_at(last, i);
  schedule[last].split(half, co, ci, 16).vectorize(ci).prefetch(x, i, 1);
  EXPECT_EQ(spread(schedule), Lines{"for y.i in 6, prefetching x 1 ahead"});
}

// In the step ahead such a loop starts elsewhere.
TEST(SpreadPrefetches, NotWhereLoopsInsideFollowTheStep) {
  const Axis o("o"), n("n");
  const Tensor wide = compute("wide", {i, c}, x(i, c) * 2.0f);
  const Tensor y = compute("y", {i, c}, wide(i, c) + wide(i, min(Expr(c) + 1, 95)));
  Schedule schedule(y);
  schedule[y].split(c, co, ci, 16).vectorize(ci);
  schedule[wide].compute_at(y, co).store_at(y, i);
  schedule[y].prefetch(x, co, 1);
  for (const std::string& line : spread(schedule)) {
    EXPECT_EQ(line.find("ahead of"), std::string::npos) << line;
  }
}

TEST(SpreadPrefetches, VerifyRefusesALoopThatIsNotAround) {
  const Rows rows(x(i, r), [](const Expr& sum) { return x(i, c) * sum; });
  LoopNest nest = spread_prefetches(lower(rows.schedule.graph(), rows.schedule));
  class Renamer : public NestMutator {
    NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
      const NodePtr inside = mutate_inside(node);
      if (loop.prefetches.empty()) return inside;
      Loop made = *inside->as<Loop>();
      made.prefetches[0].ahead_of = "y.ci";
      return make_node(std::move(made));
    }
  };
  nest.root = Renamer().mutate(nest.root);
  try {
    verify_nest(nest);
    FAIL() << to_string(nest);
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("y.ci, which is not around it"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace emulsion
