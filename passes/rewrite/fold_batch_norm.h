#ifndef EMULSION_PASSES_REWRITE_FOLD_BATCH_NORM_H_
#define EMULSION_PASSES_REWRITE_FOLD_BATCH_NORM_H_

// Batch normalisation after a matmul or a convolution, folded into its weights:
//
//   y = (sum(x * w) + bias - mean) * scale + beta
//     = sum(x * (w * scale)) + ((bias - mean) * scale + beta)
//
// The algebra of real numbers, so results are rounded at other places. The rules are RewriteRules
// as users write them: a contraction of any number of rows, reduction axes and groups, the channel
// at any place, with and without bias, mean and beta; scale may be one value (gamma / sqrt(variance
// + eps), computed or not) or written as a division by a deviation. All that is folded has to be
// known before the kernel runs: weights, constants and what is computed of them. The weights
// themselves stay as they are for whoever else reads them. Where they are constants,
// fold_constants() folds the rest; where they are arguments, the kernel computes w * scale in each
// call, and they are packed no more.
//
// A channel with a variance + eps below 0 is NaN, folded or not. One of which it is 0 has no finite
// value either way: it is divided by 0. Which of its elements are NaN and which infinite may
// differ, for the weights are infinite then, and not the results. Other channels are as they were.
// So a sum that may be empty is not folded where beta alone is added: no weight would be infinite.

#include <vector>

#include "dsl/graph.h"
#include "passes/rewrite/apply_rules.h"

namespace emulsion {

// What of a contraction the rules speak of; one set of rules for each.
struct ContractionForm {
  DType dtype = DType::f32;
  size_t rank = 0;       // of the result
  size_t channel = 0;    // which of its axes
  size_t reduction = 1;  // how many reduction axes
};
std::vector<RewriteRule> batch_norm_rules(const ContractionForm& form);

// apply_rules() with those of all contractions that the graph has.
Rewritten fold_batch_norm(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_FOLD_BATCH_NORM_H_
