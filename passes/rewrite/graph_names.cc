#include "passes/rewrite/graph_names.h"

#include "dsl/fitting_name.h"

namespace emulsion {

std::set<std::string> names_of(const Graph& graph) {
  std::set<std::string> names;
  for (const OpPtr& op : graph.ops()) {
    names.insert(op->name);
    for (const OpPtr& member : op->members) names.insert(member->name);
  }
  for (const std::string& size : graph.sizes()) names.insert(size);
  return names;
}

std::string take_name(const std::string& wanted, std::set<std::string>* taken) {
  std::string name = fitting_name(wanted);
  for (int i = 1; !taken->insert(name).second; ++i) {
    name = fitting_name(wanted + "_" + std::to_string(i));
  }
  return name;
}

}  // namespace emulsion
