#ifndef EMULSION_PASSES_REWRITE_REPLACE_PATTERN_H_
#define EMULSION_PASSES_REWRITE_REPLACE_PATTERN_H_

// What a user writes: one pattern and what takes its place (rewrite_rule.h says what they mean).
//
//   Rewritten rewritten = replace_pattern(graph, Graph(x * sigmoid(x)), Graph(silu));

#include "passes/rewrite/apply_rules.h"

namespace emulsion {

// apply_rules() with one rule named "pattern". Error: as there.
Rewritten replace_pattern(const Graph& graph, const Graph& pattern, const Graph& replacement,
                          const RewriteOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_REPLACE_PATTERN_H_
