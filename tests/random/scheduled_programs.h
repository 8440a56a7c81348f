#ifndef EMULSION_TESTS_RANDOM_SCHEDULED_PROGRAMS_H_
#define EMULSION_TESTS_RANDOM_SCHEDULED_PROGRAMS_H_

// Random schedules of random programs, in child processes: whatever is split, reordered, computed
// inside of what reads it or kept in a window, the nest and the compiled kernel compute what the
// graph interpreter does, and a schedule with a mistake is refused or computes the same.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/random/schedule_programs.h"

namespace emulsion {

struct ScheduledPrograms {
  int schedules = 0, too_long = 0, refused = 0;
  std::map<std::string, int> kinds;  // directives of the schedules
};

// Draws EMULSION_SCHEDULES schedules for each program, or that many, for level_of() its number. A
// wrong one is a failure of the test that says how to run its program alone. Prints what it
// returns.
ScheduledPrograms expect_scheduled(const std::vector<int>& numbers, uint64_t seed, int schedules,
                                   const std::function<ScheduleProgram(int)>& program);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_SCHEDULED_PROGRAMS_H_
