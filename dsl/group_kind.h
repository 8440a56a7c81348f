#ifndef EMULSION_DSL_GROUP_KIND_H_
#define EMULSION_DSL_GROUP_KIND_H_

#include <cstddef>
#include <string>

#include "dsl/tensor.h"

namespace emulsion {

// What a fused operation does, step by step: "fused_matmul_bias_relu". For whoever reads it: told
// from the expressions of its members, so that operators, index notation and operands in any order
// give the same word. After kMostSteps steps it ends in "_and_more".
std::string group_kind(const Op& group);

constexpr size_t kMostSteps = 8;

}  // namespace emulsion

#endif  // EMULSION_DSL_GROUP_KIND_H_
