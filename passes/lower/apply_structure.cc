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
#include "passes/nest/costly_part.h"
#include "passes/nest/map_point.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

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

// y = x[n, c] / sqrt(v[c])  ->  s[c] = sqrt(v[c]); y = x[n, c] / s[c]
WrittenStage precompute(WrittenStage* plan, const Directive& d) {
  Stage& stage = plan->stage;
  const Expr part = costly_part(stage.body, d.axes[0]);
  if (!part.defined()) {
    std::vector<std::string> legal;
    for (const Axis& axis : stage.axes) {
      if (costly_part(stage.body, axis.name()).defined()) legal.push_back(axis.name());
    }
    refuse(stage.name, d,
           fmt::format("expected a part of {} that takes long and depends on {} alone, got none; "
                       "legal: {}",
                       stage.name, d.axes[0],
                       legal.empty() ? "no precompute of it" : list_names(legal)));
  }
  WrittenStage made;
  made.decided = plan->decided;
  made.stage.name = d.target;
  made.stage.dtype = part.dtype();
  made.stage.axes = {stage.axes[*axis_index(stage.axes, d.axes[0])]};
  made.stage.body = part;
  const Expr value = read_buffer(d.target, part.dtype(), own_axes(made.stage.axes));
  stage.body =
      transform(stage.body, [&](const Expr& e) -> Expr { return equal(e, part) ? value : Expr(); });
  return made;
}

// Of operations that are computed inline, producers first, those through which `operand` is read.
std::vector<std::string> ways_to(const WrittenNest& nest, const std::vector<std::string>& inlined,
                                 const std::string& operand) {
  std::set<std::string> leads = {operand};
  std::vector<std::string> found;
  for (const std::string& name : inlined) {
    const std::set<std::string> read = buffers_read_by(nest.find(name)->stage);
    const auto leads_there = [&](const std::string& one) { return leads.count(one) > 0; };
    if (!std::any_of(read.begin(), read.end(), leads_there)) continue;
    leads.insert(name);
    found.push_back(name);
  }
  return found;
}

// What a stage reads through operations that are computed inline, and not by itself, is copied or
// packed as the stage will read it.
void read_directly(const WrittenNest& nest, const std::vector<std::string>& inlined,
                   const std::string& operand, Stage* stage) {
  if (buffers_read_by(*stage).count(operand) > 0) return;
  const std::vector<std::string> ways = ways_to(nest, inlined, operand);
  for (size_t i = ways.size(); i-- > 0;) {
    if (buffers_read_by(*stage).count(ways[i]) == 0) continue;
    stage->body = with_inlined(stage->body, {{ways[i], nest.find(ways[i])->stage}});
    stage->body = with_simple_reads(stage->body, *stage);
  }
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
          read_directly(nest_, inlined_, d.operand, &self.stage);
          insert(at++, copy_in(nest_, &self, d));
          break;
        case StageChange::precompute:
          require_new_name(nest_, name, d);
          insert(at, precompute(&self, d));
          ++at;
          break;
        case StageChange::alternative:
          require_new_name(nest_, name, d);
          require_first(self, d);
          insert(at, add_alternative(&nest_, at, reduced_by, d));
          ++at;
          break;
        case StageChange::pack:
          read_directly(nest_, inlined_, d.target, &self.stage);
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
