#ifndef EMULSION_PASSES_DERIVE_LOOP_GROUPS_H_
#define EMULSION_PASSES_DERIVE_LOOP_GROUPS_H_

// The loop groups of a graph (dsl/graph.h) as derive_schedule() needs them: of each kind those that
// there are, with what the kind's own header says of them. Private to passes/derive/.

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/column_groups.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/layer_blocks.h"
#include "passes/derive/read_through.h"
#include "passes/derive/row_blocks.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/waiting_sums.h"
#include "passes/derive/window_chains.h"
#include "passes/fuse/fusion_report.h"
#include "passes/fuse/loop_policy.h"

namespace emulsion {

// Operations of a graph as read_through() gave it.
struct LoopGroups {
  std::vector<WindowChain> windows;
  std::vector<BlockGroup> blocks;
  std::vector<LayerBlocks> layers;
  std::vector<ColumnGroup> columns;
  std::vector<RowGroup> rows;
  std::vector<RowGroup> small;  // of few elements each (small_rows.h)
  std::vector<WaitingSums> sums;
};

// Operations of a loop group, and the positions of their axes that say which part.
using MemberAxes = std::unordered_map<const Op*, std::vector<size_t>>;
// Why an operation cannot be computed in the loops of a group of that kind, with these members:
// "expected ...", or nothing. Whether all of them together can, and whether it pays, is said by the
// functions that build them.
std::optional<std::string> why_not_in_loops(const Op& producer, LoopGroupKind kind,
                                            const MemberAxes& members, const Readers& readers,
                                            const Target& target);

// Those that `shared` carries; `through` is that graph after read_through(). Error: one that cannot
// be a group, or for which it does not pay on the target.
LoopGroups read_loop_groups(const Graph& shared, const ReadThrough& through, const Target& target);

// What a policy says of an operation that could be read through, by that pattern.
std::optional<FusionRefusal> unwanted_through(const std::string& pattern, const Op& op,
                                              const LoopPolicy& policy);
// Whether a policy wants operations, by that pattern, in loops of the first of them. Adds a
// decision on each of the others.
bool wanted_in_loops(const std::string& pattern, const std::vector<const Op*>& operations,
                     const LoopPolicy& policy, std::vector<FusionDecision>* decisions);
// What is computed inline of a graph of which `done` has its loops: moves, but for one in a window
// of its readers, and what turns a weight that is packed.
std::set<std::string> inlined_moves(const ReadThrough& through,
                                    const std::unordered_set<const Op*>& done);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_LOOP_GROUPS_H_
