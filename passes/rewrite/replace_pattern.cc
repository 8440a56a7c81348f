#include "passes/rewrite/replace_pattern.h"

namespace emulsion {

Rewritten replace_pattern(const Graph& graph, const Graph& pattern, const Graph& replacement,
                          const RewriteOptions& options) {
  return apply_rules(graph, {RewriteRule{"pattern", pattern, replacement}}, options);
}

}  // namespace emulsion
