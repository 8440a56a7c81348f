#include "passes/nest/visit_nest.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/stack_room.h"

namespace emulsion {
namespace {

// Calls `use` with each child of a node: `Kind` is one of the structs, const or not.
template <typename Kind, typename Use>
void children_of(Kind& kind, const Use& use) {
  using Plain = std::remove_const_t<Kind>;
  if constexpr (std::is_same_v<Plain, Block>) {
    for (auto& child : kind.children) use(child);
  } else if constexpr (std::is_same_v<Plain, Branch>) {
    use(kind.holds);
    use(kind.otherwise);
  } else if constexpr (!std::is_same_v<Plain, UopNode>) {
    use(kind.body);
  }
}

// Calls `use` with each expression of a node.
template <typename Kind, typename Use>
void expressions_of(Kind& kind, const Use& use) {
  if constexpr (std::is_same_v<Kind, Loop>) {
    use(kind.min);
    use(kind.extent);
  } else if constexpr (std::is_same_v<Kind, Branch>) {
    use(kind.condition);
  } else if constexpr (std::is_same_v<Kind, Alloc> || std::is_same_v<Kind, WindowNode>) {
    for (Expr& min : kind.mins) use(min);
    for (Expr& extent : kind.extents) use(extent);
    if constexpr (std::is_same_v<Kind, WindowNode>) {
      for (Window& slide : kind.slides) use(slide.loop);
    }
  } else if constexpr (std::is_same_v<Kind, HoistedAlloc>) {
    for (Expr& extent : kind.extents) use(extent);
  } else if constexpr (std::is_same_v<Kind, UopNode>) {
    for (Expr& index : kind.point) use(index);
    for (Guard& guard : kind.guards) use(guard.condition);
  } else {
    static_assert(std::is_same_v<Kind, Block>, "which expressions has this kind of node?");
  }
}

class ExpressionChanger : public NestMutator {
 public:
  explicit ExpressionChanger(const std::function<Expr(const Expr&)>& change) : change_(change) {}

 private:
  Expr mutate_expr(const Expr& expr) override { return change_(expr); }

  const std::function<Expr(const Expr&)>& change_;
};

}  // namespace

void for_each_child(const Node& node, const std::function<void(const NodePtr&)>& visit) {
  std::visit([&](const auto& kind) { children_of(kind, visit); }, node.kind);
}

void for_each_node(const Node& root, const std::function<void(const Node&)>& visit) {
  with_stack_room([&] {
    visit(root);
    for_each_child(root, [&](const NodePtr& child) { for_each_node(*child, visit); });
  });
}

const Node* find_node(const Node& root, const std::function<bool(const Node&)>& holds) {
  std::vector<const Node*> waiting = {&root};
  while (!waiting.empty()) {
    const Node& node = *waiting.back();
    waiting.pop_back();
    if (holds(node)) return &node;
    const auto others = static_cast<std::ptrdiff_t>(waiting.size());
    for_each_child(node, [&](const NodePtr& child) { waiting.push_back(child.get()); });
    std::reverse(waiting.begin() + others, waiting.end());  // the first one is looked at next
  }
  return nullptr;
}

bool any_node(const Node& root, const std::function<bool(const Node&)>& holds) {
  return find_node(root, holds) != nullptr;
}

size_t parts_from(const Block& block, size_t first) {
  const Loop* loop = block.children[first]->as<Loop>();
  size_t count = 1;
  for (; loop && first + count < block.children.size(); ++count) {
    const Loop* other = block.children[first + count]->as<Loop>();
    if (!other || other->variable() != loop->variable() || other->part != loop->part) break;
  }
  return count;
}

void NestVisitor::walk(const Node& node) {
  with_stack_room([&] { std::visit([&](const auto& kind) { visit_kind(kind); }, node.kind); });
}

void NestVisitor::visit_block(const Block& block) {
  for (const NodePtr& child : block.children) walk(*child);
}
void NestVisitor::visit_loop(const Loop& loop) { walk(*loop.body); }
void NestVisitor::visit_branch(const Branch& branch) {
  walk(*branch.holds);
  walk(*branch.otherwise);
}
void NestVisitor::visit_alloc(const Alloc& alloc) { walk(*alloc.body); }
void NestVisitor::visit_hoisted_alloc(const HoistedAlloc& alloc) { walk(*alloc.body); }
void NestVisitor::visit_window(const WindowNode& window) { walk(*window.body); }
void NestVisitor::visit_uop(const UopNode&) {}

NodePtr NestMutator::mutate(const NodePtr& node) {
  NodePtr result;
  with_stack_room(
      [&] { std::visit([&](const auto& kind) { result = mutate_kind(node, kind); }, node->kind); });
  return result;
}

NodePtr NestMutator::mutate_block(const NodePtr& node, const Block&) { return mutate_inside(node); }
NodePtr NestMutator::mutate_loop(const NodePtr& node, const Loop&) { return mutate_inside(node); }
NodePtr NestMutator::mutate_branch(const NodePtr& node, const Branch&) {
  return mutate_inside(node);
}
NodePtr NestMutator::mutate_alloc(const NodePtr& node, const Alloc&) { return mutate_inside(node); }
NodePtr NestMutator::mutate_hoisted_alloc(const NodePtr& node, const HoistedAlloc&) {
  return mutate_inside(node);
}
NodePtr NestMutator::mutate_window(const NodePtr& node, const WindowNode&) {
  return mutate_inside(node);
}
NodePtr NestMutator::mutate_uop(const NodePtr& node, const UopNode&) { return mutate_inside(node); }
Expr NestMutator::mutate_expr(const Expr& expr) { return expr; }

NodePtr NestMutator::mutate_inside(const NodePtr& node) {
  Node changed = *node;
  bool same = true;
  const auto change_expr = [&](Expr& expr) {
    if (!expr.defined()) return;
    Expr made = mutate_expr(expr);
    same = same && made.same_as(expr);
    expr = std::move(made);
  };
  const auto change_child = [&](NodePtr& child) {
    NodePtr made = mutate(child);
    same = same && made == child;
    child = std::move(made);
  };
  std::visit(
      [&](auto& kind) {
        expressions_of(kind, change_expr);
        children_of(kind, change_child);
      },
      changed.kind);
  return same ? node : share_node(std::move(changed));
}

NodePtr change_expressions(const NodePtr& root, const std::function<Expr(const Expr&)>& change) {
  return ExpressionChanger(change).mutate(root);
}

NodePtr change_children(const NodePtr& node, const std::function<NodePtr(const NodePtr&)>& change) {
  Node changed = *node;
  bool same = true;
  const auto change_child = [&](NodePtr& child) {
    NodePtr made = change(child);
    same = same && made == child;
    child = std::move(made);
  };
  std::visit([&](auto& kind) { children_of(kind, change_child); }, changed.kind);
  return same ? node : share_node(std::move(changed));
}

}  // namespace emulsion
