#ifndef EMULSION_TESTS_PASSES_NEST_TEST_NESTS_H_
#define EMULSION_TESTS_PASSES_NEST_TEST_NESTS_H_

// Loop nests written by hand, for tests of what reads nests: they must not depend on lower().

#include <functional>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {

NodePtr block_node(std::vector<NodePtr> children);
NodePtr loop_node(const std::string& stage, const std::string& axis, Expr extent, NodePtr child,
                  LoopKind kind = LoopKind::serial, Part part = Part::pure);
NodePtr alloc_node(const std::string& stage, std::vector<Expr> mins, std::vector<Expr> extents,
                   NodePtr child, Memory memory = Memory::heap);
NodePtr uop_node(UopKind kind, const std::string& stage, Part part, std::vector<Expr> point,
                 std::vector<Expr> guards = {});
// Guards that leave out the whole instance.
std::vector<Guard> guards_of(const std::vector<Expr>& conditions);
// The variable of a loop: v("y", "mo") is y.mo.
Expr v(const std::string& stage, const std::string& axis);

// y[m, n] = max(sum(k, x[m, k] * w[k, n]) + b[n], 0) over rows x 8 with 3 columns of x, in tiles of
// 2 rows:
//
//   parallel y.mo in ceil(rows / 2)
//     alloc mm[y.mo * 2 .. +2, 0 .. +8] in stack
//       unrolled mm.m in 2: vectorized mm.n in 8: execute mm = 0
//       for mm.k in 3: unrolled mm.m in 2: vectorized mm.n in 8: execute mm += x * w
//       for y.mi in 2: vectorized y.n in 8: store y  if m < rows
LoopNest linear_nest(const Extent& rows = Extent(5));

// y[i] = x[i] over `extent`, one loop.
LoopNest copy_nest(const Extent& extent, DType dtype = DType::f32);
// copy_nest with another body, over x.
LoopNest pointwise_nest(const Extent& extent, const Expr& body, DType dtype = DType::f32);
// y = combiner over k of x[k], rank 0, into the output itself.
LoopNest reduction_nest(Combiner combiner, const Extent& extent, DType dtype = DType::f32);
// y = a, a = x * 2 over 10, in steps of 4 where only the loads are masked past the end:
//
//   alloc a[0 .. +12] in heap
//     for a.io in 3: vectorized a.ii in 4: execute a[i] = x[i] * 2  if i < 10 (loads)
//     for y.i in 10: store y[i] = a[i]
LoopNest masked_loads_nest();
// linear_nest(5) whose weight is packed in panels of 4: w_packed[n / 4, k, n % 4].
LoopNest packed_nest();

// The tree with `change` applied to a copy of every node of one kind, children first.
template <typename Kind>
NodePtr edit(const NodePtr& root, const std::function<void(Kind*)>& change) {
  const NodePtr node =
      change_children(root, [&](const NodePtr& child) { return edit<Kind>(child, change); });
  if (!node->as<Kind>()) return node;
  Node copy = *node;
  change(copy.as<Kind>());
  return share_node(std::move(copy));
}
// Child number i of a node.
NodePtr child_of(const NodePtr& node, size_t i = 0);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_NEST_TEST_NESTS_H_
