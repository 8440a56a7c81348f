#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_CONTEXT_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_CONTEXT_H_

// A walk that knows what is around the node at hand, for the checks that look at samples of its
// iterations (sample_loops.h). Used by verify_nest.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"
#include "passes/nest/sample_loops.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {

class ContextVisitor : public NestVisitor {
 protected:
  explicit ContextVisitor(const LoopNest& nest);

  void visit_loop(const Loop& loop) override;
  void visit_branch(const Branch& branch) override;
  void visit_alloc(const Alloc& alloc) override;
  void visit_window(const WindowNode& window) override;

  // A stage as it is here: in a specialization, or in general.
  const Stage& stage_here(const std::string& name) const;
  // Of the loops around, at the sizes for which the node at hand runs; none when there are none.
  // What is computed in the table is there for other nodes in the same loops. Until the next call.
  LoopSamples& samples();

  const LoopNest& nest_;
  std::vector<const Loop*> loops_;  // outermost first
  std::map<std::string, const Alloc*> allocs_;
  std::map<std::string, const WindowNode*> windows_;

 private:
  // Inside one loop, or one side of a branch.
  struct Place {
    std::optional<LoopSamples> samples;
    int uses = 0;
  };

  void walk_at_place(const Node& node);

  std::vector<Place> places_{1};              // around the node at hand, outermost first
  std::vector<int64_t> sizes_;                // each run-time size takes these in turn
  std::map<std::string, Stage> specialized_;  // stages that are in a specialization here
  std::map<std::string, size_t> passed_;      // specializations that the branches around left out
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_CONTEXT_H_
