#include <algorithm>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/row_groups.h"

namespace emulsion {
namespace {

bool is_read_of(const Expr& read, const std::vector<Axis>& axes) {
  return read->args.size() == axes.size() &&
         std::equal(axes.begin(), axes.end(), read->args.begin(),
                    [](const Axis& axis, const Expr& index) {
                      return index->op == ExprOp::axis && index->name == axis.name();
                    });
}

// The members of the reader from the first on that needs nothing of the rest of the group, and of
// the others no more than the last of them.
size_t first_of_series(const RowGroup& group) {
  const std::vector<OpPtr>& members = group.reader().members;
  const std::vector<const Op*> all = members_of(group);
  const auto is_of_group = [&](const OpPtr& op) {
    return std::any_of(all.begin() + 1, all.end(), [&](const Op* one) {
      return one == op.get() || &result_of(*one) == op.get();
    });
  };
  size_t first = 0;
  for (size_t at = 0; at < members.size(); ++at) {
    const std::vector<OpPtr> read = operands(*members[at]);
    if (std::any_of(read.begin(), read.end(), is_of_group)) first = at + 1;
  }
  for (size_t at = first; first > 0 && at < members.size(); ++at) {
    for (const OpPtr& operand : operands(*members[at])) {
      const auto earlier = std::find(members.begin(), members.begin() + first - 1, operand);
      if (earlier != members.begin() + first - 1) return members.size();
    }
  }
  return first == 0 ? members.size() : first;
}

}  // namespace

const Op* stored_for_series(const RowGroup& group) {
  const Op& reader = group.reader();
  if (sums_of(reader) != nullptr || !elements_of_row(reader, group.axes())) return nullptr;
  if (is_one_in_a_row(reader, group.axes())) return nullptr;  // vectors go across rows, if at all
  const size_t first = first_of_series(group);
  if (first >= reader.members.size()) return nullptr;
  const Op& op = *reader.members[first - 1];
  bool is_series = false;
  for (size_t at = first; at < reader.members.size(); ++at) {
    const Op& member = *reader.members[at];
    is_series = is_series || takes_series(member);
    const std::vector<Expr> reads = reads_in(member.body, &op);
    const bool at_own_place =
        member.shape == op.shape && std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
          return is_read_of(read, member.axes);
        });
    if (!at_own_place) return nullptr;
  }
  return is_series ? &op : nullptr;
}

bool lies_as_rows(const Op& stored, const Op& reader) {
  const auto from = std::find_if(reader.members.begin(), reader.members.end(),
                                 [&](const OpPtr& member) { return member.get() == &stored; });
  return std::all_of(from + 1, reader.members.end(), [](const OpPtr& member) {
    const std::vector<Expr> reads = reads_in(member->body);
    return std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
      return read->args.empty() ||
             (read->tensor->shape == member->shape && is_read_of(read, member->axes));
    });
  });
}

}  // namespace emulsion
