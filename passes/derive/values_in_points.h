#ifndef EMULSION_PASSES_DERIVE_VALUES_IN_POINTS_H_
#define EMULSION_PASSES_DERIVE_VALUES_IN_POINTS_H_

// What is computed where an operation that combines nothing reads it, in the vectors of that
// operation: moves, and values that are read elsewhere than at the axes of the operation. Private
// to passes/derive/.

#include <vector>

#include "dsl/expr.h"
#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/read_sources.h"

namespace emulsion {

// An operation, and what it computes by now, with what it need not read.
struct PointsReader {
  const Op& op;
  const Expr& body;
  const AxisExtents& extents;
  bool is_member = false;  // of a group
};

// Whether the vectors of a reader are loads or shuffles of loads of what it reads then at
// `through`, which is not affine: of a reshape to rows of another length, vectors that lie in one
// row here and there.
bool suits_in_blocks(const PointsReader& reader, const Expr& through, const Target& target);

// Whether it chooses by place, as concat does.
bool chooses_values(const PointsReader& reader);
// Whether such a one may read `value` where it chooses it: loops are cut at the borders, and a
// value is computed there and nowhere else. `through`: what the value reads for `read`.
bool suits_choice(const PointsReader& reader, const Source& value, const Expr& read,
                  const std::vector<Expr>& through, const Target& target);

// Whether it may compute a value that it reads once, and at no more places than the value has
// elements: in vectors of neighbours, or those of a choice. False of what fuse_epilogues() could
// have taken.
bool suits_value(const PointsReader& reader, const Source& value, bool is_elementwise,
                 const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_VALUES_IN_POINTS_H_
