#ifndef EMULSION_PASSES_DERIVE_READ_BORDERS_H_
#define EMULSION_PASSES_DERIVE_READ_BORDERS_H_

// Operations that have borders (concat, pad) need not be stored for elementwise readers. A reader
// chooses itself, and its loops are cut at the borders, as loops of the operation would be:
//
//   c = select(i < 24, a[min(i, 23), j], b[max(i - 24, 0), j]);  y = max(c, 0)
//     ->  for i in 24: y = max(a[i, j], 0);  for i in 24 .. +40: y = max(b[i - 24, j], 0)
//
// It saves a store and a load of each element, and adds no comparison where the loops are cut.
// A sum would compare at each of its steps, so its operands stay stored. What chooses among values
// that it computes (read_through() gave it those) is read once. Private to passes/derive/.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// Why `op` has no borders that a reader could choose by: by comparisons with one axis each it
// chooses among elements of other tensors, numbers, and what it computes of these. "expected ...",
// or nothing.
std::optional<std::string> why_not_borders(const Op& op);

// Why `reader`, an operation or a group that reads `op`, for which why_not_borders() has nothing,
// cannot choose itself: it reads each element at a place that its own axes say, and together they
// are an expression of a sane size.
std::optional<std::string> why_not_choose(const Op& op, const Op& reader);

// The rewrite: what the reader computes as one operation, with all of `inlined`, each behind what
// reads it, and the members of a group, written out in it.
OpPtr written_out(const Op& reader, const std::vector<const Op*>& inlined);

// The policy: why `reader`, which chooses among what `op` reads and is `chooses` then, would not be
// faster on the target. It has sums, or not all of its loops would be cut at the borders, or
// vectors would not be of neighbours.
std::optional<std::string> why_not_worth_choosing(const Op& op, const Op& reader, const Op& chooses,
                                                  const Target& target);

struct ReadBorders {
  std::set<std::string> inlined;  // operations that are stored nowhere
  // What their readers, operations of the graph, compute.
  std::unordered_map<const Op*, OpPtr> readers;
  std::map<std::string, FusionRefusal> refused;  // those that stay stored, by name
};

// Whether `reader` would choose itself among what all of these read, which nothing else reads.
// Then no window of their rows is worth anything.
bool chooses_all(const std::vector<const Op*>& ops, const Op& reader, const Target& target);

// Those of a graph as read_through() gave it, in which the operations in `done` have loops already.
// All readers of one have to choose. `unwanted` is asked of each that is legal and worth it.
ReadBorders read_borders(
    const Graph& grouped, const Target& target, const std::unordered_set<const Op*>& done,
    const std::function<std::optional<FusionRefusal>(const Op& op)>& unwanted = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_READ_BORDERS_H_
