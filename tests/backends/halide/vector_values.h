#ifndef EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_VALUES_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_VALUES_H_

// What vectors of whole numbers hold, and what statements store of them: Halide's own terms,
// computed here.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"

namespace emulsion {

using Lanes = std::vector<int64_t>;

struct VectorValues {
  std::map<std::string, Lanes> variables;
  // By index; each once, or it is a failure of the test, unless it is the same again.
  std::map<int64_t, int64_t> stored;
  bool may_store_the_same_again = false;
  // Where something is loaded: each place holds its index times seven.
  mutable std::set<int64_t> loaded;

  Lanes value(const Halide::Expr& e) const;
  // Blocks, names, conditions and stores.
  void run(const Halide::Internal::Stmt& statement);
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_VALUES_H_
