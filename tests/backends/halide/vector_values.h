#ifndef EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_VALUES_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_VALUES_H_

// What vectors of whole numbers hold, and what statements store of them: Halide's own terms,
// computed here.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "Halide.h"

namespace emulsion {

using Lanes = std::vector<int64_t>;

struct VectorValues {
  std::map<std::string, Lanes> variables;
  std::map<int64_t, int64_t> stored;  // by index; each once, or it is a failure of the test

  Lanes value(const Halide::Expr& e) const;
  // Blocks, names, conditions and stores.
  void run(const Halide::Internal::Stmt& statement);
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_VALUES_H_
