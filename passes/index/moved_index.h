#ifndef EMULSION_PASSES_INDEX_MOVED_INDEX_H_
#define EMULSION_PASSES_INDEX_MOVED_INDEX_H_

// Places that data move, all of them alike: a window that is cut out of a picture, x[i + at[]], and
// a row that is rotated, x[(i + d[]) % W].

#include <optional>

#include "dsl/affine.h"
#include "dsl/expr.h"

namespace emulsion {

struct MovedIndex {
  Expr place;  // of axes, without data
  Expr moved;  // what is added to it: data, of no axis that the place has
  // Of a remainder by it; undefined where nothing wraps around. The place is from 0 to less than it
  // then, so that it does so once.
  Expr around;
};

// The parts of an index that is a sum, or the remainder of one, which may be held where it is
// anyway: max(min(a % n, n - 1), 0). Nothing of others. `axes`: the extents of all its axes.
std::optional<MovedIndex> moved_index(const Expr& index, const AxisExtents& axes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_MOVED_INDEX_H_
