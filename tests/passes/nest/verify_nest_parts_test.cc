// Nests whose parts of what is stored whole are broken on purpose: each is refused for its own
// cause.

#include "passes/nest/verify_nest_parts.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dsl/error.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

// z = a + 1, a = 2 x: both are stored, two rows of both at a time; and v reads a behind the loops.
LoopNest nest_of_parts(const Extent& rows = 5, bool is_output = true) {
  const Axis i("i", rows), j("j", 3);
  Tensor a = compute("a", {i, j}, input("x", f32, {rows, 3})(i, j) * 2.0f);
  Tensor z = compute("z", {i, j}, a(i, j) + 1.0f);
  Tensor v = compute("v", {i, j}, a(i, j) - 1.0f);
  const Graph graph(is_output ? std::vector<Tensor>{z, a, v} : std::vector<Tensor>{z, v});
  Schedule schedule(graph);
  schedule[z].split(i, Axis("io"), Axis("ii"), 2);
  schedule[a].compute_at(z, Axis("io"));
  if (!is_output) schedule[a].store_root();
  return lower(graph, schedule);
}

void refused(const std::function<void(WindowNode*)>& change, const std::string& cause) {
  LoopNest nest = nest_of_parts();
  nest.root = edit<WindowNode>(nest.root, change);
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest_parts(nest); }, cause));
}

TEST(VerifyNestParts, AcceptsParts) {
  for (const bool is_output : {true, false}) {
    EXPECT_NO_THROW(verify_nest(nest_of_parts(5, is_output)));
    EXPECT_NO_THROW(verify_nest(nest_of_parts(Extent::size("B"), is_output)));
    EXPECT_NO_THROW(verify_nest(nest_of_parts(3000, is_output)));  // not all of its steps
  }
}

TEST(VerifyNestParts, RefusesWhatIsLeftOut) {
  refused([](WindowNode* part) { part->extents[1] = int_constant(2); },
          "z reads a[0, 2], which is");
  refused(
      [](WindowNode* part) {
        part->extents[0] =
            select(part->mins[0] < int_constant(2), int_constant(2), int_constant(0));
      },
      "z reads a[2, 0], which is of no part that its step has computed");
}

TEST(VerifyNestParts, RefusesWhatIsComputedTwice) {
  refused([](WindowNode* part) { part->extents[0] = int_constant(3); }, "a[2, 0] is in 2 parts");
  refused([](WindowNode* part) { part->mins[0] = int_constant(0); }, "z reads a[2, 0], which is");
}

// Nobody reads the last row, and nobody computes it.
TEST(VerifyNestParts, RefusesAnElementThatIsInNoPart) {
  const Axis i("i", 4);
  Tensor a = compute("a", {i}, input("x", f32, {4})(i) * 2.0f);
  Tensor z = compute("z", {i}, input("x2", f32, {4})(i) + 1.0f);
  const Graph graph({a, z});
  Schedule schedule(graph);
  schedule[a].compute_at(z, i);
  LoopNest nest = lower(graph, schedule);
  nest.root = edit<WindowNode>(nest.root, [](WindowNode* part) {
    part->extents[0] = select(part->mins[0] < int_constant(3), int_constant(1), int_constant(0));
  });
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest_parts(nest); }, "a[3] is in no part"));
}

TEST(VerifyNestParts, RefusesAReaderAheadOfTheParts) {
  LoopNest nest = nest_of_parts();
  nest.root = edit<Block>(nest.root, [](Block* block) {
    if (block->children.size() == 2) std::swap(block->children[0], block->children[1]);
  });
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest_parts(nest); },
                                         "reads a[0, 0] before any part of it is computed"));
}

TEST(VerifyNestParts, RefusesAPartThatSlidesAndAWindowOfAnOutput) {
  const auto verifies = [](const std::function<void(WindowNode*)>& change) {
    LoopNest nest = nest_of_parts();
    nest.root = edit<WindowNode>(nest.root, change);
    verify_nest(nest);
  };
  EXPECT_TRUE(throws_with<InternalError>(
      [&] { verifies([](WindowNode* part) {
              part->slides = {{0, axis_value("z.io"), 2, 1}};
            }); },
      "a part of a that slides"));
  EXPECT_TRUE(throws_with<InternalError>(
      [&] { verifies([](WindowNode* part) { part->is_whole = false; }); },
      "window of a outside its alloc"));
}

// The tile reaches past the end: its loops have a guard there.
TEST(VerifyNestParts, RefusesWhatGoesPastTheEnd) {
  LoopNest nest = nest_of_parts();
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    if (uop->stage == "a") uop->guards.clear();
  });
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest(nest); }, "a"));
}

}  // namespace
}  // namespace emulsion
