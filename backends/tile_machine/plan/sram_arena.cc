#include "backends/tile_machine/plan/sram_arena.h"

#include <iterator>

#include "dsl/error.h"

namespace emulsion {

SramArena::SramArena(int64_t bytes) : size_(bytes), free_bytes_(bytes) {
  if (bytes > 0) add_hole(0, bytes);
}

std::optional<int64_t> SramArena::find(int64_t bytes, int64_t when) const {
  std::optional<int64_t> first;
  int64_t first_time = 0;
  int places = 0;
  for (auto hole = by_size_.lower_bound({bytes, 0}); hole != by_size_.end(); ++hole) {
    const auto [hole_bytes, hole_address] = *hole;
    // The next place in the hole begins behind what keeps this one from being free any earlier.
    for (int64_t at = hole_address; at + bytes <= hole_address + hole_bytes;) {
      const FreeTimes::Latest latest = free_times_.latest(at, at + bytes);
      if (latest.time <= when) return at;
      if (!first || latest.time < first_time) {
        first = at;
        first_time = latest.time;
      }
      if (++places == kMostPlaces) return first;
      at = latest.end;
    }
  }
  return first;
}

void SramArena::take(int64_t address, int64_t bytes) {
  auto hole = by_address_.upper_bound(address);
  EMULSION_CHECK(hole != by_address_.begin(), "address {} is not free", address);
  --hole;
  const auto [hole_address, hole_bytes] = *hole;
  EMULSION_CHECK(address + bytes <= hole_address + hole_bytes, "[{}, {}) is not free", address,
                 address + bytes);
  remove_hole(hole);
  if (hole_address < address) add_hole(hole_address, address - hole_address);
  const int64_t rest = hole_address + hole_bytes - address - bytes;
  if (rest > 0) add_hole(address + bytes, rest);
  free_bytes_ -= bytes;
}

void SramArena::release(int64_t address, int64_t bytes, int64_t free_from) {
  EMULSION_CHECK(address >= 0 && address + bytes <= size_, "[{}, {}) is not in SRAM", address,
                 address + bytes);
  int64_t first = address;
  int64_t last = address + bytes;
  auto after = by_address_.lower_bound(address);
  if (after != by_address_.end()) {
    EMULSION_CHECK(after->first >= last, "[{}, {}) is free already", address, last);
  }
  if (after != by_address_.begin()) {
    auto before = std::prev(after);
    const int64_t end = before->first + before->second;
    EMULSION_CHECK(end <= first, "[{}, {}) is free already", address, last);
    if (end == first) {
      first = before->first;
      remove_hole(before);
    }
  }
  if (after != by_address_.end() && after->first == last) {
    last += after->second;
    remove_hole(after);
  }
  add_hole(first, last - first);
  free_bytes_ += bytes;
  free_times_.set(address, address + bytes, free_from);
}

void SramArena::add_hole(int64_t address, int64_t bytes) {
  by_address_.emplace(address, bytes);
  by_size_.emplace(bytes, address);
}

void SramArena::remove_hole(std::map<int64_t, int64_t>::iterator hole) {
  by_size_.erase({hole->second, hole->first});
  by_address_.erase(hole);
}

}  // namespace emulsion
