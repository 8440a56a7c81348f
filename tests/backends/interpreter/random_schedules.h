#ifndef EMULSION_TESTS_BACKENDS_INTERPRETER_RANDOM_SCHEDULES_H_
#define EMULSION_TESTS_BACKENDS_INTERPRETER_RANDOM_SCHEDULES_H_

// Random graphs of small operators over awkward extents, and random schedules for them: many of
// those are not legal, which lower() has to notice. Everything follows from the seed.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

class RandomSchedules {
 public:
  explicit RandomSchedules(uint32_t seed) : engine_(seed) {}

  // From `low` to `high`, both included.
  int pick(int low, int high);
  // Whole numbers stay whole in these operators, so that results can be compared exactly. The rows
  // of x are a run-time size B in every other graph.
  Graph graph();
  Schedule schedule(const Graph& graph);

 private:
  // An operation being scheduled: its loops as the directives so far have made them.
  struct Loops {
    std::string name;
    std::vector<std::string> names;
  };

  Extent extent();
  Tensor weight_of(const Shape& shape);
  void add_operator(std::vector<Tensor>* pool);
  void add_loop_directive(StageSchedule* stage, Loops* loops);
  void split(StageSchedule* stage, Loops* loops, size_t at);
  void reorder(StageSchedule* stage, Loops* loops);
  void place(const Graph& graph, const Op& op, const std::vector<Loops>& consumers,
             StageSchedule* stage);

  std::mt19937 engine_;
  int names_ = 0;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_INTERPRETER_RANDOM_SCHEDULES_H_
