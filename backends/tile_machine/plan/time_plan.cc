#include "backends/tile_machine/plan/time_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "backends/tile_machine/plan/tile_cost.h"

namespace emulsion {

PlanTiming time_plan(const TileProgram& program, const ScratchpadPlan& plan) {
  const std::vector<std::vector<TileId>> overlaps = overlapping_tiles(program);
  PlanClock clock(program, overlaps, plan.machine);
  std::vector<Cycles> spans;
  spans.reserve(plan.uops.size());
  for (const PlannedUop& uop : plan.uops) spans.push_back(clock.run(uop));
  PlanTiming timing = clock.finish();
  timing.spans = std::move(spans);
  return timing;
}

std::vector<Residency> residencies(const TileProgram& program, const ScratchpadPlan& plan,
                                   const PlanTiming& timing) {
  std::vector<Residency> result;
  constexpr size_t absent = static_cast<size_t>(-1);
  std::vector<size_t> open(program.tiles.size(), absent);  // tile -> position in result
  // Of what was evicted, what nothing has taken yet: by address, up to where, and its position in
  // result. Each byte counts by itself: who takes the next one may start earlier than who took
  // this.
  struct Rest {
    int64_t end;
    size_t stay;
  };
  std::map<int64_t, Rest> evicted;
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
        evicted[stay.address] = {end_of(stay), open[uop.tile]};
      } else {
        stay.span.end = span.end;
      }
      open[uop.tile] = absent;
    } else if (open[uop.tile] == absent) {
      open[uop.tile] = result.size();
      result.push_back({uop.tile, uop.address, {span.start, timing.total}, timing.total});
      const int64_t end = end_of(result.back());
      auto it = evicted.lower_bound(uop.address);
      if (it != evicted.begin() && std::prev(it)->second.end > uop.address) --it;
      while (it != evicted.end() && it->first < end) {
        const auto [first, rest] = *it;
        it = evicted.erase(it);
        int64_t& left = result[rest.stay].span.end;
        left = std::min(left, span.start);
        if (first < uop.address) evicted[first] = {uop.address, rest.stay};
        if (rest.end > end) evicted[end] = rest;
      }
    }
  }
  return result;
}

}  // namespace emulsion
