#ifndef EMULSION_PASSES_FUSE_NAMED_PATTERN_H_
#define EMULSION_PASSES_FUSE_NAMED_PATTERN_H_

// Patterns by name, "matmul+bias+relu": what a user says must be fused, what is measured, and what
// the measurements are looked up for are the same thing, found by structure.
//
// A name is a first step and what follows it:
//   matmul             sum over one axis of a product; any number of rows
//   conv               sum over three axes of a product
//   add sub mul div    of two values of one shape
//   affine             x * scale + shift, the last two along the last axis
//   softmax            along the last axis
//   layer_norm         along the last axis, with gamma and beta; rms_norm likewise, with gamma
// then bias, relu, gelu, sigmoid, tanh, clamp (between any two numbers) and residual (any value is
// added), in any order: at least one, but behind softmax and the norms, which are several
// operations by themselves.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/graph.h"
#include "dsl/types.h"
#include "passes/rewrite/rewrite_rule.h"

namespace emulsion {

class NamedPattern {
 public:
  // Error: a name that is none; `what` begins its message.
  NamedPattern(const std::string& what, const std::string& name);
  NamedPattern(const NamedPattern&) = delete;
  NamedPattern& operator=(const NamedPattern&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<std::string>& steps() const { return steps_; }

  // Where `op` computes the last step: the match, with the earlier ones as inner values, whoever
  // else needs them. Only of operations on floats with at least one axis.
  std::optional<Match> match(const OpPtr& op);

  // The pattern at numbers: rows and columns; of a matmul depth too; of a conv, which has neither
  // borders nor strides, images, their height, width and channels, the height and width of a filter
  // and how many filters there are. Error: as many as it does not take, one below 1, a filter that
  // is larger than an image.
  Graph graph_of(const std::vector<int64_t>& extents) const;

 private:
  size_t summed_axes() const;
  // `divides`: rows are divided by what they are scaled by, not multiplied by one over it.
  Graph pattern_of(DType dtype, size_t rank, bool divides) const;

  std::string what_, name_;
  std::vector<std::string> steps_;
  // By type and rank, one for each way to write it.
  std::map<std::pair<DType, size_t>, std::vector<RewriteRule>> rules_;
};

// The names of what a graph computes, none of them the beginning of another: for messages.
std::vector<std::string> named_patterns_of(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_NAMED_PATTERN_H_
