#ifndef EMULSION_TESTS_BACKENDS_HALIDE_CHECK_ACCESSES_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_CHECK_ACCESSES_H_

// A uOp and its store at one point: whether both run there, and what they write and read.

#include <vector>

#include "tests/backends/halide/emitted_points.h"

namespace emulsion {

// A load that a store's value is made of.
struct EmittedLoad {
  std::string memory;
  Halide::Expr index, predicate;
  bool known = false;  // whether the index follows from loops and sizes
};
std::vector<EmittedLoad> loads_of(const Halide::Internal::Store& store);

// std::runtime_error: what differs. Returns whether the uOp runs there.
bool check_accesses(const EmittedPair& pair, size_t item, const std::vector<EmittedLoad>& loads,
                    const EmittedPoint& point);

// The same of a prefetch: whether there is a step that it is for, and the addresses are those of
// the box that is read in it.
bool check_prefetch(const EmittedPair& pair, size_t item, const EmittedPoint& point);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_CHECK_ACCESSES_H_
