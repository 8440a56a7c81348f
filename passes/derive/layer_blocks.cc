#include "passes/derive/layer_blocks.h"

#include <algorithm>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// What the operation is a product of, if why_not_layer() says nothing.
Contraction product_of(const Op& layer) { return match_contraction(*sums_of(layer)).value(); }
const Op& layer_before(const Op& layer) { return *product_of(layer).a->tensor; }

int64_t bytes_of_weight(const Op& layer) {
  const Op& weight = *product_of(layer).b->tensor;
  return saturated_product(element_count(weight.shape).value(), size_in_bytes(weight.dtype));
}

int64_t bytes_of_weights(const std::vector<const Op*>& layers) {
  int64_t bytes = 0;
  for (const Op* layer : layers) bytes = std::min(bytes + bytes_of_weight(*layer), INT64_MAX / 2);
  return bytes;
}

// The multiplications of a row.
int64_t work_of_row(const Op& layer) {
  int64_t work = layer.shape.back().constant_term();
  for (const Axis& axis : sums_of(layer)->reduction_axes) {
    work = saturated_product(work, axis.extent().constant_term());
  }
  return work;
}

// How many rows there are; nothing when a run-time size decides.
std::optional<int64_t> rows_of(const Op& layer) {
  return element_count(Shape(layer.shape.begin(), layer.shape.end() - 1));
}

int64_t bytes_of_row(const Op& layer) {
  return saturated_product(layer.shape.back().constant_term(), size_in_bytes(layer.dtype));
}

// Of a known number of rows every thread gets several blocks.
int64_t least_blocks(const Target& target) {
  constexpr int64_t kBlocksForCore = 4;
  return target.cores > 1 ? kBlocksForCore * target.cores : 1;
}

// Of a run-time number of rows, those of the tile that the layer of most work would have by itself:
// of a few rows, or of one, no more is then computed in vain than layer by layer.
int64_t rows_of_tile_apart(const std::vector<const Op*>& layers, const Target& target) {
  constexpr int64_t kMost = 8;
  const auto longest = std::max_element(layers.begin(), layers.end(), [](const Op* a, const Op* b) {
    return work_of_row(*a) < work_of_row(*b);
  });
  const RegisterTile apart =
      register_tile_of(*sums_of(**longest), std::nullopt, true, std::nullopt, target);
  return std::min(kMost, apart.rows);
}

const Extent& rows_in_blocks(const std::vector<const Op*>& layers) {
  const Shape& shape = layers.front()->shape;
  return shape[shape.size() - 2];
}

// The most of which a row of each layer, beside the weights, stays in the second cache.
int64_t most_rows_at_a_time(const std::vector<const Op*>& layers, const Target& target) {
  constexpr int64_t kMost = 48;
  int64_t bytes = 0;
  for (const Op* layer : layers) bytes += bytes_of_row(*layer);
  return std::clamp<int64_t>(target.l2_bytes / 4 / bytes, 1, kMost);
}

// How many of `rows` are computed at a time, `most` or less: enough that the weights, which come
// from a cache, are read for many of them, and a whole number of register tiles, if that leaves not
// too much over at the end.
int64_t block_of_rows(const std::vector<const Op*>& layers, int64_t rows, int64_t most,
                      const Target& target) {
  constexpr int64_t kWeights = 2;  // reading them costs as much as that many rows
  int64_t best = most;
  double least_cost = 0;
  for (int64_t block = most; block > most / 2; --block) {
    double cost = 0;
    for (const Op* layer : layers) {
      const int64_t tile = tile_of_block(*sums_of(*layer), block, target).rows;
      const int64_t computed = (block + tile - 1) / tile * tile;
      cost += static_cast<double>(work_of_row(*layer)) * static_cast<double>(computed + kWeights);
    }
    const int64_t blocks = (rows + block - 1) / block;
    cost *= static_cast<double>(blocks);
    if (block != most && cost >= least_cost) continue;
    best = block;
    least_cost = cost;
  }
  return best;
}

int64_t choose_block(const std::vector<const Op*>& layers, const Target& target) {
  const std::optional<int64_t> rows = rows_in_blocks(layers).as_constant();
  if (!rows) return block_of_run_time_rows(layers, rows_of_tile_apart(layers, target), target);
  int64_t most = most_rows_at_a_time(layers, target);
  if (const auto all = rows_of(*layers.front())) most = std::min(most, *all / least_blocks(target));
  return block_of_rows(layers, *rows, std::clamp<int64_t>(most, 1, *rows), target);
}

// Of a run-time number of rows, where there are many, the rows of several tiles. Else each tile
// reads all weights again, from the second cache where the first one does not hold them. Of the
// last block more may be computed than there is: of so many blocks that is little.
std::optional<ManyRowsOfLayers> choose_many(const std::vector<const Op*>& layers, int64_t block,
                                            const Target& target) {
  constexpr int64_t kBlocks = 8, kRows = 1 << 20;
  if (rows_in_blocks(layers).as_constant()) return std::nullopt;
  if (bytes_of_weights(layers) <= target.l1_bytes) return std::nullopt;
  const int64_t many = block_of_rows(layers, kRows, most_rows_at_a_time(layers, target), target);
  if (many < 2 * block) return std::nullopt;
  return ManyRowsOfLayers{many, many * std::max(kBlocks, least_blocks(target))};
}

// Every block reads all weights again: from the second cache, or for blocks of many rows from the
// third, that costs next to nothing, for they are read while register tiles are computed. A block
// of a run-time number of rows may be one tile.
std::optional<std::string> why_not_cached(const std::vector<const Op*>& layers,
                                          const Target& target) {
  const int64_t bytes = bytes_of_weights(layers);
  const bool known = rows_of(*layers.front()).has_value();
  const int64_t most = known ? std::min(saturated_product(4, target.l2_bytes), target.l3_bytes / 4)
                             : target.l2_bytes / 2;
  if (bytes <= most) return std::nullopt;
  return fmt::format("expected weights of at most {} bytes from {} to {}, {}, got {}", most,
                     layers.back()->name, layers.front()->name,
                     known ? "four L2 caches or a quarter of the L3 cache" : "half of the L2 cache",
                     bytes);
}

// What may hold of some of these layers and not of all.
std::optional<std::string> why_not_together(const std::vector<const Op*>& layers,
                                            const Target& target) {
  if (auto reason = why_not_cached(layers, target)) return reason;
  if (target.cores == 1 || rows_of(*layers.front())) return std::nullopt;
  // Alone, a layer of a few rows has work for the threads in its columns, and wider register tiles.
  for (const Op* layer : layers) {
    if (work_of_row(*layer) < kProductsOfRow) continue;
    return fmt::format("expected a row of {} to be too little for several threads", layer->name);
  }
  return std::nullopt;
}

// What holds of all layers, or of no part of them.
std::optional<std::string> why_not_enough(const std::vector<const Op*>& layers,
                                          const Target& target) {
  constexpr int64_t kRowsOfBlock = 8;
  const std::optional<int64_t> rows = rows_of(*layers.front());
  if (!rows) return std::nullopt;
  int64_t most = 0;
  for (size_t i = 1; i < layers.size(); ++i) {
    most = std::max(most, saturated_product(*rows, bytes_of_row(*layers[i])));
  }
  if (most <= target.l2_bytes) {
    return fmt::format(
        "expected more than {} bytes, which the L2 cache holds, between {} and {}, got {}",
        target.l2_bytes, layers.back()->name, layers.front()->name, most);
  }
  const int64_t least = kRowsOfBlock * least_blocks(target);
  if (*rows >= least) return std::nullopt;
  return fmt::format("expected at least {} rows of {} for {} threads, got {}", least,
                     layers.front()->name, target.cores, *rows);
}

class LayerFinder {
 public:
  LayerFinder(const Readers& readers, const Target& target, std::unordered_set<const Op*> taken)
      : readers_(readers), target_(target), taken_(std::move(taken)) {}

  std::optional<LayerBlocks> ending_in(const Op& last) {
    if (taken_.count(&last) || why_not_layer(last, target_)) return std::nullopt;
    std::vector<const Op*> layers = {&last};
    while (layers.size() < kMostLayers) {
      const Op& before = layer_before(*layers.back());
      if (!goes_before(before, layers)) break;
      layers.push_back(&before);
      if (auto reason = why_not_together(layers, target_)) {
        layers.pop_back();
        declined_.push_back({&before, layers.back(), *reason});
        break;
      }
    }
    if (layers.size() < 2) return std::nullopt;
    if (auto reason = why_not_enough(layers, target_)) {
      for (size_t i = layers.size() - 1; i > 0; --i) {
        declined_.push_back({layers[i], layers[i - 1], *reason});
        taken_.insert(layers[i - 1]);  // nothing that ends in it is enough
      }
      return std::nullopt;
    }
    taken_.insert(layers.begin(), layers.end());
    inside_.insert(layers.begin() + 1, layers.end());
    const int64_t block = choose_block(layers, target_);
    const auto many = choose_many(layers, block, target_);
    return LayerBlocks{std::move(layers), block, many};
  }

  // One for each layer that is in no block of its reader: what was said of it last.
  std::vector<DeclinedLayer> declined() const {
    std::vector<DeclinedLayer> once;
    std::unordered_set<const Op*> said = inside_;
    for (auto next = declined_.rbegin(); next != declined_.rend(); ++next) {
      if (said.insert(next->layer).second) once.push_back(*next);
    }
    return once;
  }

 private:
  // A chain of any length is derived and lowered in time that grows with it, group by group.
  static constexpr size_t kMostLayers = 16;

  bool goes_before(const Op& before, const std::vector<const Op*>& layers) const {
    const auto reads_rows = [&](const Op& other) {
      return std::count(layers.begin(), layers.end(), &other) > 0 &&
             !why_not_same_rows(before, other, other.shape.size() - 1);
    };
    return taken_.count(&before) == 0 && !why_not_next_layer(before, *layers.back(), target_) &&
           !readers_.why_not_only(before, reads_rows);
  }

  const Readers& readers_;
  const Target& target_;
  std::unordered_set<const Op*> taken_, inside_;
  std::vector<DeclinedLayer> declined_;
};

// Whether an exponential or the like is computed in tiles a third of whose lanes are empty, or
// more. By itself it goes through several rows with each vector.
bool has_empty_lanes(const Op& op, const Target& target) {
  const std::optional<int64_t> columns = op.shape.back().as_constant();
  const int64_t lanes = target.vector_lanes(op.dtype);
  return columns && takes_series(op) &&
         2 * ((*columns + lanes - 1) / lanes * lanes) >= 3 * *columns;
}

}  // namespace

const std::vector<const Op*>& members_of(const LayerBlocks& blocks) { return blocks.layers; }

std::optional<std::string> why_not_layer(const Op& op, const Target& target) {
  if (!is_computed(op)) return fmt::format("expected {} to be computed", op.name);
  if (!fits_one_expression(op)) {
    return fmt::format("expected {} to be a group that fits one expression", op.name);
  }
  const Op* sums = sums_of(op);
  if (sums == nullptr || classify(*sums) != OpClass::contraction) {
    return fmt::format("expected {} to be a product", op.name);
  }
  if (sums->shape != op.shape) {
    return fmt::format("expected {} to have the shape of its sums", op.name);
  }
  if (!has_rows_for_tiles(*sums, target)) {
    return fmt::format(
        "expected {} to be computed in register tiles of rows, its last axis but one", op.name);
  }
  if (has_empty_lanes(op, target)) {
    return fmt::format("expected full vectors of the columns of {}, which take a function, got {}",
                       op.name, op.shape.back().to_string());
  }
  const Contraction c = match_contraction(*sums).value();
  if (!packs_columns(*sums, c)) {
    return fmt::format("expected {} to be a product of a weight that is packed", op.name);
  }
  bool known = element_count(c.b->tensor->shape).has_value();
  for (const Axis& axis : sums->reduction_axes) known = known && axis.extent().is_constant();
  if (!known) return fmt::format("expected {} to have a weight of a known size", op.name);
  for (size_t i = 0; i + 1 < sums->axes.size(); ++i) {
    const bool has_row = std::any_of(c.b->args.begin(), c.b->args.end(), [&](const Expr& index) {
      return mentions(index, sums->axes[i].name());
    });
    if (!has_row) continue;
    return fmt::format("expected {} to have one weight for all rows, got another at each {}",
                       op.name, sums->axes[i].name());
  }
  return std::nullopt;
}

std::optional<std::string> why_not_next_layer(const Op& layer, const Op& reader,
                                              const Target& target) {
  for (const Op* op : {&layer, &reader}) {
    if (auto reason = why_not_layer(*op, target)) return reason;
  }
  if (layer.shape.size() != reader.shape.size()) {
    return fmt::format("expected {} to have {}, as {} has, got {}", layer.name,
                       count_text(reader.shape.size(), "axis", "axes"), reader.name,
                       layer.shape.size());
  }
  if (&layer_before(reader) != &layer) {
    return fmt::format("expected {} to be a product of {}", reader.name, layer.name);
  }
  return why_not_same_rows(layer, reader, reader.shape.size() - 1);
}

std::optional<std::string> why_not_worth_blocks(const std::vector<const Op*>& layers,
                                                const Target& target) {
  if (auto reason = why_not_together(layers, target)) return reason;
  return why_not_enough(layers, target);
}

std::optional<LayerBlocks> layer_blocks_of(const std::vector<const Op*>& members,
                                           const Readers& readers, const Target& target,
                                           const std::unordered_set<const Op*>& taken) {
  return LayerFinder(readers, target, taken).ending_in(*members.back());
}

std::vector<LayerBlocks> layer_blocks(const Graph& grouped, const Target& target,
                                      const std::unordered_set<const Op*>& taken,
                                      std::vector<DeclinedLayer>* declined) {
  const Readers readers(grouped);
  LayerFinder finder(readers, target, taken);
  std::vector<LayerBlocks> found;
  for (auto next = grouped.ops().rbegin(); next != grouped.ops().rend(); ++next) {
    if (auto blocks = finder.ending_in(**next)) found.push_back(std::move(*blocks));
  }
  if (declined != nullptr) *declined = finder.declined();
  return found;
}

namespace {

// With so many rows at a time.
void derive_blocks_of(int64_t rows, const LayerBlocks& blocks, const Target& target,
                      const DeriveOptions& options, Schedule* schedule) {
  const auto group_of = [&](const Op& layer) {
    inline_members(layer, sums_of(layer), schedule);
    return ContractionGroup{sums_of(layer), &result_of(layer)};
  };
  int64_t work = 1;
  for (const Op* layer : blocks.layers) work += work_of_row(*layer);
  const Op& last = *blocks.layers.front();
  // Where all layers of some rows are enough for the threads, the last one alone is a part of that.
  const double part = static_cast<double>(work_of_row(last)) / static_cast<double>(work);
  const BlockLoops loops =
      derive_reader_of_blocks(group_of(last), rows, target, options, schedule, {part});
  for (size_t i = 1; i < blocks.layers.size(); ++i) {
    derive_product_in_blocks(group_of(*blocks.layers[i]), loops, target, options, schedule);
  }
}

}  // namespace

void derive_layer_blocks(const LayerBlocks& blocks, const Target& target,
                         const DeriveOptions& options, Schedule* schedule) {
  const Op& last = result_of(*blocks.layers.front());
  if (!blocks.many || !can_have_ways(last, *schedule)) {
    return derive_blocks_of(blocks.block, blocks, target, options, schedule);
  }
  DeriveOptions same_layout = options;
  keep_layout(*schedule, &same_layout);  // of weights that others packed
  Schedule fewer = schedule->without_directives();
  derive_blocks_of(blocks.block, blocks, target, same_layout, &fewer);
  keep_layout(fewer, &same_layout);
  const Expr rows = extent_value(rows_in_blocks(blocks.layers));
  AlternativeWay many{"_many", rows >= int_constant(blocks.many->least),
                      schedule->without_directives()};
  derive_blocks_of(blocks.many->block, blocks, target, same_layout, &many.schedule);
  add_ways(last, {many}, fewer, schedule);
}

}  // namespace emulsion
