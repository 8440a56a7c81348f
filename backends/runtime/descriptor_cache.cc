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
using Cache = std::array<std::unique_ptr<Entry>, kSlots>;

std::unique_ptr<Entry>& slot_of(const char* address) {
  thread_local Cache cache;
  constexpr uint64_t kGoldenRatio =
      0x9e3779b97f4a7c15;  // spreads addresses that differ in few bits
  return cache[(reinterpret_cast<uintptr_t>(address) * kGoldenRatio) >> 58];
}

}  // namespace

const Descriptor* find_descriptor(const char* text) {
  const std::unique_ptr<Entry>& slot = slot_of(text);
  const bool found = slot != nullptr && slot->address == text && slot->text == text;
  return found ? &slot->descriptor : nullptr;
}

const Descriptor* add_descriptor(const char* text, ErrorMessage* reason) {
  auto entry = std::make_unique<Entry>();
  if (!parse_descriptor(text, &entry->descriptor, reason)) return nullptr;
  entry->address = text;
  entry->text = text;
  std::unique_ptr<Entry>& slot = slot_of(text);
  slot = std::move(entry);
  return &slot->descriptor;
}

}  // namespace emulsion::runtime
