#ifndef EMULSION_PASSES_NEST_MATCH_BODY_H_
#define EMULSION_PASSES_NEST_MATCH_BODY_H_

// Whether what a uOp evaluates is what its stage says: the same but for indices of reads, which are
// compared by their values at sampled points, and for selects of which one branch is taken wherever
// the uOp runs. Private to passes/nest/.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/expr.h"
#include "passes/index/index_table.h"

namespace emulsion {

class BodyMatcher {
 public:
  // `axes`: what the axes of the stage are at each point; `runs`: at which the uOp runs.
  BodyMatcher(IndexTable* axes, const PointMask& runs) : axes_(*axes), runs_(runs) {}

  // The first read, of those that may be the same, that is at another place.
  struct Misplaced {
    Expr own, of_stage;  // the index
    int64_t found, expected;
    size_t point;
  };
  std::optional<Misplaced> misplaced;

  bool matches(const Expr& own, const Expr& of_stage) { return matches(own, of_stage, false); }

 private:
  // `in_place`: of an index of a read, or a part of one that data make: its parts without data are
  // the same at each point, x[min(i, B - 1) + d[min(i, B - 1)]].
  bool matches(const Expr& own, const Expr& of_stage, bool in_place);
  bool has_same_form(const Expr& own, const Expr& of_stage, bool in_place);
  // Whether sums or products are the same of any data, however their terms are ordered and
  // collected: x[d[i] + io + ii] and x[d[io + ii] + (io + ii)].
  bool is_same_of_any_data(const Expr& own, const Expr& of_stage);
  Expr with_data(const Expr& place, bool may_add, std::vector<Expr>* data);
  bool is_same_place(const Expr& own, const Expr& of_stage);
  bool has_same_condition(const Expr& own, const Expr& of_stage);
  bool is_always(const Expr& condition, bool holds);

  IndexTable& axes_;
  const PointMask& runs_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_MATCH_BODY_H_
