#include "backends/runtime/descriptor_cache.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace emulsion::runtime {
namespace {

struct Entry {
  const char* address = nullptr;
  std::string text;
  Descriptor descriptor;
};

// Bounded, since an application may generate and drop kernels for ever: a new kernel takes the
// place of the one that happens to sit in its slot, and that one is parsed again when it is called
// again.
constexpr size_t kSlots = 64;

// Plain pointers, there to the very end of the thread: an application may call kernels from what
// runs when it exits, behind the destructors of this thread's objects.
thread_local std::array<Entry*, kSlots> slots = {};

struct EmptiesSlots {
  ~EmptiesSlots() {
    for (Entry*& entry : slots) delete std::exchange(entry, nullptr);
  }
};

Entry*& slot_of(const char* address) {
  constexpr uint64_t kGoldenRatio =
      0x9e3779b97f4a7c15;  // spreads addresses that differ in few bits
  return slots[(reinterpret_cast<uintptr_t>(address) * kGoldenRatio) >> 58];
}

}  // namespace

const Descriptor* find_descriptor(const char* text) {
  const Entry* slot = slot_of(text);
  const bool found = slot != nullptr && slot->address == text && slot->text == text;
  return found ? &slot->descriptor : nullptr;
}

const Descriptor* add_descriptor(const char* text, ErrorMessage* reason) {
  auto entry = std::make_unique<Entry>();
  if (!parse_descriptor(text, &entry->descriptor, reason)) return nullptr;
  entry->address = text;
  entry->text = text;
  [[maybe_unused]] thread_local const EmptiesSlots at_the_end{};
  Entry*& slot = slot_of(text);
  delete std::exchange(slot, entry.release());
  return &slot->descriptor;
}

}  // namespace emulsion::runtime
