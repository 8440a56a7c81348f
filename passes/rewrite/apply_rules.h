#ifndef EMULSION_PASSES_REWRITE_APPLY_RULES_H_
#define EMULSION_PASSES_REWRITE_APPLY_RULES_H_

// The one driver of all rewrites. It sweeps over a graph, users before what they read, and puts the
// replacement of the first rule that matches in the place of each operation: so of a pattern and a
// longer one that ends later, the longer one is found. What it makes is tried again. It sweeps
// until a whole sweep changes nothing, so that a second run changes nothing either. A pattern of
// several outputs is looked for where the operation at hand is its first output, before anything
// else of the sweep has changed the graph, and a new sweep begins behind it.

#include <cstddef>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "passes/rewrite/rewrite_rule.h"

namespace emulsion {

// An operation that computes what a pattern says.
struct RewriteDecision {
  std::string rule;
  std::string result;              // its name, which what replaces it has too
  std::vector<std::string> inner;  // the names of those on the way there, of which nothing is left
  bool applied = false;
  std::string reason;  // why not: "expected ..."; empty when applied
  // Of a pattern of several outputs: the operations that the others are, in order.
  std::vector<std::string> other_results = {};
};

struct Rewritten {
  Graph graph;
  // What was applied, in order, then what is still there and was refused.
  std::vector<RewriteDecision> decisions;

  std::vector<RewriteDecision> matches() const;  // those that were applied
};

struct RewriteOptions {
  // How many matches may be replaced; 0: ten for each operation of the graph, and a thousand.
  size_t step_limit = 0;
};

// A match is refused, and the reason noted, when an inner value has another user or is an output,
// when what it reads depends on one of its several results, or when the rule's why_not says so.
// Results keep their names, inputs and weights stay even when nothing reads them any more, and the
// graph comes back as it is when nothing matches. Groups are not looked into.
//
// Error: a rule that check_rule() refuses, two rules of one name, or more steps than the limit: the
// rules undo each other, or a replacement matches its own pattern. So is a replacement that matches
// its own pattern and grows until an expression is as large as it may be (ExprSize, dsl/expr.h).
Rewritten apply_rules(const Graph& graph, const std::vector<RewriteRule>& rules,
                      const RewriteOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_APPLY_RULES_H_
