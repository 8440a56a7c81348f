#ifndef EMULSION_PASSES_NEST_LOOP_STEPS_H_
#define EMULSION_PASSES_NEST_LOOP_STEPS_H_

// Steps of loops, over run-time sizes: compared as far as that can be proved, counted, and told
// from what an index is at them. What passes that cut loops into parts compute with.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "passes/index/index_interval.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// floor(dividend / divisor).
Expr floor_of(const Extent& dividend, int64_t divisor);

// Whether a >= b for all sizes, as far as that is known.
bool at_least(const Expr& a, const Expr& b);
Expr least_of(const Expr& a, const Expr& b);
Expr greatest_of(const Expr& a, const Expr& b);

Expr difference(const Expr& a, const Expr& b);
// How many steps there are from one index to another; none where that is before it.
Expr steps_between(const Expr& from, const Expr& to);

// extent - min: of what is left behind the last whole multiple of a number, the remainder.
Expr steps_left(const Extent& extent, const Expr& min);

// Which values the variable of a loop takes.
Range range_of(const Loop& loop);

// An index at step v of a loop: factor * v + [low, high], wherever the other loops are.
struct Slope {
  int64_t factor;
  Extent low, high;
};
// Nothing where it does not depend on that variable, or nobody can say how. `ranges`: of the other
// variables.
std::optional<Slope> slope_along(const Expr& index, const std::string& variable,
                                 const std::map<std::string, Range>& ranges);

// The steps of a loop at which nothing is to be spared, as they become fewer.
class SparedSteps {
 public:
  // `others`: the ranges of the other variables, as they are then.
  SparedSteps(std::string variable, const std::map<std::string, Range>* others)
      : variable_(std::move(variable)), others_(others) {}

  std::optional<Expr> first, end;  // nothing: as the loop

  // No step from `from` on, before `past`, is left out from now on: what needs that is not spared.
  void keep(Expr from, Expr past) { kept_ = {std::move(from), std::move(past)}; }

  // Leaves only the steps at which `spare` is not negative, whatever the other loops are at. False
  // when it does not depend on this loop, nobody can say how, or a step that is kept is left out.
  bool restrict_to(const Expr& spare);
  // Of each min(a, n) and max(a, n) the `a`, where the steps allow; from the inside outwards.
  // `in_loops`, where given: takes what is over the axes of a stage to loop variables.
  Expr without_clamps(const Expr& index, const std::function<Expr(const Expr&)>& in_loops = {});
  // The same, and an index that is reflected at an end, abs(a) and min(a, b) of one that rises and
  // one that falls, is the one that rises. One that wraps around, a % n, is a at the most frequent
  // quotient, where that has at least half of the steps, `own`. Run-time sizes count as large ones
  // there: for others fewer steps may be spared, and none wrongly.
  Expr between_ends(const Expr& index, const std::function<Expr(const Expr&)>& in_loops,
                    const Range& own);

 private:
  Expr without_clamp(const Expr& e, const std::function<Expr(const Expr&)>& in_loops);
  Expr not_reflected(const Expr& e, const std::function<Expr(const Expr&)>& in_loops);
  Expr not_wrapped(const Expr& e, const std::function<Expr(const Expr&)>& in_loops,
                   const Range& own);
  // Whether what does not depend on this loop is never negative, wherever the others are.
  bool holds_at_others(const Expr& spare) const;
  // How many elements a step of this loop moves it; 0 where nobody can say.
  int64_t factor_of(const Expr& index) const;

  std::string variable_;
  const std::map<std::string, Range>* others_;
  std::optional<std::pair<Expr, Expr>> kept_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_LOOP_STEPS_H_
