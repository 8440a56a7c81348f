#ifndef EMULSION_PASSES_FUSE_MEASURED_FUSIONS_H_
#define EMULSION_PASSES_FUSE_MEASURED_FUSIONS_H_

// What was measured of fusions, and the policy that learns from it: a fusion that made things
// slower on a machine is not taken there again for shapes of that class. The facts are plain data;
// who measures, and where they are kept, is backends/tracker.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/loop_policy.h"
#include "passes/fuse/recompute_producers.h"
#include "passes/rewrite/rewrite_rule.h"

namespace emulsion {

struct MeasuredFusion {
  std::string pattern;      // as in named_pattern.h: "matmul+bias+relu"; or of patterns_by_shape()
  std::string shape_class;  // "512x1024x64"
  std::string target;       // Target::to_string_with_machine()
  std::string version;      // EMULSION_VERSION
  double speed_up = 0;      // the time apart over the time as one
  int64_t runs = 0;         // of each
};

// Of fusion_patterns(), those that are measured of one graph for each, and of which the shape of
// the result alone says what was measured: "siblings", of two operations; "sliding windows", of two
// stencils; "moves read through", of a transpose; "borders read through", of a concat.
const std::vector<std::string>& patterns_by_shape();

// Error: a pattern, a class of shapes or a target that is none, a speed-up that is not above 0, no
// runs.
void check_measured_fusion(const MeasuredFusion& fact);

// The class of a result of this shape with these extents summed over: rows, columns and depth, each
// rounded down to a power of two. "512x1024x64"; without a sum "512x1024". Rows are all axes but
// the last. Nothing where an extent is 0 or a run-time size.
std::optional<std::string> shape_class(const Shape& shape, const std::vector<Axis>& summed);

// Of what a pattern matched.
std::optional<std::string> shape_class_of(const Match& match);

// Of less than this speed a fusion counts as slower; what is nearer to 1 is noise.
constexpr double kMeasuredSlower = 0.97;

// `otherwise`, but for the edges of `graph` inside a pattern that `facts` say is slower fused, at
// this target, in this version of the library and at this class of shapes. Of several patterns in
// which an edge stands, the longest that was measured decides; of several facts about one, the
// first. A refusal says what was measured.
FusionPolicy learn_from(const Graph& graph, const Target& target,
                        const std::vector<MeasuredFusion>& facts, FusionPolicy otherwise);
// The same of values that are computed again: an edge to one reader that measured slower keeps the
// value stored for all of them.
RecomputePolicy learn_from(const Graph& graph, const Target& target,
                           const std::vector<MeasuredFusion>& facts, RecomputePolicy otherwise);
// The same of operations that are computed in the loops of the last of them: of rows that are
// combined, a softmax or a norm. Of a contraction of these (attention) what was measured of the
// rows alone says nothing. What was measured by shape is of what it was measured of alone: of
// chains of two that sum nothing up, of moves that take elements from across their rows, and of
// what has borders.
LoopPolicy learn_from(const Graph& graph, const Target& target,
                      const std::vector<MeasuredFusion>& facts, LoopPolicy otherwise);
// The same of siblings, by what was measured of two that read one tensor, of the class of the
// shape of all.
SiblingPolicy learn_from(const Target& target, const std::vector<MeasuredFusion>& facts,
                         SiblingPolicy otherwise);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_MEASURED_FUSIONS_H_
