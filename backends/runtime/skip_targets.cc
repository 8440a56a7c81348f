#include "backends/runtime/skip_targets.h"

#include <cstdint>

#include "HalideRuntime.h"

namespace emulsion::runtime {
namespace {

thread_local int skipped_at_each_call = 0;
thread_local int left_to_skip = 0;

int can_use(int count, const uint64_t* features) {
  if (left_to_skip > 0) {
    --left_to_skip;
    return 0;
  }
  return halide_default_can_use_target_features(count, features);
}

}  // namespace

SkipTargets::SkipTargets(int count) {
  skipped_at_each_call = count;
  restart();
  // Stays: other threads are not affected, and a SkipTargets of another thread may need it.
  halide_set_custom_can_use_target_features(can_use);
}

SkipTargets::~SkipTargets() {
  skipped_at_each_call = 0;
  restart();
}

void SkipTargets::restart() { left_to_skip = skipped_at_each_call; }

}  // namespace emulsion::runtime
