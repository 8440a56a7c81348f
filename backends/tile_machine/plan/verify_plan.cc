#include "backends/tile_machine/plan/verify_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr TileId kNobody = std::numeric_limits<TileId>::max();

class Verifier {
 public:
  Verifier(const TileProgram& program, const ScratchpadPlan& plan, const PlanTiming& timing)
      : program_(program),
        plan_(plan),
        timing_(timing),
        pieces_(static_cast<size_t>(plan.machine.sram_bytes / plan.machine.alignment)),
        tiles_(program.tiles.size()) {}

  void run() {
    EMULSION_CHECK(timing_.spans.size() == plan_.uops.size(), "{} spans for {} uOps",
                   timing_.spans.size(), plan_.uops.size());
    EMULSION_CHECK(plan_.operand_addresses.size() == program_.operands.size(),
                   "{} addresses for {} operands", plan_.operand_addresses.size(),
                   program_.operands.size());
    find_neighbours();
    for (at_ = 0; at_ < plan_.uops.size(); ++at_) visit(plan_.uops[at_], timing_.spans[at_]);
    EMULSION_CHECK(next_step_ == program_.steps.size(), "{} runs {} of {} steps", here(),
                   next_step_, program_.steps.size());
    for (TileId t = 0; t < tiles_.size(); ++t) {
      EMULSION_CHECK(!program_.buffers[program_.tiles[t].buffer].kept || tiles_[t].home_is_new,
                     "{} never stores {}", here(), name(t));
    }
    EMULSION_CHECK(latest_end_ == timing_.total, "{} ends at {}, not at {}", here(), latest_end_,
                   timing_.total);
  }

 private:
  struct Piece {
    TileId owner = kNobody;
    int64_t used_until = 0;
  };
  struct TileState {
    bool live = false;
    bool current = false;     // SRAM holds the newest value of every element
    bool home_is_new = true;  // so does memory, of what was written under this name
    int64_t address = 0;
    int64_t landed = 0;
    int64_t stored = 0;  // when its last Store ended
  };

  // The start of every message; asked for only when there is one (EMULSION_CHECK).
  std::string here() const {
    if (at_ >= plan_.uops.size()) return "the plan";
    const PlannedUop& uop = plan_.uops[at_];
    return fmt::format("uOp {} ({} for step {})", at_, to_string(uop.kind), uop.step);
  }
  std::string name(TileId tile) const { return tile_name(program_, tile); }

  // Tiles whose homes have elements in common, in a buffer that is written. They are put into the
  // rows of the first axis that they touch.
  void find_neighbours() {
    neighbours_.resize(tiles_.size());
    std::vector<bool> changes(program_.buffers.size(), false);
    for (const TileStep& step : program_.steps) {
      if (!step.writes) continue;
      const TileId written = program_.operands[step.first_operand + step.operand_count - 1u];
      changes[program_.tiles[written].home.buffer] = true;
    }
    std::map<std::pair<BufferId, int64_t>, std::vector<TileId>> rows;
    for (TileId t = 0; t < tiles_.size(); ++t) {
      const TileBox& tile = program_.tiles[t].home;
      if (!changes[tile.buffer] || tile.mins.empty()) continue;
      for (int64_t row = 0; row < tile.extents[0]; ++row) {
        for (TileId other : rows[{tile.buffer, tile.mins[0] + row}]) {
          if (share_elements(tile, program_.tiles[other].home)) {
            neighbours_[t].push_back(other);
            neighbours_[other].push_back(t);
          }
        }
        rows[{tile.buffer, tile.mins[0] + row}].push_back(t);
      }
    }
    for (std::vector<TileId>& list : neighbours_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  static bool share_elements(const TileBox& a, const TileBox& b) {
    bool share = true;
    for (size_t d = 0; d < a.mins.size(); ++d) {
      const int64_t first = std::max(a.mins[d], b.mins[d]);
      const int64_t last = std::min(a.mins[d] + a.extents[d], b.mins[d] + b.extents[d]);
      share = share && first < last;
    }
    return share;
  }

  void visit(const PlannedUop& uop, const Cycles& span) {
    EMULSION_CHECK(uop.tile < tiles_.size(), "{} names tile {} of {}", here(), uop.tile,
                   tiles_.size());
    EMULSION_CHECK(span.start >= 0 && span.start <= span.end, "{} lasts from {} to {}", here(),
                   span.start, span.end);
    switch (uop.kind) {
      case PlannedKind::load:
        load(uop, span);
        break;
      case PlannedKind::execute:
        execute(uop, span);
        break;
      case PlannedKind::store:
        store(uop, span);
        break;
      case PlannedKind::drop:
        drop(uop);
        break;
    }
    latest_end_ = std::max(latest_end_, span.end);
  }

  std::pair<size_t, size_t> pieces_of(TileId tile, int64_t address) const {
    const int64_t unit = plan_.machine.alignment;
    const int64_t bytes = program_.tiles[tile].bytes;
    return {static_cast<size_t>(address / unit),
            static_cast<size_t>((address + bytes + unit - 1) / unit)};
  }

  void place(TileId tile, int64_t address, const Cycles& span) {
    const int64_t bytes = program_.tiles[tile].bytes;
    EMULSION_CHECK(address >= 0 && address + bytes <= plan_.machine.sram_bytes,
                   "{} puts {} at {}, {} bytes, outside the {} bytes of SRAM", here(), name(tile),
                   address, bytes, plan_.machine.sram_bytes);
    EMULSION_CHECK(address % plan_.machine.alignment == 0,
                   "{} puts {} at {}, which is not aligned to {}", here(), name(tile), address,
                   plan_.machine.alignment);
    const auto [first, last] = pieces_of(tile, address);
    for (size_t p = first; p < last; ++p) {
      EMULSION_CHECK(pieces_[p].owner == kNobody, "{} puts {} at {}, over {}", here(), name(tile),
                     address, name(pieces_[p].owner));
      EMULSION_CHECK(span.start >= pieces_[p].used_until,
                     "{} starts at {}, but its space is in use until {}", here(), span.start,
                     pieces_[p].used_until);
      pieces_[p].owner = tile;
    }
    tiles_[tile].live = true;
    tiles_[tile].address = address;
    tiles_[tile].landed = 0;  // when it was somewhere else before does not matter here
  }

  void use(TileId tile, const Cycles& span) {
    const auto [first, last] = pieces_of(tile, tiles_[tile].address);
    for (size_t p = first; p < last; ++p) {
      pieces_[p].used_until = std::max(pieces_[p].used_until, span.end);
    }
  }

  void take_turn(const Cycles& span, int64_t cycles, int64_t* unit_free) {
    EMULSION_CHECK(span.start >= *unit_free, "{} starts at {}, but its unit is busy until {}",
                   here(), span.start, *unit_free);
    EMULSION_CHECK(span.end - span.start == cycles, "{} takes {} cycles, not {}", here(),
                   span.end - span.start, cycles);
    *unit_free = span.end;
  }

  void expect_live(TileId tile, int64_t address, const Cycles& span) const {
    const TileState& state = tiles_[tile];
    EMULSION_CHECK(state.live, "{} names {}, which is not in SRAM", here(), name(tile));
    EMULSION_CHECK(state.address == address, "{} names {} at {}, but it is at {}", here(),
                   name(tile), address, state.address);
    EMULSION_CHECK(state.current, "{} names {}, whose value is not the newest", here(), name(tile));
    EMULSION_CHECK(span.start >= state.landed, "{} starts at {}, but {} lands at {}", here(),
                   span.start, name(tile), state.landed);
  }

  int64_t transfer_cycles(TileId tile, int64_t bytes_per_cycle) const {
    return (program_.tiles[tile].bytes + bytes_per_cycle - 1) / bytes_per_cycle;
  }

  void load(const PlannedUop& uop, const Cycles& span) {
    take_turn(span, transfer_cycles(uop.tile, plan_.machine.load_bytes_per_cycle), &load_free_);
    EMULSION_CHECK(plan_.machine.double_buffer || span.start >= latest_end_,
                   "{} starts at {}, before what comes before it is done at {}", here(), span.start,
                   latest_end_);
    TileState& state = tiles_[uop.tile];
    EMULSION_CHECK(!state.live, "{} loads {}, which is in SRAM", here(), name(uop.tile));
    expect_home_is_new(uop.tile, span);
    for (TileId other : neighbours_[uop.tile]) expect_home_is_new(other, span);
    place(uop.tile, uop.address, span);
    use(uop.tile, span);
    state.current = true;
    state.landed = span.end;
  }

  void expect_home_is_new(TileId tile, const Cycles& span) const {
    const TileState& state = tiles_[tile];
    EMULSION_CHECK(state.home_is_new, "{} loads what {} was before it was written", here(),
                   name(tile));
    EMULSION_CHECK(span.start >= state.stored, "{} starts at {}, but {} is being stored until {}",
                   here(), span.start, name(tile), state.stored);
  }

  void take_step(const PlannedUop& uop, TileStep::Kind kind) {
    EMULSION_CHECK(uop.step == next_step_ && uop.step < program_.steps.size(),
                   "{} comes where step {} should", here(), next_step_);
    EMULSION_CHECK(program_.steps[uop.step].kind == kind, "{} is of another kind than its step",
                   here());
    ++next_step_;
  }

  void execute(const PlannedUop& uop, const Cycles& span) {
    take_step(uop, TileStep::Kind::execute);
    const TileStep& step = program_.steps[uop.step];
    const TileMachine& m = plan_.machine;
    const int64_t tile_macs = m.tile_m * m.tile_n * m.tile_k;
    const int64_t cycles = step.macs > 0
                               ? (step.macs + tile_macs - 1) / tile_macs * m.execute_cycles
                               : (step.elements + m.elements_per_cycle - 1) / m.elements_per_cycle;
    take_turn(span, cycles, &execute_free_);
    for (size_t i = 0; i < step.operand_count; ++i) {
      const size_t position = step.first_operand + i;
      const TileId tile = program_.operands[position];
      const int64_t address = plan_.operand_addresses[position];
      const bool makes = step.overwrites && i + 1u == step.operand_count;
      if (makes && !tiles_[tile].live) place(tile, address, span);
      if (makes) tiles_[tile].current = true;
      expect_live(tile, address, span);
      if (i + 1u == step.operand_count) write(tile, address, uop, span);
      use(tile, span);
    }
  }

  void write(TileId tile, int64_t address, const PlannedUop& uop, const Cycles& span) {
    EMULSION_CHECK(uop.tile == tile && uop.address == address,
                   "{} writes tile {} at {}, its step {} at {}", here(), uop.tile, uop.address,
                   tile, address);
    const auto [first, last] = pieces_of(tile, address);
    for (size_t p = first; p < last; ++p) {
      EMULSION_CHECK(span.start >= pieces_[p].used_until,
                     "{} starts at {}, but {} is in use until {}", here(), span.start, name(tile),
                     pieces_[p].used_until);
    }
    tiles_[tile].landed = span.end;
    tiles_[tile].home_is_new = false;
    for (TileId other : neighbours_[tile]) tiles_[other].current = false;
  }

  void store(const PlannedUop& uop, const Cycles& span) {
    if (uop.reason == PlannedReason::program) {
      take_step(uop, TileStep::Kind::store);
      const size_t position = program_.steps[uop.step].first_operand;
      EMULSION_CHECK(program_.operands[position] == uop.tile &&
                         plan_.operand_addresses[position] == uop.address,
                     "{} stores another tile than its step, or from another address", here());
    }
    take_turn(span, transfer_cycles(uop.tile, plan_.machine.store_bytes_per_cycle), &store_free_);
    expect_live(uop.tile, uop.address, span);
    use(uop.tile, span);
    tiles_[uop.tile].home_is_new = true;
    tiles_[uop.tile].stored = span.end;
  }

  void drop(const PlannedUop& uop) {
    TileState& state = tiles_[uop.tile];
    EMULSION_CHECK(state.live && state.address == uop.address,
                   "{} drops {} at {}, which is not there", here(), name(uop.tile), uop.address);
    const auto [first, last] = pieces_of(uop.tile, uop.address);
    for (size_t p = first; p < last; ++p) pieces_[p].owner = kNobody;
    state.live = false;
  }

  const TileProgram& program_;
  const ScratchpadPlan& plan_;
  const PlanTiming& timing_;
  std::vector<Piece> pieces_;  // of the SRAM, each as long as the alignment
  std::vector<TileState> tiles_;
  std::vector<std::vector<TileId>> neighbours_;
  size_t at_ = 0;
  StepId next_step_ = 0;
  int64_t load_free_ = 0, execute_free_ = 0, store_free_ = 0, latest_end_ = 0;
};

}  // namespace

void verify_plan(const TileProgram& program, const ScratchpadPlan& plan, const PlanTiming& timing) {
  Verifier(program, plan, timing).run();
}

}  // namespace emulsion
