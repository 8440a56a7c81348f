#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_VALUES_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_VALUES_H_

// Walks at one iteration of each loop after another, where everything has a value: for the checks
// that compare what is written with what is read. Part of verify_nest.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "passes/nest/loop_nest.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {

// Of run-time sizes and loop variables, by name.
using IndexValues = std::map<std::string, int64_t>;

class ValueVisitor : public NestVisitor {
 protected:
  explicit ValueVisitor(const LoopNest& nest, IndexValues values = {});

  void visit_branch(const Branch& branch) override;

  // The whole nest for each of a few values of the run-time sizes: none, one, and enough for
  // windows to move; once where there are no sizes.
  void walk_for_all_sizes();
  // The same of something else, which finds them in `values_`.
  void for_all_sizes(const std::function<void()>& visit);
  // What is inside the loop, where its variable has that value.
  void walk_at(const Loop& loop, int64_t value);
  int64_t value_of(const Expr& index) const { return evaluate_index(index, values_); }
  // Whether all guards hold.
  bool runs(const UopNode& uop) const;
  // The run-time sizes, and the axes of the uOp's stage as they are there.
  IndexValues axes_at(const Stage& stage, const UopNode& uop) const;

  const LoopNest& nest_;
  IndexValues values_;
};

// The whole nest for a few sizes, where all loops are at their first iteration, and where all are
// at their last.
class EndsVisitor : public ValueVisitor {
 public:
  void verify();

 protected:
  using ValueVisitor::ValueVisitor;

  void visit_loop(const Loop& loop) override;

 private:
  bool last_ = false;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_VALUES_H_
