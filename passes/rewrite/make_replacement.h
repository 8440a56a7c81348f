#ifndef EMULSION_PASSES_REWRITE_MAKE_REPLACEMENT_H_
#define EMULSION_PASSES_REWRITE_MAKE_REPLACEMENT_H_

// A replacement written in a graph's own extents and tensors.

#include <functional>
#include <string>
#include <vector>

#include "passes/rewrite/rewrite_rule.h"

namespace emulsion {

struct Replacement {
  std::vector<OpPtr> made;     // producers first
  std::vector<OpPtr> results;  // each one of them, or what was there already
};

// `new_name`: a name that is free, from a proposal. Each result has the type, shape and name of the
// match's; where a value that is there already takes its place, and `keeps_name` says so of the
// result (it is an output), it is copied. Wildcards are written out where the replacement reads
// them. Error: what compute() refuses in these extents.
Replacement make_replacement(const CheckedRule& rule, const Match& match,
                             const std::function<bool(const Op&)>& keeps_name,
                             const std::function<std::string(const std::string&)>& new_name);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_MAKE_REPLACEMENT_H_
