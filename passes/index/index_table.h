#ifndef EMULSION_PASSES_INDEX_INDEX_TABLE_H_
#define EMULSION_PASSES_INDEX_INDEX_TABLE_H_

// Index expressions at many points at once: each expression is walked once for all of them, and
// what several have in common is computed once. The values are those of evaluate_index
// (loop_nest.h), which takes one point.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/expr.h"

namespace emulsion {

// One entry for each point.
using IndexColumn = std::vector<int64_t>;
using PointMask = std::vector<uint8_t>;  // 0: not this point

// Whether the value follows from axes and sizes alone.
bool is_index(const Expr& expr);

class IndexTable {
 public:
  explicit IndexTable(size_t points) : points_(points) {}

  size_t points() const { return points_; }
  // The values of an axis or size. Before it occurs in an expression.
  void set(const std::string& variable, IndexColumn values);
  // The same of a size, which an axis may share its name with.
  void set_size(const std::string& size, IndexColumn values);
  const std::map<std::string, IndexColumn>& variables() const { return variables_; }

  // The values at the points of `where`; at others anything. Error: a name without values, or a
  // value that does not fit 64 bits. InternalError: no index.
  const IndexColumn& values(const Expr& index, const PointMask& where);

 private:
  struct Computed {
    Expr index;  // keeps the node
    IndexColumn values;
  };

  void check_length(const std::string& variable, const IndexColumn& values) const;
  const IndexColumn& compute(const Expr& index);
  IndexColumn compute_node(const Expr& index);
  IndexColumn compute_select(const Expr& index);
  IndexColumn compute_operator(const Expr& index);

  size_t points_;
  bool any_unknown_ = false;  // some value somewhere does not fit 64 bits
  std::map<std::string, IndexColumn> variables_;
  std::map<std::string, IndexColumn> sizes_;  // those that are told apart from axes
  std::unordered_map<const ExprNode*, Computed> computed_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_INDEX_TABLE_H_
