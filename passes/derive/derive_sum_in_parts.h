#ifndef EMULSION_PASSES_DERIVE_DERIVE_SUM_IN_PARTS_H_
#define EMULSION_PASSES_DERIVE_DERIVE_SUM_IN_PARTS_H_

// Threads for sums, maxima and the like of a whole tensor, and of its columns. Private to
// passes/derive/.

#include <functional>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// A sum of everything has no axis that threads could share: they share parts of its outermost one,
// of a known length, equal ones where it can be cut so.
//   s = sum({r0, r1}, e)  ->  parallel block: parts[block] = sum({r0, r1}, e), in lanes;
//                             s = sum(block, parts)
// False of another sum, of what is too little for threads, and of a run-time length.
bool derive_sum_in_parts(const Op& op, const Target& target, Schedule* schedule);

// `reader` derives the loops of what reads the sums, where these are in parts; nothing where none
// does. `otherwise` derives the loops of the sums and of what reads them, where these are whole.
struct PartsOrNot {
  std::function<void(Schedule*)> reader, otherwise;
};

// Sums of everything, or of few columns, over a run-time length. `reader`, an operation or a group,
// is the only one to read them, or is them.
//   if R >= 65536: parallel block: parts[block, c] = sum(r, e); y[c] = f(sum(block, parts))
//   else: y[c] = f(sum(r, e))
// False of other sums, and of a result that is no output: what others read has one way alone.
bool derive_parts_of_much(const Op& sums, const Op& reader, const Target& target,
                          const PartsOrNot& derive, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_SUM_IN_PARTS_H_
