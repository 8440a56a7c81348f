#ifndef EMULSION_PASSES_FUSE_FUSION_REPORT_H_
#define EMULSION_PASSES_FUSE_FUSION_REPORT_H_

// What a fusion pass decided about every producer -> consumer edge that it considered, and why: a
// fusion that silently never fires is a bug that no result shows.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emulsion {

// By a model of a machine (estimate_fusions.h).
struct FusionGain {
  int64_t bytes_saved = 0;  // of traffic between memory and the arithmetic
  double seconds_before = 0, seconds_after = 0;
  int64_t operations_added = 0;  // arithmetic on floats that is done more than once

  double seconds_saved() const { return seconds_before - seconds_after; }
  double speed_up() const { return seconds_after > 0 ? seconds_before / seconds_after : 1; }
};

// Why a policy does not want what is legal.
struct FusionRefusal {
  FusionRefusal(std::string why) : reason(std::move(why)) {}  // NOLINT: a policy returns a text
  std::string reason;                                         // "expected ..."
  bool measured = false;  // and only because a measurement says so
};

struct FusionDecision {
  std::string producer;
  std::string consumer;
  bool fused = false;
  std::string reason;     // why not; empty when fused
  std::string pattern;    // of fusion_patterns(); empty when the producer fits none
  bool measured = false;  // not fused, and only because a measurement said so
  // Of the two, were they one. Nothing before the model was asked, and where a run-time size
  // decides.
  std::optional<FusionGain> gain = std::nullopt;
  // Of a value that several read: those besides the first.
  std::vector<std::string> other_consumers = {};
  // Not fused, and nobody could have: of is_of_loops(), for something else needs the producer too;
  // of siblings, for one needs the other.
  bool needed_elsewhere = false;
};

// Of two that do not read one another: by kSiblings or kSiblingProducts.
bool is_of_siblings(const FusionDecision& decision);
// Of operations that share_loops() lets be computed in the loops of another: by kSharedRows,
// kSharedColumns, kLayerBlocks, kSlidingWindows, kWaitingSums, kReadThrough or kBordersThrough.
bool is_of_loops(const FusionDecision& decision);
// Of what is stored nowhere, for its readers read what it reads: by kReadThrough or
// kBordersThrough.
bool is_read_through(const FusionDecision& decision);

struct FusionReport {
  // In the order of the graph's ops, then of a consumer's reads.
  std::vector<FusionDecision> decisions;

  std::optional<FusionGain> gain = std::nullopt;  // of the whole graph: all that was fused

  int fused_count() const;
};

inline constexpr char kContractionEpilogue[] = "contraction epilogue";
inline constexpr char kElementwiseChain[] = "elementwise chain";
inline constexpr char kSiblings[] = "siblings";
inline constexpr char kSiblingProducts[] = "sibling products";
inline constexpr char kRecomputedValues[] = "recomputed values";
inline constexpr char kSharedRows[] = "shared rows";
inline constexpr char kSharedColumns[] = "shared columns";
inline constexpr char kLayerBlocks[] = "layer blocks";
inline constexpr char kSlidingWindows[] = "sliding windows";
inline constexpr char kWaitingSums[] = "waiting sums";
inline constexpr char kReadThrough[] = "moves read through";
inline constexpr char kBordersThrough[] = "borders read through";
// What is fused: by fuse_epilogues() "contraction epilogue", an elementwise op onto a matmul, a
// convolution and the like, and "elementwise chain"; "siblings" (find_siblings.h), which have one
// loop; "sibling products" (join_products.h), which become one; "recomputed values"
// (recompute_producers.h), a value that each of its users computes again; and what is computed in
// the loops of the last of several operations (share_loops, loop_policy.h): "shared rows"
// of softmax, norms and attention, "shared columns" of the same along another axis, and of
// elementwise values that several read, "layer blocks"
// of MLPs, "sliding windows" of stencils, "waiting sums" in registers, and what is stored nowhere:
// "moves read through" (a transpose, what is computed for it alone, and what sums compute),
// "borders read through" (a concat, a pad).
const std::vector<std::string>& fusion_patterns();
// Of these, those that run_pipeline() fuses unless it is told otherwise: all but sibling products
// and recomputed values. A graph in which products are joined, or values copied, has other
// operations, and a schedule that is derived for it speaks of these: read back, it would not fit
// the graph that its user wrote.
const std::vector<std::string>& default_fusion_patterns();

// One line an edge: "contraction epilogue, mm -> y: fused", "s -> z: not fused: expected ...";
// "recomputed values, s -> a, b: fused" where there are other consumers.
// Where there are estimates, "..., mm -> y: fused: saves 4096 bytes, 1.50 times as fast by the
// model", and a line with the sums at the end.
std::string to_string(const FusionReport& report);
// {"fused": 1, "refused": 1, "bytes_saved": 4096, "estimated_speed_up": 1.5,
// "operations_added": 0, "decisions": [{"producer": "mm", "consumer": "y", "other_consumers": [],
// "fused": true, "reason": "", "pattern": "contraction epilogue", "measured": false, "bytes_saved":
// 4096, "estimated_speed_up": 1.5, "operations_added": 0}, ...]}; null for what is not known.
std::string to_json(const FusionReport& report);
// "4096 bytes, 1.50 times as fast by the model"; "4096 bytes for 512 operations more, ..." where
// operations are added.
std::string to_string(const FusionGain& gain);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSION_REPORT_H_
