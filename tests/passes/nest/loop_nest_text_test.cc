#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "passes/nest/loop_nest.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

// The text without its first line.
std::string tree_of(const LoopNest& nest) {
  std::string text = to_string(nest);
  return text.substr(text.find('\n') + 1);
}

TEST(LoopNestText, PrintsAFusedNest) {
  EXPECT_EQ(to_string(linear_nest()),
            R"(kernel y(x: f32[5, 3], w: f32[3, 8], b: f32[8]) -> y: f32[5, 8]
parallel y.mo in 3
  alloc mm[y.mo * 2 .. +2, 0 .. +8] in stack
    unrolled mm.m in 2
      vectorized mm.n in 8
        execute mm[m, n] = 0f  where m = y.mo * 2 + mm.m
    for mm.k in 3
      unrolled mm.m in 2
        vectorized mm.n in 8
          execute mm[m, n] += x[min(m, 4), k] * w[k, n]  where m = y.mo * 2 + mm.m
    for y.mi in 2
      vectorized y.n in 8
        store y[m, n] = max(mm[m, n] + b[n], 0f)  where m = y.mo * 2 + y.mi  if m < 5
)");
}

TEST(LoopNestText, PrintsRunTimeSizes) {
  std::string text = to_string(linear_nest(B));
  EXPECT_NE(text.find("kernel y(x: f32[B, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("parallel y.mo in (B + 1) / 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("x[min(m, B - 1), k]"), std::string::npos) << text;
  EXPECT_NE(text.find("if m < B\n"), std::string::npos) << text;
}

TEST(LoopNestText, SaysThatALoopIsToBePartitioned) {
  LoopNest nest = linear_nest(B);
  nest.root = edit<Loop>(nest.root, [](Loop* loop) { loop->partition = loop->axis == "mo"; });
  EXPECT_NE(to_string(nest).find("parallel y.mo in (B + 1) / 2, partition\n"), std::string::npos)
      << to_string(nest);
}

TEST(LoopNestText, PrintsPacks) {
  std::string text = to_string(packed_nest());
  EXPECT_NE(text.find("w_packed: f32[2, 3, 4]"), std::string::npos) << text;
  EXPECT_NE(text.find("\npack w -> w_packed\n"), std::string::npos) << text;
  EXPECT_NE(text.find("w_packed[n / 4, k, n % 4]"), std::string::npos) << text;
}

TEST(LoopNestText, PrintsConstants) {
  LoopNest nest = copy_nest(2);
  nest.buffers.push_back({"c", DType::i32, BufferRole::constant, {2}, nullptr});
  EXPECT_EQ(to_string(nest), R"(kernel y(x: f32[2]) -> y: f32[2]
constant c: i32[2]
for y.i in 2
  store y[i] = x[i]
)");
}

TEST(LoopNestText, PrintsReductionsIntoTheOutput) {
  EXPECT_EQ(tree_of(reduction_nest(Combiner::max, 4, DType::i32)),
            "execute y[] = -2147483648\nfor y.k in 4\n  execute y[] max= x[k]\n");
}

TEST(LoopNestText, NamesEveryCombiner) {
  EXPECT_NE(to_string(reduction_nest(Combiner::sum, 4)).find("y[] += x[k]"), std::string::npos);
  EXPECT_NE(to_string(reduction_nest(Combiner::product, 4)).find("y[] *= x[k]"), std::string::npos);
  EXPECT_NE(to_string(reduction_nest(Combiner::min, 4)).find("y[] min= x[k]"), std::string::npos);
}

TEST(LoopNestText, PrintsLoads) {
  LoopNest nest = copy_nest(4);
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind == UopKind::store) node->kind = UopKind::load;
  });
  EXPECT_EQ(tree_of(nest), "for y.i in 4\n  load y[i] = x[i]\n");
}

TEST(LoopNestText, PutsAnAllocsExtentInParenthesesWhereItNeedsThem) {
  LoopNest nest = copy_nest(4);
  nest.root = alloc_node("y", {int_constant(0)}, {size_value("B") + 1}, nest.root);
  EXPECT_EQ(tree_of(nest),
            "alloc y[0 .. +(B + 1)] in heap\n  for y.i in 4\n    store y[i] = x[i]\n");
}

TEST(LoopNestText, PrintsHowStorageLies) {
  LoopNest nest = linear_nest();
  HoistedAlloc around;
  nest.root = edit<Alloc>(nest.root, [&](Alloc* alloc) {
    alloc->layout.alignments = {1, 2};
    alloc->layout.order = {1, 0};
    static_cast<Storage&>(around) = *alloc;
  });
  const std::string inside = "alloc mm[y.mo * 2 .. +2, 0 .. +8 align 2] in ";
  EXPECT_NE(to_string(nest).find("\n  " + inside + "stack, order (n, m)\n"), std::string::npos)
      << to_string(nest);
  around.body = nest.root;
  nest.root = make_node(around);
  const std::string text = tree_of(nest);
  EXPECT_EQ(text.find("hoisted_alloc mm[+2, +8 align 2] in stack, order (n, m)\n"), 0U) << text;
  EXPECT_NE(text.find("\n    " + inside + "hoisted\n"), std::string::npos) << text;
}

TEST(LoopNestText, PutsNoFunctionInParentheses) {
  LoopNest nest = copy_nest(4);
  for (const auto& [extent, word] :
       {std::pair(max(size_value("B"), 1), "max(B, 1)"), {min(size_value("B"), 4), "min(B, 4)"}}) {
    const NodePtr with = alloc_node("y", {int_constant(0)}, {extent}, nest.root);
    LoopNest made = nest;
    made.root = with;
    EXPECT_EQ(tree_of(made).find(std::string("alloc y[0 .. +") + word + "] in heap\n"), 0U) << word;
  }
}

TEST(LoopNestText, JoinsGuards) {
  LoopNest nest = copy_nest(4);
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind == UopKind::store) node->guards = guards_of({v("y", "i") < 3, v("z", "q") >= 1});
  });
  EXPECT_EQ(tree_of(nest), "for y.i in 4\n  store y[i] = x[i]  if i < 3 and z.q >= 1\n");
}

TEST(LoopNestText, PrintsWhereALoopStarts) {
  LoopNest nest = copy_nest(4);
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    loop->min = int_constant(1);
    loop->extent = size_value("B") - 1;
  });
  EXPECT_EQ(tree_of(nest), "for y.i in 1 .. +(B - 1)\n  store y[i] = x[i]\n");
}

TEST(LoopNestText, SaysWhatAGuardMasks) {
  LoopNest nest = copy_nest(4);
  const auto with = [&](GuardMask mask) {
    nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
      uop->guards = {{v("y", "i") < 3, mask}};
    });
    return tree_of(nest).substr(tree_of(nest).find("  if ") + 2);
  };
  EXPECT_EQ(with(GuardMask::instance), "if i < 3\n");
  EXPECT_EQ(with(GuardMask::loads_and_stores), "if i < 3 (loads and stores)\n");
  EXPECT_EQ(with(GuardMask::loads), "if i < 3 (loads)\n");
  EXPECT_EQ(with(GuardMask::stores), "if i < 3 (stores)\n");
}

TEST(LoopNestText, PrintsABlockWithoutALineOfItsOwn) {
  LoopNest nest = copy_nest(4);
  NodePtr loop = nest.root;
  nest.root = block_node({loop, block_node({loop})});
  EXPECT_EQ(tree_of(nest),
            "for y.i in 4\n  store y[i] = x[i]\nfor y.i in 4\n  store y[i] = x[i]\n");
}

TEST(LoopNestText, PrintsANestWithoutATree) {
  LoopNest nest = copy_nest(4);
  nest.root = nullptr;
  EXPECT_EQ(to_string(nest), "kernel y(x: f32[4]) -> y: f32[4]\n");
}

}  // namespace
}  // namespace emulsion
