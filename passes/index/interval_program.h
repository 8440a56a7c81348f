#ifndef EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_
#define EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_

// An index expression, ready to be asked millions of times which values it takes while some of its
// variables stay fixed and others range. index_interval.h answers the same question once, in
// symbols; this is for the flat list of a nest's uOps, where everything has a number.
//
// The answer contains every value; it is the exact range wherever each variable occurs once, as in
// min(y.mo * 32 + y.mi, 99). Operators mean what dsl/expr.h says.

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
  // expression that is no index: one that reads, or computes in floats.
  IntervalProgram(const Expr& index, const std::function<int(const std::string&)>& slot);

  IndexRange range(const std::vector<IndexRange>& slots) const;
  // Which slots the value depends on, each once.
  std::vector<int> slots() const;

 private:
  struct Step {
    ExprOp op;
    int arguments[3] = {0, 0, 0};  // earlier steps; axis, size: a slot
    int64_t value = 0;             // constant
  };

  int add(const Expr& index, const std::function<int(const std::string&)>& slot);
  IndexRange evaluate(const Step& step, const std::vector<IndexRange>& slots,
                      const IndexRange* values) const;

  std::vector<Step> steps_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_INTERVAL_PROGRAM_H_
