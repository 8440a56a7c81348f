#ifndef EMULSION_PASSES_INDEX_SIZE_FACTS_H_
#define EMULSION_PASSES_INDEX_SIZE_FACTS_H_

// What a condition over run-time sizes says of each size, as far as schedules use it: its value,
// the least and the most it can be, a number that divides it. Drawn from the parts of the condition
// that must all hold; of anything else nothing is concluded, which is always safe.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

struct SizeFacts {
  std::map<std::string, int64_t> values;    // B == 4, B - 2 == 2
  std::map<std::string, int64_t> least;     // B >= 16, B > 15, 2 * B >= 31
  std::map<std::string, int64_t> most;      // B <= 4, B < 5, B == 4
  std::map<std::string, int64_t> divisors;  // B % 8 == 0
  std::vector<Extent> not_negative;         // 2 * B + C >= 16: 2*B + C - 16; of sums alone

  // The expression with the values that are known in the place of their sizes, simplified.
  Expr assume(const Expr& expr) const;
  // Whether `divisor` divides the extent, whatever the sizes are otherwise.
  bool divides(int64_t divisor, const Extent& extent) const;
  // The smallest value that the extent can have; nothing when there is none.
  std::optional<int64_t> lower_bound(const Extent& extent) const;
  // The largest.
  std::optional<int64_t> upper_bound(const Extent& extent) const;
};

// Whether facts_of() concludes how large an extent is at least from a condition that compares it
// with a number: of numbers and sums of sizes. A difference may leave i32, where the comparison
// says nothing.
bool is_sum_of_sizes(const Extent& extent);

// Whether it is a size by itself, or a size less a number (W - 2). A comparison of it with a number
// says what the size is, or what it is at least or at most.
bool is_what_is_left_of_a_size(const Extent& extent);

// Of an undefined condition: nothing.
SizeFacts facts_of(const Expr& condition);

// Whether its facts leave some size no value: B <= 4 && B >= 16.
bool never_holds(const Expr& condition);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_SIZE_FACTS_H_
