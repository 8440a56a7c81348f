#ifndef EMULSION_PASSES_FUSE_SIBLING_LEVEL_H_
#define EMULSION_PASSES_FUSE_SIBLING_LEVEL_H_

// Operations of several siblings that become one (join_products.h): when they may, and what of them
// is joined. Apart from the rewrite, so that each rule stands alone.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace emulsion {

// One operation of each sibling, the first of which leads: the same but for its columns.
struct SiblingLevel {
  std::vector<OpPtr> members;
  // What is joined besides the level before: the leader's operand, and the siblings' beside it.
  struct Operand {
    size_t along;  // which dimension are the columns
    std::vector<OpPtr> parts;
  };
  std::vector<Operand> operands;
};

// The level of these operations, each of which reads what its sibling has in `before`, if there is
// one; or nothing when they are not alike.
std::optional<SiblingLevel> sibling_level(const std::vector<OpPtr>& members,
                                          const SiblingLevel* before = nullptr);

// Why these two, which read nothing that was joined before, are not alike: "expected ...".
std::optional<std::string> why_not_alike(const Op& first, const Op& sibling);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_SIBLING_LEVEL_H_
