#ifndef EMULSION_PASSES_DERIVE_SUMS_IN_PARTS_H_
#define EMULSION_PASSES_DERIVE_SUMS_IN_PARTS_H_

// Sums, maxima and the like of which each thread computes a part: the outermost axis of what is
// summed up is cut into parts. Private to passes/derive/.

#include <cstdint>
#include <optional>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// An axis is cut into `count` parts of `steps` each, of which the last one may have fewer; one of a
// run-time length into rounds of so many parts, again and again.
//   r  ->  block * steps + r          r  ->  round * count * steps + block * steps + r
struct PartSizes {
  int64_t count, steps;
};

struct SumsInParts {
  Op part;     // the sums of a part; its first axis says of which
  Axis block;  // that axis, which threads share
  // Of the stage that sums a part up: the loop whose last steps may be outside.
  std::optional<Axis> uneven;
};

// Adds the stage of the parts, in whose memory the parts are the last axis.
//   s = sum({r0, r1}, e)  ->  parts[.., block] = sum({r0, r1}, e); s = sum(block, parts)
// `op`: with the axes that its loops have by now.
SumsInParts cut_in_parts(const Op& op, const PartSizes& sizes, Schedule* schedule);

// How many elements are summed up in each step of the outermost axis; nothing where no number says
// so.
std::optional<int64_t> elements_of_step(const Op& op);
// Of an outermost axis of a run-time length; nothing where the elements of a step are not known.
std::optional<PartSizes> parts_of_rounds(const Op& op, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SUMS_IN_PARTS_H_
