#ifndef EMULSION_TESTS_PASSES_OP_OF_H_
#define EMULSION_TESTS_PASSES_OP_OF_H_

#include <stdexcept>
#include <string>

#include "dsl/graph.h"

namespace emulsion {

// The operation of that name. Throws when the graph has none, so that a test fails and does not
// crash.
inline const OpPtr& op_of(const Graph& graph, const std::string& name) {
  const OpPtr* found = graph.find(name);
  if (found == nullptr) throw std::out_of_range("the graph has no " + name);
  return *found;
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_OP_OF_H_
