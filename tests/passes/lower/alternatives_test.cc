// alternative: a stage that is computed in one of two ways, by a condition over the run-time sizes.
// Each schedule is printed, parsed back and lowered again, and each nest is run against its graph.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const std::vector<int64_t> kBatches = {0, 1, 2, 3, 4, 5, 8, 11};

// y[m] = sum of a row of B elements.
Graph sums() {
  const Axis m("m", 10), k("k", Extent::size("B"));
  const Tensor x = input("x", f32, {10, k.extent()});
  return Graph(compute("y", {m}, sum(k, x(m, k) * x(m, k))));
}

// y = p / the sum of its row, p = 2 x.
Graph shares() {
  const Axis m("m", 5), n("n", Extent::size("B"));
  const Tensor x = input("x", f32, {5, n.extent()});
  const Tensor p = compute("p", {m, n}, x(m, n) * 2.0f);
  const Tensor s = compute("s", {m}, sum(n, p(m, n)));
  return Graph(compute("y", {m, n}, p(m, n) / max(s(m), 1.0f)));
}

Schedule schedule_of(const Graph& graph, const std::string& directives) {
  return parse_schedule("emulsion schedule 1\n" + directives, graph, "test");
}

void accepted(const Graph& graph, const std::string& directives) {
  expect_nest(schedule_of(graph, directives), kBatches);
}

// The same where the nest is too long for a golden.
void right(const Graph& graph, const std::string& directives) {
  const Schedule schedule = schedule_of(graph, directives);
  for (int64_t size : kBatches) {
    EXPECT_TRUE(lowers(graph, schedule, {{"B", size}})) << size;
  }
}

void refused(const Graph& graph, const std::string& directives, const std::string& cause) {
  EXPECT_TRUE(
      throws_with<ScheduleError>([&] { lower(graph, schedule_of(graph, directives)); }, cause));
}

bool has_guards(const LoopNest& nest) {
  return any_node(*nest.root, [](const Node& node) {
    const UopNode* uop = node.as<UopNode>();
    return uop && !uop->guards.empty();
  });
}

bool computes_stage(const Node& node, const std::string& stage) {
  return any_node(node, [&](const Node& inner) {
    const UopNode* uop = inner.as<UopNode>();
    return uop && uop->stage == stage;
  });
}

// Of the sides of the outermost branch, which computes the stage: "holds", "otherwise", "both".
std::string sides_of(const LoopNest& nest, const std::string& stage) {
  std::string sides;
  for_each_node(*nest.root, [&](const Node& node) {
    const Branch* branch = node.as<Branch>();
    if (!branch || !sides.empty()) return;
    const bool holds = computes_stage(*branch->holds, stage);
    const bool otherwise = computes_stage(*branch->otherwise, stage);
    sides = holds && otherwise ? "both" : holds ? "holds" : otherwise ? "otherwise" : "";
  });
  return sides;
}

TEST(LowerAlternatives, OneOfTwoInEachCase) {
  const std::string directives =
      "y.cache_write(many)\nmany.alternative(B <= 4, few)\ny.split(m, mo, mi, 5)\n"
      "y.specialize(B <= 4)\nfew.compute_at(y, mo)\nfew.reorder(m, k)\nfew.vectorize(m)\n";
  accepted(sums(), directives);
  const LoopNest nest = lower(sums(), schedule_of(sums(), directives));
  EXPECT_EQ(sides_of(nest, "few"), "holds");
  EXPECT_EQ(sides_of(nest, "many"), "otherwise");
  EXPECT_EQ(sides_of(nest, "y"), "both");
}

// The last case is in the memory of the output, which has then nothing left to compute.
TEST(LowerAlternatives, InTheOutputNothingIsCopied) {
  const std::string directives =
      "y.cache_write(many)\nmany.alternative(B <= 4, few)\nmany.store_in_output(y)\n"
      "y.specialize(B <= 4)\nfew.compute_at(y, m)\n";
  accepted(sums(), directives);
  const LoopNest nest = lower(sums(), schedule_of(sums(), directives));
  EXPECT_EQ(sides_of(nest, "y"), "holds");
}

TEST(LowerAlternatives, WithoutASpecializationBothAreComputed) {
  accepted(sums(), "y.cache_write(many)\nmany.alternative(B <= 4, few)\n");
}

TEST(LowerAlternatives, AnotherConditionDecidesNothing) {
  const std::string directives =
      "y.cache_write(many)\nmany.alternative(B <= 4, few)\ny.specialize(B <= 3)\n";
  accepted(sums(), directives);
  const LoopNest nest = lower(sums(), schedule_of(sums(), directives));
  EXPECT_EQ(sides_of(nest, "few"), "");  // in front of the branch
}

TEST(LowerAlternatives, APartOfAConditionDecides) {
  const std::string directives =
      "y.cache_write(many)\nmany.alternative(B <= 4, few)\ny.specialize(B <= 4 && B > 1)\n"
      "y.parallel(m)\ny.specialize(B <= 4)\n";
  accepted(sums(), directives);
  const LoopNest nest = lower(sums(), schedule_of(sums(), directives));
  EXPECT_EQ(sides_of(nest, "few"), "both");  // the other side is a branch again
  EXPECT_EQ(sides_of(nest, "many"), "otherwise");
}

// A case that holds only where another part does leaves the rest open.
TEST(LowerAlternatives, ACaseThatIsLeftOutByMoreThanTheConditionDecidesNothing) {
  const std::string directives =
      "y.cache_write(many)\nmany.alternative(B <= 4, few)\ny.specialize(B <= 4 && B > 1)\n";
  accepted(sums(), directives);
  const LoopNest nest = lower(sums(), schedule_of(sums(), directives));
  EXPECT_EQ(sides_of(nest, "many"), "otherwise");
  EXPECT_EQ(sides_of(nest, "few"), "");
}

// In each case what is read there, and nothing else is there.
TEST(LowerAlternatives, WhatACaseDoesNotReadIsNotFetchedAhead) {
  const auto chosen = [](const std::string& prefetches) {
    return "y.cache_write(p)\np.alternative(B <= 4, q)\n" + prefetches + "y.specialize(B <= 4)\n";
  };
  const auto fetched = [&](const std::string& prefetches) {
    const LoopNest nest = lower(sums(), schedule_of(sums(), chosen(prefetches)));
    std::vector<std::string> buffers;
    for_each_node(*nest.root, [&](const Node& node) {
      const Loop* loop = node.as<Loop>();
      if (!loop) return;
      for (const Prefetch& one : loop->prefetches) buffers.push_back(one.buffer);
    });
    return buffers;
  };
  using Names = std::vector<std::string>;
  const std::string both = "y.prefetch(p, m, 2)\ny.prefetch(q, m, 3)\n";
  EXPECT_EQ(fetched("y.prefetch(p, m, 2)\n"), Names{"p"});
  EXPECT_EQ(fetched("y.prefetch(q, m, 2)\n"), Names{"q"});
  EXPECT_EQ(fetched(both), (Names{"q", "p"}));
  right(sums(), chosen(both));
}

TEST(LowerAlternatives, WithPartialSumsOfTheirOwn) {
  right(sums(),
        "y.cache_write(many)\nmany.alternative(B <= 4, few)\nmany.store_in_output(y)\n"
        "many.split(k, k, lane, 4)\nmany.rfactor(lane, lanes)\nlanes.compute_at(many, m)\n"
        "y.split(m, mo, mi, 4, predicate)\ny.vectorize(mi)\ny.specialize(B <= 4)\n"
        "few.compute_at(y, mo)\nfew.specialize(B == 3)\nfew.unroll(k)\n");
}

// What an alternative reads in its own case is decided there, too.
TEST(LowerAlternatives, OfSeveralThatReadOneAnother) {
  const std::string directives =
      "p.alternative(B <= 4, p_few)\ns.alternative(B <= 4, s_few)\ny.split(m, mo, mi, 5)\n"
      "y.specialize(B <= 4)\np.compute_at(y, mi)\ns.compute_at(y, mi)\n"
      "p_few.compute_at(y, mo)\ns_few.compute_at(y, mo)\n";
  right(shares(), directives);
  const LoopNest nest = lower(shares(), schedule_of(shares(), directives));
  for (const char* stage : {"p_few", "s_few"}) EXPECT_EQ(sides_of(nest, stage), "holds") << stage;
  for (const char* stage : {"p", "s"}) EXPECT_EQ(sides_of(nest, stage), "otherwise") << stage;
}

// What another operation reads too is there in both cases.
TEST(LowerAlternatives, WhatOthersReadIsComputedForThem) {
  const Axis m("m", 5), k("k", Extent::size("B"));
  const Tensor x = input("x", f32, {5, k.extent()});
  const Tensor s = compute("s", {m}, sum(k, x(m, k)));
  const Graph graph({compute("y", {m}, s(m) + 1.0f), compute("z", {m}, s(m) * 2.0f)});
  const std::string directives = "s.alternative(B <= 4, few)\ny.specialize(B <= 4)\n";
  accepted(graph, directives);
  const LoopNest nest = lower(graph, schedule_of(graph, directives));
  EXPECT_EQ(sides_of(nest, "few"), "");
  EXPECT_EQ(sides_of(nest, "s"), "");
}

TEST(LowerAlternatives, KeptOverALoopItIsThereInBothCases) {
  const std::string directives =
      "p.alternative(B <= 4, few)\ny.specialize(B <= 4)\nfew.compute_at(y, m)\n"
      "few.hoist_storage(y, m)\np.compute_at(y, m)\ns.compute_at(y, m)\n";
  right(shares(), directives);
}

// So is what has something in its loops that is kept outside of it.
TEST(LowerAlternatives, WithWhatIsKeptOutsideOfItItIsThereInBothCases) {
  const std::string chosen = "y.cache_write(p)\np.alternative(B <= 4, q)\ny.specialize(B <= 4)\n";
  const std::string copied = chosen + "q.copy_in(x, x_q)\nx_q.compute_at(q, m)\n";
  const auto sides = [](const std::string& directives, const std::string& stage) {
    return sides_of(lower(sums(), schedule_of(sums(), directives)), stage);
  };
  EXPECT_EQ(sides(copied, "q"), "holds");
  const std::string kept = copied + "x_q.store_root()\n";
  for (const char* stage : {"q", "x_q"}) EXPECT_EQ(sides(kept, stage), "") << stage;
  EXPECT_EQ(sides(kept, "p"), "otherwise");
  right(sums(), kept);
}

// y = p * p, p = 2 x.
Graph squares() {
  const Axis m("m", 5), n("n", Extent::size("B"));
  const Tensor x = input("x", f32, {5, n.extent()});
  const Tensor p = compute("p", {m, n}, x(m, n) * 2.0f);
  return Graph(compute("y", {m, n}, p(m, n) * p(m, n)));
}

const char* const kSquares =
    "p.alternative(B <= 4, p_few)\ny.alternative(B <= 4, y_few)\ny_few.store_in_output(y)\n"
    "y.specialize(B <= 4)\np_few.compute_at(y_few, m)\np.compute_at(y, m)\n";

// An output chooses itself: where the other is in its memory it has nothing to do, and in the other
// case that memory may hold something else.
TEST(LowerAlternatives, AnOutputIsComputedInOneOfTwoWays) {
  const std::string directives = kSquares + std::string("p.store_in_output(y)\n");
  accepted(squares(), directives);
  const LoopNest nest = lower(squares(), schedule_of(squares(), directives));
  for (const char* stage : {"p_few", "y_few"}) EXPECT_EQ(sides_of(nest, stage), "holds") << stage;
  for (const char* stage : {"p", "y"}) EXPECT_EQ(sides_of(nest, stage), "otherwise") << stage;
}

std::string alloc_of(const std::string& stage, const std::string& directives) {
  const std::string text = to_string(lower(squares(), schedule_of(squares(), directives)));
  const size_t at = text.find("alloc " + stage + "[");
  return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
}

// y = sums of three neighbours, in one of two ways. `of_many`: where B is at least that.
std::string neighbours_in_two_ways(const std::string& of_many) {
  return "y.cache_write(any)\nany.alternative(" + of_many + ", many)\ny.specialize(" + of_many +
         ")\nany.store_in_output(y)\nmany.store_in_output(y)\n"
         "any.cache_write(p)\nmany.cache_write(q)\n";
}

Graph neighbours() {
  const Axis n("n", Extent::size("B")), k("k", 3);
  return Graph(compute("y", {n}, sum(k, input("x", f32, {n.extent() + 2})(n + k))));
}

bool has_clamp(const std::string& text) {
  return text.find("min(") != std::string::npos || text.find("max(") != std::string::npos;
}

TEST(LowerAlternatives, WhereAConditionSaysSoATileStartsEarlier) {
  const std::string ways = neighbours_in_two_ways("B >= 4");
  accepted(neighbours(), ways + "many.split(n, n, lane, 4, shift_inwards)\nmany.vectorize(lane)\n");
  // A specialization of it knows both.
  right(neighbours(), ways + "many.specialize(B <= 8)\nmany.split(n, n, lane, 4, shift_inwards)\n");
  // The condition divides, so there is no tail.
  const Graph graph = neighbours();
  const std::string exact = neighbours_in_two_ways("B % 4 == 0") + "many.split(n, n, lane, 4)\n";
  const LoopNest nest = lower(graph, schedule_of(graph, exact));
  EXPECT_FALSE(has_guards(nest)) << to_string(nest);
}

// Nothing of what is computed for such a tile is beyond the domain, so no read of it is clamped.
TEST(LowerAlternatives, WhatATileThatStartsEarlierNeedsIsNotClamped) {
  const std::string at_tiles = "many.split(n, n, lane, 4, shift_inwards)\nq.compute_at(many, n)\n";
  const std::string in_blocks =
      "many.split(n, block, n, 4, shift_inwards)\nmany.split(n, n, lane, 2)\n"
      "q.compute_at(many, n)\n";
  for (const std::string& tiles : {at_tiles, in_blocks}) {
    for (const char* condition : {"B >= 4", "B >= 7 && B <= 9"}) {
      const std::string ways = neighbours_in_two_ways(condition) + tiles;
      right(neighbours(), ways);
      const LoopNest nest = lower(neighbours(), schedule_of(neighbours(), ways));
      const std::string text = to_string(nest);
      const std::string read = text.substr(text.find("execute q[n] +="));
      EXPECT_FALSE(has_clamp(read.substr(0, read.find("  where")))) << text;
    }
  }
}

// The last tile of those that start where they would is beyond the domain.
TEST(LowerAlternatives, WhatOtherTilesNeedIsClamped) {
  const std::string ways = neighbours_in_two_ways("B >= 4") +
                           "many.split(n, n, lane, 4, predicate)\nq.compute_at(many, n)\n";
  right(neighbours(), ways);
  const std::string text = to_string(lower(neighbours(), schedule_of(neighbours(), ways)));
  const std::string read = text.substr(text.find("execute q[n] +="));
  EXPECT_TRUE(has_clamp(read.substr(0, read.find("  where")))) << text;
}

TEST(LowerAlternatives, WhereNoConditionSaysSoNoTileStartsEarlier) {
  const std::string earlier = ".split(n, n, lane, 4, shift_inwards)\n";
  const std::string expected = "expected an extent of at least 4, got B";
  refused(neighbours(), neighbours_in_two_ways("B >= 4") + "any" + earlier, expected);
  refused(neighbours(), neighbours_in_two_ways("B >= 3") + "many" + earlier, expected);
  refused(neighbours(), neighbours_in_two_ways("B <= 8") + "many" + earlier, expected);
  // Of several cases what one says is not true in another.
  refused(neighbours(),
          "y.cache_write(any)\nany.alternative(B >= 2, many)\ny.specialize(B >= 2 && B >= 4)\n"
          "y.specialize(B >= 2)\nmany.cache_write(q)\nmany" +
              earlier,
          expected);
  // Another reader has it in every case.
  const Axis n("n", Extent::size("B"));
  const Tensor x = input("x", f32, {n.extent()});
  const Tensor p = compute("p", {n}, x(n) * 2.0f);
  refused(Graph(compute("y", {n}, p(n) + 1.0f)), "p.alternative(B >= 4, many)\nmany" + earlier,
          expected);
}

TEST(LowerAlternatives, WhatIsThereOnlyWhereASizeIsSmallHasRoomForThatOnTheStack) {
  const std::string other = "alloc p[y.m .. +1, 0 .. +B] in heap";
  EXPECT_EQ(alloc_of("p_few", kSquares), "alloc p_few[y_few.m .. +1, 0 .. +B room 4] in stack");
  EXPECT_EQ(alloc_of("p", kSquares), other);
  EXPECT_EQ(alloc_of("p_few", kSquares + std::string("p_few.align_storage(n, 16)\n")),
            "alloc p_few[y_few.m .. +1, 0 .. +B align 16 room 16] in stack");
  EXPECT_EQ(alloc_of("p_few", kSquares + std::string("p_few.store_in(heap)\n")),
            "alloc p_few[y_few.m .. +1, 0 .. +B] in heap");
  right(squares(), kSquares + std::string("p_few.align_storage(n, 16)\n"));
}

TEST(LowerAlternatives, WhatMayBeLargeIsOnTheHeap) {
  const std::string heap = "alloc p_few[y_few.m .. +1, 0 .. +B] in heap";
  for (const char* condition : {"B >= 4", "B % 4 == 0", "B <= 8193", "B <= 4 || B == 8"}) {
    std::string directives = kSquares;
    for (size_t at; (at = directives.find("B <= 4")) != std::string::npos;) {
      directives.replace(at, 6, "CASE");
    }
    for (size_t at; (at = directives.find("CASE")) != std::string::npos;) {
      directives.replace(at, 4, condition);
    }
    EXPECT_EQ(alloc_of("p_few", directives), heap) << condition;
  }
}

// p is there in the general case, and in one that bounds the size.
TEST(LowerAlternatives, WhatIsThereInTheGeneralCaseTooIsOnTheHeap) {
  const std::string directives =
      "p.alternative(B <= 2, p_few)\ny.alternative(B <= 2, y_few)\ny_few.store_in_output(y)\n"
      "y.specialize(B <= 2)\ny.specialize(B <= 4)\np_few.compute_at(y_few, m)\n"
      "p.compute_at(y, m)\n";
  EXPECT_EQ(alloc_of("p", directives), "alloc p[y.m .. +1, 0 .. +B] in heap");
  EXPECT_EQ(alloc_of("p_few", directives), "alloc p_few[y_few.m .. +1, 0 .. +B room 2] in stack");
  right(squares(), directives);
}

TEST(LowerAlternatives, OfAnOutputTheFirstOfSeveralThatHoldsIsTaken) {
  const std::string directives =
      "y.alternative(B <= 2, y_two)\ny.alternative(B <= 4, y_few)\ny_two.store_in_output(y)\n"
      "y_few.store_in_output(y)\ny.specialize(B <= 2)\ny.specialize(B <= 4)\n";
  accepted(shares(), directives);
  right(shares(), "y.alternative(B <= 2, y_two)\ny.alternative(B <= 4, y_few)\n");
}

TEST(LowerAlternatives, OfAnOutputOneMayBeInline) {
  right(shares(),
        "y.alternative(B <= 2, y_two)\ny.alternative(B <= 4, y_few)\ny_two.compute_inline()\n");
  right(shares(), "y.alternative(B <= 4, y_few)\ny_few.compute_inline()\ny.specialize(B <= 4)\n");
}

// p is read inline by both.
TEST(LowerAlternatives, WhatIsReadInlineIsDecidedWithWhatReadsIt) {
  const Axis m("m", 5), n("n", Extent::size("B"));
  const Tensor x = input("x", f32, {5, n.extent()});
  const Tensor s = compute("s", {m}, sum(n, x(m, n)));
  const Tensor p = compute("p", {m, n}, x(m, n) / max(s(m), 1.0f));
  const Graph graph(compute("y", {m, n}, p(m, n) * 2.0f));
  const std::string directives =
      "s.alternative(B <= 4, s_few)\ny.alternative(B <= 4, y_few)\np.compute_inline()\n"
      "y_few.store_in_output(y)\ny.specialize(B <= 4)\ny_few.cache_write(few)\n"
      "s_few.compute_at(few, m)\ns.compute_at(y, m)\n";
  right(graph, directives);
  const LoopNest nest = lower(graph, schedule_of(graph, directives));
  EXPECT_EQ(sides_of(nest, "s_few"), "holds");
  EXPECT_EQ(sides_of(nest, "s"), "otherwise");
}

}  // namespace
}  // namespace emulsion
