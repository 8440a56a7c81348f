#ifndef EMULSION_PASSES_DERIVE_VECTOR_LANES_H_
#define EMULSION_PASSES_DERIVE_VECTOR_LANES_H_

// Which axis vectors of an operation go along, how many lanes they have, and what of memory they
// can be made of. Private to passes/derive/.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// Whether `axis` alone moves the last index of the read, by one element a step.
bool is_along(const Expr& read, const Axis& axis);
// How many elements further in memory a step of the axis reads; nothing where no number says so.
std::optional<int64_t> elements_of_step(const Expr& read, const Axis& axis);

// Lanes of the narrowest vectors among the values that the operation computes with: its own type
// and those of its body. What only says where to read does not count, nor what is one value for all
// points, nor do conditions.
int64_t value_lanes(const Op& op, const Target& target);

// An operation whose last axes are together shorter than any machine's vector (the colours of a
// picture, a last axis of 1), behind one that is long enough for vectors. They may be as long as
// the shortest one where each step is computed otherwise: the parts of a quaternion.
struct Pixels {
  Axis x;       // what vectors go along
  Axis colour;  // of the axes behind it the one that has several steps, if any has
  size_t rows;  // how many axes are before x
};
std::optional<Pixels> match_pixels(const Op& op, int64_t lanes);
// Which axis vectors go along: the last one or, of pixels, the one before their colours.
size_t vector_axis(const Op& op, const Target& target);
// Whether vectors with masks are computed element by element: of pixels, whose values lie between
// one another, and of what the target has no masks for.
bool lacks_masks(const Op& op, const Target& target);
// How many of `most`, `most` / 2, .. times `steps` are a block of so long a row that the last
// block, which starts earlier, has at most one in `few` of the row again; 1 where there are none.
int64_t count_in_block(int64_t length, int64_t steps, int64_t most, int64_t few);
// Vectors of so many lanes along a row; of fewer steps one, with a mask where these would be stored
// in pieces. Without `whole_rows` less of the row may be computed than it has.
void vectorize_row(const Op& op, const Axis& row, int64_t lanes, bool whole_rows,
                   const Target& target, StageSchedule* stage);
// Whether a step of `outer` goes a few elements further in memory, and steps of `inner` lie
// between.
bool steps_within(const Expr& read, const Axis& inner, const Axis& outer);
// Whether vectors along the last axis are loaded from elements that do not lie side by side.
bool reads_apart(const Op& op);
// The lanes of vectors that may be made element by element. More would be no faster, and so many
// instructions that compiling takes long.
int64_t lanes_apart(const Op& op, const Target& target);
// Of vectors without masks, along vector_axis().
int64_t lanes_without_masks(const Op& op, const Target& target);
// How many lines, one for each step along an axis, the first cache holds at a time: all that it
// has, or, where the steps are a multiple of the lines, no more than its ways in each set that they
// meet.
int64_t lines_in_cache(const Op& op, size_t at, const Target& target);
// How many rows are computed together where an operand lies across them: a cache line of f32.
inline constexpr int64_t kBlockedRows = 16;
// Which axis an operand lies along that vectors along the last axis would only gather, when a row
// touches more cache lines of it than stay at hand for the next: each serves several rows, if they
// come one after another. Of a group what any of its members reads.
std::optional<size_t> crosses(const Op& op, const Target& target);
// Whether vectors along the axis are made of a few vectors of memory each.
bool steps_a_little(const Op& op, const Axis& axis);
// Whether they are made element by element: some read is at places that data say, or that lie far
// apart or backwards.
bool steps_far(const Op& op, const Axis& axis);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_VECTOR_LANES_H_
