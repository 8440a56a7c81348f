#include "backends/tile_machine/time_plan.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "backends/tile_machine/tile_cost.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// From when on each address is free again. Ranges that were never used are free from 0.
class FreeTimes {
 public:
  int64_t latest(int64_t first, int64_t last) const {
    int64_t time = 0;
    auto it = ranges_.upper_bound(first);
    if (it != ranges_.begin()) --it;
    for (; it != ranges_.end() && it->first < last; ++it) {
      if (it->second.end > first) time = std::max(time, it->second.time);
    }
    return time;
  }

  void set(int64_t first, int64_t last, int64_t time) {
    split_at(first);
    split_at(last);
    ranges_.erase(ranges_.lower_bound(first), ranges_.lower_bound(last));
    ranges_[first] = {last, time};
  }

 private:
  struct Range {
    int64_t end;
    int64_t time;
  };

  void split_at(int64_t address) {
    auto it = ranges_.lower_bound(address);
    if (it == ranges_.begin()) return;
    --it;
    const Range range = it->second;
    if (range.end <= address) return;
    it->second.end = address;
    ranges_[address] = range;
  }

  std::map<int64_t, Range> ranges_;  // by first address; they do not overlap
};

class Clock {
 public:
  Clock(const TileProgram& program, const ScratchpadPlan& plan)
      : program_(program),
        plan_(plan),
        overlaps_(overlapping_tiles(program)),
        tiles_(program.tiles.size()) {}

  PlanTiming run() {
    timing_.spans.reserve(plan_.uops.size());
    for (const PlannedUop& uop : plan_.uops) {
      const Cycles span = run_uop(uop);
      timing_.spans.push_back(span);
      timing_.total = std::max(timing_.total, span.end);
    }
    stall(execute_free_, timing_.total, StallCause::store);
    return std::move(timing_);
  }

 private:
  struct TileState {
    bool resident = false;
    int64_t ready = 0;       // its value is in SRAM
    int64_t busy = 0;        // nobody uses it any more
    int64_t home_ready = 0;  // its value is in memory
  };

  int64_t last_address(const PlannedUop& uop) const {
    return uop.address + footprint(plan_.machine, program_.tiles[uop.tile].bytes);
  }

  Cycles run_uop(const PlannedUop& uop) {
    switch (uop.kind) {
      case PlannedKind::load:
        return load(uop);
      case PlannedKind::execute:
        return execute(uop);
      case PlannedKind::store:
        return store(uop);
      case PlannedKind::drop:
        return drop(uop);
    }
    EMULSION_CHECK(false, "planned kind {}", static_cast<int>(uop.kind));
    return {};
  }

  Cycles load(const PlannedUop& uop) {
    TileState& tile = tiles_[uop.tile];
    int64_t ready = std::max(load_free_, tile.home_ready);
    if (!plan_.machine.double_buffer) ready = std::max(ready, timing_.total);
    const int64_t space = free_times_.latest(uop.address, last_address(uop));
    if (space > ready) space_waits_.push_back({ready, space});
    Cycles span;
    span.start = std::max(ready, space);
    span.end = span.start + load_cycles(plan_.machine, program_.tiles[uop.tile].bytes);
    timing_.load_busy += span.end - span.start;
    load_free_ = tile.ready = tile.busy = span.end;
    tile.resident = true;
    return span;
  }

  Cycles execute(const PlannedUop& uop) {
    const TileStep& step = program_.steps[uop.step];
    int64_t data = 0;
    for (size_t i = 0; i + 1u < step.operand_count; ++i) {
      data = std::max(data, tiles_[program_.operand(step, i)].ready);
    }
    TileState& result = tiles_[uop.tile];
    int64_t space = 0;
    if (result.resident) {
      data = std::max(data, result.ready);
      space = result.busy;  // a Store of its old value may be on its way
    } else {
      space = free_times_.latest(uop.address, last_address(uop));
    }
    Cycles span;
    span.start = std::max({execute_free_, data, space});
    span.end = span.start + execute_cycles(plan_.machine, step.macs, step.elements);
    explain_wait({execute_free_, span.start}, data);
    timing_.execute_busy += span.end - span.start;
    for (size_t i = 0; i < step.operand_count; ++i) {
      TileState& tile = tiles_[program_.operand(step, i)];
      tile.busy = std::max(tile.busy, span.end);
    }
    execute_free_ = result.ready = span.end;
    result.resident = true;
    return span;
  }

  // Until `data` the wait is for loads, but for the time in which the load unit itself waits for
  // space; from there on it is for the space of the result.
  void explain_wait(Cycles wait, int64_t data) {
    while (!space_waits_.empty() && space_waits_.front().end <= wait.start) {
      space_waits_.pop_front();
    }
    const int64_t landed = std::clamp(data, wait.start, wait.end);
    int64_t at = wait.start;
    for (const Cycles& blocked : space_waits_) {
      stall(at, std::min(blocked.start, landed), StallCause::load);
      at = std::max(at, std::min(blocked.start, landed));
      stall(at, std::min(blocked.end, landed), StallCause::space);
      at = std::max(at, std::min(blocked.end, landed));
    }
    stall(at, landed, StallCause::load);
    stall(landed, wait.end, StallCause::space);
  }

  void stall(int64_t start, int64_t end, StallCause cause) {
    if (start < end) timing_.stalls.push_back({{start, end}, cause});
  }

  Cycles store(const PlannedUop& uop) {
    TileState& tile = tiles_[uop.tile];
    Cycles span;
    span.start = std::max(store_free_, tile.ready);
    span.end = span.start + store_cycles(plan_.machine, program_.tiles[uop.tile].bytes);
    timing_.store_busy += span.end - span.start;
    store_free_ = span.end;
    tile.busy = std::max(tile.busy, span.end);
    tile.home_ready = span.end;
    for (TileId other : overlaps_[uop.tile]) {
      tiles_[other].home_ready = std::max(tiles_[other].home_ready, span.end);
    }
    return span;
  }

  Cycles drop(const PlannedUop& uop) {
    TileState& tile = tiles_[uop.tile];
    tile.resident = false;
    free_times_.set(uop.address, last_address(uop), tile.busy);
    return {tile.busy, tile.busy};
  }

  const TileProgram& program_;
  const ScratchpadPlan& plan_;
  const std::vector<std::vector<TileId>> overlaps_;
  std::vector<TileState> tiles_;
  FreeTimes free_times_;
  std::deque<Cycles> space_waits_;  // of the load unit, in order
  int64_t load_free_ = 0, execute_free_ = 0, store_free_ = 0;
  PlanTiming timing_;
};

}  // namespace

int64_t PlanTiming::stalled(StallCause cause) const {
  int64_t cycles = 0;
  for (const Stall& stall : stalls) {
    if (stall.cause == cause) cycles += stall.span.end - stall.span.start;
  }
  return cycles;
}

std::string to_string(StallCause cause) {
  switch (cause) {
    case StallCause::load:
      return "waiting for a load";
    case StallCause::space:
      return "waiting for space";
    case StallCause::store:
      return "waiting for the last stores";
  }
  EMULSION_CHECK(false, "stall cause {}", static_cast<int>(cause));
  return "";
}

PlanTiming time_plan(const TileProgram& program, const ScratchpadPlan& plan) {
  return Clock(program, plan).run();
}

std::vector<Residency> residencies(const TileProgram& program, const ScratchpadPlan& plan,
                                   const PlanTiming& timing) {
  std::vector<Residency> result;
  constexpr size_t absent = static_cast<size_t>(-1);
  std::vector<size_t> open(program.tiles.size(), absent);  // tile -> position in result
  std::map<int64_t, size_t> evicted;  // by address: what nothing has taken the place of yet
  auto end_of = [&](const Residency& stay) {
    return stay.address + footprint(plan.machine, program.tiles[stay.tile].bytes);
  };
  for (size_t i = 0; i < plan.uops.size(); ++i) {
    const PlannedUop& uop = plan.uops[i];
    const Cycles& span = timing.spans[i];
    if (uop.kind == PlannedKind::drop) {
      Residency& stay = result[open[uop.tile]];
      stay.last_use = span.end;
      if (uop.reason == PlannedReason::evict) {
        evicted[stay.address] = open[uop.tile];
      } else {
        stay.span.end = span.end;
      }
      open[uop.tile] = absent;
    } else if (open[uop.tile] == absent) {
      open[uop.tile] = result.size();
      result.push_back({uop.tile, uop.address, {span.start, timing.total}, timing.total});
      auto it = evicted.lower_bound(uop.address);
      if (it != evicted.begin() && end_of(result[std::prev(it)->second]) > uop.address) --it;
      while (it != evicted.end() && it->first < end_of(result.back())) {
        result[it->second].span.end = span.start;
        it = evicted.erase(it);
      }
    }
  }
  return result;
}

}  // namespace emulsion
