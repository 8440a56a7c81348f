#include "backends/tile_machine/plan/collect_tiles.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "dsl/error.h"
#include "passes/analyse/uop_list.h"

namespace emulsion {
namespace {

// How many of the last tiles of a buffer are looked through for one that holds a smaller box.
constexpr size_t kRecentTiles = 64;

bool has_axis(const Expr& expr) {
  return any_part(expr, [](const Expr& e) { return e->op == ExprOp::axis; });
}

// The axis itself, or the axis clamped to a range.
bool is_axis(const Expr& index, const std::string& axis) {
  if (index->op == ExprOp::axis) return index->name == axis;
  if (index->op != ExprOp::min && index->op != ExprOp::max) return false;
  return (is_axis(index->args[0], axis) && !has_axis(index->args[1])) ||
         (is_axis(index->args[1], axis) && !has_axis(index->args[0]));
}

bool is_copy(const Stage& stage) { return !stage.is_reduction() && stage.body->op == ExprOp::read; }

// A copy at the same indices.
bool is_plain_copy(const Stage& stage) {
  if (!is_copy(stage) || stage.body->args.size() != stage.axes.size()) return false;
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    if (!is_axis(stage.body->args[d], stage.axes[d].name())) return false;
  }
  return true;
}

class Collector {
 public:
  Collector(const LoopNest& nest, const SizeValues& sizes, bool with_works)
      : nest_(nest), list_(nest, sizes), with_works_(with_works) {
    for (const Buffer& buffer : nest.buffers) {
      builder_.add_buffer(buffer.name, size_in_bytes(buffer.dtype),
                          buffer.role == BufferRole::output);
      std::vector<int64_t> shape;
      for (const Extent& extent : buffer.shape) shape.push_back(extent.evaluate(sizes));
      shapes_.push_back(std::move(shape));
      tiles_of_.push_back(static_cast<int32_t>(tiles_of_.size()));
    }
    recent_.resize(nest.buffers.size());
    result_.loaders.assign(nest.buffers.size(), -1);
    find_views();
  }

  NestTiles run() {
    for (const Uop& uop : list_) add(uop);
    result_.program = builder_.take();
    return std::move(result_);
  }

 private:
  bool in_memory(int32_t buffer) const { return list_.in_main_memory(buffer); }

  void find_views() {
    for (size_t s = 0; s < nest_.stages.size(); ++s) {
      const Stage& stage = nest_.stages[s];
      if (!is_copy(stage)) continue;
      const int32_t made = nest_.buffer_position(stage.name);
      const int32_t source = nest_.buffer_position(stage.body->name);
      if (!in_memory(made) && in_memory(source)) {
        if (is_plain_copy(stage)) {
          tiles_of_[made] = source;
        } else {
          result_.loaders[made] = static_cast<int32_t>(s);
        }
      } else if (in_memory(made) && !in_memory(source) && is_plain_copy(stage) &&
                 tiles_of_[source] == source && result_.loaders[source] == -1) {
        tiles_of_[source] = made;
      }
    }
  }

  // The part of a region inside the buffer's shape; nothing when that is empty.
  std::optional<TileBox> box_of(const UopRegion& region) const {
    TileBox box;
    box.buffer = static_cast<BufferId>(tiles_of_[static_cast<size_t>(region.buffer)]);
    const std::vector<int64_t>& shape = shapes_[static_cast<size_t>(region.buffer)];
    for (int d = 0; d < region.rank; ++d) {
      const auto axis = static_cast<size_t>(d);
      const int64_t first = std::max<int64_t>(region.min[axis], 0);
      const int64_t last =
          std::min<int64_t>(int64_t{region.min[axis]} + region.extent[axis], shape[axis]);
      if (first >= last) return std::nullopt;
      box.mins.push_back(first);
      box.extents.push_back(last - first);
    }
    return box;
  }

  TileId add_tile(const TileBox& box, const TileBox& home) {
    const TileId tile = builder_.add_tile(box, home);
    std::deque<TileId>& recent = recent_[box.buffer];
    if (recent.empty() || recent.front() != tile) recent.push_front(tile);
    if (recent.size() > kRecentTiles) recent.pop_back();
    return tile;
  }

  void add(const Uop& uop) {
    const std::optional<TileBox> box = box_of(uop.write);
    if (uop.kind == UopKind::load) builder_.count_load();
    if (uop.kind == UopKind::store) builder_.count_store();
    if (!box) return;
    const Stage& stage = nest_.stages[static_cast<size_t>(uop.stage)];
    const auto buffer = static_cast<size_t>(uop.write.buffer);
    if (is_copy(stage) && !in_memory(uop.write.buffer) && in_memory(uop.reads.at(0).buffer)) {
      add_load(*box, uop);
    } else if (is_copy(stage) && tiles_of_[static_cast<size_t>(uop.reads.at(0).buffer)] ==
                                     static_cast<int32_t>(buffer)) {
      if (nest_.buffers[buffer].role == BufferRole::output) {
        add_store(stage, operand(uop, uop.reads.at(0)));
      }
    } else {
      const TileId written = add_execute(stage, *box, uop);
      if (nest_.buffers[buffer].role == BufferRole::output) add_store(stage, written);
    }
  }

  void add_load(const TileBox& box, const Uop& uop) {
    if (result_.loaders[static_cast<size_t>(uop.write.buffer)] < 0) {
      add_tile(box, box);
    } else if (std::optional<TileBox> home = box_of(uop.reads[0])) {
      add_tile(box, *home);
    }
  }

  void add_store(const Stage& stage, TileId tile) {
    builder_.add_store(stage.name, tile);
    if (with_works_) result_.works.emplace_back();
  }

  TileId add_execute(const Stage& stage, const TileBox& box, const Uop& uop) {
    StepWork work;
    work.stage = uop.stage;
    work.part = uop.part;
    for (int d = 0; d < uop.reduction.rank; ++d) {
      work.reduction_mins.push_back(uop.reduction.min[static_cast<size_t>(d)]);
      work.reduction_extents.push_back(uop.reduction.extent[static_cast<size_t>(d)]);
    }
    std::vector<TileId> reads;
    for (const UopRegion& region : uop.reads) {
      if (!box_of(region)) continue;
      reads.push_back(operand(uop, region));
      work.reads.push_back({region.buffer, reads.back()});
    }
    const TileId written = add_tile(box, box);
    builder_.add_execute(stage.name, reads, written, uop.part == Part::update, uop.macs);
    if (with_works_) result_.works.push_back(std::move(work));
    return written;
  }

  // The tile that holds the region: from memory any box is one; in the scratchpad it has to be
  // there.
  TileId operand(const Uop& uop, const UopRegion& region) {
    const std::optional<TileBox> box = box_of(region);
    EMULSION_CHECK(box.has_value(), "an empty operand of {}", nest_.stages[uop.stage].name);
    if (in_memory(region.buffer)) return add_tile(*box, *box);
    if (std::optional<TileId> exact = builder_.find_tile(*box)) return *exact;
    const std::deque<TileId>& recent = recent_[box->buffer];
    for (TileId tile : recent) {
      if (holds(builder_.program().tiles[tile], *box)) return tile;
    }
    std::string there = recent.empty() ? "none" : tile_name(builder_.program(), recent.front());
    fail(
        "{} reads {}[{}]: expected a box inside one tile of the scratchpad; the last tile of it: "
        "{}",
        nest_.stages[static_cast<size_t>(uop.stage)].name,
        nest_.buffers[static_cast<size_t>(region.buffer)].name, to_string(*box), there);
  }

  static bool holds(const TileBox& tile, const TileBox& box) {
    for (size_t d = 0; d < box.mins.size(); ++d) {
      if (box.mins[d] < tile.mins[d] ||
          box.mins[d] + box.extents[d] > tile.mins[d] + tile.extents[d]) {
        return false;
      }
    }
    return true;
  }

  const LoopNest& nest_;
  const UopList list_;
  const bool with_works_;
  std::vector<std::vector<int64_t>> shapes_;  // by buffer
  std::vector<int32_t> tiles_of_;             // by buffer: whose tiles its tiles are
  std::vector<std::deque<TileId>> recent_;    // by buffer, the last first
  TileProgramBuilder builder_;
  NestTiles result_;
};

}  // namespace

NestTiles collect_tiles(const LoopNest& nest, const SizeValues& sizes, bool with_works) {
  return Collector(nest, sizes, with_works).run();
}

}  // namespace emulsion
