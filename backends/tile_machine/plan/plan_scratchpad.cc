#include "backends/tile_machine/plan/plan_scratchpad.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/tile_machine/plan/plan_clock.h"
#include "backends/tile_machine/plan/sram_arena.h"
#include "backends/tile_machine/plan/tile_cost.h"
#include "backends/tile_machine/plan/tile_future.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// How many steps ahead the next one with loads is looked for: past start values and epilogues.
constexpr StepId kLookAhead = 8;
constexpr int64_t kNowhere = -1;

[[noreturn]] void refuse_step(const TileProgram& program, const TileMachine& machine, StepId step,
                              int64_t need) {
  const TileStep& s = program.steps[step];
  const int64_t limit = machine.sram_bytes;
  std::string operands;
  for (size_t i = 0; i < s.operand_count; ++i) {
    const TileId tile = program.operand(s, i);
    operands += fmt::format("{}{} {}", i ? " + " : "", tile_name(program, tile),
                            footprint(machine, program.tiles[tile].bytes));
  }
  const int64_t largest = limit / s.operand_count / machine.alignment * machine.alignment;
  fail(
      "{} (step {}): expected operands that fit in {} bytes of SRAM together, got {} = {} bytes; "
      "the largest tile that fits {} times has {} bytes",
      step_name(program, step), step, limit, operands, need, s.operand_count, largest);
}

void check_capacity(const TileProgram& program, const TileMachine& machine) {
  for (StepId s = 0; s < program.steps.size(); ++s) {
    const TileStep& step = program.steps[s];
    int64_t need = 0;
    for (size_t i = 0; i < step.operand_count; ++i) {
      need += footprint(machine, program.tiles[program.operand(step, i)].bytes);
    }
    if (need > machine.sram_bytes) refuse_step(program, machine, s, need);
  }
}

class Planner {
 public:
  Planner(const TileProgram& program, const TileMachine& machine, EvictionPolicy policy)
      : program_(program),
        overlaps_(overlapping_tiles(program)),
        future_(look_ahead(program, overlaps_)),
        clock_(program, overlaps_, machine),
        arena_(machine.sram_bytes),
        tiles_(program.tiles.size()),
        loads_issued_(program.steps.size(), false) {
    plan_.machine = machine;
    plan_.policy = policy;
    plan_.operand_addresses.assign(program.operands.size(), kNowhere);
    for (TileId t = 0; t < tiles_.size(); ++t) tiles_[t].next_use = future_.first_use[t];
    for (const TileStep& step : program.steps) {
      if (step.writes) tiles_[program.written(step)].made_here = true;
    }
  }

  ScratchpadPlan run() {
    for (step_ = 0; step_ < program_.steps.size(); ++step_) {
      make_resident();
      if (plan_.machine.double_buffer) load_ahead();
      issue();
    }
    flush();
    return std::move(plan_);
  }

 private:
  struct TileState {
    int64_t address = kNowhere;
    uint64_t rank = 0;  // where it stands among the candidates for eviction
    uint64_t pinned = 0;
    StepId next_use = kNever;
    bool dirty = false;  // its home has an older value
    bool was_resident = false;
    bool made_here = false;  // some step writes it
  };

  const TileStep& step() const { return program_.steps[step_]; }
  bool overwrites(const TileStep& s, size_t operand) const {
    return s.overwrites && operand + 1u == s.operand_count;
  }
  bool resident(TileId tile) const { return tiles_[tile].address != kNowhere; }
  int64_t bytes(TileId tile) const { return program_.tiles[tile].bytes; }
  int64_t space(TileId tile) const { return footprint(plan_.machine, bytes(tile)); }

  Cycles emit(PlannedKind kind, PlannedReason reason, TileId tile, StepId step) {
    plan_.uops.push_back({kind, reason, step, tile, tiles_[tile].address});
    return clock_.run(plan_.uops.back());
  }

  // --- the order of eviction: the first of candidates_ goes first ---

  uint64_t rank_of(TileId tile) {
    if (plan_.policy == EvictionPolicy::lru) return ++uses_;
    return kNever - tiles_[tile].next_use;
  }

  void put_in_order(TileId tile) {
    tiles_[tile].rank = rank_of(tile);
    candidates_.emplace(tiles_[tile].rank, tile);
  }

  void move_in_order(TileId tile) {
    candidates_.erase({tiles_[tile].rank, tile});
    put_in_order(tile);
  }

  // --- what is in SRAM ---

  void settle(TileId tile, int64_t address) {
    arena_.take(address, space(tile));
    tiles_[tile].address = address;
    put_in_order(tile);
    plan_.counts.peak_bytes =
        std::max(plan_.counts.peak_bytes, plan_.machine.sram_bytes - arena_.free_bytes());
  }

  void drop(TileId tile, PlannedReason reason) {
    const Cycles freed = emit(PlannedKind::drop, reason, tile, step_);
    arena_.release(tiles_[tile].address, space(tile), freed.end);
    candidates_.erase({tiles_[tile].rank, tile});
    tiles_[tile].address = kNowhere;
    tiles_[tile].dirty = false;
  }

  void write_home(TileId tile, PlannedReason reason) {
    emit(PlannedKind::store, reason, tile, step_);
    tiles_[tile].dirty = false;
    ++plan_.counts.stores;
    plan_.counts.store_bytes += bytes(tile);
    if (reason == PlannedReason::spill || reason == PlannedReason::overlap) ++plan_.counts.spills;
  }

  bool kept(TileId tile) const { return program_.buffers[program_.tiles[tile].buffer].kept; }

  void evict(TileId tile) {
    // What is dead under its own name went at once; under another name it may have died since.
    const bool dead = !overlaps_[tile].empty() && future_.last_use[tile] < step_;
    if (tiles_[tile].dirty && (kept(tile) || !dead)) write_home(tile, PlannedReason::spill);
    drop(tile, PlannedReason::evict);
    ++plan_.counts.evictions;
  }

  // A hole for `tile`, which is needed from cycle `when` on, made by evicting tiles that are not
  // pinned; nothing when there is none.
  std::optional<int64_t> make_room(TileId tile, int64_t when) {
    std::optional<int64_t> address = arena_.find(space(tile), when);
    if (address) return address;
    std::vector<TileId> victims;
    for (auto it = candidates_.begin(); it != candidates_.end() && !address; ++it) {
      const TileId victim = it->second;
      if (tiles_[victim].pinned == pin_) continue;
      arena_.release(tiles_[victim].address, space(victim), clock_.busy_until(victim));
      victims.push_back(victim);
      address = arena_.find(space(tile), when);
    }
    for (TileId victim : victims) arena_.take(tiles_[victim].address, space(victim));
    if (!address) return std::nullopt;
    for (TileId victim : victims) {
      const int64_t at = tiles_[victim].address;
      if (at < *address + space(tile) && *address < at + space(victim)) evict(victim);
    }
    return address;
  }

  void load(TileId tile, StepId for_step) {
    for (TileId other : overlaps_[tile]) {
      if (tiles_[other].dirty) write_home(other, PlannedReason::overlap);
    }
    const bool again = tiles_[tile].was_resident;
    emit(PlannedKind::load, again ? PlannedReason::again : PlannedReason::first, tile, for_step);
    if (!again) ++plan_.counts.cold_loads;
    ++plan_.counts.loads;
    plan_.counts.load_bytes += bytes(tile);
    tiles_[tile].was_resident = true;
  }

  void pin(const TileStep& s) {
    for (size_t i = 0; i < s.operand_count; ++i) tiles_[program_.operand(s, i)].pinned = pin_;
  }

  // --- one step ---

  // Large operands first, because small ones find holes more easily; but what the step makes comes
  // last: nothing in the plan says where it is before the execute does, so it cannot be evicted.
  std::vector<size_t> missing_operands(const TileStep& s) const {
    std::vector<size_t> missing;
    for (size_t i = 0; i < s.operand_count; ++i) {
      if (!resident(program_.operand(s, i))) missing.push_back(i);
    }
    std::stable_sort(missing.begin(), missing.end(), [&](size_t a, size_t b) {
      if (overwrites(s, a) != overwrites(s, b)) return overwrites(s, b);
      return bytes(program_.operand(s, a)) > bytes(program_.operand(s, b));
    });
    return missing;
  }

  // When the operand would be put into SRAM if there is room: by its load, or by the step.
  int64_t needed_from(size_t operand) const {
    if (overwrites(step(), operand)) return clock_.execute_ready(step());
    return clock_.load_ready(program_.operand(step(), operand));
  }

  void make_resident() {
    ++pin_;
    pin(step());
    for (size_t i : missing_operands(step())) {
      std::optional<int64_t> address = make_room(program_.operand(step(), i), needed_from(i));
      if (!address) return repack();
      bring(i, *address);
    }
  }

  void bring(size_t operand, int64_t address) {
    const TileId tile = program_.operand(step(), operand);
    settle(tile, address);
    if (overwrites(step(), operand)) {
      tiles_[tile].was_resident = true;
    } else {
      load(tile, step_);
    }
  }

  void repack() {
    ++plan_.counts.repacks;
    while (!candidates_.empty()) evict(candidates_.begin()->second);
    for (size_t i = 0; i < step().operand_count; ++i) {
      // Side by side, whatever is still in use there: a gap between them may be too much.
      std::optional<int64_t> address =
          arena_.find(space(program_.operand(step(), i)), SramArena::kAnyTime);
      EMULSION_CHECK(address.has_value(), "an empty SRAM has no room for step {}", step_);
      bring(i, *address);
    }
  }

  // Queues the loads of the next step that needs any, if there is room beside this step's tiles.
  void load_ahead() {
    ++pin_;
    pin(step());
    const StepId end = static_cast<StepId>(
        std::min<size_t>(program_.steps.size(), size_t{step_} + 1u + kLookAhead));
    bool loaded = false;
    for (StepId s = step_ + 1; s < end && !loaded && !loads_issued_[s]; ++s) {
      const TileStep& ahead = program_.steps[s];
      pin(ahead);
      for (size_t i : missing_operands(ahead)) {
        const TileId tile = program_.operand(ahead, i);
        if (overwrites(ahead, i)) continue;
        if (written_before(tile, s)) return;
        std::optional<int64_t> address = make_room(tile, clock_.load_ready(tile));
        if (!address) return;
        settle(tile, *address);
        load(tile, s);
        loads_issued_[s] = loaded = true;
      }
    }
  }

  // Whether a step from this one to before `end` changes the tile, by whatever name.
  bool written_before(TileId tile, StepId end) const {
    if (!tiles_[tile].made_here && overlaps_[tile].empty()) return false;
    for (StepId s = step_; s < end; ++s) {
      if (!program_.steps[s].writes) continue;
      const TileId written = program_.written(program_.steps[s]);
      const std::vector<TileId>& others = overlaps_[tile];
      if (written == tile || std::find(others.begin(), others.end(), written) != others.end()) {
        return true;
      }
    }
    return false;
  }

  void issue() {
    const TileStep& s = step();
    for (size_t i = 0; i < s.operand_count; ++i) {
      const TileId tile = program_.operand(s, i);
      plan_.operand_addresses[s.first_operand + i] = tiles_[tile].address;
      if (!overwrites(s, i)) ++plan_.counts.reads;
    }
    const TileId last = program_.operand(s, s.operand_count - 1u);
    if (s.kind == TileStep::Kind::store) {
      write_home(last, PlannedReason::program);
    } else {
      if (s.writes) drop_stale(last);
      emit(PlannedKind::execute, PlannedReason::program, last, step_);
      tiles_[last].dirty = tiles_[last].dirty || s.writes;
      ++plan_.counts.executes;
    }
    for (size_t i = 0; i < s.operand_count; ++i) retire(s.first_operand + i);
  }

  // Copies of what this step is about to change.
  void drop_stale(TileId written) {
    for (TileId other : overlaps_[written]) {
      if (!resident(other)) continue;
      if (tiles_[other].dirty) write_home(other, PlannedReason::overlap);
      drop(other, PlannedReason::stale);
    }
  }

  // After its use: a tile whose value is not needed again goes, the rest gets its new rank.
  void retire(size_t position) {
    const TileId tile = program_.operands[position];
    tiles_[tile].next_use = future_.next_use[position];
    const bool needed =
        tiles_[tile].made_here ? future_.needed[position] : tiles_[tile].next_use != kNever;
    const bool unsaved = tiles_[tile].dirty && kept(tile);
    if (needed || unsaved) {
      move_in_order(tile);
    } else {
      drop(tile, PlannedReason::dead);
    }
  }

  void flush() {
    for (TileId t = 0; t < tiles_.size(); ++t) {
      if (tiles_[t].dirty && kept(t)) write_home(t, PlannedReason::flush);
    }
  }

  const TileProgram& program_;
  const std::vector<std::vector<TileId>> overlaps_;
  const TileFuture future_;
  PlanClock clock_;  // of the plan so far
  SramArena arena_;
  std::vector<TileState> tiles_;
  std::vector<bool> loads_issued_;                    // ahead, for a step
  std::set<std::pair<uint64_t, TileId>> candidates_;  // all that is resident
  uint64_t uses_ = 0;
  uint64_t pin_ = 0;  // a tile with this number stays
  StepId step_ = 0;
  ScratchpadPlan plan_;
};

}  // namespace

ScratchpadPlan plan_scratchpad(const TileProgram& program, const TileMachine& machine,
                               EvictionPolicy policy) {
  check_tile_machine(machine);
  check_capacity(program, machine);
  return Planner(program, machine, policy).run();
}

}  // namespace emulsion
