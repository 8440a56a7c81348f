#ifndef EMULSION_PASSES_DERIVE_SIBLING_LOOPS_H_
#define EMULSION_PASSES_DERIVE_SIBLING_LOOPS_H_

// Which siblings (passes/fuse/find_siblings.h) can share the loops that a target wants, and whether
// it pays: of those that have loops of their own, in no row group, no chain of windows and not
// inlined. The schedule is derive_siblings(), in derive_stage.h.

#include <optional>
#include <string>
#include <unordered_set>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/fuse/find_siblings.h"

namespace emulsion {

// Why the loops of these two, for which why_not_siblings() has nothing, are not the same: vectors
// along another axis, rows in blocks for what lies across them, borders that cut a loop of one
// alone; "expected ...", or nothing.
std::optional<std::string> why_not_share_loops(const Op& first, const Op& sibling,
                                               const Target& target);

// Nothing where it pays: an operand as large as the results is read once; and that would not be in
// a cache any more when the sibling's own loops read it, or the threads are woken once instead of
// twice. What a run-time size decides is taken for large. Else the reason.
std::optional<std::string> why_not_worth_sharing(const SiblingCandidate& candidate,
                                                 const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SIBLING_LOOPS_H_
