#ifndef EMULSION_TESTS_RANDOM_CHECK_SCHEDULE_H_
#define EMULSION_TESTS_RANDOM_CHECK_SCHEDULE_H_

// Whether a schedule changes what a program computes: the graph interpreter, which knows nothing of
// schedules, the nest interpreter and, on request, the compiled kernel agree bit for bit, for every
// run of the program. And the random schedules of a whole run, in child processes.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/random/random_schedule.h"
#include "tests/random/schedule_programs.h"

namespace emulsion {

// Throws std::runtime_error, with the schedule and the nest, when they do not agree or the nest
// breaks a rule of verify_nest. The schedule has to be a legal one.
void check_schedule(const ScheduleProgram& program, const ScheduleLines& lines, bool compile);

// What became of one seed.
struct ScheduleResult {
  std::string failure;               // empty: none
  int refused = 0;                   // directives or schedules that were, each with an Error
  int compiled = 0;                  // kernels
  std::map<std::string, int> kinds;  // directives of the accepted schedule, by their names
};

// Schedule `index` of a run from `seed`, drawn for program index % number of programs: a legal one,
// checked, and compiled, too, one time in `compile_every`.
ScheduleResult check_legal(uint64_t seed, int index, int compile_every);

// A legal one with mistakes until it is refused. Those that are still legal are checked; of these,
// one in `compile_every` is compiled, too.
ScheduleResult check_illegal(uint64_t seed, int index, int compile_every);

using ScheduleCheck = ScheduleResult (*)(uint64_t seed, int index, int compile_every);
std::vector<ScheduleResult> check_in_children(ScheduleCheck check, uint64_t seed,
                                              const std::vector<int>& indices, int compile_every);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_CHECK_SCHEDULE_H_
