#ifndef EMULSION_PASSES_ANALYSE_MEASURE_WORK_H_
#define EMULSION_PASSES_ANALYSE_MEASURE_WORK_H_

// What a nest trades, from the nest alone and before it runs: redundant work, locality and
// parallelism, the three that no schedule has all of. The three measures are those by which Figure
// 3 of Ragan-Kelley et al., "Halide: A Language and Compiler for Optimizing Parallelism, Locality,
// and Recomputation in Image Processing Pipelines" (PLDI 2013), compares five schedules of a blur:
//
//   redundancy      work amplification: arithmetic done, over that of another nest of the same
//                   graph (the paper: of the breadth-first one). Of one stage: points computed,
//                   over those of its domain. Points past an edge are computed and count; points
//                   that a guard leaves out do not.
//   locality        reuse distance: the most arithmetic between computing a value and reading it
//                   for the last time. A value lives for one pass through its alloc; of a window
//                   that slides, for as many steps of the loop as the window is long; and not at
//                   all when it is inlined, for then it is no stage.
//   parallelism     span: how many iterations could run at once. The loops around a stage and its
//                   own that carry no dependence: neither a reduction nor a window that slides
//                   along them. Also how many do: iterations of parallel loops, and lanes.
//
// Closed form: arithmetic over the tree, as count_uops; nothing is run or expanded. An operation is
// one operator of a stage's body that works on values (indices, conditions over them and casts
// are not counted), and in a reduction the combining.

#include <cstdint>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

struct StageWork {
  std::string stage;
  int64_t points = 0;          // computed, each as often as it is
  int64_t needed = 0;          // of its domain
  int64_t operations = 0;      // arithmetic, over all points
  int64_t reuse_distance = 0;  // operations of any stage; an output: 0
  int64_t bytes = 0;           // its storage at one time (of one iteration of a parallel loop)
  int64_t span = 1;            // iterations that could run at once
  int64_t parallel = 1;        // iterations of the parallel loops around and of it
  int64_t lanes = 1;           // iterations of its vectorized loops

  double redundancy() const;  // points / needed; 1 when nothing is needed
};

struct Work {
  std::vector<StageWork> stages;  // in the nest's order
  int64_t peak_bytes = 0;         // storage of all stages that is live at once, at most

  int64_t operations() const;
  int64_t reuse_distance() const;  // the longest
  int64_t span() const;            // the least
  int64_t parallel() const;        // the least
};

// Error: a size without a value.
Work measure_work(const LoopNest& nest, const SizeValues& sizes = {});

// A table, a line for each stage, then the whole.
std::string to_string(const Work& work);
// "work 1.06x, reuse distance 3264, span 11796480, 90 parallel, 46.0 KiB": one line of a table of
// schedules. `least`: the work of the nest to compare with, as a rule the breadth-first one.
std::string summary(const Work& work, const Work& least);

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_MEASURE_WORK_H_
