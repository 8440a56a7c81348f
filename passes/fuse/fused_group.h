#ifndef EMULSION_PASSES_FUSE_FUSED_GROUP_H_
#define EMULSION_PASSES_FUSE_FUSED_GROUP_H_

// The pieces of which the passes of this folder make groups, and groups taken apart again.

#include <unordered_map>
#include <vector>

#include "dsl/graph.h"

namespace emulsion {

bool is_computed(const Op& op);  // compute or fused
// A comprehension alone, or the members of a group.
std::vector<OpPtr> comprehensions(const OpPtr& op);

// What took the place of operations.
using Replaced = std::unordered_map<const Op*, OpPtr>;

// `op` reading what took the place of its operands.
OpPtr rewired(const OpPtr& op, const Replaced& replaced);
// Appends the comprehensions of `op` to `members`, rewired, and lets whoever reads `op` next read
// the last of them.
void append_members(const OpPtr& op, std::vector<OpPtr>* members, Replaced* replaced);
// The group of these, in topological order: named as the last one, whose value is its own.
OpPtr make_group(std::vector<OpPtr> members);

// The graph in which every group stands as its members, one after another, and no loops are shared.
Graph unfuse(const Graph& graph);

// The graph with these loop groups (dsl/graph.h) and no others; members of one stand together. What
// they promise of one another (verify_graph) is checked.
Graph with_loop_groups(const Graph& graph, const std::vector<LoopGroup>& groups);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSED_GROUP_H_
