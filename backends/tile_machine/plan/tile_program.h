#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_PROGRAM_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_PROGRAM_H_

// What the scratchpad planner plans: the Executes and Stores of a tile machine in their order, each
// naming the tiles that it works on. Compact, because there may be millions: tiles are numbers, and
// the operands of all steps stand in one list.
//
// A tile is a box of a buffer. Its home is in memory: that box, or for a buffer that is loaded in
// another order (a transposed copy) the box that its elements come from. While it is in SRAM, its
// elements are dense and row-major at one address. Loads are no steps: a tile is loaded when a step
// needs it and it is not there.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace emulsion {

// Positions in the tables of a TileProgram.
using BufferId = uint32_t;
using TileId = uint32_t;
using StepId = uint32_t;

struct TileBuffer {
  std::string name;
  int element_bytes = 4;
  bool kept = false;  // an output: what is written to it has to reach memory
};

// Elements of a buffer: mins[d] <= index[d] < mins[d] + extents[d], row-major.
struct TileBox {
  BufferId buffer = 0;
  std::vector<int64_t> mins, extents;
};

struct Tile : TileBox {
  int64_t bytes = 0;  // dense
  TileBox home;
};

struct TileStep {
  enum class Kind : uint8_t {
    execute,  // reads tiles, writes at most one
    store,    // brings one tile from SRAM to its home
  };
  Kind kind = Kind::execute;
  bool writes = false;      // the last operand is written
  bool overwrites = false;  // and its old value does not matter (else it is read too)
  uint16_t operand_count = 0;
  uint32_t stage = 0;          // position in TileProgram::stages
  uint64_t first_operand = 0;  // position in TileProgram::operands
  int64_t macs = 0;
  int64_t elements = 0;  // written
};

struct TileProgram {
  std::vector<TileBuffer> buffers;
  std::vector<std::string> stages;
  std::vector<Tile> tiles;
  std::vector<TileStep> steps;
  std::vector<TileId> operands;  // of all steps; those of one step are different from each other
  // How many Loads and Stores the loop nest has; 0 when there is none behind the program.
  int64_t loads = 0, stores = 0;

  TileId operand(const TileStep& step, size_t i) const { return operands[step.first_operand + i]; }
  // The tile that an execute writes.
  TileId written(const TileStep& step) const { return operand(step, step.operand_count - 1u); }
};

// "0:32, 64:96": as Python slices it; "x[0:32, 64:96]".
std::string to_string(const TileBox& box);
std::string tile_name(const TileProgram& program, TileId tile);
// "execute mm", "store y".
std::string step_name(const TileProgram& program, StepId step);

// For each tile the other tiles whose homes share elements with its own, when that buffer is
// written; homes that are only read may overlap as they like.
std::vector<std::vector<TileId>> overlapping_tiles(const TileProgram& program);

// Builds a program. Equal boxes of a buffer are one tile.
class TileProgramBuilder {
 public:
  BufferId add_buffer(const std::string& name, int element_bytes, bool kept = false);
  // Error: a box with another number of mins than of extents, or with an extent below 1.
  TileId add_tile(BufferId buffer, const std::vector<int64_t>& mins,
                  const std::vector<int64_t>& extents);
  // The same for a tile with another home.
  TileId add_tile(const TileBox& box, const TileBox& home);
  // The tile of exactly this box, if there is one.
  std::optional<TileId> find_tile(const TileBox& box) const;
  // accumulates: `written` (op)= ..., so its old value is read. A tile that is read twice counts
  // once. Error: a step that reads what it overwrites.
  void add_execute(const std::string& stage, const std::vector<TileId>& reads, TileId written,
                   bool accumulates, int64_t macs);
  void add_store(const std::string& stage, TileId tile);
  void count_load() { ++program_.loads; }
  void count_store() { ++program_.stores; }
  const TileProgram& program() const { return program_; }
  TileProgram take() { return std::move(program_); }

 private:
  uint32_t stage_id(const std::string& name);

  TileProgram program_;
  std::unordered_map<std::string, uint32_t> stages_;
  std::unordered_map<std::string, TileId> tiles_;  // by buffer and box
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_PROGRAM_H_
