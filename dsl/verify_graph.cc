#include <set>
#include <unordered_map>
#include <unordered_set>

#include "dsl/error.h"
#include "dsl/graph.h"

namespace emulsion {
namespace {

void verify_compute(const Op& op, const std::unordered_set<const Op*>& defined) {
  EMULSION_CHECK(op.body.defined(), "{} has no body", op.name);
  EMULSION_CHECK(op.body.dtype() == op.dtype, "{}: type of the body", op.name);
  EMULSION_CHECK(op.axes.size() == op.shape.size(), "{}: rank", op.name);
  EMULSION_CHECK((op.combiner == Combiner::none) == op.reduction_axes.empty(), "{}: combiner",
                 op.name);
  std::set<std::string> axes;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    EMULSION_CHECK(op.axes[i].extent() == op.shape[i], "{}: extent of axis {}", op.name, i);
    EMULSION_CHECK(axes.insert(op.axes[i].name()).second, "{}: axis twice", op.name);
  }
  for (const Axis& axis : op.reduction_axes) {
    EMULSION_CHECK(axes.insert(axis.name()).second, "{}: axis twice", op.name);
  }
  visit(op.body, [&](const Expr& e) {
    EMULSION_CHECK(e->op != ExprOp::reduce, "{}: a reduction inside the body", op.name);
    if (e->op == ExprOp::axis) {
      EMULSION_CHECK(axes.count(e->name), "{}: axis {} is not in scope", op.name, e->name);
    }
    if (e->op != ExprOp::read) return;
    EMULSION_CHECK(e->tensor && defined.count(e->tensor.get()), "{}: reads {} before it is there",
                   op.name, e->name);
    EMULSION_CHECK(e->args.size() == e->tensor->shape.size() && e->dtype == e->tensor->dtype,
                   "{}: read of {}", op.name, e->name);
  });
}

// That the axes of the last one that say which part are there, in their order.
void verify_shared_axes(const LoopGroup& group) {
  const Op& last = *group.members.back();
  const bool is_columns = group.kind == LoopGroupKind::columns;
  const bool any = is_columns || group.kind == LoopGroupKind::rows;
  EMULSION_CHECK(!group.axes.empty(), "{}: no axes are shared", last.name);
  for (size_t i = 0; i < group.axes.size(); ++i) {
    const bool follows = any ? i == 0 || group.axes[i] > group.axes[i - 1] : group.axes[i] == i;
    EMULSION_CHECK(follows && group.axes[i] < last.shape.size(), "{}: axis {} is shared, of {}",
                   last.name, group.axes[i], last.shape.size());
  }
  EMULSION_CHECK(!is_columns || group.axes.back() + 1 == last.shape.size(),
                 "{}: the last axis is not shared by columns", last.name);
}

// Whether others may need its members, too, behind its loops.
bool keeps_members(const LoopGroup& group) { return group.kind == LoopGroupKind::rows; }

// That the members of each group stand together in the graph, and that nothing else needs them, but
// what is kept.
void verify_loop_groups(const Graph& graph) {
  const std::vector<OpPtr>& ops = graph.ops();
  std::unordered_map<const Op*, size_t> group_of, position;
  for (size_t i = 0; i < ops.size(); ++i) position[ops[i].get()] = i;
  for (size_t i = 0; i < graph.loop_groups().size(); ++i) {
    const LoopGroup& group = graph.loop_groups()[i];
    EMULSION_CHECK(group.members.size() > 1, "a loop group of {} members", group.members.size());
    const Op& last = *group.members.back();
    verify_shared_axes(group);
    for (size_t at = 0; at < group.members.size(); ++at) {
      const Op& member = *group.members[at];
      EMULSION_CHECK(member.kind == OpKind::compute || member.kind == OpKind::fused,
                     "{} is in the loops of {}, and not computed", member.name, last.name);
      EMULSION_CHECK(group_of.emplace(&member, i).second, "{} is in two loop groups", member.name);
      const auto found = position.find(&member);
      EMULSION_CHECK(found != position.end(), "{} is in a loop group, not in the graph",
                     member.name);
      EMULSION_CHECK(found->second == position.at(&*group.members[0]) + at,
                     "{} does not stand with the loop group of {}", member.name, last.name);
      EMULSION_CHECK(&member == &last || keeps_members(group) || !graph.is_output(member),
                     "{} is an output, and in the loops of {}", member.name, last.name);
    }
  }
  if (group_of.empty()) return;
  for (const OpPtr& op : ops) {
    for (const OpPtr& operand : operands(*op)) {
      const auto read = group_of.find(operand.get());
      if (read == group_of.end()) continue;
      const LoopGroup& group = graph.loop_groups()[read->second];
      if (operand == group.members.back()) continue;
      const auto reader = group_of.find(op.get());
      const bool is_inside = reader != group_of.end() && reader->second == read->second;
      const bool is_behind = position.at(op.get()) > position.at(&*group.members.back());
      EMULSION_CHECK(is_inside || (is_behind && keeps_members(group)),
                     "{} is in the loops of {}, and read by {}", operand->name,
                     group.members.back()->name, op->name);
    }
  }
}

}  // namespace

void verify_graph(const Graph& graph) {
  std::unordered_set<const Op*> defined;
  std::set<std::string> names;
  for (const OpPtr& op : graph.ops()) {
    EMULSION_CHECK(!op->auto_named, "{} has no final name", op->name);
    EMULSION_CHECK(op->members.empty() == (op->kind != OpKind::fused), "{}: members", op->name);
    if (op->kind != OpKind::fused) {
      EMULSION_CHECK(names.insert(op->name).second, "two operations named {}", op->name);
    }
    if (op->kind == OpKind::compute) verify_compute(*op, defined);
    if (op->kind == OpKind::fused) {
      for (const OpPtr& member : op->members) {
        EMULSION_CHECK(names.insert(member->name).second, "two operations named {}", member->name);
        verify_compute(*member, defined);
        defined.insert(member.get());
      }
      for (const OpPtr& member : op->members)
        defined.erase(member.get());  // nobody else reads them
      const Op& result = *op->members.back();
      EMULSION_CHECK(
          result.name == op->name && result.shape == op->shape && result.dtype == op->dtype,
          "{}: the last member is the result", op->name);
    }
    if (op->kind == OpKind::constant) EMULSION_CHECK(op->data != nullptr, "{}: data", op->name);
    defined.insert(op.get());
  }
  for (const OpPtr& output : graph.outputs()) {
    EMULSION_CHECK(defined.count(output.get()), "output {} is not in the graph", output->name);
  }
  verify_loop_groups(graph);
}

}  // namespace emulsion
