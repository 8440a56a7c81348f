#include "passes/derive/merge_row_axes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/directive_table.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Axes = std::vector<Axis>;

// Positions of the axes that become one, of all members.
struct RowAxes {
  size_t first, count;

  size_t behind() const { return first + count; }
};

// Those up to the last axis that says which row, of which all but the outermost are numbers.
std::optional<RowAxes> row_axes_to_merge(const RowGroup& group) {
  if (!are_first(group) || keeps_any(group)) return std::nullopt;
  const Shape& shape = group.reader().shape;
  const size_t rows = group.axes().size();
  size_t first = rows - 1;
  while (first > 0 && shape[first].as_constant().value_or(0) > 0) --first;
  if (first + 1 == rows) return std::nullopt;
  return RowAxes{first, rows - first};
}

bool mentions_any(const Expr& e, const Axes& axes, const RowAxes& merged) {
  return std::any_of(axes.begin() + static_cast<std::ptrdiff_t>(merged.first),
                     axes.begin() + static_cast<std::ptrdiff_t>(merged.behind()),
                     [&](const Axis& axis) { return mentions(e, axis.name()); });
}

// What an index adds to an axis that it steps with: r of i + r; nothing where it is no such sum.
std::optional<Expr> added_to(const Expr& index, const Axis& axis) {
  const std::optional<Affine> affine = affine_of(index);
  if (!affine) return std::nullopt;
  const auto own = affine->coefficients.find(axis.name());
  if (own == affine->coefficients.end() || own->second != 1) return std::nullopt;
  return simplify_index(substitute_axes(index, [&](const std::string& name) {
    return name == axis.name() ? int_constant(0) : Expr();
  }));
}

// At which indices a read has those axes, one after another, and has them nowhere else. Something
// may be added to the outermost one: a window of whole rows.
std::optional<size_t> walked_at(const Expr& read, const Axes& axes, const RowAxes& merged) {
  const std::vector<Expr>& indices = read->args;
  const auto is_axis = [&](const Expr& index, size_t axis) {
    return index->op == ExprOp::axis && index->name == axes[axis].name();
  };
  const auto first = std::find_if(indices.begin(), indices.end(), [&](const Expr& index) {
    const std::optional<Expr> rest = added_to(index, axes[merged.first]);
    return rest && !mentions_any(*rest, axes, merged);
  });
  const auto at = static_cast<size_t>(first - indices.begin());
  if (at + merged.count > indices.size()) return std::nullopt;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i < at || i >= at + merged.count) {
      if (mentions_any(indices[i], axes, merged)) return std::nullopt;
      continue;
    }
    const size_t axis = merged.first + i - at;
    if (i > at && !is_axis(indices[i], axis)) return std::nullopt;
    if (i > at && read->tensor->shape[i] != axes[axis].extent()) return std::nullopt;
  }
  return at;
}

Shape merged_shape(const Shape& shape, const RowAxes& merged) {
  Extent all = 1;
  for (size_t i = merged.first; i < merged.behind(); ++i) all = all * shape[i];
  Shape result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(merged.first));
  result.push_back(all);
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(merged.behind()),
                shape.end());
  return result;
}

// Operations as if these axes were one, of which each knows those that it reads.
class MergedOps {
 public:
  explicit MergedOps(const RowAxes& merged) : merged_(merged) {}

  // Null where it does not go through them one after another. What it reads comes before it.
  OpPtr add(const Op& op) {
    auto copy = std::make_shared<Op>(op);
    if (op.kind == OpKind::fused) {
      for (OpPtr& member : copy->members) {
        member = add(*member);
        if (member == nullptr) return nullptr;
      }
    } else if (!merge(copy.get())) {
      return nullptr;
    }
    copy->shape = merged_shape(op.shape, merged_);
    copies_[&op] = copy;
    return copy;
  }

  const std::map<std::string, RowFuses>& fuses() const { return fuses_; }

 private:
  // Whether all that mentions these axes are reads that walk them; of what is merged, every read.
  bool all_walk(const Expr& body, const Axes& axes) const {
    if (body->op == ExprOp::read) {
      const bool is_outside = copies_.count(body->tensor.get()) == 0;
      if (is_outside && !mentions_any(body, axes, merged_)) return true;
      const std::optional<size_t> at = walked_at(body, axes, merged_);
      return at && (is_outside || (*at == merged_.first && body->args[*at]->op == ExprOp::axis));
    }
    if (body->op == ExprOp::axis) return !mentions_any(body, axes, merged_);
    return std::all_of(body->args.begin(), body->args.end(),
                       [&](const Expr& arg) { return all_walk(arg, axes); });
  }

  bool merge(Op* op) {
    const Axes axes = op->axes;
    if (axes.size() < merged_.behind() || !all_walk(op->body, axes)) return false;
    const auto first = axes.begin() + static_cast<std::ptrdiff_t>(merged_.first);
    const auto behind = first + static_cast<std::ptrdiff_t>(merged_.count);
    RowFuses fuses{{first, behind}, {}};
    for (size_t i = 2; i < merged_.count; ++i) {
      fuses.loops.push_back(fresh_axis(*op, "rows" + std::to_string(i)));
    }
    fuses.loops.push_back(fresh_axis(*op, "rows"));
    Extent all = 1;
    for (const Axis& axis : fuses.axes) all = all * axis.extent();
    op->body = transform(op->body, [&](const Expr& e) { return merged_read(e, axes); });
    op->axes.assign(axes.begin(), first);
    op->axes.emplace_back(fuses.loops.back(), all);
    op->axes.insert(op->axes.end(), behind, axes.end());
    const std::string loop = fuses.loops.back();
    op->body = transform(op->body, [&](const Expr& e) -> Expr {
      const bool is_first = e->op == ExprOp::axis && e->name == axes[merged_.first].name();
      return is_first ? axis_value(loop) : Expr();
    });
    fuses_[op->name] = std::move(fuses);
    return true;
  }

  Expr merged_read(const Expr& e, const Axes& axes) {
    if (e->op != ExprOp::read) return Expr();
    const auto copy = copies_.find(e->tensor.get());
    if (copy == copies_.end() && !mentions_any(e, axes, merged_)) return Expr();
    const size_t at = walked_at(e, axes, merged_).value();
    std::vector<Expr> indices = e->args;
    const Axis& outermost = axes[merged_.first];
    const Expr rest = added_to(indices[at], outermost).value();
    if (constant_value(rest) != 0) {
      int64_t elements = 1;  // of a step of the outermost axis
      for (size_t i = merged_.first + 1; i < merged_.behind(); ++i) {
        elements *= axes[i].extent().constant_term();
      }
      indices[at] = axis_value(outermost.name()) + rest * int_constant(elements);
    }
    const auto inner = indices.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    indices.erase(inner, inner + static_cast<std::ptrdiff_t>(merged_.count) - 1);
    return read_op(copy == copies_.end() ? outside(e->tensor, at) : copy->second,
                   std::move(indices));
  }

  // What comes from outside the group, and has these axes from index `at` on.
  OpPtr outside(const OpPtr& op, size_t at) {
    OpPtr& view = outside_[{op.get(), at}];
    if (view == nullptr) {
      auto tensor = std::make_shared<Op>();
      tensor->kind = OpKind::input;
      tensor->name = op->name;
      tensor->dtype = op->dtype;
      tensor->shape = merged_shape(op->shape, {at, merged_.count});
      view = std::move(tensor);
    }
    return view;
  }

  RowAxes merged_;
  std::unordered_map<const Op*, OpPtr> copies_;
  std::map<std::pair<const Op*, size_t>, OpPtr> outside_;
  std::map<std::string, RowFuses> fuses_;
};

// How many directives the stages have that have any.
std::map<std::string, size_t> directives_of(const Schedule& schedule) {
  std::map<std::string, size_t> counts;
  for (const auto& [name, stage] : schedule.stages()) {
    if (!stage.directives().empty()) counts[name] = stage.directives().size();
  }
  return counts;
}

// The directives of a stage of the merged rows, behind the fuses that make them.
StageSchedule with_fuses(const StageSchedule& made, const RowFuses& fuses) {
  const std::vector<Directive>& all = made.directives();
  size_t changes = all.size();  // of the stages, which come first
  while (changes > 0 && form_of(all[changes - 1].kind).scope != DirectiveScope::stage) --changes;
  StageSchedule result;
  for (size_t i = 0; i < changes; ++i) result.add(all[i]);
  Axis inner = fuses.axes.back();
  for (size_t i = 0; i < fuses.loops.size(); ++i) {
    const Axis loop(fuses.loops[i]);
    result.fuse(fuses.axes[fuses.axes.size() - 2 - i], inner, loop);
    inner = loop;
  }
  for (size_t i = changes; i < all.size(); ++i) {
    Directive d = all[i];
    if (d.kind == DirectiveKind::reorder_storage) {
      const auto at = std::find(d.axes.begin(), d.axes.end(), fuses.loops.back());
      std::vector<std::string> storage(d.axes.begin(), at);
      for (auto axis = fuses.axes.rbegin(); axis != fuses.axes.rend(); ++axis) {
        storage.push_back(axis->name());
      }
      storage.insert(storage.end(), at + 1, d.axes.end());
      d.axes = std::move(storage);
    }
    result.add(std::move(d));
  }
  return result;
}

// The fuses of all stages that a schedule has besides `before`: those of the graph, and those that
// they make; nothing where there are others: a copy has the axes of something else.
std::optional<std::map<std::string, RowFuses>> fuses_of(const Schedule& schedule,
                                                        const std::map<std::string, size_t>& before,
                                                        std::map<std::string, RowFuses> fuses) {
  bool is_more = true;
  while (is_more) {
    is_more = false;
    for (const auto& [name, stage] : schedule.stages()) {
      const auto own = fuses.find(name);
      if (own == fuses.end()) continue;
      for (const Directive& d : stage.directives()) {
        const StageChange change = form_of(d.kind).change;
        const bool makes = change == StageChange::cache_write || change == StageChange::rfactor ||
                           change == StageChange::alternative;
        if (makes) is_more = fuses.emplace(d.target, own->second).second || is_more;
      }
    }
  }
  for (const auto& [name, count] : directives_of(schedule)) {
    if (before.count(name) == 0 && fuses.count(name) == 0) return std::nullopt;
  }
  return fuses;
}

}  // namespace

namespace {

std::optional<MergedRows> with_merged(const RowGroup& group, const RowAxes& axes) {
  MergedOps ops(axes);
  MergedRows merged{group, {}, {}};
  for (size_t i = group.members.size(); i-- > 0;) {  // what is read first
    const OpPtr op = ops.add(*group.members[i].op);
    if (op == nullptr) return std::nullopt;
    merged.group.members[i].op = op.get();
    merged.group.members[i].axes = first_axes(axes.first + 1);
    merged.ops.push_back(op);
  }
  merged.fuses = ops.fuses();
  merged.group.is_merged = true;
  return merged;
}

}  // namespace

std::optional<MergedRows> merge_row_axes(const RowGroup& group) {
  const std::optional<RowAxes> axes = row_axes_to_merge(group);
  if (!axes) return std::nullopt;
  for (size_t count = axes->count; count > 1; --count) {  // as many as there are
    if (auto merged = with_merged(group, {axes->behind() - count, count})) return merged;
  }
  return std::nullopt;
}

void derive_with_merged_axes(
    const RowGroup& group, const std::function<double(const RowGroup& group)>& at_a_time,
    const std::function<void(const RowGroup& group, Schedule* schedule)>& derive,
    Schedule* schedule) {
  constexpr double kManyMore = 1.5;
  const std::optional<MergedRows> merged = merge_row_axes(group);
  if (!merged || at_a_time(merged->group) < kManyMore * at_a_time(group)) {
    return derive(group, schedule);
  }
  const std::map<std::string, size_t> before = directives_of(*schedule);
  Schedule made = *schedule;
  derive(merged->group, &made);
  const auto fuses = fuses_of(made, before, merged->fuses);
  if (!fuses) return derive(group, schedule);
  for (const auto& [name, count] : directives_of(made)) {
    // What it may have had says which stages there are (beside_way), and no more.
    const auto had = before.find(name);
    if (had != before.end() && had->second == count) continue;
    StageSchedule& stage = made[name];
    if (!is_inline(stage)) stage = with_fuses(stage, fuses->at(name));
  }
  *schedule = made;
}

}  // namespace emulsion
