#ifndef EMULSION_PASSES_DERIVE_SIBLING_LOOPS_H_
#define EMULSION_PASSES_DERIVE_SIBLING_LOOPS_H_

// Which siblings (passes/fuse/find_siblings.h) can share the loops that a target wants, and whether
// it pays: of those that have loops of their own, in no row group, no chain of windows and not
// inlined. The schedule is derive_siblings(), in derive_stage.h.

#include <optional>
#include <string>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/fuse/find_siblings.h"

namespace emulsion {

// Why the loops of these two, for which why_not_siblings() has nothing, are not the same: vectors
// along another axis, rows in blocks for what lies across them, borders that cut a loop of one
// alone; "expected ...", or nothing.
std::optional<std::string> why_not_share_loops(const Op& first, const Op& sibling,
                                               const Target& target);

// Nothing where it pays, and no function of many instructions (exp) takes longer than what is read:
// half of what the sibling reads for each point, or more, is read by the others at the same place,
// loaded once or from a near cache. Or both read an operand that is as large as their results, and
// either that has left the cache before loops of the sibling's own would read it, or the threads
// are woken once instead of twice. A run-time size is taken for large. Else the reason.
std::optional<std::string> why_not_worth_sharing(const SiblingCandidate& candidate,
                                                 const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SIBLING_LOOPS_H_
