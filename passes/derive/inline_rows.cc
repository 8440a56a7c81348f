// Values of a row that are computed where they are read, in registers. Each that is stored takes a
// walk along the row more, in which it is written, and is read again:
//
//   for c: d = x - m; for c: e = exp(d); for c: s += e; for c: y = d - l
//     ->  for c: s += exp(x - m); for c: y = x - m - l

#include <algorithm>
#include <unordered_set>

#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {
namespace {

bool reads_any(const Op& op, const std::unordered_set<const Op*>& of) {
  const std::vector<OpPtr> read = operands(op);
  return std::any_of(read.begin(), read.end(),
                     [&](const OpPtr& one) { return of.count(one.get()) > 0; });
}

// Whether these are sums in lanes along the row of `op`, each element of which they read once.
bool sums_up(const Op& op, const Op& reader, size_t rows, const Target& target) {
  if (!has_lanes(reader, target)) return false;
  const Op& sums = *sums_of(reader);
  const bool by_others = std::any_of(
      reader.members.begin(), reader.members.end(),
      [&](const OpPtr& member) { return member.get() != &sums && reads_any(*member, {&op}); });
  return !by_others && is_one_in_a_row(sums, rows) && sums.reduction_axes.size() == 1 &&
         sums.reduction_axes.back().extent() == op.shape.back() &&
         sums_up_rows_of(op, sums, rows) &&
         value_lanes(sums, target) == value_lanes(result_of(op), target);
}

bool is_at_own_place(const Op& op, const Op& reader, const Target& target) {
  return sums_of(reader) == nullptr && reads_at_own_place(op, reader) &&
         value_lanes(result_of(reader), target) == value_lanes(result_of(op), target);
}

// Operations and reads along the row that an element takes; nothing where an operation is none of
// the fastest.
struct Steps {
  int64_t operations = 0, reads = 0;
  bool are_fast = true;
};
void count_steps(const Expr& e, const std::vector<Axis>& along, Steps* steps) {
  switch (e->op) {
    case ExprOp::constant:
    case ExprOp::axis:
    case ExprOp::size:
      return;
    case ExprOp::read:
      steps->reads += std::any_of(along.begin(), along.end(), [&](const Axis& axis) {
        return any_part(e, [&](const Expr& part) {
          return part->op == ExprOp::axis && part->name == axis.name();
        });
      });
      return;
    case ExprOp::neg:
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul:
    case ExprOp::min:
    case ExprOp::max:
      ++steps->operations;
      for (const Expr& arg : e->args) count_steps(arg, along, steps);
      return;
    default:
      steps->are_fast = false;
  }
}

// Whether to compute an element takes no longer than to read it: what is read in its stead, and one
// operation or two.
bool costs_a_read(const Op& op, size_t rows) {
  constexpr int64_t kMostOperations = 2;
  if (op.kind != OpKind::compute) return false;
  Steps steps;
  count_steps(op.body, {op.axes.begin() + static_cast<std::ptrdiff_t>(rows), op.axes.end()},
              &steps);
  return steps.are_fast && steps.operations <= kMostOperations && steps.reads <= 1;
}

}  // namespace

RowGroup inline_rows(const RowGroup& group, const Target& target, Schedule* schedule) {
  RowGroup kept{group.reader, {}, group.rows};
  const std::vector<const Op*> members = members_of(group);
  std::unordered_set<const Op*> stored;  // of whole rows
  for (const Op* op : members) {
    if (!is_one_in_a_row(*op, group.rows)) stored.insert(op);
  }
  const auto is_inlined = [&](const Op& op) {
    // What it reads is there for as long as the row is computed, whoever computes it.
    if (sums_of(op) != nullptr || stored.count(&op) == 0 || reads_any(op, stored)) return false;
    if (op.shape.size() != group.rows + 1) return false;
    int64_t readers = 0;
    bool are_sums = true;
    for (const Op* reader : members) {
      if (!reads_any(*reader, {&op})) continue;
      ++readers;
      const bool is_sum = sums_up(op, *reader, group.rows, target);
      if (!is_sum && !is_at_own_place(op, *reader, target)) return false;
      are_sums = are_sums && is_sum;
    }
    return (readers == 1 && are_sums) || costs_a_read(op, group.rows);
  };
  // What reads comes in front of what it reads.
  for (auto next = group.producers.rbegin(); next != group.producers.rend(); ++next) {
    if (!is_inlined(*next->op)) {
      kept.producers.push_back(*next);
      continue;
    }
    stored.erase(next->op);
    inline_members(*next->op, nullptr, schedule);
    (*schedule)[result_of(*next->op).name].compute_inline();
  }
  std::reverse(kept.producers.begin(), kept.producers.end());
  return kept;
}

}  // namespace emulsion
