#ifndef EMULSION_PASSES_REWRITE_FOLD_CONSTANTS_H_
#define EMULSION_PASSES_REWRITE_FOLD_CONSTANTS_H_

#include <cstdint>

#include "dsl/graph.h"

namespace emulsion {

// An operation without a combiner that reads constants only becomes a constant, as far as
// fold_scalars.h folds its values and the constant is not larger than the largest that it reads (or
// than kSmallConstant elements). A constant of one element is written as a number where it is read,
// and numbers are folded inside of expressions. An output stays an operation. Groups are left
// alone. The same graph when there is nothing to fold.
Graph fold_constants(const Graph& graph);

constexpr int64_t kSmallConstant = 16;
// How many operations are evaluated for one constant; what takes more is left to the kernel.
constexpr int64_t kMostFolding = int64_t{1} << 26;

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_FOLD_CONSTANTS_H_
