#include "passes/rewrite/clean_up.h"

#include "dsl/error.h"
#include "passes/rewrite/fold_constants.h"
#include "passes/rewrite/merge_common_ops.h"
#include "passes/rewrite/remove_dead_ops.h"
#include "passes/rewrite/simplify_values.h"

namespace emulsion {

Graph clean_up(const Graph& graph) {
  Graph result = graph;
  // Each round that changes something takes an operation of a body, or a whole one, away.
  constexpr int kMostRounds = 1000;
  for (int round = 0; round < kMostRounds; ++round) {
    Graph next = simplify_values(result);
    next = fold_constants(next);
    next = merge_common_ops(next);
    next = remove_dead_ops(next);
    if (next.ops() == result.ops()) return result;
    result = next;
  }
  EMULSION_CHECK(false, "no end after {} rounds", kMostRounds);
  return result;
}

}  // namespace emulsion
