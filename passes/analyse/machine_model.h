#ifndef EMULSION_PASSES_ANALYSE_MACHINE_MODEL_H_
#define EMULSION_PASSES_ANALYSE_MACHINE_MODEL_H_

// What a machine can do at best, and how long work takes on it at least: the roofline model of
// Williams, Waterman and Patterson ("Roofline: An Insightful Visual Performance Model for Multicore
// Architectures", CACM 2009), with a roof for each cache. A kernel that does I operations for each
// byte that it moves runs at no more than min(peak, I * bandwidth), and the bandwidth is that of
// the nearest memory which holds all that it touches.
//
// It is for comparing ways to compute one thing on one machine. The numbers of machine_model() are
// assumptions, made of what a Target says; who has measured better ones fills in a MachineModel.

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/target.h"

namespace emulsion {

// A peak and one bandwidth, on as many threads as the kernels have.
struct Roof {
  double gflops = 0;     // 10^9 operations a second: the peak
  double gigabytes = 0;  // 10^9 bytes a second

  // 10^9 operations a second, at most, of what does `intensity` operations for each byte.
  double attainable(double intensity) const;
  // The operations for each byte from which on the peak is the limit.
  double ridge() const { return gflops / gigabytes; }
};

// A cache, or main memory.
struct MemoryModel {
  std::string name;      // "L2"
  double bytes = 0;      // what it holds; of the last one nobody asks
  double gigabytes = 0;  // 10^9 bytes a second, to and from it
};

struct MachineModel {
  double gflops = 0;                  // 10^9 operations on f32 a second: the peak
  std::vector<MemoryModel> memories;  // the nearest first; the last, main memory, holds everything

  // The nearest memory that holds so much. `memories` must not be empty.
  const MemoryModel& memory_of(double bytes) const;
  // The least time of one pass over `bytes` that does so many operations. `touched`: all that
  // passes over it go through before it comes again, where that is more.
  double seconds(double operations, double bytes, double touched = 0) const;
};

// One thread of a processor of the target: 3 GHz; an addition and a multiplication of two vectors a
// cycle, four operations in place of two where there is fma; of each cycle two vectors from L1, one
// from L2, half of one from L3, and 10 GB/s from main memory. The caches are the target's, but for
// one that does not hold more than the one before it: a target may say so, or not know its size.
// Error: a tile machine, whose time backends/tile_machine knows.
MachineModel machine_model(const Target& target);

// Error: no memory, a memory that is not larger than the one before it (the last may be), or a rate
// that is not above 0.
void check_machine_model(const MachineModel& machine);

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_MACHINE_MODEL_H_
