#ifndef EMULSION_TESTS_BACKENDS_HALIDE_STORAGE_CASES_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_STORAGE_CASES_H_

// Schedules whose storage is kept over loops, folded, hoisted or laid out in another way. Shared by
// the tests of this folder; among scheduled_cases() of nest_cases.h.

#include <vector>

#include "tests/backends/halide/nest_cases.h"

namespace emulsion {

void add_storage(std::vector<ScheduledCase>* cases);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_STORAGE_CASES_H_
