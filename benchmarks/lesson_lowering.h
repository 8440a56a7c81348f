#ifndef EMULSION_BENCHMARKS_LESSON_LOWERING_H_
#define EMULSION_BENCHMARKS_LESSON_LOWERING_H_

// How long the schedules of a lesson take to become loop nests. A lesson measures them itself, in a
// process of its own.

#include <string>
#include <vector>

#include "benchmarks/report.h"

namespace emulsion::benchmarks {

constexpr double kLoweringLimit = 0.010;  // seconds

// "{"step": .., "loops": .., "seconds": [..]}", as a lesson writes it. Error: anything else.
Row parse_lowering(const std::string& source, const std::string& line);

// Runs a program that knows --lowering=FILE. Error: it fails, or measures nothing.
std::vector<Row> lowerings_of_lesson(const std::string& program);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LESSON_LOWERING_H_
