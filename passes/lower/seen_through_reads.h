#ifndef EMULSION_PASSES_LOWER_SEEN_THROUGH_READS_H_
#define EMULSION_PASSES_LOWER_SEEN_THROUGH_READS_H_

// What is known of values of stages before a schedule is applied: what a read of one is, and
// whether it is among the values that a reduction combines.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/lower/stage_plan.h"
#include "passes/nest/read_indices.h"

namespace emulsion {

using StagesByName = std::unordered_map<std::string, const Stage*>;
StagesByName stages_by_name(const WrittenNest& nest);

// Whether an expression has so few nodes that it may be compared and written out.
bool is_small(const Expr& e);

// An expression over the axes of a stage, over what stands for these axes where it is read.
Expr over_reader(const Expr& e, const Stage& stage, const Expr& read);
// What a read of a stage that is no reduction gives, over the axes of the reader; undefined for any
// other read, and where that is not small.
Expr value_read(const StagesByName& stages, const Expr& read);

// Whether `value`, in a stage over `domain`, is what some step of `reduction`, which is read at
// `indices`, combines: the same operations of the same things, at reduction indices that are there.
class StepOfReduction {
 public:
  StepOfReduction(const Stage& reduction, const std::vector<Expr>& indices, AxisExtents domain);

  bool is(const Expr& value);
  // Of one that is: whether it is what each step combines in turn, as the reduction axes of a
  // reader are walked over.
  bool is_each_of(const std::vector<Axis>& reader_axes) const;

 private:
  bool same(const Expr& step, const Expr& value);

  const Stage& reduction_;
  AxisExtents domain_;
  std::map<std::string, Expr> values_;  // of the axes of the reduction
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_SEEN_THROUGH_READS_H_
