#include "passes/nest/simplify_nest.h"

#include <memory>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "passes/index/collect_terms.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

Expr simplified(const Expr& expr) {
  Expr made = collect_terms(expr);
  return equal(made, expr) ? expr : made;
}

// The indices of the reads of a body. One that is proved to stay inside its buffer stays so.
Expr with_simple_reads(const Expr& body, const LoopNest& nest, const Stage& stage) {
  const AxisExtents domain = domain_of(stage);
  return with_indices(body, [&](const Expr& read) {
    const Shape& shape = nest.buffer(read->name).shape;
    std::vector<Expr> indices = read->args;
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr simple = simplified(indices[d]);
      if (simple.same_as(indices[d])) continue;
      const bool was_proved = proves_in_bounds(indices[d], shape[d], domain);
      if (was_proved && !proves_in_bounds(simple, shape[d], domain)) continue;
      indices[d] = std::move(simple);
    }
    return indices;
  });
}

class Simplifier : public NestMutator {
 public:
  explicit Simplifier(const LoopNest& nest) : nest_(nest) {}

 private:
  // Its condition is the one that the stage's specialization has.
  NodePtr mutate_branch(const NodePtr& node, const Branch&) override {
    return change_children(node, [&](const NodePtr& child) { return mutate(child); });
  }

  NodePtr mutate_uop(const NodePtr& node, const UopNode& uop) override {
    if (!uop.body.defined()) return mutate_inside(node);
    UopNode made = uop;
    made.body = with_simple_reads(uop.body, nest_, nest_.stage(uop.stage));
    if (made.body.same_as(uop.body)) return mutate_inside(node);
    return mutate_inside(make_node(std::move(made)));
  }

  Expr mutate_expr(const Expr& expr) override { return simplified(expr); }

  const LoopNest& nest_;
};

}  // namespace

LoopNest simplify_nest(const LoopNest& nest) {
  LoopNest result = nest;
  if (nest.root) result.root = Simplifier(nest).mutate(nest.root);
  for (Stage& stage : result.stages) stage.body = with_simple_reads(stage.body, nest, stage);
  for (TileGrid& grid : result.tile_grids) {
    for (Expr* count : {&grid.batch, &grid.m, &grid.n, &grid.k}) *count = simplified(*count);
  }
  for (Pack& pack : result.packs) {
    pack.nest = std::make_shared<const LoopNest>(simplify_nest(*pack.nest));
  }
  return result;
}

}  // namespace emulsion
