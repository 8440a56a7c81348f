#include "backends/tile_machine/plan/plan_clock.h"

#include <algorithm>
#include <utility>

#include "backends/tile_machine/plan/tile_cost.h"
#include "dsl/error.h"

namespace emulsion {

PlanClock::PlanClock(const TileProgram& program, const std::vector<std::vector<TileId>>& overlaps,
                     const TileMachine& machine)
    : program_(program), overlaps_(overlaps), machine_(machine), tiles_(program.tiles.size()) {}

Cycles PlanClock::run(const PlannedUop& uop) {
  Cycles span;
  switch (uop.kind) {
    case PlannedKind::load:
      span = load(uop);
      break;
    case PlannedKind::execute:
      span = execute(uop);
      break;
    case PlannedKind::store:
      span = store(uop);
      break;
    case PlannedKind::drop:
      span = drop(uop);
      break;
  }
  timing_.total = std::max(timing_.total, span.end);
  return span;
}

PlanTiming PlanClock::finish() {
  stall(execute_free_, timing_.total, StallCause::store);
  return std::move(timing_);
}

int64_t PlanClock::load_ready(TileId tile) const {
  const int64_t ready = std::max(load_free_, tiles_[tile].home_ready);
  return machine_.double_buffer ? ready : std::max(ready, timing_.total);
}

int64_t PlanClock::execute_ready(const TileStep& step) const {
  int64_t data = 0;
  for (size_t i = 0; i + 1u < step.operand_count; ++i) {
    data = std::max(data, tiles_[program_.operand(step, i)].ready);
  }
  return std::max(execute_free_, data);
}

int64_t PlanClock::end_address(const PlannedUop& uop) const {
  return uop.address + footprint(machine_, program_.tiles[uop.tile].bytes);
}

Cycles PlanClock::load(const PlannedUop& uop) {
  TileState& tile = tiles_[uop.tile];
  const int64_t ready = load_ready(uop.tile);
  const int64_t space = free_times_.latest(uop.address, end_address(uop)).time;
  if (space > ready) space_waits_.push_back({ready, space});
  Cycles span;
  span.start = std::max(ready, space);
  span.end = span.start + load_cycles(machine_, program_.tiles[uop.tile].bytes);
  timing_.load_busy += span.end - span.start;
  load_free_ = tile.ready = tile.busy = span.end;
  tile.resident = true;
  return span;
}

Cycles PlanClock::execute(const PlannedUop& uop) {
  const TileStep& step = program_.steps[uop.step];
  int64_t ready = execute_ready(step);
  TileState& result = tiles_[uop.tile];
  int64_t space = 0;
  if (result.resident) {
    ready = std::max(ready, result.ready);
    space = result.busy;  // a Store of its old value may be on its way
  } else {
    space = free_times_.latest(uop.address, end_address(uop)).time;
  }
  Cycles span;
  span.start = std::max(ready, space);
  span.end = span.start + execute_cycles(machine_, step.macs, step.elements);
  explain_wait({execute_free_, span.start}, ready);
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
void PlanClock::explain_wait(Cycles wait, int64_t data) {
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

void PlanClock::stall(int64_t start, int64_t end, StallCause cause) {
  if (start < end) timing_.stalls.push_back({{start, end}, cause});
}

Cycles PlanClock::store(const PlannedUop& uop) {
  TileState& tile = tiles_[uop.tile];
  Cycles span;
  span.start = std::max(store_free_, tile.ready);
  span.end = span.start + store_cycles(machine_, program_.tiles[uop.tile].bytes);
  timing_.store_busy += span.end - span.start;
  store_free_ = span.end;
  tile.busy = std::max(tile.busy, span.end);
  tile.home_ready = span.end;
  for (TileId other : overlaps_[uop.tile]) {
    tiles_[other].home_ready = std::max(tiles_[other].home_ready, span.end);
  }
  return span;
}

Cycles PlanClock::drop(const PlannedUop& uop) {
  TileState& tile = tiles_[uop.tile];
  tile.resident = false;
  free_times_.set(uop.address, end_address(uop), tile.busy);
  return {tile.busy, tile.busy};
}

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

}  // namespace emulsion
