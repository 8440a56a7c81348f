#include "passes/lower/check_tiles.h"

#include <algorithm>
#include <map>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

int64_t rounded_up(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

int64_t bytes_of(const LoopNest& nest, const Storage& alloc) {
  int64_t bytes = size_in_bytes(nest.stage(alloc.stage).dtype);
  for (const Expr& extent : alloc.extents) {
    std::optional<int64_t> value = constant_value(extent);
    EMULSION_CHECK(value, "alloc of {} in the scratchpad without constant extents", alloc.stage);
    bytes *= *value;
  }
  return bytes;
}

class NeedFinder : public NestVisitor {
 public:
  NeedFinder(const LoopNest& nest, const TileMachine& machine) : nest_(nest), machine_(machine) {}

  ScratchpadNeed find() {
    if (nest_.root) walk(*nest_.root);
    return most_;
  }

 private:
  void visit_alloc(const Alloc& alloc) override {
    if (alloc.memory != Memory::scratchpad) return walk(*alloc.body);
    const int64_t bytes = rounded_up(bytes_of(nest_, alloc), machine_.alignment);
    const int64_t held = bytes * (machine_.double_buffer ? 2 : 1);
    live_.tiles.push_back({alloc.stage, bytes});
    live_.bytes += held;
    if (live_.bytes > most_.bytes) most_ = live_;
    walk(*alloc.body);
    live_.bytes -= held;
    live_.tiles.pop_back();
  }

  const LoopNest& nest_;
  const TileMachine& machine_;
  ScratchpadNeed live_, most_;
};

class TileChecker : public NestVisitor {
 public:
  TileChecker(const LoopNest& nest, const TileMachine& machine) : nest_(nest), machine_(machine) {
    for (const Buffer& buffer : nest.buffers) {
      if (buffer.role != BufferRole::internal) memory_[buffer.name] = Memory::heap;
    }
  }

  std::optional<std::string> check() {
    if (nest_.root) walk(*nest_.root);
    if (!problem_) check_alignment();
    if (!problem_) check_capacity();
    return problem_;
  }

 private:
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    if (!problem_) problem_ = fmt::format(format, std::forward<Args>(args)...);
  }

  void visit_alloc(const Alloc& alloc) override {
    if (!alloc.output.empty()) {
      report("tile machine, memory: {} is in the memory of output {}; legal: storage of its own",
             alloc.stage, alloc.output);
    }
    memory_[alloc.stage] = alloc.memory;
    walk(*alloc.body);
  }

  void visit_loop(const Loop& loop) override {
    const std::optional<int64_t> extent = constant_value(loop.extent);
    if (extent && *extent <= 0) return;  // nothing is issued
    const int64_t outside = points_;
    if (loop.kind == LoopKind::tile) points_ *= extent.value_or(1);
    walk(*loop.body);
    points_ = outside;
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.kind != UopKind::execute) return;
    const Stage& stage = nest_.stage(uop.stage);
    const int64_t most = machine_.tile_m * machine_.tile_n * machine_.tile_k;
    if (uop.part == Part::update && points_ > most) {
      report(
          "tile machine, tile: an Execute of {} has {} multiply-adds, the limit is {} x {} x {} = "
          "{}",
          stage.name, points_, machine_.tile_m, machine_.tile_n, machine_.tile_k, most);
    }
    require_scratchpad(stage.name, "writes", stage.name,
                       "store_in(scratchpad), and cache_write for what goes to memory");
    if (uop.part == Part::init) return;
    visit(stage.body, [&](const Expr& e) {
      if (e->op == ExprOp::read) {
        require_scratchpad(stage.name, "reads", e->name, "copy_in and store_in(scratchpad)");
      }
    });
  }

  void require_scratchpad(const std::string& stage, const char* what, const std::string& buffer,
                          const char* legal) {
    const Memory memory = memory_.at(buffer);
    if (memory == Memory::scratchpad) return;
    report(
        "tile machine, operands: an Execute of {} {} {} in {}, expected the scratchpad; legal: {}",
        stage, what, buffer, memory == Memory::heap ? "main memory" : to_string(memory), legal);
  }

  void check_alignment() {
    for (const TileGrid& grid : nest_.tile_grids) {
      const DType dtype = nest_.stage(grid.stage).dtype;
      check_row("tile_k", machine_.tile_k, dtype);
      check_row("tile_n", machine_.tile_n, dtype);
    }
  }

  void check_row(const char* name, int64_t elements, DType dtype) {
    const int64_t bytes = elements * size_in_bytes(dtype);
    if (bytes % machine_.alignment == 0) return;
    report(
        "tile machine, alignment: a row of {} = {} elements of {} needs {} bytes, expected a "
        "multiple of {}",
        name, elements, to_string(dtype), bytes, machine_.alignment);
  }

  void check_capacity() {
    const ScratchpadNeed need = scratchpad_need(nest_, machine_);
    if (need.bytes <= machine_.sram_bytes) return;
    std::string tiles;
    for (const ScratchpadTile& tile : need.tiles) {
      tiles += fmt::format("{}{} {}", tiles.empty() ? "" : ", ", tile.stage, tile.bytes);
    }
    report("tile machine, capacity: {} needs {} bytes of scratchpad ({}{}), the limit is {}",
           need.tiles.back().stage, need.bytes, tiles,
           machine_.double_buffer ? "; each twice for double buffering" : "", machine_.sram_bytes);
  }

  const LoopNest& nest_;
  const TileMachine& machine_;
  std::map<std::string, Memory> memory_;
  int64_t points_ = 1;  // of the tile loops around the node at hand
  std::optional<std::string> problem_;
};

}  // namespace

ScratchpadNeed scratchpad_need(const LoopNest& nest, const TileMachine& machine) {
  return NeedFinder(nest, machine).find();
}

std::optional<std::string> why_not_tiles(const LoopNest& nest, const TileMachine& machine) {
  return TileChecker(nest, machine).check();
}

}  // namespace emulsion
