#include "backends/runtime/processor.h"

#include <cpuid.h>

namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

// All zero where the processor has no such leaf.
Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

int find_generation() {
  const bool sse4a = (cpuid(0x80000001U, 0).c & (1U << 6)) != 0;
  const bool vp2intersect = (cpuid(7, 0).d & (1U << 8)) != 0;
  const bool avxvnni = (cpuid(7, 1).a & (1U << 4)) != 0;
  if (!sse4a) return 0;
  return vp2intersect && avxvnni ? 5 : 4;
}

}  // namespace

int emulsion_zen_generation(void) {
  static const int kGeneration = find_generation();
  return kGeneration;
}
