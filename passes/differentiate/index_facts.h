#ifndef EMULSION_PASSES_DIFFERENTIATE_INDEX_FACTS_H_
#define EMULSION_PASSES_DIFFERENTIATE_INDEX_FACTS_H_

// What is known of the axes in scope, and what follows from it: that a clamp does nothing where a
// padded read is chosen, that a test always holds, that a read stays inside its tensor.

#include <optional>
#include <vector>

#include "dsl/affine.h"
#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

class IndexFacts {
 public:
  explicit IndexFacts(const std::vector<Axis>& axes);

  const AxisExtents& axes() const { return axes_; }
  // What follows when the condition holds, or when it does not.
  void add(const Expr& condition, bool holds);

  // a >= b for all iterations in which the facts hold, seen without a doubt.
  bool at_least(const Expr& a, const Expr& b) const;
  // What a condition always is; nothing when it depends on the iteration or is no comparison of
  // indices.
  std::optional<bool> decided(const Expr& condition) const;

  // The expression with its indices tidied, selects and conditions decided where they can be, and
  // every read clamped that may leave its tensor (where that was, a select or a factor 0 hides it).
  // `may_be_empty`: extents that have to be at least 1 for a read to be legal. What only one side
  // of a select needs stands around that side.
  Expr settled(const Expr& e, std::vector<Extent>* may_be_empty) const;

 private:
  // Of x % m and x / m.
  bool is_quotient_at_most(const Expr& e, const Expr& most) const;
  Expr settled_node(const Expr& e, std::vector<Extent>* may_be_empty) const;
  Expr settled_read(const Expr& e, std::vector<Extent>* may_be_empty) const;

  AxisExtents axes_;
  std::vector<Expr> facts_;  // each 0 or more
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_DIFFERENTIATE_INDEX_FACTS_H_
