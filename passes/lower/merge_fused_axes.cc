// Axes that a stage and all that reads it go through as one loop (stage_plan.h).

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/directive_table.h"
#include "passes/index/simplify_quotients.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// What the first directives on the loops of a stage make one loop of: neighbours among its axes.
struct FusedFirst {
  size_t first = 0, count = 1;  // of the axes
  std::string name;             // of the loop
};

std::optional<FusedFirst> fused_first(const WrittenStage& plan) {
  const std::vector<Axis>& axes = plan.stage.axes;
  std::optional<FusedFirst> found;
  for (const WrittenDirective& d : plan.directives) {
    const DirectiveScope scope = form_of(d.kind).scope;
    if (scope != DirectiveScope::loop && scope != DirectiveScope::nest) continue;
    if (d.kind != DirectiveKind::fuse) break;
    const auto outer = axis_index(axes, d.axes[0]), inner = axis_index(axes, d.axes[1]);
    if (!found && outer && inner && *inner == *outer + 1) {
      found = FusedFirst{*outer, 2, d.axes[2]};
    } else if (found && d.axes[1] == found->name && outer && *outer + 1 == found->first) {
      found = FusedFirst{*outer, found->count + 1, d.axes[2]};
    } else {
      break;
    }
  }
  return found;
}

// Whether the extents of all of them but the outermost are numbers above 0.
bool are_of_known_extents(const std::vector<Axis>& axes, const FusedFirst& fused) {
  for (size_t i = fused.first + 1; i < fused.first + fused.count; ++i) {
    if (axes[i].extent().as_constant().value_or(0) <= 0) return false;
  }
  return true;
}

bool names_any(const Directive& d, const std::vector<Axis>& axes, const FusedFirst& fused) {
  return std::any_of(d.axes.begin(), d.axes.end(), [&](const std::string& name) {
    const auto at = axis_index(axes, name);
    return at && *at >= fused.first && *at < fused.first + fused.count;
  });
}

// The axes of the storage, innermost first, with those that are fused as one; nothing where they
// are not neighbours there, in their order.
std::optional<std::vector<std::string>> merged_storage(const std::vector<std::string>& storage,
                                                       const std::vector<Axis>& axes,
                                                       const FusedFirst& fused) {
  const size_t last = fused.first + fused.count - 1;
  const auto at = std::find(storage.begin(), storage.end(), axes[last].name());
  if (storage.end() - at < static_cast<std::ptrdiff_t>(fused.count)) return std::nullopt;
  for (size_t i = 0; i < fused.count; ++i) {
    if (at[static_cast<std::ptrdiff_t>(i)] != axes[last - i].name()) return std::nullopt;
  }
  std::vector<std::string> merged(storage.begin(), at);
  merged.push_back(fused.name);
  merged.insert(merged.end(), at + static_cast<std::ptrdiff_t>(fused.count), storage.end());
  return merged;
}

bool may_be_merged(const WrittenStage& plan, const FusedFirst& fused) {
  const std::vector<Axis>& axes = plan.stage.axes;
  if (plan.is_output || plan.find_directive(DirectiveKind::store_in_output) != nullptr)
    return false;
  if (!are_of_known_extents(axes, fused)) return false;
  return std::all_of(plan.directives.begin(), plan.directives.end(), [&](const Directive& d) {
    if (d.kind == DirectiveKind::reorder_storage) {
      return merged_storage(d.axes, axes, fused).has_value();
    }
    const bool is_layout = form_of(d.kind).scope == DirectiveScope::layout;
    return (!is_layout && d.kind != DirectiveKind::cut) || !names_any(d, axes, fused);
  });
}

// Whether a read is at the loop that its reader has of the same axes, and nowhere else.
bool reads_at_loop(const Expr& read, const std::vector<Axis>& axes, const FusedFirst& fused,
                   const std::vector<Axis>& reading, const FusedFirst& loop) {
  if (loop.count != fused.count) return false;
  for (size_t i = 0; i < fused.count; ++i) {
    const Expr& index = read->args[fused.first + i];
    const Axis& axis = reading[loop.first + i];
    if (index->op != ExprOp::axis || index->name != axis.name()) return false;
    if (i > 0 && axis.extent() != axes[fused.first + i].extent()) return false;
  }
  return true;
}

class Merger {
 public:
  Merger(WrittenNest nest, const LoopsOfStages& order) : nest_(std::move(nest)), order_(order) {}

  WrittenNest merge() {
    for (const WrittenStage& plan : nest_.stages) {
      const std::optional<FusedFirst> fused = fused_first(plan);
      if (fused) loops_.emplace(plan.stage.name, *fused);
    }
    if (loops_.empty()) return std::move(nest_);
    for (const WrittenStage& plan : nest_.stages) {
      stages_.emplace(plan.stage.name, &plan);
      for (const std::string& read : buffers_read_by(plan.stage)) {
        readers_[read].push_back(&plan.stage);
      }
      const Directive* with = plan.find_directive(DirectiveKind::compute_with);
      if (with != nullptr) leaders_.insert(with->target);
    }
    std::map<std::string, Stage> merged;  // as they were
    for (const WrittenStage& plan : nest_.stages) {
      const auto fused = loops_.find(plan.stage.name);
      if (fused == loops_.end() || !may_be_merged(plan, fused->second)) continue;
      if (shares_loops(plan) || !is_computed_inside(plan)) continue;
      if (is_read_at_loops(plan.stage, fused->second)) merged.emplace(plan.stage.name, plan.stage);
    }
    if (merged.empty()) return std::move(nest_);
    for (WrittenStage& plan : nest_.stages) {
      plan.stage.body = with_merged_reads(plan.stage.body, merged);
      if (merged.count(plan.stage.name) > 0) merge_axes(loops_.at(plan.stage.name), &plan);
      const AxisExtents domain = domain_of(plan.stage);
      plan.stage.body = with_indices(plan.stage.body, [&](const Expr& read) {
        std::vector<Expr> indices = read->args;
        if (merged.count(read->name) == 0) return indices;
        Expr& index = indices[loops_.at(read->name).first];
        index = simplify_quotients(index, domain);
        return indices;
      });
    }
    return std::move(nest_);
  }

 private:
  // Whether it is computed at a part of a loop that is fused so, or inside of one: elsewhere a part
  // of it ends where an axis does, and rows that lie in it whole are told by their axes.
  bool is_computed_inside(const WrittenStage& plan) const {
    const Directive* place = plan.find_directive(DirectiveKind::compute_at);
    const auto loop = place != nullptr ? loops_.find(place->target) : loops_.end();
    if (loop == loops_.end()) return false;
    std::set<std::string> made = {loop->second.name};
    for (const WrittenDirective& d : stages_.at(place->target)->directives) {
      if (d.kind == DirectiveKind::split && made.count(d.axes[0]) > 0) {
        made.insert({d.axes[1], d.axes[2]});
      }
    }
    const std::vector<std::vector<ScheduledLoop>> cases = order_.at(place->target).all_cases();
    for (const ScheduledLoop& around : cases.front()) {
      if (made.count(around.name) > 0) return true;
      if (around.name == place->axes[0]) return false;
    }
    return false;
  }

  // Loops of several stages are made of the same axes.
  bool shares_loops(const WrittenStage& plan) const {
    return plan.find_directive(DirectiveKind::compute_with) != nullptr ||
           leaders_.count(plan.stage.name) > 0;
  }

  bool is_read_at_loops(const Stage& stage, const FusedFirst& fused) const {
    const auto readers = readers_.find(stage.name);
    if (readers == readers_.end()) return true;
    return std::all_of(readers->second.begin(), readers->second.end(), [&](const Stage* reader) {
      const std::vector<Expr> reads = reads_of(*reader, stage.name);
      const auto loop = loops_.find(reader->name);
      return loop != loops_.end() && std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
               return reads_at_loop(read, stage.axes, fused, reader->axes, loop->second);
             });
    });
  }

  // m(i, j, k)  ->  m(i * J + j, k)
  Expr with_merged_reads(const Expr& body, const std::map<std::string, Stage>& merged) const {
    return transform(body, [&](const Expr& e) -> Expr {
      const auto stage = e->op == ExprOp::read ? merged.find(e->name) : merged.end();
      if (stage == merged.end()) return Expr();
      const FusedFirst& fused = loops_.at(e->name);
      std::vector<Expr> indices(e->args.begin(),
                                e->args.begin() + static_cast<std::ptrdiff_t>(fused.first) + 1);
      for (size_t i = fused.first + 1; i < fused.first + fused.count; ++i) {
        indices.back() = indices.back() * extent_value(stage->second.axes[i].extent()) + e->args[i];
      }
      indices.insert(indices.end(),
                     e->args.begin() + static_cast<std::ptrdiff_t>(fused.first + fused.count),
                     e->args.end());
      return read_buffer(e->name, e->dtype, std::move(indices));
    });
  }

  // Of the stage itself: the axes, what its body reads at them, its storage.
  static void merge_axes(const FusedFirst& fused, WrittenStage* plan) {
    const std::vector<Axis> axes = plan->stage.axes;
    const auto first = axes.begin() + static_cast<std::ptrdiff_t>(fused.first);
    const auto behind = first + static_cast<std::ptrdiff_t>(fused.count);
    Extent all = 1;
    std::for_each(first, behind, [&](const Axis& axis) { all = all * axis.extent(); });
    const Axis merged(fused.name, all);
    std::map<std::string, Expr> values;
    Expr left = merged;
    for (size_t i = fused.first + fused.count - 1; i > fused.first; --i) {
      const Expr extent = extent_value(axes[i].extent());
      values[axes[i].name()] = left % extent;
      left = left / extent;
    }
    values[axes[fused.first].name()] = left;
    plan->stage.body = substitute_axes(plan->stage.body, [&](const std::string& axis) -> Expr {
      const auto value = values.find(axis);
      return value == values.end() ? Expr() : value->second;
    });
    plan->stage.axes.assign(axes.begin(), first);
    plan->stage.axes.push_back(merged);
    plan->stage.axes.insert(plan->stage.axes.end(), behind, axes.end());
    size_t left_out = 0;
    std::vector<WrittenDirective> directives;
    for (WrittenDirective& d : plan->directives) {
      if (d.kind == DirectiveKind::fuse && left_out + 1 < fused.count) {
        ++left_out;
        continue;
      }
      if (d.kind == DirectiveKind::reorder_storage) d.axes = *merged_storage(d.axes, axes, fused);
      directives.push_back(std::move(d));
    }
    plan->directives = std::move(directives);
  }

  WrittenNest nest_;
  const LoopsOfStages& order_;               // after the whole schedule
  std::map<std::string, FusedFirst> loops_;  // of stages
  std::map<std::string, const WrittenStage*> stages_;
  std::map<std::string, std::vector<const Stage*>> readers_;  // of buffers and stages
  std::set<std::string> leaders_;                             // whose loops others share
};

}  // namespace

WrittenNest merge_fused_axes(WrittenNest nest, const LoopsOfStages& loops) {
  return Merger(std::move(nest), loops).merge();
}

}  // namespace emulsion
