#ifndef EMULSION_PASSES_FUSE_JOIN_PRODUCTS_H_
#define EMULSION_PASSES_FUSE_JOIN_PRODUCTS_H_

// Products over one input become one product over weights that lie side by side:
//
//   q = sum(c, x * wq);  k = sum(c, x * wk)
//     ->  q_joined = sum(c, x * [wq wk]);  q = q_joined[.., 0 ..];  k = q_joined[.., N ..]
//
// What follows each of them alone, and is the same but for weights along the columns (a bias, an
// activation), is joined too. The last operations keep their names and become slices, which a
// derived schedule reads in place. Weights that are constants are joined here; those that are
// arguments by an operation, in every call.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "passes/analyse/machine_model.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// Nothing when both are products (of any rank; batched, convolutions) that read one tensor at the
// same indices, and weights or constants along their columns, the last axis; else the reason:
// "expected ...". Neither can then depend on the other: weights and constants depend on nothing.
std::optional<std::string> why_not_joinable(const Op& first, const Op& sibling);

// Siblings that may be joined, and what that moves: bytes in each call, a run-time size taken as 1.
struct JoinCandidate {
  const std::vector<OpPtr>& products;
  double saved = 0;    // of the input, which is read once
  double weights = 0;  // joined in the call, read and written
  double results = 0;  // copied to outputs, or stored for elementwise readers that would have fused
};
// Why what is legal is not wanted: "expected ..."; nothing when it is.
using JoinPolicy = std::function<std::optional<std::string>(const JoinCandidate&)>;
// Where the products are narrow, so that each alone leaves registers unused, and less is moved.
std::optional<std::string> join_what_saves(const JoinCandidate& candidate);
// Those, and wide ones of known sizes where the model says that one pass is faster than one for
// each: what the join moves is part of it. One pass reads the input once, which counts where the
// rows are long beside the columns, and memory is the limit.
JoinPolicy join_what_pays(const MachineModel& machine);
inline std::optional<std::string> always_join(const JoinCandidate& /*candidate*/) {
  return std::nullopt;
}

// The graph in which these are one, with what follows them alike. Checks why_not_joinable().
Graph join(const Graph& graph, const std::vector<OpPtr>& products);

// Joins what is legal and what `policy` wants, of each input in the order of the graph. The report
// has a decision for each sibling: the first of them as the producer. Groups are left alone: this
// runs before fuse_epilogues(). A second run changes nothing.
Graph join_products(const Graph& graph, const JoinPolicy& policy = join_what_saves,
                    FusionReport* report = nullptr);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_JOIN_PRODUCTS_H_
