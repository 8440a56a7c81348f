#ifndef EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_
#define EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_

// An index expression, ready to be asked millions of times which values it takes while some of its
// variables stay fixed and others range. index_interval.h answers the same question once, in
// symbols; this is for the flat list of a nest's uOps, where everything has a number.
//
// The answer contains every value; it is the exact range wherever each variable occurs once, as in
// min(y.mo * 32 + y.mi, 99). Operators mean what dsl/expr.h says. What was read, or depends on a
// float, may be anything that its type holds: what is around it says more, as in table(clamp(x(i),
// 0, 4)).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/types.h"

namespace emulsion {

class IntervalProgram {
 public:
  IntervalProgram() = default;
  // `slot`: the position of a name's range among those that range() is given. InternalError for an
  // expression that is no index: a float.
  IntervalProgram(const Expr& index, const std::function<int(const std::string&)>& slot);

  IntegerRange range(const std::vector<IntegerRange>& slots) const;
  // Which slots the range depends on, each once.
  std::vector<int> slots() const;

 private:
  struct Step {
    ExprOp op;
    int arguments[3] = {0, 0, 0};  // earlier steps; axis, size: a slot
    int64_t value = 0;             // constant
    bool may_wrap = false;         // made of data, or of what was cast to a narrow type
    IntegerRange of_type = {};     // of what may wrap around: what its type holds
  };

  int add(const Expr& index, const std::function<int(const std::string&)>& slot);
  static IntegerRange evaluate(const Step& step, const std::vector<IntegerRange>& slots,
                               const IntegerRange* values);
  static IntegerRange compute(const Step& step, const std::vector<IntegerRange>& slots,
                              const IntegerRange* values);

  std::vector<Step> steps_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_
