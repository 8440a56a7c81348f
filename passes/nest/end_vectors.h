#ifndef EMULSION_PASSES_NEST_END_VECTORS_H_
#define EMULSION_PASSES_NEST_END_VECTORS_H_

// Vectors across the rows of a region, or through several of them, that end where the domain ends:
// what end_at_domains (end_at_domains.h) is for loops over one row after another. The last vector
// may be beyond the end in part, so that it gets a mask; what it reads needs no row beyond either.
//
//   for m.i in 2: vectorized m.lane in 16        for m.i in (B % 32 + 15) / 16: vectorized m.lane
//     execute m[i] = s[i] / 9                      execute m[i] = s[i] / 9  if i < B (masked)

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Vectors that go across rows, which are the steps along an axis of a stage.
struct VectorsAcross {
  size_t axis = 0;
  // The split whose inner loop is the rows, of the stage's own tiles; null: all of its region.
  const LoopTransform* tile = nullptr;
  std::string outer, vector;  // the loop over them, and that of the lanes
  int64_t lanes = 1;
  int64_t of_row = 1;  // elements of a row that they go through: fused with the axis behind it

  // How many vectors there are of so many rows.
  Expr vectors_of(const Expr& rows) const;
};
// Nothing where the stage has other loops. `extents`: of its axes there.
std::optional<VectorsAcross> vectors_across(const Stage& stage, size_t axis,
                                            const LoopTransform* tile,
                                            const std::vector<Expr>& extents);
// The same of the tiles of a stage that the loop `outer` goes over, and whose last one has guards.
std::optional<VectorsAcross> vectors_across_tiles(const Stage& stage, const std::string& outer);

struct EndedVectors {
  NodePtr body;
  std::map<std::string, size_t>
      masked;  // by stage, the axis of the rows beyond which none is there
};
// The body of a loop that takes at most one step, at which `variable` is `step` (over run-time
// sizes). The same node where no vectors can end earlier: those of an internal stage that combines
// nothing and is allocated in the body, or of the loop's own stage, along an axis that is split, or
// fused with the one behind it and split. `whole`: stages that somebody reads beyond their domain.
EndedVectors end_vectors(const LoopNest& nest, const NodePtr& body, const std::string& variable,
                         const Expr& step, const std::set<std::string>& whole = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_END_VECTORS_H_
