#ifndef EMULSION_TESTS_RANDOM_RUN_IN_CHILDREN_H_
#define EMULSION_TESTS_RANDOM_RUN_IN_CHILDREN_H_

// Tasks in child processes, so that one that crashes is a result like any other. One child does as
// many as it survives, since the first compilation in a process costs more than those that follow;
// the next child goes on behind the task that ended it.

#include <functional>
#include <string>
#include <vector>

namespace emulsion {

struct TaskResult {
  std::string text;   // what the task returned
  std::string crash;  // how it ended the process instead, and what it announced last; else empty
};

// The tasks must not throw. Call it before this process starts threads.
std::vector<TaskResult> run_in_children(const std::vector<std::function<std::string()>>& tasks);

// Called by a task: what it does next, for the report of a crash. Elsewhere without effect.
void announce(const std::string& text);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RUN_IN_CHILDREN_H_
