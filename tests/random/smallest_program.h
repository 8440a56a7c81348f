#ifndef EMULSION_TESTS_RANDOM_SMALLEST_PROGRAM_H_
#define EMULSION_TESTS_RANDOM_SMALLEST_PROGRAM_H_

// A part of a program that fails, too: of what a random test found, what a person wants to look at.

#include <functional>
#include <string>

#include "tests/random/schedule_programs.h"

namespace emulsion {

// What is wrong with a program, or nothing. It is called in child processes.
using WhatIsWrong = std::function<std::string(const ScheduleProgram& program)>;

// Fewer outputs, arguments in the place of operations, smaller numbers and one run, as long as it
// fails in the same words but for numbers and names. The program itself where nothing is smaller.
ScheduleProgram smallest_program(const ScheduleProgram& program, const WhatIsWrong& what_is_wrong);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_SMALLEST_PROGRAM_H_
