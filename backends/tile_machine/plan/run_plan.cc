#include "backends/tile_machine/plan/run_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "backends/interpreter/evaluate_expr.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// NaN for floats, an odd number for integers.
constexpr uint8_t kPoison = 0xFF;

// Calls visit(index) for every index of a box, row-major.
template <typename Visit>
void for_each_index(const std::vector<int64_t>& mins, const std::vector<int64_t>& extents,
                    const Visit& visit) {
  for (int64_t extent : extents) {
    if (extent < 1) return;
  }
  std::vector<int64_t> index = mins;
  while (true) {
    visit(index);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == mins[d - 1] + extents[d - 1]) {
      index[d - 1] = mins[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

// What the interpreter's arithmetic needs of a stage: its value, and where its axes are.
struct Kernel {
  std::vector<int> axis_slots;  // update: pure axes, then reduction axes
  ExprMachine::Assignment assignment;
};

struct Event {
  int64_t time;
  bool starts;
  size_t uop;
  // At the same cycle, what ends comes before what starts.
  bool operator<(const Event& other) const {
    return std::tie(time, starts, uop) < std::tie(other.time, other.starts, other.uop);
  }
};

class PlanRunner {
 public:
  PlanRunner(const LoopNest& nest, const NestTiles& tiles, const ScratchpadPlan& plan,
             const TensorValues& arguments)
      : nest_(nest),
        tiles_(tiles),
        program_(tiles.program),
        plan_(plan),
        machine_(false, OutOfBounds::internal_error),
        sram_(static_cast<size_t>(plan.machine.sram_bytes), kPoison) {
    std::vector<DeclaredTensor> declared;
    for (const Buffer* buffer : nest.arguments()) {
      if (buffer->role != BufferRole::output) {
        declared.push_back({buffer->name, buffer->dtype, buffer->shape});
      }
    }
    const SizeValues sizes = bind_arguments(declared, arguments, {});
    for (const auto& [name, value] : sizes) size_slots_[name] = machine_.add_slot(value);
    for (const Buffer& buffer : nest.buffers) add_home(buffer, sizes, arguments);
  }

  TensorValues run(const PlanTiming& timing) {
    std::vector<Event> events;
    for (size_t i = 0; i < plan_.uops.size(); ++i) {
      if (plan_.uops[i].kind == PlannedKind::drop) continue;
      events.push_back({timing.spans[i].start, true, i});
      events.push_back({timing.spans[i].end, false, i});
    }
    std::sort(events.begin(), events.end());
    for (const Event& event : events) {
      if (event.starts) {
        start(plan_.uops[event.uop]);
      } else {
        finish(plan_.uops[event.uop]);
      }
    }
    TensorValues outputs;
    for (size_t b = 0; b < nest_.buffers.size(); ++b) {
      if (nest_.buffers[b].role == BufferRole::output) outputs[nest_.buffers[b].name] = homes_[b];
    }
    return outputs;
  }

 private:
  void add_home(const Buffer& buffer, const SizeValues& sizes, const TensorValues& arguments) {
    TensorValue home;
    if (buffer.role == BufferRole::input || buffer.role == BufferRole::weight) {
      home = arguments.at(buffer.name);
    } else {
      home = zeros(buffer.dtype, evaluate_shape(buffer.name, buffer.shape, sizes));
      std::fill(home.bytes.begin(), home.bytes.end(), kPoison);
      if (buffer.role == BufferRole::constant) home.bytes = *buffer.data;
    }
    homes_.push_back(std::move(home));
    BufferView view;
    view.name = buffer.name;
    view.dtype = buffer.dtype;
    machine_.add_buffer(std::move(view));
  }

  void start(const PlannedUop& uop) {
    if (uop.kind == PlannedKind::store) return;
    if (uop.kind == PlannedKind::execute && !program_.steps[uop.step].overwrites) return;
    const int64_t bytes = program_.tiles[uop.tile].bytes;
    EMULSION_CHECK(uop.address >= 0 && uop.address + bytes <= plan_.machine.sram_bytes,
                   "tile {} is outside the SRAM", uop.tile);
    std::memset(sram_.data() + uop.address, kPoison, static_cast<size_t>(bytes));
  }

  void finish(const PlannedUop& uop) {
    const Tile& tile = program_.tiles[uop.tile];
    if (uop.kind == PlannedKind::execute) return execute(uop);
    const int32_t loader = tiles_.loaders[tile.buffer];
    if (uop.kind == PlannedKind::load && loader >= 0) {
      view_home(nest_.buffer_position(nest_.stages[static_cast<size_t>(loader)].body->name));
      compute(loader, Part::pure, static_cast<int>(tile.buffer), tile, uop.address, {}, {});
      return;
    }
    copy_rows(tile, uop.address, uop.kind == PlannedKind::load);
  }

  // Between the home of a tile and its place in SRAM.
  void copy_rows(const Tile& tile, int64_t address, bool load) {
    TensorValue& home = homes_[tile.buffer];
    const auto size = static_cast<size_t>(program_.buffers[tile.buffer].element_bytes);
    uint8_t* in_sram = sram_.data() + address;
    for_each_index(tile.mins, tile.extents, [&](const std::vector<int64_t>& index) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) at = at * home.shape[d] + index[d];
      uint8_t* at_home = home.bytes.data() + static_cast<size_t>(at) * size;
      std::memcpy(load ? in_sram : at_home, load ? at_home : in_sram, size);
      in_sram += size;
    });
  }

  // The whole buffer, in memory.
  void view_home(int buffer) {
    BufferView& view = machine_.buffer(buffer);
    TensorValue& home = homes_[static_cast<size_t>(buffer)];
    view.live = true;
    view.data = home.bytes.data();
    view.set_block(home.shape);
  }

  // One tile of it, in SRAM.
  void view_tile(int buffer, const Tile& tile, int64_t address) {
    BufferView& view = machine_.buffer(buffer);
    view.live = true;
    view.data = sram_.data() + address;
    view.set_block(tile.mins, tile.extents);
  }

  void execute(const PlannedUop& uop) {
    const TileStep& step = program_.steps[uop.step];
    const StepWork& work = tiles_.works[uop.step];
    std::map<TileId, int64_t> addresses;
    for (size_t i = 0; i < step.operand_count; ++i) {
      addresses[program_.operand(step, i)] = plan_.operand_addresses[step.first_operand + i];
    }
    for (const StepWork::Read& read : work.reads) {
      view_tile(read.buffer, program_.tiles[read.tile], addresses.at(read.tile));
    }
    const std::string& stage = nest_.stages[static_cast<size_t>(work.stage)].name;
    compute(work.stage, work.part, nest_.buffer_position(stage), program_.tiles[uop.tile],
            addresses.at(uop.tile), work.reduction_mins, work.reduction_extents);
  }

  // A stage over the box of a tile, into SRAM.
  void compute(int32_t stage, Part part, int buffer, const Tile& tile, int64_t address,
               const std::vector<int64_t>& reduction_mins,
               const std::vector<int64_t>& reduction_extents) {
    view_tile(buffer, tile, address);
    const Kernel& kernel = kernel_of(stage, part);
    std::vector<int64_t> mins = tile.mins;
    std::vector<int64_t> extents = tile.extents;
    mins.insert(mins.end(), reduction_mins.begin(), reduction_mins.end());
    extents.insert(extents.end(), reduction_extents.begin(), reduction_extents.end());
    for_each_index(mins, extents, [&](const std::vector<int64_t>& index) {
      for (size_t d = 0; d < index.size(); ++d) machine_.integer(kernel.axis_slots[d]) = index[d];
      machine_.run(kernel.assignment);
    });
    for (size_t b = 0; b < nest_.buffers.size(); ++b) {
      machine_.buffer(static_cast<int>(b)).live = false;
    }
  }

  const Kernel& kernel_of(int32_t stage_id, Part part) {
    auto [found, is_new] = kernels_.try_emplace({stage_id, part});
    Kernel& kernel = found->second;
    if (!is_new) return kernel;
    const Stage& stage = nest_.stages[static_cast<size_t>(stage_id)];
    std::map<std::string, int> names;  // the axes
    std::vector<Expr> own_index;
    for (const Axis& axis : stage.axes) {
      kernel.axis_slots.push_back(names[axis.name()] = machine_.add_slot());
      own_index.push_back(axis_value(axis.name()));
    }
    const std::vector<int> element = kernel.axis_slots;
    Expr value = stage.body;
    if (part == Part::init) value = identity_of(stage.combiner, stage.dtype);
    if (part == Part::update) {
      for (const Axis& axis : stage.reduction_axes) {
        kernel.axis_slots.push_back(names[axis.name()] = machine_.add_slot());
      }
      value = combine(stage.combiner, read_buffer(stage.name, stage.dtype, own_index), stage.body);
    }
    ExprMachine::Scope scope;
    scope.owner = stage.name;
    scope.axis = [&names](const std::string& name) { return names.at(name); };
    scope.size = [this](const std::string& name) { return size_slots_.at(name); };
    scope.buffer = [this](const ExprNode& read) { return nest_.buffer_position(read.name); };
    kernel.assignment = machine_.assignment(machine_.compile(value, scope),
                                            nest_.buffer_position(stage.name), element);
    return kernel;
  }

  const LoopNest& nest_;
  const NestTiles& tiles_;
  const TileProgram& program_;
  const ScratchpadPlan& plan_;
  ExprMachine machine_;  // its buffers are those of the nest
  std::vector<uint8_t> sram_;
  std::vector<TensorValue> homes_;  // by buffer
  std::map<std::string, int> size_slots_;
  std::map<std::pair<int32_t, Part>, Kernel> kernels_;
};

}  // namespace

TensorValues run_plan(const LoopNest& nest, const NestTiles& tiles, const ScratchpadPlan& plan,
                      const PlanTiming& timing, const TensorValues& arguments) {
  EMULSION_CHECK(tiles.works.size() == tiles.program.steps.size(), "{} works for {} steps",
                 tiles.works.size(), tiles.program.steps.size());
  return PlanRunner(nest, tiles, plan, apply_packs(nest, arguments)).run(timing);
}

}  // namespace emulsion
