#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_SRAM_ARENA_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_SRAM_ARENA_H_

// Which addresses of the SRAM are free. Best fit: the smallest hole that is large enough, the
// lowest of those, and the lower end of it; holes that touch are one hole. Nothing is ever moved:
// when the free bytes lie in pieces that are each too small, the caller has to give back more
// (plan_scratchpad.h says what it does).
//
// A hole may still be in use for a time: what was there is being read, or stored. Places in it that
// are free in time come first, in that same order, so that nothing waits for space while there is
// some.
//
// Every operation costs O(log holes), but for the places that find() passes over.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backends/tile_machine/plan/free_times.h"

namespace emulsion {

class SramArena {
 public:
  // [0, bytes) is free.
  explicit SramArena(int64_t bytes);

  // Where `bytes` that are needed from cycle `when` on would go: the first place that is free by
  // then; if none of the first kMostPlaces is, the one of them that is free first. Nothing when no
  // hole is large enough.
  static constexpr int kMostPlaces = 64;
  static constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> find(int64_t bytes, int64_t when) const;
  // Marks [address, address + bytes) as used. InternalError unless all of it is free.
  void take(int64_t address, int64_t bytes);
  // Gives it back, to be used from cycle `free_from` on. InternalError when a part of it is free
  // already.
  void release(int64_t address, int64_t bytes, int64_t free_from);

  int64_t free_bytes() const { return free_bytes_; }
  int64_t largest_hole() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void add_hole(int64_t address, int64_t bytes);
  void remove_hole(std::map<int64_t, int64_t>::iterator hole);

  int64_t size_;
  int64_t free_bytes_;
  std::map<int64_t, int64_t> by_address_;          // address -> bytes
  std::set<std::pair<int64_t, int64_t>> by_size_;  // bytes, address
  FreeTimes free_times_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_SRAM_ARENA_H_
