#include "tests/random/expect_in_children.h"

#include <gtest/gtest.h>

#include <exception>

#include "tests/random/check_recipe.h"
#include "tests/random/run_in_children.h"

namespace emulsion {

void expect_nothing_wrong(const std::vector<int>& numbers, uint64_t seed,
                          const std::function<std::string(int)>& check) {
  std::vector<std::function<std::string()>> tasks;
  tasks.reserve(numbers.size());
  for (const int number : numbers) {
    tasks.emplace_back([&check, number]() -> std::string {
      try {
        return check(number);
      } catch (const std::exception& error) {
        return error.what();
      }
    });
  }
  start_jit();
  const std::vector<TaskResult> results = run_in_children(tasks);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string wrong = results[i].text + results[i].crash;
    if (!wrong.empty()) add_failure_of(seed, numbers[i], wrong);
  }
}

void add_failure_of(uint64_t seed, int number, const std::string& what) {
  ADD_FAILURE() << "EMULSION_SEED=" << seed << " EMULSION_GRAPH=" << number << "\n" << what;
}

}  // namespace emulsion
