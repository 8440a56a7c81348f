#include "tests/passes/derive/derived_text.h"

#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"

namespace emulsion {

Target target_of(const std::string& level, int cores) {
  return Target::parse(level + ",cores=" + std::to_string(cores));
}

std::string derived(const Graph& graph, const Target& target) {
  return to_string(derive_schedule(graph, target));
}

std::string derived(const Tensor& y, const Target& target) { return derived(Graph(y), target); }

testing::AssertionResult derives_on_all(const Graph& graph, const std::vector<int64_t>& batches) {
  for (const char* const level : kLevels) {
    for (const int cores : {1, 2}) {
      if (auto result = derives(graph, target_of(level, cores), batches); !result) {
        return result << "on " << level << " with " << cores << " threads";
      }
    }
  }
  return testing::AssertionSuccess();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace emulsion
