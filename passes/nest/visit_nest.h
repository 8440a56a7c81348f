#ifndef EMULSION_PASSES_NEST_VISIT_NEST_H_
#define EMULSION_PASSES_NEST_VISIT_NEST_H_

// Walks and rewrites of a nest's tree: every analysis and every pass goes down the tree by one of
// these, so that each says only what it does at the nodes that it is about. A tree may be deeper
// than a thread's stack: they see to it (dsl/stack_room.h), and so does what recurses by
// for_each_child or change_children.

#include <functional>
#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// The nodes right below one, in their order: of a branch, where its condition holds first.
void for_each_child(const Node& node, const std::function<void(const NodePtr&)>& visit);
// A node and all below it, from above, in order.
void for_each_node(const Node& root, const std::function<void(const Node&)>& visit);
// The first of these of which something holds, and whether there is one; null where there is none.
const Node* find_node(const Node& root, const std::function<bool(const Node&)>& holds);
bool any_node(const Node& root, const std::function<bool(const Node&)>& holds);

// How many children of a block, from `first` on, are parts of one loop: loops of one variable of
// one part of a stage. 1 where the child is no loop.
size_t parts_from(const Block& block, size_t first);

// Overrides what it is about; everything else goes on to the children.
class NestVisitor {
 public:
  virtual ~NestVisitor() = default;
  void walk(const Node& node);

 protected:
  virtual void visit_block(const Block& block);
  virtual void visit_loop(const Loop& loop);
  virtual void visit_branch(const Branch& branch);
  virtual void visit_alloc(const Alloc& alloc);
  virtual void visit_hoisted_alloc(const HoistedAlloc& alloc);
  virtual void visit_window(const WindowNode& window);
  virtual void visit_uop(const UopNode& uop);

 private:
  // A kind of node that is not here does not compile.
  void visit_kind(const Block& block) { visit_block(block); }
  void visit_kind(const Loop& loop) { visit_loop(loop); }
  void visit_kind(const Branch& branch) { visit_branch(branch); }
  void visit_kind(const Alloc& alloc) { visit_alloc(alloc); }
  void visit_kind(const HoistedAlloc& alloc) { visit_hoisted_alloc(alloc); }
  void visit_kind(const WindowNode& window) { visit_window(window); }
  void visit_kind(const UopNode& uop) { visit_uop(uop); }
};

// Overrides what it changes. Whatever comes back unchanged is the same node.
class NestMutator {
 public:
  virtual ~NestMutator() = default;
  NodePtr mutate(const NodePtr& node);

 protected:
  // Each gets the node and what it is.
  virtual NodePtr mutate_block(const NodePtr& node, const Block& block);
  virtual NodePtr mutate_loop(const NodePtr& node, const Loop& loop);
  virtual NodePtr mutate_branch(const NodePtr& node, const Branch& branch);
  virtual NodePtr mutate_alloc(const NodePtr& node, const Alloc& alloc);
  virtual NodePtr mutate_hoisted_alloc(const NodePtr& node, const HoistedAlloc& alloc);
  virtual NodePtr mutate_window(const NodePtr& node, const WindowNode& window);
  virtual NodePtr mutate_uop(const NodePtr& node, const UopNode& uop);
  // Each expression of a node: conditions, mins, extents, points.
  virtual Expr mutate_expr(const Expr& expr);

  // The node with its expressions, then its children mutated: what the functions above do.
  NodePtr mutate_inside(const NodePtr& node);

 private:
  NodePtr mutate_kind(const NodePtr& node, const Block& block) { return mutate_block(node, block); }
  NodePtr mutate_kind(const NodePtr& node, const Loop& loop) { return mutate_loop(node, loop); }
  NodePtr mutate_kind(const NodePtr& node, const Branch& branch) {
    return mutate_branch(node, branch);
  }
  NodePtr mutate_kind(const NodePtr& node, const Alloc& alloc) { return mutate_alloc(node, alloc); }
  NodePtr mutate_kind(const NodePtr& node, const HoistedAlloc& alloc) {
    return mutate_hoisted_alloc(node, alloc);
  }
  NodePtr mutate_kind(const NodePtr& node, const WindowNode& window) {
    return mutate_window(node, window);
  }
  NodePtr mutate_kind(const NodePtr& node, const UopNode& uop) { return mutate_uop(node, uop); }
};

// The tree with `change` applied to each expression of each node.
NodePtr change_expressions(const NodePtr& root, const std::function<Expr(const Expr&)>& change);
// A node with `change` applied to each of its children.
NodePtr change_children(const NodePtr& node, const std::function<NodePtr(const NodePtr&)>& change);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VISIT_NEST_H_
