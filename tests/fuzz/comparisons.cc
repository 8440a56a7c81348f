#include "tests/fuzz/comparisons.h"

// This file is compiled without what it stands for: nothing in it calls itself. For the same reason
// what is called at a comparison uses no function of a library, which others may have compiled.

extern "C" const char __executable_start;  // the linker's: where this program lies in memory

namespace emulsion {
namespace {

constexpr uint32_t kTimes = 8;  // kinds of "how often"
constexpr uint32_t kSlots = kMostOutcomes / kTimes;

bool comparing = false;
uint64_t made = 0;
uint8_t times[kSlots];
uint32_t touched[kSlots];
uint32_t touched_count = 0;

// Two outcomes that share a slot are taken for one, which loses one of many.
void record(const void* place, uint32_t outcome) {
  if (!comparing) return;
  ++made;
  const auto offset = static_cast<uint32_t>(static_cast<const char*>(place) - &__executable_start);
  const uint32_t mixed = (offset ^ (outcome * 0x85ebca6bU)) * 0x9e3779b1U;
  const uint32_t slot = (mixed ^ (mixed >> 15)) % kSlots;
  if (times[slot] == 0) touched[touched_count++] = slot;
  if (times[slot] != 255) ++times[slot];
}

template <typename T>
void record_comparison(const void* place, T a, T b) {
  record(place, a < b ? 0 : a == b ? 1 : 2);
}

// 1, 2, up to 4, 16, 64, 254, more.
uint32_t about(uint8_t count) {
  const uint8_t ends[] = {1, 2, 4, 16, 64, 254};
  uint32_t kind = 0;
  while (kind < sizeof(ends) && count > ends[kind]) ++kind;
  return kind;
}

}  // namespace

void start_comparing() {
  for (uint32_t i = 0; i < touched_count; ++i) times[touched[i]] = 0;
  touched_count = 0;
  made = 0;
  comparing = true;
}

Comparisons stop_comparing() {
  comparing = false;
  Comparisons seen;
  seen.made = made;
  for (uint32_t i = 0; i < touched_count; ++i) {
    seen.outcomes.push_back(touched[i] * kTimes + about(times[touched[i]]));
  }
  return seen;
}

}  // namespace emulsion

#define EMULSION_TRACE(name, type) \
  void name(type a, type b) { emulsion::record_comparison(__builtin_return_address(0), a, b); }

extern "C" {

EMULSION_TRACE(__sanitizer_cov_trace_cmp1, uint8_t)
EMULSION_TRACE(__sanitizer_cov_trace_cmp2, uint16_t)
EMULSION_TRACE(__sanitizer_cov_trace_cmp4, uint32_t)
EMULSION_TRACE(__sanitizer_cov_trace_cmp8, uint64_t)
EMULSION_TRACE(__sanitizer_cov_trace_const_cmp1, uint8_t)
EMULSION_TRACE(__sanitizer_cov_trace_const_cmp2, uint16_t)
EMULSION_TRACE(__sanitizer_cov_trace_const_cmp4, uint32_t)
EMULSION_TRACE(__sanitizer_cov_trace_const_cmp8, uint64_t)
EMULSION_TRACE(__sanitizer_cov_trace_cmpf, float)
EMULSION_TRACE(__sanitizer_cov_trace_cmpd, double)

// At `cases` there are their number, the bits of each, and each.
void __sanitizer_cov_trace_switch(uint64_t value, void* cases) {
  const auto* numbers = static_cast<const uint64_t*>(cases);
  uint32_t taken = 0;
  while (taken < numbers[0] && numbers[2 + taken] != value) ++taken;
  emulsion::record(__builtin_return_address(0), 3 + taken);
}

}  // extern "C"
