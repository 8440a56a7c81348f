#ifndef EMULSION_PASSES_DERIVE_LAYER_BLOCKS_H_
#define EMULSION_PASSES_DERIVE_LAYER_BLOCKS_H_

// Which products follow one another by rows, as the layers of an MLP do. A block of rows goes
// through all of them before the next one does, so that no more than a block of what is between two
// layers is ever stored. It pays where that would go through memory, and where the weights, which
// every block reads again, stay in a cache. Of a run-time number of rows a block is one register
// tile, or several where a call has many rows. The schedule is derive_layer_blocks().

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {

// Where a call has as many rows as `least`, `block` of them are computed at a time.
struct ManyRowsOfLayers {
  int64_t block, least;
};

// Operations of a grouped graph: products of a weight, each with what is fused onto it, and each
// but the first a product of the one before. All but the last are read by others of these alone.
// Their axes but the last say which row, in the same order.
struct LayerBlocks {
  std::vector<const Op*> layers;  // the last one first, each behind all that read it
  int64_t block;                  // how many rows are computed at a time
  std::optional<ManyRowsOfLayers> many = std::nullopt;
};

// A layer that could be computed in the blocks of the one that reads it, and is not.
struct DeclinedLayer {
  const Op *layer, *reader;
  std::string reason;
};

const std::vector<const Op*>& members_of(const LayerBlocks& blocks);

// Why an operation is no layer whose rows are computed by blocks: "expected ...", or nothing.
std::optional<std::string> why_not_layer(const Op& op, const Target& target);
// Why the rows of `reader` are not made of the rows of `layer` alone: the same, whoever else reads
// that.
std::optional<std::string> why_not_next_layer(const Op& layer, const Op& reader,
                                              const Target& target);
// Why it does not pay to compute these by blocks, which stand as in LayerBlocks.
std::optional<std::string> why_not_worth_blocks(const std::vector<const Op*>& layers,
                                                const Target& target);

// The layers of these operations, which stand in the order of their graph; nothing when they are
// none, or when it does not pay. `taken`: what they read of others.
std::optional<LayerBlocks> layer_blocks_of(const std::vector<const Op*>& members,
                                           const Readers& readers, const Target& target,
                                           const std::unordered_set<const Op*>& taken);
// Those of a graph, from its end on. No operation is in two, or in one of `taken`.
std::vector<LayerBlocks> layer_blocks(const Graph& grouped, const Target& target,
                                      const std::unordered_set<const Op*>& taken = {},
                                      std::vector<DeclinedLayer>* declined = nullptr);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_LAYER_BLOCKS_H_
