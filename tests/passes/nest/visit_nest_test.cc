#include "passes/nest/visit_nest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

// What a node is called here: the variable of a loop, the stage of a uOp.
std::string name_of(const Node& node) {
  if (const Loop* loop = node.as<Loop>()) return loop->variable();
  if (const UopNode* uop = node.as<UopNode>()) return uop->stage;
  return node.as<Alloc>() ? "alloc" : "block";
}

// A nest with one node of every kind.
NodePtr every_kind() {
  const NodePtr uop = uop_node(UopKind::store, "y", Part::pure, {v("y", "i")}, {v("y", "i") < 3});
  const Window slide{0, v("y", "j"), 3, 1};
  const NodePtr window = make_node(WindowNode{"a", {v("y", "i")}, {int_constant(1)}, {slide}, uop});
  const NodePtr branch = make_node(Branch{"y", Part::pure, size_value("B") == 4, window, uop});
  HoistedAlloc hoisted;
  hoisted.stage = "a";
  hoisted.extents = {size_value("B")};
  hoisted.body = alloc_node("a", {v("y", "i")}, {size_value("B")}, block_node({branch, uop}));
  return loop_node("y", "i", size_value("B"), make_node(hoisted));
}

TEST(VisitNest, ReachesEveryNodeFromAboveInOrder) {
  std::vector<std::string> names;
  for_each_node(*linear_nest().root, [&](const Node& node) { names.push_back(name_of(node)); });
  EXPECT_EQ(names, (std::vector<std::string>{"y.mo", "alloc", "block", "mm.m", "mm.n", "mm", "mm.k",
                                             "mm.m", "mm.n", "mm", "y.mi", "y.n", "y"}));
}

TEST(VisitNest, FindsANodeOfAnyDepthOrNone) {
  const auto named = [](const std::string& name) {
    return any_node(*linear_nest().root, [&](const Node& node) { return name_of(node) == name; });
  };
  EXPECT_TRUE(named("y.mo"));
  EXPECT_TRUE(named("y"));
  EXPECT_FALSE(named("y.m"));
}

TEST(VisitNest, AsksNoNodeOnceItIsKnown) {
  std::vector<std::string> asked;
  const auto is_block = [&](const Node& node) {
    asked.push_back(name_of(node));
    return node.as<Block>() != nullptr;
  };
  EXPECT_TRUE(any_node(*linear_nest().root, is_block));
  EXPECT_EQ(asked, (std::vector<std::string>{"y.mo", "alloc", "block"}));
}

TEST(VisitNest, FindsTheFirstOfSeveral) {
  const NodePtr root = linear_nest().root;
  const auto is_uop = [](const Node& node) { return node.as<UopNode>() != nullptr; };
  EXPECT_EQ(find_node(*root, is_uop)->as<UopNode>()->part, Part::init);
  EXPECT_EQ(find_node(*root, [](const Node&) { return false; }), nullptr);
}

class UopsOutsideLoops : public NestVisitor {
 public:
  int count = 0;

 private:
  void visit_loop(const Loop&) override {}
  void visit_uop(const UopNode&) override { ++count; }
};

TEST(VisitNest, GoesNoFurtherThanAnOverrideDoes) {
  UopsOutsideLoops inside, below;
  inside.walk(*every_kind());
  EXPECT_EQ(inside.count, 0);
  below.walk(*child_of(every_kind()));
  EXPECT_EQ(below.count, 3);  // through the branch's two sides, too
}

class Same : public NestMutator {};

TEST(MutateNest, GivesTheSameNodeWhereNothingChanges) {
  const NodePtr root = every_kind();
  EXPECT_EQ(Same().mutate(root), root);
  EXPECT_EQ(change_expressions(root, [](const Expr& e) { return e; }), root);
  EXPECT_EQ(change_children(root, [](const NodePtr& child) { return child; }), root);
}

class Unroller : public NestMutator {
  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    if (loop.kind != LoopKind::serial) return mutate_inside(node);
    Loop unrolled = loop;
    unrolled.kind = LoopKind::unrolled;
    unrolled.body = mutate(loop.body);
    return make_node(std::move(unrolled));
  }
};

TEST(MutateNest, KeepsWhatIsBesideAChange) {
  const NodePtr before = linear_nest().root;
  const NodePtr after = Unroller().mutate(before);
  ASSERT_NE(after, before);
  const NodePtr parts = child_of(child_of(before)), changed = child_of(child_of(after));
  EXPECT_EQ(child_of(parts, 0), child_of(changed, 0));  // has no serial loop
  EXPECT_NE(child_of(parts, 1), child_of(changed, 1));
  EXPECT_EQ(child_of(child_of(parts, 1)), child_of(child_of(changed, 1)));
  EXPECT_EQ(child_of(changed, 2)->as<Loop>()->kind, LoopKind::unrolled);
}

TEST(MutateNest, ReachesEveryExpression) {
  std::vector<std::string> texts;
  change_expressions(every_kind(), [&](const Expr& e) {
    texts.push_back(to_string(e));
    return e;
  });
  EXPECT_EQ(texts,
            (std::vector<std::string>{"0", "B", "B", "y.i", "B", "B == 4", "y.i", "1", "y.j", "y.i",
                                      "y.i < 3", "y.i", "y.i < 3", "y.i", "y.i < 3"}));
}

}  // namespace
}  // namespace emulsion
