#ifndef EMULSION_PASSES_REWRITE_REWRITE_RULE_H_
#define EMULSION_PASSES_REWRITE_REWRITE_RULE_H_

// A rewrite as data: two small graphs written in the DSL, what to look for and what to put there.
//
//   Tensor x = input("x", f32, {M, K}), w = input("w", f32, {K, N}), b = input("b", f32, {N});
//   RewriteRule rule{"linear_relu", Graph(relu(matmul(x, w) + b)), Graph(...)};
//
// The inputs and weights of the pattern are wildcards; the replacement has those of the same name.
//
// - A wildcard stands for any value of its type: a tensor, or an expression inside a comprehension.
//   A weight stands only for what is known before the kernel runs: weights, constants, and what is
//   computed of nothing else. The same wildcard stands for the same value wherever it is read,
//   however often the graph writes that down.
// - A run-time size of the pattern stands for any extent; a number for itself. So one pattern of
//   sizes M, K, N matches matmuls of every shape.
// - A pattern in which every value has rank 0 is pointwise: it matches at every element of a value
//   of any shape, x(i, j) * sigmoid(x(i, j)) as x * sigmoid(x).
// - Structure decides, names do not. Operations without a combiner are seen through, so it does not
//   matter whether max(mm + b, 0) is one comprehension or three. Operands of + * min max == != &&
//   || match either way round, a < b also as b > a; reduction axes match in any order.
//
// A replacement may hold groups, as fuse_epilogues() makes them: patterns are not looked for in
// these, so a rule may put the group in the place of its members.
//
// The result of a pattern is the result of an operation: a pattern is not found in the middle of a
// larger expression.
//
// A pattern of several outputs matches as many operations at once, with one meaning of its
// wildcards and sizes, and the replacement's outputs take their places in order:
//
//   Tensor x = input("x", f32, {});
//   RewriteRule rule{"both", Graph({exp(x), exp(-x)}), Graph({e, 1 / e})};  // with e = exp(x)
//
// The outputs are looked for around what they read in common, and a value on the way to one may be
// another. Where two outputs of the pattern have a reduction each, so have the two operations that
// match: two slices of one product are not two products. A match is refused when something that it
// reads depends on one of its results: what computes all of them at once would need itself.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace emulsion {

// What a rule found.
struct Match {
  std::string rule;
  OpPtr result;              // the operation whose value the pattern computes; the first of several
  std::vector<OpPtr> inner;  // those that the pattern computes on the way there, and are no result
  // Of each wildcard, by name: its value at axes named "$0", "$1", ..., one for each of its
  // dimensions; in a pointwise pattern at "@0", "@1", ..., those of the result.
  std::map<std::string, Expr> wildcards;
  std::map<std::string, Extent> sizes;  // of the pattern
  // Of a pattern of several outputs: those of the others, in order.
  std::vector<OpPtr> other_results = {};

  std::vector<OpPtr> results() const;  // all of them
};

struct RewriteRule {
  std::string name;
  Graph pattern, replacement;
  // Why a match that is legal is not wanted: "expected ..."; nothing when it is.
  std::function<std::optional<std::string>(const Match&)> why_not = {};
};

// A rule that was checked, with each output of the pattern as one expression.
struct CheckedRule {
  struct Output {
    std::vector<Axis> axes;
    // Of all that leads to it: reads are of wildcards and of constants with several elements; a
    // reduce node, whose axes have names of their own, is where the pattern has an operation with a
    // combiner.
    Expr value;
    std::vector<std::string> reads = {};  // wildcards, each once
  };
  const RewriteRule* rule;
  std::vector<OpPtr> wildcards;  // of the pattern
  std::vector<Output> outputs;   // in order
  // Which operation of the pattern a reduce node is, by the name of its first axis.
  std::map<std::string, const Op*> reductions;
  bool pointwise = false;
};

// Error, naming the rule: a pattern that is a wildcard or a constant and no operation, that has an
// output which reads no wildcard that one before it reads, is written out larger than
// kMostPatternNodes, or holds a group; a replacement that reads a wildcard or a size which the
// pattern does not bind, that gives a wildcard another type, shape or kind, that has another number
// of outputs, or one of another type or shape. `rule` must outlive the result.
CheckedRule check_rule(const RewriteRule& rule);

constexpr int64_t kMostPatternNodes = 1000;

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_REWRITE_RULE_H_
