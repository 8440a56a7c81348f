#ifndef EMULSION_PASSES_DERIVE_PLANES_OF_PIXELS_H_
#define EMULSION_PASSES_DERIVE_PLANES_OF_PIXELS_H_

// Planes made of pixels, y(c, i, j) = x(i, j, c): a vector of one plane is shuffled out of lines of
// memory that hold the other planes, too. So these are computed side by side, out of the same
// lines.
//
//   for c: for i: y[c, i] = x[i, c]
//     ->  for i in blocks: unrolled c: unrolled vectors of i: y[c, i] = x[i, c]
//
// Two planes of short rows stay apart where a cache holds what both of them read.
//
// Planes of which each is computed otherwise, y(c, i) = select(c == 0, .., select(c == 1, .., ..)),
// as of colours that a matrix of numbers mixes: side by side the plane is known where it is
// computed, so that nothing is computed for another, and what several of them read is loaded once.
//
// Private to passes/derive/.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// Position of the axis of a few planes.
std::optional<size_t> match_planes(const Op& op, const Target& target);
// What one of them is. Its shape has the number of planes behind its axes, for these are points of
// it, too; among the reduction axes their name stays taken.
Op one_plane(const Op& op, size_t planes);
// Position of an axis of planes whose number is a run-time size, and the same operation where it is
// that number.
std::optional<size_t> planes_of_run_time_number(const Op& op, const Target& target);
Op with_planes(const Op& op, size_t planes, int64_t count);

// for c: for i: for j  ->  for i: for j: for c
void bring_planes_inside(const Op& plane, const Axis& planes, StageSchedule* stage);

// How many vectors of each plane are computed one after another, at most. Where planes do not start
// at lines of the cache, vectors as long as lines lie across two of them each. The processor joins
// what follows in one line; what it stores by turns of several planes takes two accesses each.
int64_t vectors_of_plane(const Op& plane, const Axis& planes);

// A row of each plane, or of each part of a row; the loop over these is inside of it.
struct PlaneRow {
  const Axis& along;
  int64_t lanes;
  bool fills_block;  // of a run-time length that is known to have vectors_of_plane() or more
  bool is_whole;     // as long as the axis says: its last block may start earlier
};
// How many vectors of each are computed one after another: fewer where the last ones would be
// computed twice; 1 where the length is not known.
int64_t vectors_of_row(const Op& plane, const Axis& planes, const PlaneRow& row);
// Vectors along it, named `lane`, where there are several at a time; else nothing is said, and the
// result is false.
bool vectorize_planes(const Op& plane, const Axis& planes, const PlaneRow& row, const Axis& lane,
                      StageSchedule* stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_PLANES_OF_PIXELS_H_
