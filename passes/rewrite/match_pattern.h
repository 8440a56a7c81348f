#ifndef EMULSION_PASSES_REWRITE_MATCH_PATTERN_H_
#define EMULSION_PASSES_REWRITE_MATCH_PATTERN_H_

// Whether an operation of a graph computes what a pattern says, and how. It changes nothing.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "passes/rewrite/rewrite_rule.h"

namespace emulsion {

// What the graph around it says of a match.
struct GraphAround {
  // Whether a value is known before the kernel runs: what a weight of a pattern stands for.
  std::function<bool(const Op&)> is_known;
  // Why a match that fits is none: an inner value that others need.
  std::function<std::optional<std::string>(const Match&)> why_not;
  // Who reads a value, in the order of the graph; asked only for a pattern of several outputs.
  std::function<std::vector<OpPtr>(const Op&)> users = {};
};

struct MatchResult {
  std::optional<Match> match;
  // When there is none: why what fitted otherwise was refused. Empty: nothing fitted.
  std::string refused;
};

// How often one operation is compared with one pattern before the match is given up: each way round
// of each commutative operation may have to be tried.
constexpr int64_t kMostComparisons = 20000;

// How many operations around what outputs have in common are tried for another output.
constexpr size_t kMostCandidates = 64;

// The first way in which the value of `result`, an op of kind compute, is that of the pattern's
// first output, other operations' are those of the others, and which nobody refuses.
MatchResult match_pattern(const CheckedRule& rule, const OpPtr& result, const GraphAround& around);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_MATCH_PATTERN_H_
