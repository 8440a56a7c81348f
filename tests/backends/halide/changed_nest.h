#ifndef EMULSION_TESTS_BACKENDS_HALIDE_CHANGED_NEST_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_CHANGED_NEST_H_

// What check_emitted() says of a statement beside a nest that is not the one that it was emitted
// of.

#include <functional>
#include <stdexcept>
#include <string>

#include "passes/lower/lower.h"
#include "passes/nest/visit_nest.h"
#include "tests/backends/halide/check_emitted.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {

template <typename Kind>
using Change = std::function<void(Kind*)>;

template <typename Kind>
std::string difference_after(const LoopNest& nest, const Change<Kind>& change) {
  LoopNest changed = nest;
  changed.root = edit<Kind>(nest.root, change);
  return check_emitted(changed, nest).difference;
}

// The nest of the schedule by hand of that name.
inline LoopNest nest_of_case(const std::string& name) {
  for (const ScheduledCase& c : scheduled_cases()) {
    if (c.name == name) return lower(c.graph, c.schedule);
  }
  throw std::invalid_argument("no case " + name);
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_CHANGED_NEST_H_
