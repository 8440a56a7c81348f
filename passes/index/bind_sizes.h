#ifndef EMULSION_PASSES_INDEX_BIND_SIZES_H_
#define EMULSION_PASSES_INDEX_BIND_SIZES_H_

// The values of the run-time sizes for one call, from the shapes of its arguments. The interpreters
// and the JIT bind sizes with this one function, so a wrong shape is refused by all of them with
// the same words.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dsl/extent.h"

namespace emulsion {

// Each size is solved from the first dimension in which it is the only unknown (2*B + 1 = 7 gives B
// = 3), then every dimension is checked. `known` holds sizes that the caller gives, for example one
// that occurs in outputs only. Error, naming the argument, the axis, what was found and what was
// expected: a wrong rank, an extent that no size (a whole number, 0 or greater) gives, two
// dimensions that disagree, a dimension whose sizes cannot be solved.
SizeValues bind_sizes(const std::vector<std::pair<std::string, Shape>>& declared,
                      const std::vector<std::vector<int64_t>>& actual,
                      const SizeValues& known = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_BIND_SIZES_H_
