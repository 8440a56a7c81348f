#ifndef EMULSION_TESTS_BACKENDS_HALIDE_CHECK_EMITTED_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_CHECK_EMITTED_H_

// "What is printed is what runs", of the statement that a nest becomes, before any pass of
// Halide's: each loop is one For of that name, kind, start and extent; each uOp one store, under
// the same guards, to the same place, of a value made of the same elements; each alloc one
// allocation; each prefetch the addresses that a later step reads. Names and order are compared for
// all, numbers at some iterations for some run-time sizes.

#include <cstdint>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// What was compared.
struct EmittedCounts {
  int64_t loops = 0;
  int64_t uops = 0;
  int64_t allocs = 0;
  int64_t branches = 0;
  int64_t prefetches = 0;
  int64_t points = 0;       // at which numbers were
  int64_t unreached = 0;    // of the above: at no point that was tried
  int64_t dead = 0;         // of the above: no size of those tried has a step that gets there, as
                            // in B steps where a branch says that B is 0
  int64_t last_lanes = 0;   // vectors of an odd number of lanes that have the last one apart
  int64_t empty_loops = 0;  // never have a step: no statement, and nothing in them is compared

  EmittedCounts& operator+=(const EmittedCounts& other);
};
std::string to_string(const EmittedCounts& counts);
// All of them, in their order, and back: to bring them out of a child process.
std::vector<int64_t> numbers_of(const EmittedCounts& counts);
EmittedCounts counts_of(const std::vector<int64_t>& numbers);

struct EmittedCheck {
  EmittedCounts counts;
  std::string difference;  // the first; empty: none
};

EmittedCheck check_emitted(const LoopNest& nest);
// The statement of `emitted` against another nest: for tests of the check.
EmittedCheck check_emitted(const LoopNest& nest, const LoopNest& emitted);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_CHECK_EMITTED_H_
