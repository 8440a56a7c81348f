#ifndef EMULSION_PASSES_REWRITE_BINDINGS_H_
#define EMULSION_PASSES_REWRITE_BINDINGS_H_

// What the names of a pattern stand for: its sizes for extents, its wildcards for values. Filled by
// match_pattern(), read where a replacement is made.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

using SizeBindings = std::map<std::string, Extent>;

// Binds the sizes of `pattern` so that it is `extent`, or says that this cannot be. Nothing:
// several sizes that are not bound yet decide together.
std::optional<bool> unify(const Extent& pattern, const Extent& extent, SizeBindings* sizes);

// `pattern` in the graph's sizes. Every size that occurs is bound.
Extent extent_of(const Extent& pattern, const SizeBindings& sizes);
// The same for the sizes that an expression uses as values.
Expr with_sizes(const Expr& pattern, const SizeBindings& sizes);

// The names of the axes that stand for the dimensions of a wildcard, and for those of a result.
std::string parameter_name(size_t dimension);    // "$0"
std::string result_axis_name(size_t dimension);  // "@0"
// The value of a wildcard at these indices.
Expr value_at(const Expr& wildcard, const std::vector<Expr>& indices);

// Whether two expressions are the same value because they are the same operations of the same
// things; indices that are affine are compared as such: i + 1 is 1 + i.
bool same_value(const Expr& a, const Expr& b);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_BINDINGS_H_
