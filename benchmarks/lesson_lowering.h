#ifndef EMULSION_BENCHMARKS_LESSON_LOWERING_H_
#define EMULSION_BENCHMARKS_LESSON_LOWERING_H_

// How long the schedules of a lesson take to become loop nests. A lesson measures them itself, in a
// process of its own.

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/report.h"

namespace emulsion::benchmarks {

constexpr double kLoweringLimit = 0.010;  // seconds

// "{"step": .., "loops": .., "seconds": [..]}", as a lesson writes it. Error: anything else.
Row parse_lowering(const std::string& source, const std::string& line);

// The programs of a list, one in a line of a file, where `located` says that each is. Error: none.
std::vector<std::string> lessons_in(
    const std::string& file, const std::function<std::string(const std::string& line)>& located);

// Runs a program that knows --lowering=FILE. Error: it fails, or measures nothing.
std::vector<Row> lowerings_of_lesson(const std::string& program);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LESSON_LOWERING_H_
