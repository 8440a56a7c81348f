#ifndef EMULSION_PASSES_INDEX_INDEX_INTERVAL_H_
#define EMULSION_PASSES_INDEX_INDEX_INTERVAL_H_

// Interval arithmetic over index expressions: which elements of a producer one iteration of a loop
// around it needs. Some variables stay fixed (the loops outside), others take a range (the loops
// inside); what comes out is a start in the fixed ones and an affine length. Where the arithmetic
// cannot tell, there is no interval, never a guess.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dsl/affine.h"
#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

// An index that takes the values fixed + [low, high]: `fixed` sums terms that do not vary.
struct Interval {
  std::map<std::string, std::pair<Expr, int64_t>> fixed;  // text of the term -> it, its coefficient
  Extent low, high;
};

// What a variable is to the interval: nothing (it stays fixed), or the range that it takes.
struct Range {
  Extent low, high;
  int64_t divisor = 1;   // d > 1: only d times the variable is known to be in [low, high]
  bool is_known = true;  // else it varies, nobody can say how far: there is no interval

  static Range unknown() { return {0, 0, 1, false}; }
};
using VariableRange = std::function<std::optional<Range>(const std::string&)>;

std::optional<Interval> interval_of(const Expr& index, const VariableRange& range);
// Of axes that go from 0 up to their extents; an axis that has none stays fixed.
std::optional<Interval> interval_within(const Expr& index, const AxisExtents& axes);
// The smallest interval around both; nothing when their starts cannot be ordered.
std::optional<Interval> unite(const std::optional<Interval>& a, const std::optional<Interval>& b);
// The range of a loop's variable, from 0 up, given the loop's extent: known when that is affine in
// the run-time sizes, or a quotient of what is.
Range range_below(const Expr& extent);
// The first index, simplified: fixed + low.
Expr start_of(const Interval& interval);
// An expression over run-time sizes as an Extent, when it is affine.
std::optional<Extent> as_extent(const Expr& index);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_INDEX_INTERVAL_H_
