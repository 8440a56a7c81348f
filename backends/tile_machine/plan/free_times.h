#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_FREE_TIMES_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_FREE_TIMES_H_

// From which cycle on each address of the SRAM may be used again: what was there last may still be
// read, or be on its way to memory. Addresses that were never used are free from 0.

#include <cstdint>
#include <map>

namespace emulsion {

class FreeTimes {
 public:
  // Of the addresses in [first, last) those that are free last: when, and where they end.
  struct Latest {
    int64_t time = 0;
    int64_t end = 0;
  };
  Latest latest(int64_t first, int64_t last) const;

  void set(int64_t first, int64_t last, int64_t time);

 private:
  struct Range {
    int64_t end;
    int64_t time;
  };

  void split_at(int64_t address);

  std::map<int64_t, Range> ranges_;  // by first address; they do not overlap
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_FREE_TIMES_H_
