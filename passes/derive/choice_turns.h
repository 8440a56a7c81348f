#ifndef EMULSION_PASSES_DERIVE_CHOICE_TURNS_H_
#define EMULSION_PASSES_DERIVE_CHOICE_TURNS_H_

// Where along an axis another choice is taken: the borders of what is joined or padded, the halves
// of what is rotated. Between two of these a loop computes one of the choices. Private to
// passes/derive/.

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// The indices of the axis from which on a comparison with it alone holds, or does not, or an index
// a % n is of another quotient: in order, each inside the axis for all sizes. None where nothing
// decides by the axis; nothing where one of them cannot be told, may be outside, or has no place in
// the order. Of select(N > 0, x[(j + N - 1) % N], 0) those where N is at least 1.
std::optional<std::vector<Extent>> turns_along(const Op& op, const Axis& axis);

// Those at which the axis of vectors of a run-time length is cut. Each piece is vectors of
// neighbours, of which the last one has a mask; where the target lacks it, that one starts earlier,
// which a piece that is shorter than a vector does not allow. None where that is not so.
std::vector<Extent> turns_to_cut_at(const Op& op, const Target& target);
// Where a row of at least so many steps is cut, so that between the cuts no index is clamped,
// reflected or wrapped around, and all choices by the place are the same: behind a few first steps
// and before a few last ones. Of these a vector would be made element by element. None where the
// target lacks the masks for the last vector between them, of narrow elements, or where other
// choices are taken elsewhere.
std::vector<Extent> ends_to_cut_at(const Op& op, int64_t least, const Target& target);
// Whether a row has a few first and last steps for which nothing is read, as what is padded has: a
// vector with some of them takes less than one for them alone, since what is read at the same
// places has a mask there. So a row of a vector or more is not cut at its turns. Not of what takes
// a series (exp): between the turns that is computed once.
bool has_steps_without_reads_at_ends(const Op& op, const Target& target);
// Whether the first or last rows, along the axis around the vectors, are computed otherwise than
// those between: the edges of a picture, whose neighbours are held. No data decide that, and a row
// may be so short that finding it out takes a part of its time.
bool has_other_rows_at_ends(const Op& op, const Target& target);
// Where the target lacks masks the pieces are known to be as long as a vector (pieces_reach).
//   for j in 2 * C  ->  for j in C: vectorized lane; for j in C: vectorized lane
void vectorize_pieces(const Op& op, const std::vector<Extent>& turns, const Target& target,
                      StageSchedule* stage);
// That each piece between turns has so many steps.
Expr pieces_reach(const std::vector<Extent>& turns, const Axis& axis, int64_t steps);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_CHOICE_TURNS_H_
