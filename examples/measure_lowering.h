#ifndef EMULSION_EXAMPLES_MEASURE_LOWERING_H_
#define EMULSION_EXAMPLES_MEASURE_LOWERING_H_

// How long a schedule takes to become a verified loop nest. //benchmarks:lowering measures some
// itself, and asks every example for its own: --lowering=FILE.

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/schedule.h"

namespace CLI {
class App;  // a lesson that has no options of its own compiles in half the time without CLI11
}

namespace emulsion::lesson {

struct LoweringTimes {
  int64_t loops = 0;            // of the nest
  std::vector<double> seconds;  // to lower and verify it, several times
};
LoweringTimes time_lowering(const Schedule& schedule);

// The option --lowering=FILE, kept for measure_lowering.
void add_lowering_option(CLI::App* app);
// Where the option was given: adds a JSON line to the file, {"step": .., "loops": .., "seconds":
// [..]}. Else nothing.
void measure_lowering(const std::string& step, const Schedule& schedule);

}  // namespace emulsion::lesson

#endif  // EMULSION_EXAMPLES_MEASURE_LOWERING_H_
