#include <algorithm>
#include <functional>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/index/index_interval.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

class Inferrer {
 public:
  explicit Inferrer(NestPlan* nest) : nest_(*nest), readers_(readers_of(*nest)) {}

  void run() {
    for (size_t i = nest_.stages.size(); i-- > 0;) {
      StagePlan& plan = nest_.stages[i];
      full_.clear();
      if (plan.place == StagePlan::Place::at) {
        region_for_readers(&plan);
      } else {
        for (const Axis& axis : plan.stage.axes) whole_axis(&plan, axis);
      }
      slide_window(nest_, &plan);
      resolve_tails(&plan);
      for (size_t d = 0; d < plan.extents.size(); ++d) {
        if (plan.slides[d].empty()) plan.needed_extents[d] = plan.extents[d];
      }
      note_loops(plan);
      for (size_t d = 0; d < plan.stage.axes.size(); ++d) {
        if (full_[d]) clamp_readers(plan.stage.name, d, plan.stage.axes[d].extent());
      }
      infer_storage(
          nest_, [this](const std::string& variable) { return range_of(variable); },
          vectorized_axes(plan), &plan);
    }
    for (const StagePlan& plan : nest_.stages) check_shared(plan);
    for (const Buffer& buffer : nest_.buffers) {
      if (buffer.role == BufferRole::output) continue;
      for (size_t d = 0; d < buffer.shape.size(); ++d)
        clamp_readers(buffer.name, d, buffer.shape[d]);
    }
  }

 private:
  void whole_axis(StagePlan* plan, const Axis& axis) {
    plan->mins.push_back(int_constant(0));
    plan->extents.push_back(extent_value(axis.extent()));
    plan->lowest.emplace_back(0);
    plan->highest.emplace_back(axis.extent() - Extent(1));
    full_.push_back(true);
  }

  // Variables of the loops around the place where a stage is computed.
  std::set<std::string> variables_around(const StagePlan& plan) const {
    std::set<std::string> result;
    for (const LoopAround& loop : loops_around(nest_, plan)) result.insert(loop.variable());
    return result;
  }

  // How a variable ranges; nothing when its extent is neither affine in the sizes nor a quotient of
  // what is.
  std::optional<Range> range_of(const std::string& variable) const {
    auto special = special_extents_.find(variable);
    auto found = special == special_extents_.end() ? loop_extents_.find(variable) : special;
    EMULSION_CHECK(found != loop_extents_.end(), "no loop {}", variable);
    auto extent = as_extent(found->second);
    if (extent) return Range{0, *extent - Extent(1)};
    if (found->second->op != ExprOp::div) return std::nullopt;
    auto dividend = as_extent(found->second->args[0]);
    auto divisor = constant_value(found->second->args[1]);
    if (!dividend || !divisor || *divisor < 1) return std::nullopt;
    return Range{0, *dividend - Extent(*divisor), *divisor};  // v <= floor(E / d) - 1
  }

  // The value of each axis of a stage, in loop variables, as seen from `around`: from inside its
  // own loops what they compute; from outside all that is there, also what earlier iterations
  // computed.
  std::map<std::string, Expr> axis_values(const StagePlan& plan,
                                          const std::set<std::string>& around) const {
    const bool inside = is_inside(around, plan);
    Part part = plan.stage.is_reduction() ? Part::update : Part::whole;
    std::map<std::string, Expr> values =
        map_point(plan.stage, part, inside ? plan.extents : plan.needed_extents).local;
    for (size_t i = 0; i < plan.stage.axes.size(); ++i) {
      Expr& value = values.at(plan.stage.axes[i].name());
      value = simplify_index((inside ? plan.mins[i] : plan.needed_mins[i]) + value);
    }
    return values;
  }

  static bool is_inside(const std::set<std::string>& around, const StagePlan& plan) {
    return std::any_of(plan.loops.begin(), plan.loops.end(), [&](const std::string& loop) {
      return around.count(loop_variable(plan.stage.name, loop)) > 0;
    });
  }

  // How an axis of a stage ranges over the whole run.
  static VariableRange ranges_of(const StagePlan& plan) {
    return [&plan](const std::string& name) -> std::optional<Range> {
      for (size_t i = 0; i < plan.stage.axes.size(); ++i) {
        if (plan.stage.axes[i].name() != name) continue;
        if (!plan.lowest[i] || !plan.highest[i]) return std::nullopt;
        return Range{*plan.lowest[i], *plan.highest[i]};
      }
      for (const Axis& axis : plan.stage.reduction_axes) {
        if (axis.name() == name) return Range{0, axis.extent() - Extent(1)};
      }
      return std::nullopt;
    };
  }

  // The general case of a stage, then its special ones, each with its own loops. What is computed
  // inside the stage is computed for all of them; so sizes are not narrowed to a case here.
  void for_each_case(const StagePlan& plan, const std::function<void(const StagePlan&)>& act) {
    act(plan);
    for (size_t i = 0; i < plan.special_cases.size(); ++i) {
      StagePlan special = specialized(plan, i);
      special.extents = plan.extents;
      for (const auto& [axis, extent] : loop_extents(special.stage, special.extents)) {
        special_extents_[loop_variable(plan.stage.name, axis)] = simplify_index(extent);
      }
      act(special);
      special_extents_.clear();
    }
  }

  void region_for_readers(StagePlan* plan) {
    std::set<std::string> around = variables_around(*plan);
    bool unknown = false;
    VariableRange range([&](const std::string& variable) -> std::optional<Range> {
      if (around.count(variable)) return std::nullopt;
      std::optional<Range> known = range_of(variable);
      if (!known) unknown = true;
      return known ? known : Range{0, 0};
    });
    size_t rank = plan->stage.axes.size();
    std::vector<std::optional<Interval>> region(rank);
    bool first = true;
    for (size_t position : readers_[plan->stage.name]) {
      for_each_case(nest_.stages[position], [&](const StagePlan& reader) {
        std::map<std::string, Expr> values = axis_values(reader, around);
        visit(reader.stage.body, [&](const Expr& e) {
          if (e->op != ExprOp::read || e->name != plan->stage.name) return;
          for (size_t d = 0; d < rank; ++d) {
            std::optional<Interval> needed;
            bool first_part = true;
            for (const Expr& part : relax_clamps(e->args[d], ranges_of(reader))) {
              Expr index =
                  substitute_axes(part, [&](const std::string& axis) { return values.at(axis); });
              unknown = false;
              std::optional<Interval> interval = interval_of(simplify_index(index), range);
              if (unknown) interval = std::nullopt;
              needed = first_part ? interval : unite(needed, interval);
              first_part = false;
            }
            region[d] = first ? needed : unite(region[d], needed);
          }
          first = false;
        });
      });
    }
    for (size_t d = 0; d < rank; ++d) {
      const Axis& axis = plan->stage.axes[d];
      if (!region[d] || !(region[d]->high - region[d]->low).is_constant()) {
        whole_axis(plan, axis);
        continue;
      }
      check_partial_axis(nest_, *plan, axis);
      full_.push_back(false);
      plan->mins.push_back(start_of(*region[d]));
      plan->extents.push_back(extent_value(region[d]->high - region[d]->low + Extent(1)));
      note_reach(plan, d);
    }
  }

  // The axes of a stage along which it is written or read by vectors.
  std::set<std::string> vectorized_axes(const StagePlan& plan) {
    std::set<std::string> result;
    for (size_t d = 0; d < plan.stage.axes.size(); ++d) {
      const std::string& axis = plan.stage.axes[d].name();
      bool vectors = is_vectorized(plan, axis_values(plan, {}).at(axis));
      for (size_t position : readers_[plan.stage.name]) {
        const StagePlan& reader = nest_.stages[position];
        const std::map<std::string, Expr> values = axis_values(reader, {});
        visit(reader.stage.body, [&](const Expr& e) {
          if (e->op != ExprOp::read || e->name != plan.stage.name) return;
          vectors = vectors ||
                    is_vectorized(reader, substitute_axes(e->args[d], [&](const std::string& name) {
                                    return values.at(name);
                                  }));
        });
      }
      if (vectors) result.insert(axis);
    }
    return result;
  }

  static bool is_vectorized(const StagePlan& plan, const Expr& index) {
    bool result = false;
    visit(index, [&](const Expr& e) {
      if (e->op != ExprOp::axis) return;
      for (const auto& [loop, kind] : plan.kinds) {
        result = result ||
                 (kind == LoopKind::vectorized && e->name == loop_variable(plan.stage.name, loop));
      }
    });
    return result;
  }

  // The least and greatest index of axis d over the whole run.
  void note_reach(StagePlan* plan, size_t d) {
    bool unknown = false;
    VariableRange overall([&](const std::string& variable) -> std::optional<Range> {
      std::optional<Range> known = range_of(variable);
      if (!known) unknown = true;
      return known ? known : Range{0, 0};
    });
    std::optional<Interval> starts = interval_of(plan->mins[d], overall);
    auto extent = as_extent(plan->extents[d]);
    if (unknown || !starts || !starts->fixed.empty() || !extent) {
      plan->lowest.emplace_back(std::nullopt);
      plan->highest.emplace_back(std::nullopt);
      return;
    }
    plan->lowest.emplace_back(starts->low);
    plan->highest.emplace_back(starts->high + *extent - Extent(1));
  }

  void note_loops(const StagePlan& plan) {
    for (const auto& [axis, extent] : loop_extents(plan.stage, plan.needed_extents)) {
      loop_extents_[loop_variable(plan.stage.name, axis)] = simplify_index(extent);
    }
  }

  // compute_with: one loop has one extent, and an axis that is not split one start.
  void check_shared(const StagePlan& plan) const {
    if (plan.with_stage.empty()) return;
    const StagePlan& leader = *nest_.find(plan.with_stage);
    for (const std::string& loop : plan.loops) {
      const Expr mine = loop_extents_.at(loop_variable(plan.stage.name, loop));
      const Expr theirs = loop_extents_.at(loop_variable(leader.stage.name, loop));
      const Expr start = start_of_axis(plan, loop), their_start = start_of_axis(leader, loop);
      if (!equal(mine, theirs) || !equal(start, their_start)) {
        refuse(plan.stage.name, plan.written(DirectiveKind::compute_with),
               fmt::format("expected loops of the same extent and start, got {} of {} from {} and "
                           "{} of {} from {}; legal: a loop outside it",
                           loop, to_string(mine), to_string(start), loop, to_string(theirs),
                           to_string(their_start)));
      }
      if (loop == plan.with_loop) return;
    }
  }

  static Expr start_of_axis(const StagePlan& plan, const std::string& loop) {
    const std::vector<LoopTransform>& made = plan.stage.transforms;
    const bool transformed = std::any_of(made.begin(), made.end(), [&](const LoopTransform& t) {
      return t.axis == loop || t.outer == loop || t.inner == loop;
    });
    for (size_t i = 0; i < plan.stage.axes.size() && !transformed; ++i) {
      if (plan.stage.axes[i].name() == loop) return plan.mins[i];
    }
    return int_constant(0);
  }

  // Axes of a reader that may leave their domain: there, the values do not matter, but the reads
  // must be legal. The axis is clamped inside the index, so that it is hoisted out of the loops it
  // does not vary in.
  void clamp_readers(const std::string& buffer, size_t dimension, const Extent& extent) {
    for (size_t position : readers_[buffer]) {
      StagePlan& reader = nest_.stages[position];
      std::set<std::string> leaving;
      for (size_t i = 0; i < reader.stage.axes.size(); ++i) {
        const Extent last = reader.stage.axes[i].extent() - Extent(1);
        bool inside = reader.lowest[i] && reader.highest[i] && *reader.lowest[i] == Extent(0);
        if (inside) {
          Extent spare = last - *reader.highest[i];
          inside = spare.is_constant() && spare.constant() >= 0;
        }
        if (!inside) leaving.insert(reader.stage.axes[i].name());
      }
      if (leaving.empty()) continue;
      reader.stage.body = transform(reader.stage.body, [&](const Expr& e) -> Expr {
        if (e->op != ExprOp::read || e->name != buffer) return Expr();
        if (stays_inside(reader, e->args[dimension], extent)) return Expr();
        std::vector<Expr> indices = e->args;
        indices[dimension] = substitute_axes(indices[dimension], [&](const std::string& axis) {
          return leaving.count(axis) ? clamped(reader, axis) : Expr();
        });
        return read_buffer(e->name, e->dtype, std::move(indices));
      });
    }
  }

  static Expr clamped(const StagePlan& reader, const std::string& axis) {
    for (size_t i = 0; i < reader.stage.axes.size(); ++i) {
      if (reader.stage.axes[i].name() != axis) continue;
      Expr result = min(axis_value(axis), extent_value(reader.stage.axes[i].extent() - Extent(1)));
      // The low side too, unless every index is known to be 0 or greater.
      bool from_zero = reader.lowest[i] && reader.lowest[i]->lower_bound().value_or(-1) >= 0;
      return from_zero || is_sum_of_loops(reader.needed_mins[i]) ? result
                                                                 : max(result, int_constant(0));
    }
    return Expr();
  }

  // A sum of loop variables with positive coefficients and no negative constant is never below 0.
  static bool is_sum_of_loops(const Expr& e) {
    auto affine = affine_of(e);
    if (!affine || affine->offset.lower_bound().value_or(-1) < 0) return false;
    return std::all_of(affine->coefficients.begin(), affine->coefficients.end(),
                       [](const auto& term) { return term.second > 0; });
  }

  static bool stays_inside(const StagePlan& reader, const Expr& index, const Extent& extent) {
    AxisExtents axes;
    for (size_t i = 0; i < reader.stage.axes.size(); ++i) {
      if (!reader.lowest[i] || !reader.highest[i] || *reader.lowest[i] != Extent(0)) {
        bool used = false;
        visit(index, [&](const Expr& e) {
          used = used || (e->op == ExprOp::axis && e->name == reader.stage.axes[i].name());
        });
        if (used) return false;
        continue;
      }
      axes.emplace(reader.stage.axes[i].name(), *reader.highest[i] + Extent(1));
    }
    for (const Axis& axis : reader.stage.reduction_axes) axes.emplace(axis.name(), axis.extent());
    return proves_in_bounds(index, extent, axes);
  }

  NestPlan& nest_;
  std::map<std::string, std::vector<size_t>> readers_;  // clamping changes indices, not who reads
  std::vector<bool> full_;                              // of the stage at hand: axes computed whole
  std::map<std::string, Expr> loop_extents_;            // by variable
  std::map<std::string, Expr> special_extents_;         // in the special case at hand, before those
};

}  // namespace

void infer_regions(NestPlan* nest) { Inferrer(nest).run(); }

}  // namespace emulsion
