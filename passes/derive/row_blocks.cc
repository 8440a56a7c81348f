#include "passes/derive/row_blocks.h"

#include <algorithm>
#include <utility>

#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

int64_t parts_of(int64_t all, int64_t part) { return (all + part - 1) / part; }

// A contraction by itself, or with what is fused onto it; null of anything else.
const Op* contraction_of(const Op& op, const Target& target) {
  if (!is_computed(op) || !fits_one_expression(op)) return nullptr;
  const Op* sums = sums_of(op);
  if (sums == nullptr || !has_blocks_of_rows(*sums, target)) return nullptr;
  return sums->shape == op.shape ? sums : nullptr;
}

// The bytes of a row of everything that is stored; nothing when a run-time size decides.
std::optional<int64_t> bytes_of_row(const BlockGroup& blocks) {
  std::vector<const Op*> stored = blocks.products;
  stored.push_back(&blocks.rows.reader());
  int64_t bytes = 0;
  for (const Op* op : stored) {
    const std::optional<int64_t> elements = elements_from(*op, blocks.rows.axes().size());
    if (!elements) return std::nullopt;
    bytes += saturated_product(*elements, size_in_bytes(op->dtype));
  }
  return bytes;
}

// How many rows it takes as long to compute as the tiles of a block, on average of all products.
double rows_of_tiles(const BlockGroup& blocks, int64_t block, const Target& target) {
  std::vector<const Op*> products = blocks.products;
  products.push_back(blocks.reader);
  double rows = 0;
  for (const Op* product : products) {
    const RegisterTile tile = tile_of_block(*sums_of(*product), block, target);
    const int64_t columns = product->shape.back().as_constant().value_or(tile.columns);
    const int64_t points =
        parts_of(block, tile.rows) * tile.rows * parts_of(columns, tile.columns) * tile.columns;
    rows += static_cast<double>(points) / static_cast<double>(columns);
  }
  return rows / static_cast<double>(products.size());
}

// What is outside of the rows (heads); nothing when a run-time size decides.
std::optional<int64_t> outer_points(const Op& reader) {
  return element_count(Shape(reader.shape.begin(), reader.shape.end() - 2));
}

// How many rows are computed at a time: enough that what they share is read from a cache several
// times, few enough that they stay in one, and a whole number of register tiles, if that leaves not
// too much over at the end. Of very long rows a few are better than all, too.
int64_t choose_block(const BlockGroup& blocks, const Target& target) {
  constexpr int64_t kMost = 128, kMostForThreads = 36, kLeast = 8;
  constexpr double kShared = 4;  // what they share costs as much as that many rows
  constexpr double kSecondCache = 1.05;
  const std::optional<int64_t> rows =
      blocks.reader->shape[blocks.rows.axes().size() - 1].as_constant();
  if (!rows) {
    std::vector<const Op*> products = blocks.products;
    products.push_back(blocks.reader);
    // Masks of the last panel and constants live in registers across a tile; of 16 registers a tile
    // of six rows leaves them none, and LLVM then keeps one of its sums in memory.
    return block_of_run_time_rows(products, target.vector_registers() >= 32 ? 8 : 5, target);
  }
  const std::optional<int64_t> bytes = bytes_of_row(blocks);
  const std::optional<int64_t> outer = outer_points(*blocks.reader);
  const bool by_outer = target.cores == 1 || outer.value_or(target.cores) >= target.cores;
  int64_t most = std::min(by_outer && bytes ? kMost : kMostForThreads, *rows);
  const int64_t least = std::min(kLeast, most);
  if (bytes) most = std::clamp(target.l2_bytes / 4 / std::max<int64_t>(*bytes, 1), least, most);
  int64_t best = 0;
  double least_cost = 0;
  for (int64_t block = most; block >= least; --block) {
    const double computed = rows_of_tiles(blocks, block, target);
    double cost = static_cast<double>(parts_of(*rows, block)) *
                  (computed + static_cast<double>(block) + kShared);
    if (bytes && saturated_product(block, *bytes) > target.l1_bytes / 2) cost *= kSecondCache;
    if (best != 0 && cost >= least_cost) continue;
    best = block;
    least_cost = cost;
  }
  return best;
}

class BlockFinder {
 public:
  // `all`: among which a group is looked for, in the order of their graph.
  BlockFinder(std::vector<const Op*> all, const Readers& readers, const Target& target,
              const std::unordered_set<const Op*>& taken)
      : all_(std::move(all)), readers_(readers), target_(target), taken_(taken) {}

  std::vector<BlockGroup> find() {
    std::vector<BlockGroup> found;
    for (const Op* op : all_) {
      std::optional<BlockGroup> blocks = at(*op);
      if (!blocks) continue;
      const std::vector<const Op*> members = members_of(*blocks);
      taken_.insert(members.begin(), members.end());
      found.push_back(std::move(*blocks));
    }
    return found;
  }

  // The group that ends in an operation.
  std::optional<BlockGroup> at(const Op& reader) const {
    const Op* contraction = taken_.count(&reader) ? nullptr : contraction_of(reader, target_);
    if (contraction == nullptr) return std::nullopt;
    const size_t rows = reader.shape.size() - 1;
    const Op& operand = *match_contraction(*contraction)->a->tensor;
    if (taken_.count(&operand) || why_not_in_rows(operand)) return std::nullopt;
    if (!is_read_by_rows(operand, {&reader}, rows)) return std::nullopt;
    BlockGroup blocks{&reader, {}, {}, 0};
    blocks.rows = build_row_group(operand, first_axes(rows), false, readers_, target_, taken_);
    if (!combines_rows(blocks.rows) || why_not_worth_rows(blocks.rows, target_))
      return std::nullopt;
    add_products(&blocks);
    blocks.block = choose_block(blocks, target_);
    return blocks;
  }

 private:
  bool is_read_by_rows(const Op& producer, const std::unordered_set<const Op*>& by,
                       size_t rows) const {
    const auto is_inside = [&](const Op& reader) {
      return by.count(&reader) > 0 && !why_not_same_rows(producer, reader, rows);
    };
    return !readers_.why_not_only(producer, is_inside) && !readers_.only_readers(producer)->empty();
  }

  // Readers come behind what they read: a product may be read by what is fused onto another.
  void add_products(BlockGroup* blocks) const {
    const size_t rows = blocks->rows.axes().size();
    const std::vector<const Op*> by_rows = members_of(blocks->rows);
    std::unordered_set<const Op*> members(by_rows.begin(), by_rows.end());
    for (auto next = all_.rbegin(); next != all_.rend(); ++next) {
      const Op& op = **next;
      if (taken_.count(&op) || op.shape.size() != rows + 1) continue;
      if (contraction_of(op, target_) == nullptr) continue;
      if (!is_read_by_rows(op, members, rows)) continue;
      blocks->products.push_back(&op);
      members.insert(&op);
    }
  }

  const std::vector<const Op*> all_;
  const Readers& readers_;
  const Target& target_;
  std::unordered_set<const Op*> taken_;
};

}  // namespace

std::vector<const Op*> members_of(const BlockGroup& blocks) {
  std::vector<const Op*> members = {blocks.reader};
  const std::vector<const Op*> by_rows = members_of(blocks.rows);
  members.insert(members.end(), by_rows.begin(), by_rows.end());
  members.insert(members.end(), blocks.products.begin(), blocks.products.end());
  return members;
}

int64_t block_of_run_time_rows(const std::vector<const Op*>& products, int64_t most,
                               const Target& target) {
  constexpr int64_t kLeast = 4;
  for (int64_t block = most; block > kLeast; --block) {
    const bool fits = std::all_of(products.begin(), products.end(), [&](const Op* product) {
      return tile_of_block(*sums_of(*product), block, target).rows == block;
    });
    if (fits) return block;
  }
  return kLeast;
}

bool may_read_blocks(const Op& producer, const Op& reader, const Target& target) {
  const Op* contraction = contraction_of(reader, target);
  if (contraction == nullptr || why_not_in_rows(producer)) return false;
  return match_contraction(*contraction)->a->tensor.get() == &producer &&
         !why_not_same_rows(producer, reader, reader.shape.size() - 1);
}

std::optional<BlockGroup> row_blocks_of(const std::vector<const Op*>& members,
                                        const Readers& readers, const Target& target,
                                        const std::unordered_set<const Op*>& taken) {
  return BlockFinder(members, readers, target, taken).at(*members.back());
}

std::vector<BlockGroup> row_blocks(const Graph& grouped, const Target& target,
                                   const std::unordered_set<const Op*>& taken) {
  std::vector<const Op*> all;
  for (const OpPtr& op : grouped.ops()) all.push_back(op.get());
  const Readers readers(grouped);
  return BlockFinder(std::move(all), readers, target, taken).find();
}

}  // namespace emulsion
