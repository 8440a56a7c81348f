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

namespace emulsion {

// All whole numbers from low to high, both included.
struct IndexRange {
  int64_t low = 0, high = 0;
  bool is_point() const { return low == high; }
};

class IntervalProgram {
 public:
  IntervalProgram() = default;
  // `slot`: the position of a name's range among those that range() is given. InternalError for an
  // expression that is no index: a float.
  IntervalProgram(const Expr& index, const std::function<int(const std::string&)>& slot);

  IndexRange range(const std::vector<IndexRange>& slots) const;
  // Which slots the range depends on, each once.
  std::vector<int> slots() const;

 private:
  struct Step {
    ExprOp op;
    int arguments[3] = {0, 0, 0};  // earlier steps; axis, size: a slot
    int64_t value = 0;             // constant
    IndexRange of_type = {};       // of what is made of data: what its type holds
    bool of_data = false;
  };

  int add(const Expr& index, const std::function<int(const std::string&)>& slot);
  static IndexRange evaluate(const Step& step, const std::vector<IndexRange>& slots,
                             const IndexRange* values);
  static IndexRange compute(const Step& step, const std::vector<IndexRange>& slots,
                            const IndexRange* values);

  std::vector<Step> steps_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_
