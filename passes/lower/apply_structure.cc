#include <algorithm>
#include <optional>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_axes.h"
#include "dsl/text_lexer.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/alternatives.h"
#include "passes/lower/inline_reads.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/map_point.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

bool is_loop_directive(const Directive& d) {
  const DirectiveScope scope = form_of(d.kind).scope;
  return scope == DirectiveScope::loop || scope == DirectiveScope::nest;
}

// The name of an operation was refused before (schedule_axes.h); here the others that a nest has:
// of a packed weight, or of a run-time size.
void require_new_name(const WrittenNest& nest, const std::string& stage, const Directive& d) {
  const bool taken = nest.find_buffer(d.target) != nullptr ||
                     std::count(nest.sizes.begin(), nest.sizes.end(), d.target) > 0;
  if (taken) {
    refuse(stage, d,
           fmt::format("expected a new name, got {0}, which is taken; legal: {0}_1", d.target));
  }
}

void require_first(const WrittenStage& plan, const Directive& d) {
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
  if (d.factor < 1) {
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
WrittenStage cache_write(WrittenStage* plan, const Directive& d) {
  require_first(*plan, d);
  WrittenStage made;
  made.decided = plan->decided;
  made.stage = plan->stage;
  made.stage.name = d.target;
  plan->stage.reduction_axes.clear();
  plan->stage.transforms.clear();  // steps of these axes
  plan->stage.combiner = Combiner::none;
  plan->stage.body = read_buffer(d.target, plan->stage.dtype, own_axes(plan->stage.axes));
  return made;
}

void require_operand(const WrittenNest& nest, const WrittenStage& reader, const Directive& d) {
  const std::set<std::string> legal = buffers_read_by(reader.stage);
  if (legal.count(d.operand)) return;
  const bool packed = !nest.find_buffer(d.operand) && legal.count(packed_name(d.operand));
  refuse(reader.stage.name, d,
         packed ? fmt::format(
                      "expected an operand that {} reads ({}), got {}, which is packed; legal: "
                      "copy_in before it, and pack of {} by {}",
                      reader.stage.name, list_names(legal), d.operand, d.operand, d.target)
                : expected_name("an operand that " + reader.stage.name + " reads",
                                {legal.begin(), legal.end()}, d.operand));
}

// y = f(x[m, k])  ->  copy = x; y = f(copy[m, k])
WrittenStage copy_in(const WrittenNest& nest, WrittenStage* reader, const Directive& d) {
  require_operand(nest, *reader, d);
  WrittenStage made;
  made.decided = reader->decided;
  made.stage.name = d.target;
  if (const WrittenStage* computed = nest.find(d.operand)) {
    made.stage.dtype = computed->stage.dtype;
    made.stage.axes = computed->stage.axes;
  } else {
    const Buffer& given = *nest.find_buffer(d.operand);
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

// The splits, fuses and orders of reduction loops that stand before rfactor, applied; they leave
// `plan`.
LoopedStage with_reduction_transforms(WrittenStage* plan, const WrittenDirective& rfactor) {
  WrittenStage result = *plan;
  result.directives.clear();
  std::vector<WrittenDirective> others;
  std::set<std::string> reduction;
  for (const Axis& axis : plan->stage.reduction_axes) reduction.insert(axis.name());
  for (const WrittenDirective& d : plan->directives) {
    if (!is_loop_directive(d)) {
      others.push_back(d);
      continue;
    }
    const bool transforms = d.kind == DirectiveKind::split || d.kind == DirectiveKind::fuse;
    const auto is_reduced = [&](const std::string& loop) { return reduction.count(loop) > 0; };
    const bool is_legal = transforms ? is_reduced(d.axes[0])
                                     : d.kind == DirectiveKind::reorder &&
                                           std::all_of(d.axes.begin(), d.axes.end(), is_reduced);
    const bool guarded = d.tail == Tail::automatic || d.tail == Tail::guard;
    if (!is_legal || !guarded) {
      refuse(plan->stage.name, rfactor,
             fmt::format("expected nothing before it but splits, with a tail of guard, fuses and "
                         "reorders of reduction loops of {}, got {}; legal: that one after it",
                         plan->stage.name, to_string(d)));
    }
    reduction.insert(d.axes.begin(), d.axes.end());
    result.directives.push_back(d);
  }
  plan->directives = std::move(others);
  return apply_directives_of(std::move(result), rfactor.loops);
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

// The axis that the loop of a reduction becomes that rfactor names.
Axis lane_as_axis(const Stage& stage, const Directive& d,
                  const std::map<std::string, Expr>& extents) {
  const std::string& loop = d.axes[0];
  std::optional<Extent> extent = as_extent(extents.at(loop));
  if (!extent) {
    refuse(stage.name, d,
           fmt::format("expected a loop whose extent is affine in the run-time sizes, got {} in "
                       "{}; legal: the inner loop of a split, or an axis that is not split",
                       loop, to_string(extents.at(loop))));
  }
  return Axis(loop, *extent);
}

// The reduction axis that another loop becomes. What is no whole number of steps for every size, as
// (K + 15) / 16, becomes an axis as long as what is split, of which only each 16th element counts.
struct LeftAxis {
  Axis axis;
  int64_t step = 1;
};

LeftAxis loop_left(const Stage& stage, const Directive& d, const std::string& loop,
                   const Expr& steps) {
  if (const std::optional<Extent> extent = as_extent(steps)) return {Axis(loop, *extent)};
  const Expr quotient = simplify_index(steps);
  if (quotient->op == ExprOp::div) {
    const std::optional<Extent> rounded_up = as_extent(quotient->args[0]);
    const std::optional<int64_t> step = constant_value(quotient->args[1]);
    if (rounded_up && step && *step > 0) {
      return {Axis(loop, *rounded_up - Extent(*step - 1)), *step};
    }
  }
  refuse(stage.name, d,
         fmt::format("expected loops whose extents are affine in the run-time sizes, or that over "
                     "a number, got {} in {}; legal: rfactor of an axis that is not split",
                     loop, to_string(steps)));
}

// An expression over loops, when `loop` takes the multiples of `step` and not their numbers.
Expr in_steps(const Expr& expr, const std::string& loop, int64_t step) {
  const Expr number = axis_value(loop) / int_constant(step);
  const Expr numbered = substitute_axes(
      expr, [&](const std::string& name) { return name == loop ? number : Expr(); });
  return transform(numbered, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::mul || !equal(e->args[0], number)) return Expr();
    const std::optional<int64_t> factor = constant_value(e->args[1]);
    if (!factor || *factor % step != 0) return Expr();
    return simplify_index(axis_value(loop) * int_constant(*factor / step));
  });
}

// A place of an axis, no farther than its last one. Of an axis that was fused with others, what it
// is a quotient of is held: passes that cut loops compare that with the steps.
Expr held_inside(const Expr& place, const Extent& extent) {
  const Extent length = extent == Extent(0) ? Extent(1) : extent;
  const auto by = place->op == ExprOp::div ? constant_value(place->args[1]) : std::nullopt;
  if (!by || *by < 1) return min(place, extent_value(length - Extent(1)));
  return min(place->args[0], extent_value(length * *by - Extent(1))) / place->args[1];
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
    values[axis.name()] = may_pass_the_end ? held_inside(value, axis.extent()) : value;
  }
  Expr body = substitute_axes(stage.body, [&](const std::string& name) {
    auto found = values.find(name);
    return found == values.end() ? Expr() : found->second;
  });
  if (point.guards.empty()) return body;
  Expr inside = over_axes(point.guards.front().condition);
  for (size_t i = 1; i < point.guards.size(); ++i) {
    inside = inside && over_axes(point.guards[i].condition);
  }
  return select(inside, body, identity_of(stage.combiner, stage.dtype));
}

// s = sum({ko, ki}, e)  ->  partial[.., ki] = sum(ko, e); s = sum(ki, partial)
WrittenStage rfactor(WrittenStage* plan, const WrittenDirective& d) {
  LoopedStage transformed = with_reduction_transforms(plan, d);
  Stage& stage = transformed.stage;
  const std::map<std::string, Expr> extents = whole_extents(&stage);
  const Axis lane = lane_as_axis(plan->stage, d, extents);
  std::vector<Axis> left;
  std::vector<LoopTransform> steps;
  for (const ScheduledLoop& loop : transformed.loops) {
    if (!loop.is_reduction || loop.name == lane.name()) continue;
    LeftAxis made = loop_left(plan->stage, d, loop.name, extents.at(loop.name));
    left.push_back(std::move(made.axis));
    if (made.step == 1) continue;
    LoopTransform step;
    step.kind = LoopTransform::Kind::step;
    step.axis = step.outer = loop.name;
    step.factor = made.step;
    steps.push_back(std::move(step));
  }
  Shape shape;
  for (const Axis& axis : plan->stage.axes) shape.push_back(axis.extent());
  shape.push_back(lane.extent());
  require_size(plan->stage.name, d, shape, plan->stage.dtype);

  stage.name = d.target;
  stage.body = body_over_loops(stage);
  for (const LoopTransform& t : steps) stage.body = in_steps(stage.body, t.axis, t.factor);
  stage.axes.push_back(lane);
  stage.reduction_axes = std::move(left);
  if (stage.reduction_axes.empty()) stage.combiner = Combiner::none;
  stage.transforms = std::move(steps);

  std::vector<Expr> indices = own_axes(plan->stage.axes);
  indices.emplace_back(lane);
  plan->stage.body = read_buffer(d.target, plan->stage.dtype, std::move(indices));
  plan->stage.reduction_axes = {lane};
  plan->stage.transforms.clear();  // steps of the axes before
  WrittenStage made;
  made.decided = plan->decided;
  made.stage = std::move(stage);
  return made;
}

// A weight that a stage reads through operations that are computed inline (`inlined`, producers
// first) is packed as the stage will read it.
void read_directly(const WrittenNest& nest, const std::vector<std::string>& inlined,
                   const std::string& weight, Stage* stage) {
  Stage direct = *stage;
  for (size_t i = inlined.size(); i-- > 0;) {
    direct.body = with_inlined(direct.body, {{inlined[i], nest.find(inlined[i])->stage}});
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

// Of what is inline, one inside another: twice what a function may be by itself.
constexpr int64_t kMostInlineHeight = 2 * ExprSize::kMostHeight;

// Takes the stages through the directives that change what the stages are.
class StructureApplier {
 public:
  StructureApplier(WrittenNest nest, const Schedule& schedule, const ScheduleLoops& loops)
      : nest_(std::move(nest)), schedule_(schedule), loops_(loops) {}

  WrittenNest apply() {
    for (size_t i = 0; i < nest_.stages.size();) {
      const std::string name = nest_.stages[i].stage.name;
      const auto loops = loops_.before.find(name);
      if (loops == loops_.before.end() || !seen_.insert(name).second) {
        ++i;
        continue;
      }
      // What it makes stands at its position then, with directives of its own.
      const std::vector<Directive>& directives = schedule_.find(name)->directives();
      std::vector<WrittenDirective> written;
      written.reserve(directives.size());
      for (size_t at = 0; at < directives.size(); ++at) {
        written.emplace_back(directives[at], loops->second[at]);
      }
      apply_to(i, written);
    }
    inline_stages();
    return std::move(nest_);
  }

 private:
  void apply_to(const size_t first, const std::vector<WrittenDirective>& directives) {
    size_t at = first;  // behind what it makes
    std::optional<DirectiveKind> reduced_by;
    for (const WrittenDirective& d : directives) {
      WrittenStage& self = nest_.stages[at];
      const std::string name = self.stage.name;
      require_factor(name, d);
      switch (form_of(d.kind).change) {
        case StageChange::none:
          self.directives.push_back(d);
          break;
        case StageChange::cache_write:
        case StageChange::rfactor:
          require_new_name(nest_, name, d);
          if (reduced_by && (d.kind != *reduced_by || d.kind == DirectiveKind::cache_write)) {
            refuse(name, d,
                   fmt::format("expected one cache_write, or rfactors alone, for each operation, "
                               "got {} behind {}; legal: {} of {}",
                               to_string(d.kind), to_string(*reduced_by), to_string(d.kind),
                               nest_.stages[first].stage.name));
          }
          reduced_by = d.kind;
          insert(at++,
                 d.kind == DirectiveKind::cache_write ? cache_write(&self, d) : rfactor(&self, d));
          break;
        case StageChange::copy_in:
          require_new_name(nest_, name, d);
          insert(at++, copy_in(nest_, &self, d));
          break;
        case StageChange::alternative:
          require_new_name(nest_, name, d);
          require_first(self, d);
          insert(at, add_alternative(&nest_, at, reduced_by, d));
          ++at;
          break;
        case StageChange::pack:
          if (buffers_read_by(self.stage).count(d.target) == 0) {
            read_directly(nest_, inlined_, d.target, &self.stage);
          }
          pack_weight(&nest_, self, d);
          break;
        case StageChange::compute_inline:
          compute_inline(self, d);
          break;
      }
    }
  }

  void insert(size_t position, WrittenStage made) {
    nest_.stages.insert(nest_.stages.begin() + static_cast<std::ptrdiff_t>(position),
                        std::move(made));
  }

  void compute_inline(const WrittenStage& self, const Directive& d) {
    const std::string& name = self.stage.name;
    if (!inlined_.empty() && inlined_.back() == name) {
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
    inlined_.push_back(name);
  }

  void inline_stages() {
    const std::set<std::string> names(inlined_.begin(), inlined_.end());
    std::map<std::string, Stage> inlined;
    std::map<std::string, ExprSize> sizes;  // of their bodies
    std::vector<WrittenStage> left;
    for (WrittenStage& plan : nest_.stages) {
      // What is inline at other indices than its own is gone through once more (inline_reads.h).
      const bool moved = any_part(plan.stage.body, [&](const Expr& e) {
        const auto stage = e->op == ExprOp::read ? inlined.find(e->name) : inlined.end();
        return stage != inlined.end() && !are_own_indices(stage->second.axes, e->args);
      });
      ExprSize size = size_of(plan.stage.body, [&](const Expr& read) -> std::optional<ExprSize> {
        const auto known = sizes.find(read->name);
        return known == sizes.end() ? std::nullopt : std::optional(known->second);
      });
      Expr body = with_inlined(plan.stage.body, inlined);
      if (moved) size = size_of(body);
      check_size(plan.stage, size, inlined);
      if (moved) {
        body = with_simple_reads(body, plan.stage);
        size = size_of(body);
      } else if (!body.same_as(plan.stage.body)) {
        body = with_inlined(with_simple_reads(plan.stage.body, plan.stage), inlined);
      }
      plan.stage.body = body;
      decide_body(&plan);
      if (plan.is_output && !plan.decided.empty()) {
        choose_output(&plan);
        plan.stage.body = with_inlined(plan.stage.body, inlined);
      }
      const std::string name = plan.stage.name;
      if (names.count(name) == 0) {
        left.push_back(std::move(plan));
        continue;
      }
      if (!plan.directives.empty()) {
        refuse_beside_inline(*schedule_.find(name), name, plan.directives.front());
      }
      sizes.emplace(name, size);
      inlined.emplace(name, std::move(plan.stage));
    }
    nest_.stages = std::move(left);
  }

  // `size`: of the stage's body with what it reads inline.
  void check_size(const Stage& stage, const ExprSize& size,
                  const std::map<std::string, Stage>& inlined) const {
    const bool is_high = size.height > kMostInlineHeight;
    if (!is_high && size.nodes <= ExprSize::kMostNodes) return;
    for (const std::string& name : buffers_read_by(stage)) {
      if (inlined.count(name) == 0) continue;
      const std::vector<Directive>& written = schedule_.find(name)->directives();
      const auto d = std::find_if(written.begin(), written.end(), [](const Directive& one) {
        return one.kind == DirectiveKind::compute_inline;
      });
      refuse(name, *d,
             fmt::format("expected {} with at most {} operations {}, got {}; legal: compute_at a "
                         "loop of {}, or compute_root",
                         stage.name, is_high ? kMostInlineHeight : ExprSize::kMostNodes,
                         is_high ? "inside one another" : "when it is written out",
                         is_high ? std::to_string(size.height) : "more", stage.name));
    }
  }

  WrittenNest nest_;
  const Schedule& schedule_;
  const ScheduleLoops& loops_;
  std::set<std::string> seen_;        // stages whose directives have been looked at
  std::vector<std::string> inlined_;  // in the order of their directives
};

}  // namespace

WrittenNest apply_structure(WrittenNest nest, const Schedule& schedule,
                            const ScheduleLoops& loops) {
  return StructureApplier(std::move(nest), schedule, loops).apply();
}

}  // namespace emulsion
