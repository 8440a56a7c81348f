#ifndef EMULSION_PASSES_DERIVE_WAITING_SUMS_H_
#define EMULSION_PASSES_DERIVE_WAITING_SUMS_H_

// Which sums can be in registers, a tile of them at a time, while what alone reads them is computed
// there: a mean, which divides them. The schedule is derive_contraction or derive_shared_sums, in
// derive_stage.h.

#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/values_in_sums.h"

namespace emulsion {

// Operations of a grouped graph; the sums, one or several that can wait together, are read by the
// other one alone.
struct WaitingSums {
  std::vector<const Op*> sums;
  const Op* reader;
};

// All operations of it, the reader first.
std::vector<const Op*> members_of(const WaitingSums& waiting);

// Whether sums that have no register tiles can be in registers while `result`, which reads them at
// its own places, is computed.
bool can_wait_in_vectors(const Op& sums, const Op& result, const Target& target);
// The same of any sums but those of two operands: what is fused onto these is decided already.
bool can_wait_in_registers(const Op& sums, const Op& result, const Target& target);
// Whether several sums can, which wait for the same: those of short windows, of which each is
// computed a vector at a time. What they read in common is then read once.
bool can_wait_together(const std::vector<const Op*>& sums, const Target& target);
// Whether sums can wait for the same reader when they compute values that they read: more work, for
// which threads may share the rows.
bool can_wait_with(const ValuesInSums& values, const WaitingSums& waiting, const Target& target);
// Why sums cannot wait there for `reader`: "expected ...", or nothing.
std::optional<std::string> why_not_wait(const Op& sums, const Op& reader, const Target& target);
// Those of a graph, in its order.
std::vector<WaitingSums> waiting_sums(const Graph& grouped, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_WAITING_SUMS_H_
