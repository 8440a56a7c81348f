#include <algorithm>
#include <optional>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_axes.h"
#include "dsl/text_lexer.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/map_point.h"

namespace emulsion {
namespace {

bool is_loop_directive(const Directive& d) {
  const DirectiveScope scope = form_of(d.kind).scope;
  return scope == DirectiveScope::loop || scope == DirectiveScope::nest;
}

void require_new_name(const NestPlan& plan, const std::string& stage, const Directive& d) {
  bool taken = plan.find_buffer(d.target) != nullptr;
  for (const ScheduledStage& other : plan.stages) taken = taken || other.stage.name == d.target;
  taken = taken || std::count(plan.sizes.begin(), plan.sizes.end(), d.target) > 0;
  if (taken) {
    refuse(stage, d,
           fmt::format("expected a new name, got {0}, which is taken; legal: {0}_1", d.target));
  }
}

void require_first(const ScheduledStage& plan, const Directive& d) {
  if (std::any_of(plan.directives.begin(), plan.directives.end(), is_loop_directive)) {
    refuse(plan.stage.name, d,
           fmt::format("expected before the directives on this operation's loops; legal: {} first",
                       to_string(d.kind)));
  }
}

// Indices, and so extents, are 32 bits.
void require_factor(const std::string& stage, const Directive& d) {
  constexpr int64_t kMostFactor = int64_t{1} << 30;
  const int argument = argument_position(d.kind, ArgumentKind::factor);
  if (argument == 0) return;
  const bool layout =  // their least factor depends on the storage: infer_storage
      form_of(d.kind).scope == DirectiveScope::layout;
  if (d.factor < 1 && !layout) {
    refuse(stage, d,
           fmt::format("argument {} (factor): expected a positive integer, got {}; legal: a factor "
                       "of 1",
                       argument, d.factor));
  }
  if (d.factor > kMostFactor) {
    refuse(
        stage, d,
        fmt::format("argument {0} (factor): expected at most {1}, got {2}; legal: a factor of {1}",
                    argument, kMostFactor, d.factor));
  }
}

std::vector<Expr> own_axes(const std::vector<Axis>& axes) {
  return std::vector<Expr>(axes.begin(), axes.end());
}

// y = reduce(...)  ->  acc = reduce(...); y = acc
ScheduledStage cache_write(ScheduledStage* plan, const Directive& d) {
  require_first(*plan, d);
  ScheduledStage made;
  made.stage = plan->stage;
  made.stage.name = d.target;
  plan->stage.reduction_axes.clear();
  plan->stage.combiner = Combiner::none;
  plan->stage.body = read_buffer(d.target, plan->stage.dtype, own_axes(plan->stage.axes));
  return made;
}

void require_operand(const NestPlan& plan, const ScheduledStage& reader, const Directive& d) {
  const std::set<std::string> legal = buffers_read_by(reader.stage);
  if (legal.count(d.operand)) return;
  const bool packed = !plan.find_buffer(d.operand) && legal.count(packed_name(d.operand));
  refuse(reader.stage.name, d,
         packed ? fmt::format(
                      "expected an operand that {} reads ({}), got {}, which is packed; legal: "
                      "copy_in before it, and pack of {} by {}",
                      reader.stage.name, list_names(legal), d.operand, d.operand, d.target)
                : expected_name("an operand that " + reader.stage.name + " reads",
                                {legal.begin(), legal.end()}, d.operand));
}

// y = f(x[m, k])  ->  copy = x; y = f(copy[m, k])
ScheduledStage copy_in(const NestPlan& plan, ScheduledStage* reader, const Directive& d) {
  require_operand(plan, *reader, d);
  ScheduledStage made;
  made.stage.name = d.target;
  if (const ScheduledStage* computed = plan.find(d.operand)) {
    made.stage.dtype = computed->stage.dtype;
    made.stage.axes = computed->stage.axes;
  } else {
    const Buffer& given = *plan.find_buffer(d.operand);
    made.stage.dtype = given.dtype;
    const std::vector<std::string> names = numbered_axes(given.shape.size());
    for (size_t i = 0; i < names.size(); ++i) {
      made.stage.axes.emplace_back(names[i], given.shape[i]);
    }
  }
  made.stage.body = read_buffer(d.operand, made.stage.dtype, own_axes(made.stage.axes));
  Stage& stage = reader->stage;
  stage.body = transform(stage.body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read || e->name != d.operand) return Expr();
    return read_buffer(d.target, e->dtype, e->args);
  });
  return made;
}

// The splits and fuses of reduction loops that stand before rfactor, applied; they leave `plan`.
ScheduledStage with_reduction_transforms(ScheduledStage* plan, const Directive& rfactor) {
  ScheduledStage result = *plan;
  result.directives.clear();
  std::vector<Directive> others;
  std::set<std::string> reduction;
  for (const Axis& axis : plan->stage.reduction_axes) reduction.insert(axis.name());
  for (const Directive& d : plan->directives) {
    if (!is_loop_directive(d)) {
      others.push_back(d);
      continue;
    }
    const bool transforms = d.kind == DirectiveKind::split || d.kind == DirectiveKind::fuse;
    const bool guarded = d.tail == Tail::automatic || d.tail == Tail::guard;
    if (!transforms || !reduction.count(d.axes[0]) || !guarded) {
      refuse(plan->stage.name, rfactor,
             fmt::format("expected nothing before it but splits, with a tail of guard, and fuses "
                         "of reduction loops of {}, got {}; legal: that one after it",
                         plan->stage.name, to_string(d)));
    }
    reduction.insert(d.axes.begin(), d.axes.end());
    result.directives.push_back(d);
  }
  apply_directives_of(&result);
  plan->directives = std::move(others);
  return result;
}

// The extents of the loops of a reduction, before any region is known: those of whole tensors.
// Marks the splits that divide.
std::map<std::string, Expr> whole_extents(Stage* stage) {
  std::vector<Expr> region;
  for (const Axis& axis : stage->axes) region.push_back(extent_value(axis.extent()));
  std::map<std::string, Expr> extents = axis_extents(*stage, region);
  for (LoopTransform& t : stage->transforms) {
    if (t.kind == LoopTransform::Kind::split) {
      auto extent = as_extent(extents.at(t.axis));
      const bool exact = extent && extent->exact_quotient(t.factor).has_value();
      t.tail = exact ? Tail::round_up : Tail::guard;
    }
    apply_transform(t, &extents);
  }
  return extents;
}

// The axis that a loop of a reduction becomes.
Axis loop_as_axis(const Stage& stage, const Directive& d, const std::string& loop,
                  const std::map<std::string, Expr>& extents) {
  std::optional<Extent> extent = as_extent(extents.at(loop));
  if (!extent) {
    refuse(stage.name, d,
           fmt::format("expected loops whose extents are affine in the run-time sizes, got {} in "
                       "{}; legal: a split that divides, or rfactor of an axis that is not split",
                       loop, to_string(extents.at(loop))));
  }
  return Axis(loop, *extent);
}

// The body with the reduction axes in terms of the loops. Past the end of an axis it is the
// identity, and nothing is read there.
Expr body_over_loops(const Stage& stage) {
  std::vector<Expr> region;
  for (const Axis& axis : stage.axes) region.push_back(extent_value(axis.extent()));
  const PointMap point = map_point(stage, Part::update, region);
  auto over_axes = [&](const Expr& e) {
    return substitute_axes(e, [&](const std::string& variable) {
      return axis_value(variable.substr(stage.name.size() + 1));
    });
  };
  std::map<std::string, Expr> values;
  for (const Axis& axis : stage.reduction_axes) {
    Expr value = over_axes(point.local.at(axis.name()));
    const bool may_pass_the_end = !point.guards.empty() && value->op != ExprOp::axis;
    Expr last =
        axis.extent() == Extent(0) ? int_constant(0) : extent_value(axis.extent() - Extent(1));
    values[axis.name()] = may_pass_the_end ? min(value, last) : value;
  }
  Expr body = substitute_axes(stage.body, [&](const std::string& name) {
    auto found = values.find(name);
    return found == values.end() ? Expr() : found->second;
  });
  if (point.guards.empty()) return body;
  Expr inside = over_axes(point.guards.front());
  for (size_t i = 1; i < point.guards.size(); ++i) inside = inside && over_axes(point.guards[i]);
  return select(inside, body, identity_of(stage.combiner, stage.dtype));
}

// s = sum({ko, ki}, e)  ->  partial[.., ki] = sum(ko, e); s = sum(ki, partial)
ScheduledStage rfactor(ScheduledStage* plan, const Directive& d) {
  ScheduledStage made = with_reduction_transforms(plan, d);
  const std::map<std::string, Expr> extents = whole_extents(&made.stage);
  const Axis lane = loop_as_axis(plan->stage, d, d.axes[0], extents);
  std::vector<Axis> left;
  for (const ScheduledLoop& loop : made.loops) {
    if (!loop.is_reduction || loop.name == lane.name()) continue;
    left.push_back(loop_as_axis(plan->stage, d, loop.name, extents));
  }
  Shape shape;
  for (const Axis& axis : plan->stage.axes) shape.push_back(axis.extent());
  shape.push_back(lane.extent());
  require_size(plan->stage.name, d, shape, plan->stage.dtype);

  made.stage.name = d.target;
  made.stage.body = body_over_loops(made.stage);
  made.stage.axes.push_back(lane);
  made.stage.reduction_axes = std::move(left);
  if (made.stage.reduction_axes.empty()) made.stage.combiner = Combiner::none;
  made.stage.transforms.clear();
  made.directives.clear();
  made.is_output = false;

  std::vector<Expr> indices = own_axes(plan->stage.axes);
  indices.emplace_back(lane);
  plan->stage.body = read_buffer(d.target, plan->stage.dtype, std::move(indices));
  plan->stage.reduction_axes = {lane};
  return made;
}

// Every read of the stage becomes its body at those indices.
Expr with_inlined(const Expr& body, const Stage& inlined) {
  // Reads at equal indices share one copy of the body, or a chain of squares would double at each
  // link.
  std::vector<std::pair<std::vector<Expr>, Expr>> copies;
  return transform(body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read || e->name != inlined.name) return Expr();
    for (const auto& [indices, copy] : copies) {
      if (std::equal(indices.begin(), indices.end(), e->args.begin(), equal)) return copy;
    }
    copies.emplace_back(e->args,
                        substitute_axes(inlined.body, [&](const std::string& axis) -> Expr {
                          const std::optional<size_t> i = axis_index(inlined.axes, axis);
                          return i ? e->args[*i] : Expr();
                        }));
    return copies.back().second;
  });
}

void inline_stage(NestPlan* plan, size_t position) {
  const Stage inlined = plan->stages[position].stage;
  for (size_t i = position + 1; i < plan->stages.size(); ++i) {
    Stage& user = plan->stages[i].stage;
    user.body = with_inlined(user.body, inlined);
  }
  plan->stages.erase(plan->stages.begin() + position);
}

// A weight that a stage reads through operations that are computed inline (`inlined`, producers
// first) is packed as the stage will read it.
void read_directly(const NestPlan& plan, const std::vector<std::string>& inlined,
                   const std::string& weight, Stage* stage) {
  Stage direct = *stage;
  for (size_t i = inlined.size(); i-- > 0;) {
    direct.body = with_inlined(direct.body, plan.find(inlined[i])->stage);
  }
  if (buffers_read_by(direct).count(weight) > 0) *stage = std::move(direct);
}

// An operation without loops has no place for another directive; whichever came later is wrong.
[[noreturn]] void refuse_beside_inline(const StageSchedule& written, const std::string& name,
                                       const Directive& other) {
  const std::vector<Directive>& all = written.directives();
  auto later = std::find_if(all.rbegin(), all.rend(), [&](const Directive& d) {
    return d == other || d.kind == DirectiveKind::compute_inline;
  });
  refuse(name, *later,
         fmt::format("expected no other directive on an operation that is computed inline, got {}; "
                     "legal: either",
                     to_string(other)));
}

}  // namespace

void apply_structure(const Schedule& schedule, NestPlan* plan) {
  std::set<std::string> seen;
  std::vector<std::string> inlined;
  for (size_t i = 0; i < plan->stages.size();) {
    std::string name = plan->stages[i].stage.name;
    const StageSchedule* directives = schedule.find(name);
    if (!directives || !seen.insert(name).second) {
      ++i;
      continue;
    }
    size_t made = 0;  // new stages, directly before this one
    bool reduced_elsewhere = false;
    for (const Directive& d : directives->directives()) {
      ScheduledStage& self = plan->stages[i + made];
      require_factor(name, d);
      if (d.kind == DirectiveKind::cache_write || d.kind == DirectiveKind::rfactor) {
        require_new_name(*plan, name, d);
        if (reduced_elsewhere) {
          refuse(name, d,
                 fmt::format("expected one cache_write or rfactor for each operation, got a second "
                             "one; legal: {} of {}",
                             to_string(d.kind), plan->stages[i].stage.name));
        }
        ScheduledStage stage =
            d.kind == DirectiveKind::cache_write ? cache_write(&self, d) : rfactor(&self, d);
        plan->stages.insert(plan->stages.begin() + i + made++, std::move(stage));
        reduced_elsewhere = true;
      } else if (d.kind == DirectiveKind::copy_in) {
        require_new_name(*plan, name, d);
        ScheduledStage stage = copy_in(*plan, &self, d);
        plan->stages.insert(plan->stages.begin() + i + made++, std::move(stage));
      } else if (d.kind == DirectiveKind::pack) {
        if (buffers_read_by(self.stage).count(d.target) == 0) {
          read_directly(*plan, inlined, d.target, &self.stage);
        }
        pack_weight(plan, self, d);
      } else if (d.kind == DirectiveKind::compute_inline) {
        if (std::count(inlined.begin(), inlined.end(), name) > 0) {
          refuse(name, d, "expected one compute_inline, got a second one; legal: one");
        }
        if (self.is_output) {
          refuse(name, d, "expected an operation that is not an output; legal: compute_root()");
        }
        if (self.stage.is_reduction()) {
          refuse(name, d,
                 fmt::format("expected an operation without a reduction, got a {}; legal: "
                             "compute_at a loop of what reads it",
                             to_string(self.stage.combiner)));
        }
        inlined.push_back(name);
      } else {
        self.directives.push_back(d);
      }
    }
    // A stage that was just made has directives of its own: the same position comes again.
  }
  for (const auto& [name, directives] : schedule.stages()) {
    if (!seen.count(name) && !directives.directives().empty()) {
      std::vector<std::string> legal;
      for (const ScheduledStage& stage : plan->stages) legal.push_back(stage.stage.name);
      refuse(name, directives.directives().front(),
             expected_name("an operation of the graph", legal, name));
    }
  }
  for (const std::string& name : inlined) {
    size_t position = 0;
    while (plan->stages[position].stage.name != name) ++position;
    if (!plan->stages[position].directives.empty()) {
      refuse_beside_inline(*schedule.find(name), name, plan->stages[position].directives.front());
    }
    inline_stage(plan, position);
  }
}

}  // namespace emulsion
