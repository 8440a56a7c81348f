#ifndef EMULSION_PASSES_FUSE_FUSION_LEGALITY_H_
#define EMULSION_PASSES_FUSE_FUSION_LEGALITY_H_

// When an elementwise op may take in the op that it reads, and the reason when it may not. Apart
// from the rewrite, so that each rule stands alone, and a class, so that a sweep over a graph looks
// at each op once: users are counted and comprehensions classified one time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "passes/analyse/recognise_op.h"

namespace emulsion {

class FusionLegality {
 public:
  using Reason = std::optional<std::string>;  // "expected ...", or none

  FusionLegality() = default;  // knows no users: why_not_pair() only
  // `graph` must outlive this.
  explicit FusionLegality(const Graph& graph);

  // All that the two ops tell by themselves, but for their contractions: kinds, classes, shapes,
  // reads.
  Reason why_not_pair(const Op& producer, const Op& consumer);
  // Another user, or the graph's own caller, needs the producer's value.
  Reason why_not_users(const Op& producer) const;
  // Whether that is so only because it has several users: where all of these are in one group, the
  // producer may be in it, too.
  bool has_several_users(const Op& producer) const;
  // Whether all of its users are in `consumer`, a group of the graph or one operation.
  bool has_all_users(const Op& consumer, const Op& producer) const;
  // Why the producer cannot be computed once more in each of its readers, as far as it is its own
  // fault. `written` is the size of its value where a reader writes it out. What a reader makes
  // illegal is asked for each: why_not_pair(), why_not_size().
  Reason why_not_recomputed(const Op& producer, const ExprSize& written);
  // The most copies of one value, and the most operations in a copy. Without these limits a stack
  // of diamonds would double its work at every step.
  static constexpr size_t kMostCopies = 8;
  static constexpr int64_t kMostCopiedOperations = 100;
  // The comprehensions that read an op, in the order of the graph.
  const std::vector<const Op*>& readers_of(const Op& op) const;

  // Both sides have a contraction: each is null or what contraction_in() gave.
  static Reason why_not_contractions(const Op* of_producer, const Op* of_consumer);

  // A group is computed as one expression, each member written out where it is read: of at most
  // this many operations. So a long chain becomes several groups, and the time that it takes to
  // compile grows with its length.
  static constexpr int64_t kMostOperations = 1000;
  // `sizes`: of what the readers of an op write out, when it is in a group with them.
  using Sizes = std::unordered_map<const Op*, ExprSize>;
  static Reason why_not_size(const Op& producer, const Op& consumer, const ExprSize& together);
  // What the readers of an op, or group, write out.
  static ExprSize written_out(const Op& op, const Sizes& sizes);

  const Op* contraction_in(const Op& op);
  // Which of fusion_patterns() a fusion of this producer is; empty when it is of none.
  std::string pattern_of(const Op& producer);
  // How many times a comprehension of the graph reads an op, repeated reads not counted.
  size_t edge_count() const { return edges_; }

 private:
  struct Read {
    const Op* reader;  // the consumer, or a member of it
    Expr expr;
  };
  OpClass class_of(const Op& op);
  void collect_reads(const Op& consumer);
  Reason why_not_producer(const Op& producer);
  Reason why_not_output(const Op& producer) const;
  Reason why_not_read(const Op& producer, const Read& read);

  std::unordered_map<const Op*, OpClass> classes_;
  std::unordered_map<const Op*, std::vector<const Op*>> users_;
  std::unordered_set<const Op*> outputs_;
  size_t edges_ = 0;
  const Op* consumer_ = nullptr;  // whose reads these are
  std::unordered_map<const Op*, std::vector<Read>> reads_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSION_LEGALITY_H_
