#ifndef EMULSION_PASSES_DERIVE_READ_SOURCES_H_
#define EMULSION_PASSES_DERIVE_READ_SOURCES_H_

// What stands behind a read of an operation: what the operation itself reads, at which places, in
// which steps. Private to passes/derive/.

#include <cstdint>
#include <string>

#include "dsl/affine.h"
#include "dsl/expr.h"
#include "dsl/graph.h"

namespace emulsion {

// Whether each element is one of what it reads, at a place that no data choose.
bool is_move(const Op& op);
// Whether an operation or a group combines nothing, is of a sane size, and has elements.
bool is_pointwise(const OpPtr& op);
// Whether it is elementwise besides.
bool is_elementwise(const OpPtr& op);

// Of all loops over an operation.
AxisExtents extents_of(const Op& op);
// Whether a loop nest over `extents` has no more steps than `shape` has elements: extents that both
// have are left out, and the rest has to be known.
bool has_no_more_steps(const AxisExtents& extents, const Shape& shape);

// An operation of the graph, and how each of its elements is computed: a group as one expression.
struct Source {
  const Op* op;
  OpPtr written;
};
// What a read of it is made of, over the axes of a reader with these extents: of a move that is a
// read of what the move reads.
Expr composed(const Expr& read, const Source& source, const AxisExtents& extents);
// The body of a reader with all reads of `source` so.
Expr with_composed_reads(const Expr& body, const Source& source, const AxisExtents& extents);

// Whether all indices of a read are affine.
bool is_affine(const Expr& read);
// Where the elements of a read are for neighbours along an axis.
enum class Step : uint8_t { none, neighbour, elsewhere };
Step step_of(const Expr& read, const std::string& axis);
// Whether no vector of a read that was of neighbours is of others, where something else is read
// through it.
bool keeps_neighbours(const Expr& read, const Expr& through, const AxisExtents& extents);
// As step_of(), inside of blocks of `lanes` along the axis, whatever is between these: of several
// indices that together go from one element to the next, as of x[i / 4, i % 4], too.
Step step_in_blocks(const Expr& read, const std::string& axis, int64_t lanes, AxisExtents extents);
// Whether each element is one of a few neighbours that a whole vector reads, m[i / 4], in such
// blocks: which is loaded once, and shuffled.
bool repeats_in_blocks(const Expr& read, const std::string& axis, int64_t lanes,
                       AxisExtents extents);
// Whether a move has its elements in the order in which they lie in the memory of what it reads, as
// a reshape does. False where that cannot be told.
bool is_view(const Op& move);

// Whether an operation that is read through has neighbours along its last axis from neighbours.
bool keeps_rows(const Op& move);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_READ_SOURCES_H_
