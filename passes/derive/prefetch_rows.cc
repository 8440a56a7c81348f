#include "passes/derive/prefetch_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/tensor.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {
namespace {

struct InputRow {
  const Op* input;
  int64_t bytes;
  bool operator<(const InputRow& other) const { return input->name < other.input->name; }
};

class InputRows {
 public:
  InputRows(const RowGroup& group, const Graph& graph) : group_(group), graph_(graph) {}

  // Those of which a member walks over a row, also where what it reads is computed in its place.
  std::set<InputRow> of(const RowGroup::Member& member) const {
    std::set<InputRow> rows;
    for (const OpPtr& operand : operands(*member.op)) {
      const auto producer =
          std::find_if(group_.members.begin(), group_.members.end(),
                       [&](const RowGroup::Member& other) { return other.op == operand.get(); });
      if (producer != group_.members.end()) {
        if (producer->is_inline) rows.merge(of(*producer));
      } else if (is_input(*operand)) {
        const auto axes = row_axes_of(*operand, *member.op, member.axes);
        if (!axes) continue;
        const auto elements = elements_of_row(*operand, *axes);
        if (elements && *elements > 1) {
          rows.insert({operand.get(), *elements * size_in_bytes(operand->dtype)});
        }
      }
    }
    return rows;
  }

 private:
  // Of the graph itself: what is read through stands in a view of it as an input.
  bool is_input(const Op& op) const {
    const std::vector<OpPtr> arguments = graph_.arguments();
    return op.kind == OpKind::input &&
           std::any_of(arguments.begin(), arguments.end(), [&](const OpPtr& argument) {
             return argument->name == op.name && argument->kind == OpKind::input;
           });
  }

  const RowGroup& group_;
  const Graph& graph_;
};

// Whether several operations walk over a row, and one of them computes for long. Loops that do
// little but load and store follow one another as the processor expects.
bool computes_along_rows(const RowGroup& group) {
  return group.members.size() > 1 &&
         std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& member) { return takes_series(*member.op); });
}

}  // namespace

void prefetch_rows(const RowGroup& group, const Axis& row, int64_t rows, const Target& target,
                   Schedule* schedule) {
  if (!computes_along_rows(group)) return;
  const InputRows inputs(group, schedule->graph());
  std::set<InputRow> walked;
  for (const RowGroup::Member& member : group.members) {
    if (!member.is_inline) walked.merge(inputs.of(member));
  }
  int64_t bytes = 0;
  std::vector<std::string> wanted;
  for (const auto& [input, of_row] : walked) {
    const std::optional<int64_t> all = element_count(input->shape);
    if (all && *all * size_in_bytes(input->dtype) <= target.l1_bytes) continue;
    bytes += rows * of_row;
    wanted.push_back(input->name);
  }
  if (4 * bytes > target.l2_bytes) return;
  StageSchedule& stage = (*schedule)[result_of(group.reader()).name];
  for (const std::string& input : wanted) stage.prefetch(input, row, 1);
}

}  // namespace emulsion
