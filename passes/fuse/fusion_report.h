#ifndef EMULSION_PASSES_FUSE_FUSION_REPORT_H_
#define EMULSION_PASSES_FUSE_FUSION_REPORT_H_

// What a fusion pass decided about every producer -> consumer edge that it considered, and why: a
// fusion that silently never fires is a bug that no result shows.

#include <string>
#include <vector>

namespace emulsion {

struct FusionDecision {
  std::string producer;
  std::string consumer;
  bool fused = false;
  std::string reason;   // why not; empty when fused
  std::string pattern;  // of fusion_patterns(); empty when the producer fits none
};

struct FusionReport {
  std::vector<FusionDecision>
      decisions;  // in the order of the graph's ops, then of a consumer's reads

  int fused_count() const;
};

// What fuse_epilogues() fuses: "contraction epilogue", an elementwise op onto a matmul, a
// convolution and the like, and "elementwise chain".
const std::vector<std::string>& fusion_patterns();

// One line an edge: "contraction epilogue, mm -> y: fused", "s -> z: not fused: expected ...".
std::string to_string(const FusionReport& report);
// {"fused": 1, "refused": 1, "decisions": [{"producer": "mm", "consumer": "y", "fused": true,
// "reason": "", "pattern": "contraction epilogue"}, ...]}
std::string to_json(const FusionReport& report);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSION_REPORT_H_
