#ifndef EMULSION_PASSES_DERIVE_ROW_BLOCKS_H_
#define EMULSION_PASSES_DERIVE_ROW_BLOCKS_H_

// Which contractions read rows that are combined before, as attention does: softmax(q k^T) v. Such
// rows are computed a block at a time, with the products that they are made of, and never stored
// whole. The schedule is derive_row_blocks.cc.

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// Operations of a grouped graph, each read by others of these alone; the last one, `reader`, by the
// outside. Their axes but the last say which row, in the same order.
struct BlockGroup {
  const Op* reader;                 // a contraction, and what is fused onto it
  RowGroup rows;                    // its operand, and what else is computed row by row
  std::vector<const Op*> products;  // contractions that the group reads by rows
  int64_t block;                    // how many rows are computed at a time
};

// All operations of it, the reader first.
std::vector<const Op*> members_of(const BlockGroup& blocks);

// How many rows are computed at a time of a run-time number of them, at most `most`: one register
// tile of every product. What the last block computes for nothing is then least, and where the
// number is large a tile that fits all products counts for more than what blocks of several would
// share.
int64_t block_of_run_time_rows(const std::vector<const Op*>& products, int64_t most,
                               const Target& target);
// Whether a contraction reads rows of it that could be computed by blocks, for all that the two
// tell.
bool may_read_blocks(const Op& producer, const Op& reader, const Target& target);
// The group of these operations, which stand in the order of their graph, the last one the reader;
// nothing when they are none. `taken`: what they read of others.
std::optional<BlockGroup> row_blocks_of(const std::vector<const Op*>& members,
                                        const Readers& readers, const Target& target,
                                        const std::unordered_set<const Op*>& taken);
// Those of a graph for which it pays. No operation is in two, or in one of `taken`.
std::vector<BlockGroup> row_blocks(const Graph& grouped, const Target& target,
                                   const std::unordered_set<const Op*>& taken = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_ROW_BLOCKS_H_
