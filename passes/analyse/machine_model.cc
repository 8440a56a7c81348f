#include "passes/analyse/machine_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dsl/error.h"
#include "dsl/types.h"

namespace emulsion {

double Roof::attainable(double intensity) const { return std::min(gflops, intensity * gigabytes); }

const MemoryModel& MachineModel::memory_of(double bytes) const {
  EMULSION_CHECK(!memories.empty(), "a machine without memory");
  const auto found = std::find_if(memories.begin(), memories.end() - 1,
                                  [&](const MemoryModel& memory) { return bytes <= memory.bytes; });
  return *found;
}

double MachineModel::seconds(double operations, double bytes, double touched) const {
  const double gigabytes = memory_of(std::max(bytes, touched)).gigabytes;
  return 1e-9 * std::max(operations / gflops, bytes / gigabytes);
}

MachineModel machine_model(const Target& target) {
  if (target.is_tile_machine()) {
    fail("machine_model: expected a processor, got {}; legal: a MachineModel of your own",
         target.to_string());
  }
  constexpr double kGigahertz = 3, kMainMemory = 10;
  const double lanes = target.vector_lanes(DType::f32);
  const double vector = target.vector_bits() / 8.0;
  MachineModel machine;
  machine.gflops = kGigahertz * lanes * (target.has_fma() ? 4 : 2);
  const std::vector<MemoryModel> caches = {
      {"L1", static_cast<double>(target.l1_bytes), kGigahertz * vector * 2},
      {"L2", static_cast<double>(target.l2_bytes), kGigahertz * vector},
      {"L3", static_cast<double>(target.l3_bytes), kGigahertz * vector / 2},
  };
  double held = 0;
  for (const MemoryModel& cache : caches) {
    if (cache.bytes <= held) continue;
    held = cache.bytes;
    machine.memories.push_back(cache);
  }
  machine.memories.push_back({"main memory", 0, kMainMemory});
  return machine;
}

void check_machine_model(const MachineModel& machine) {
  const auto is_rate = [](double value) { return std::isfinite(value) && value > 0; };
  if (!is_rate(machine.gflops)) {
    fail("machine model: expected a peak above 0, got {} GF/s", machine.gflops);
  }
  if (machine.memories.empty()) fail("machine model: expected at least one memory, got none");
  double last = 0;
  for (size_t i = 0; i < machine.memories.size(); ++i) {
    const MemoryModel& memory = machine.memories[i];
    if (!is_rate(memory.gigabytes)) {
      fail("machine model, {}: expected a bandwidth above 0, got {} GB/s", memory.name,
           memory.gigabytes);
    }
    const bool is_cache = i + 1 < machine.memories.size();
    if (is_cache && !(memory.bytes > last)) {
      fail("machine model, {}: expected more than {} bytes, as the memory before it has, got {}",
           memory.name, last, memory.bytes);
    }
    last = memory.bytes;
  }
}

}  // namespace emulsion
