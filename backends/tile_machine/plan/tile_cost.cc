#include "backends/tile_machine/plan/tile_cost.h"

namespace emulsion {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

int64_t footprint(const TileMachine& machine, int64_t bytes) {
  return ceil_div(bytes, machine.alignment) * machine.alignment;
}

int64_t load_cycles(const TileMachine& machine, int64_t bytes) {
  return ceil_div(bytes, machine.load_bytes_per_cycle);
}

int64_t store_cycles(const TileMachine& machine, int64_t bytes) {
  return ceil_div(bytes, machine.store_bytes_per_cycle);
}

int64_t execute_cycles(const TileMachine& machine, int64_t macs, int64_t elements) {
  if (macs == 0) return ceil_div(elements, machine.elements_per_cycle);
  return machine.execute_cycles * ceil_div(macs, machine.tile_m * machine.tile_n * machine.tile_k);
}

}  // namespace emulsion
