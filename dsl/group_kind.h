#ifndef EMULSION_DSL_GROUP_KIND_H_
#define EMULSION_DSL_GROUP_KIND_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {

// What a fused operation does, step by step: "fused_matmul_bias_relu". For whoever reads it: told
// from the expressions of its members, so that operators, index notation and operands in any order
// give the same word. After kMostSteps steps it ends in "_and_more".
std::string group_kind(const Op& group);
// The same of a loop group, behind its kind: "fused_rows_max_sub_exp_sum_div".
std::string group_kind(const LoopGroup& group);
// The kind in such a word; nothing in any other.
std::optional<LoopGroupKind> loop_kind_in(std::string_view word);

constexpr size_t kMostSteps = 8;

}  // namespace emulsion

#endif  // EMULSION_DSL_GROUP_KIND_H_
