#include "backends/tile_machine/plan/scratchpad_plan.h"

#include "dsl/error.h"

namespace emulsion {

std::string to_string(EvictionPolicy policy) {
  return policy == EvictionPolicy::lru ? "LRU" : "Belady";
}

std::string to_string(PlannedKind kind) {
  switch (kind) {
    case PlannedKind::load:
      return "load";
    case PlannedKind::execute:
      return "execute";
    case PlannedKind::store:
      return "store";
    case PlannedKind::drop:
      return "drop";
  }
  EMULSION_CHECK(false, "planned kind {}", static_cast<int>(kind));
  return "";
}

std::string to_string(PlannedReason reason) {
  switch (reason) {
    case PlannedReason::program:
      return "program";
    case PlannedReason::first:
      return "first";
    case PlannedReason::again:
      return "again";
    case PlannedReason::spill:
      return "spill";
    case PlannedReason::overlap:
      return "overlap";
    case PlannedReason::flush:
      return "flush";
    case PlannedReason::evict:
      return "evict";
    case PlannedReason::dead:
      return "dead";
    case PlannedReason::stale:
      return "stale";
  }
  EMULSION_CHECK(false, "planned reason {}", static_cast<int>(reason));
  return "";
}

}  // namespace emulsion
