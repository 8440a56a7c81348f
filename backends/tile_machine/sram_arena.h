#ifndef EMULSION_BACKENDS_TILE_MACHINE_SRAM_ARENA_H_
#define EMULSION_BACKENDS_TILE_MACHINE_SRAM_ARENA_H_

// Which addresses of the SRAM are free. Best fit: the smallest hole that is large enough, the
// lowest of those, and the lower end of it; holes that touch are one hole. Nothing is ever moved:
// when the free bytes lie in pieces that are each too small, the caller has to give back more
// (plan_scratchpad.h says what it does). Every operation costs O(log holes).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace emulsion {

class SramArena {
 public:
  // [0, bytes) is free.
  explicit SramArena(int64_t bytes);

  // Where `bytes` would go; nothing when no hole is large enough.
  std::optional<int64_t> find(int64_t bytes) const;
  // Marks [address, address + bytes) as used. InternalError unless all of it is free.
  void take(int64_t address, int64_t bytes);
  // Gives it back. InternalError when a part of it is free already.
  void release(int64_t address, int64_t bytes);

  int64_t free_bytes() const { return free_bytes_; }
  int64_t largest_hole() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void add_hole(int64_t address, int64_t bytes);
  void remove_hole(std::map<int64_t, int64_t>::iterator hole);

  int64_t size_;
  int64_t free_bytes_;
  std::map<int64_t, int64_t> by_address_;          // address -> bytes
  std::set<std::pair<int64_t, int64_t>> by_size_;  // bytes, address
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_SRAM_ARENA_H_
