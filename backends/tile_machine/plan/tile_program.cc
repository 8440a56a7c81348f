#include "backends/tile_machine/plan/tile_program.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

bool overlap(const TileBox& a, const TileBox& b) {
  for (size_t d = 0; d < a.mins.size(); ++d) {
    if (a.mins[d] >= b.mins[d] + b.extents[d] || b.mins[d] >= a.mins[d] + a.extents[d]) {
      return false;
    }
  }
  return true;
}

std::vector<bool> written_buffers(const TileProgram& program) {
  std::vector<bool> written(program.buffers.size(), false);
  for (const TileStep& step : program.steps) {
    if (step.writes) written[program.tiles[program.written(step)].home.buffer] = true;
  }
  return written;
}

// The bytes of the numbers, so that a hash map finds a box without comparing vectors.
std::string box_key(const TileBox& box) {
  const size_t bytes = box.mins.size() * sizeof(int64_t);
  std::string key(sizeof(box.buffer) + 2 * bytes, '\0');
  char* to = key.data();
  std::memcpy(to, &box.buffer, sizeof(box.buffer));
  if (bytes == 0) return key;
  std::memcpy(to + sizeof(box.buffer), box.mins.data(), bytes);
  std::memcpy(to + sizeof(box.buffer) + bytes, box.extents.data(), bytes);
  return key;
}

}  // namespace

std::string to_string(const TileBox& box) {
  std::string text;
  for (size_t d = 0; d < box.mins.size(); ++d) {
    text += fmt::format("{}{}:{}", d ? ", " : "", box.mins[d], box.mins[d] + box.extents[d]);
  }
  return text;
}

std::string tile_name(const TileProgram& program, TileId tile) {
  const Tile& t = program.tiles[tile];
  return fmt::format("{}[{}]", program.buffers[t.buffer].name, to_string(t));
}

std::string step_name(const TileProgram& program, StepId step) {
  const TileStep& s = program.steps[step];
  return (s.kind == TileStep::Kind::execute ? "execute " : "store ") + program.stages[s.stage];
}

std::vector<std::vector<TileId>> overlapping_tiles(const TileProgram& program) {
  std::vector<std::vector<TileId>> result(program.tiles.size());
  const std::vector<bool> written = written_buffers(program);
  std::vector<TileId> order;
  for (TileId t = 0; t < program.tiles.size(); ++t) {
    const TileBox& home = program.tiles[t].home;
    if (written[home.buffer] && !home.mins.empty()) order.push_back(t);
  }
  // By buffer, then by where the outermost axis starts: what can overlap a tile stands close by.
  std::sort(order.begin(), order.end(), [&](TileId a, TileId b) {
    const TileBox& x = program.tiles[a].home;
    const TileBox& y = program.tiles[b].home;
    return std::tie(x.buffer, x.mins[0], a) < std::tie(y.buffer, y.mins[0], b);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const TileBox& a = program.tiles[order[i]].home;
    for (size_t j = i + 1; j < order.size(); ++j) {
      const TileBox& b = program.tiles[order[j]].home;
      if (b.buffer != a.buffer || b.mins[0] >= a.mins[0] + a.extents[0]) break;
      if (!overlap(a, b)) continue;
      result[order[i]].push_back(order[j]);
      result[order[j]].push_back(order[i]);
    }
  }
  return result;
}

BufferId TileProgramBuilder::add_buffer(const std::string& name, int element_bytes, bool kept) {
  program_.buffers.push_back({name, element_bytes, kept});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

TileId TileProgramBuilder::add_tile(BufferId buffer, const std::vector<int64_t>& mins,
                                    const std::vector<int64_t>& extents) {
  const TileBox box = {buffer, mins, extents};
  return add_tile(box, box);
}

TileId TileProgramBuilder::add_tile(const TileBox& box, const TileBox& home) {
  const TileBuffer& owner = program_.buffers.at(box.buffer);
  if (box.mins.size() != box.extents.size()) {
    fail("a tile of {}: expected as many mins as extents, got {} and {}", owner.name,
         box.mins.size(), box.extents.size());
  }
  for (int64_t extent : box.extents) {
    if (extent < 1)
      fail("a tile of {}: expected extents of at least 1, got {}", owner.name, extent);
  }
  auto [found, is_new] =
      tiles_.try_emplace(box_key(box), static_cast<TileId>(program_.tiles.size()));
  if (is_new) {
    Tile tile;
    static_cast<TileBox&>(tile) = box;
    tile.home = home;
    tile.bytes = owner.element_bytes;
    for (int64_t extent : box.extents) tile.bytes *= extent;
    program_.tiles.push_back(std::move(tile));
  }
  return found->second;
}

std::optional<TileId> TileProgramBuilder::find_tile(const TileBox& box) const {
  auto found = tiles_.find(box_key(box));
  if (found == tiles_.end()) return std::nullopt;
  return found->second;
}

void TileProgramBuilder::add_execute(const std::string& stage, const std::vector<TileId>& reads,
                                     TileId written, bool accumulates, int64_t macs) {
  TileStep step;
  step.writes = true;
  step.overwrites = !accumulates;
  step.stage = stage_id(stage);
  step.first_operand = program_.operands.size();
  step.macs = macs;
  const Tile& result = program_.tiles.at(written);
  step.elements = result.bytes / program_.buffers[result.buffer].element_bytes;
  std::vector<TileId> operands;
  for (TileId tile : reads) {
    if (tile == written) {
      fail("execute {}: expected to read other tiles than the one that it writes, got {}", stage,
           tile_name(program_, tile));
    }
    if (std::find(operands.begin(), operands.end(), tile) == operands.end()) {
      operands.push_back(tile);
    }
  }
  operands.push_back(written);
  step.operand_count = static_cast<uint16_t>(operands.size());
  program_.operands.insert(program_.operands.end(), operands.begin(), operands.end());
  program_.steps.push_back(step);
}

void TileProgramBuilder::add_store(const std::string& stage, TileId tile) {
  TileStep step;
  step.kind = TileStep::Kind::store;
  step.operand_count = 1;
  step.stage = stage_id(stage);
  step.first_operand = program_.operands.size();
  program_.operands.push_back(tile);
  program_.steps.push_back(step);
}

uint32_t TileProgramBuilder::stage_id(const std::string& name) {
  auto [found, is_new] = stages_.try_emplace(name, static_cast<uint32_t>(program_.stages.size()));
  if (is_new) program_.stages.push_back(name);
  return found->second;
}

}  // namespace emulsion
