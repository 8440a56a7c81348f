#include "dsl/stage_loops.h"

#include <algorithm>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_refusal.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// More than anybody writes by hand; each is a level of the tree, and analyses walk all pairs.
constexpr size_t kMostLoops = 100;

// What the directive replaces, or makes, by the kind of the arguments. It has all its axes.
Names axes_of_kind(const Directive& directive, ArgumentKind kind) {
  Names names;
  size_t at = 0;
  for (const DirectiveArgument& argument : form_of(directive.kind).arguments) {
    if (!is_axis(argument.kind)) continue;
    if (argument.kind == kind) names.push_back(directive.axes[at]);
    ++at;
  }
  return names;
}

}  // namespace

std::optional<size_t> position_of(const std::vector<ScheduledLoop>& loops,
                                  const std::string& name) {
  for (size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].name == name) return i;
  }
  return std::nullopt;
}

const ScheduledLoop* find_loop(const std::vector<ScheduledLoop>& loops, const std::string& name) {
  const std::optional<size_t> position = position_of(loops, name);
  return position ? &loops[*position] : nullptr;
}

std::vector<std::string> names_of(const std::vector<ScheduledLoop>& loops) {
  std::vector<std::string> names;
  names.reserve(loops.size());
  for (const ScheduledLoop& loop : loops) names.push_back(loop.name);
  return names;
}

StageLoops::StageLoops(std::string stage, std::vector<std::string> pure,
                       std::vector<std::string> reduction)
    : stage_(std::move(stage)), pure_(std::move(pure)), reduction_(std::move(reduction)) {
  std::vector<ScheduledLoop>& loops = cases_.back().loops;
  for (const std::string& axis : pure_) loops.emplace_back(axis);
  for (const std::string& axis : reduction_) loops.emplace_back(axis, true);
}

std::set<std::string> StageLoops::reduction_loops() const {
  std::set<std::string> names;
  for (const ScheduledLoop& loop : loops()) {
    if (loop.is_reduction) names.insert(loop.name);
  }
  return names;
}

std::vector<std::vector<ScheduledLoop>> StageLoops::all_cases() const {
  std::vector<std::vector<ScheduledLoop>> all;
  all.reserve(cases_.size());
  for (const Case& one : cases_) all.push_back(one.loops);
  return all;
}

std::vector<std::string> StageLoops::common_loops() const {
  Names common;
  for (const ScheduledLoop& loop : loops()) {
    auto has = [&](const Case& one) { return find_loop(one.loops, loop.name) != nullptr; };
    if (std::all_of(cases_.begin(), cases_.end(), has)) common.push_back(loop.name);
  }
  return common;
}

void StageLoops::check(const Directive& directive) const {
  check_axis_count(directive);
  check_behind_specialize(directive);
  check_names(directive);
  check_new_loops(directive);
}

void StageLoops::check_axis_count(const Directive& directive) const {
  const size_t wanted = axis_count(directive.kind), count = directive.axes.size();
  const bool is_any = has_argument(directive.kind, ArgumentKind::loops) ||
                      has_argument(directive.kind, ArgumentKind::stored_axes);
  if (is_any ? count < wanted : count != wanted) {
    refuse(stage_, directive,
           fmt::format("expected {}, got {}", count_text(wanted, "axis", "axes"), count));
  }
}

void StageLoops::check_behind_specialize(const Directive& directive) const {
  if (!is_specialized() || directive.kind == DirectiveKind::specialize) return;
  if (form_of(directive.kind).scope == DirectiveScope::loop) return;
  Names legal;
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const DirectiveForm& form = form_of(static_cast<DirectiveKind>(i));
    if (form.scope == DirectiveScope::loop) legal.emplace_back(form.name);
  }
  refuse(stage_, directive,
         fmt::format("expected a directive on loops ({}) behind specialize, got {}; legal: in "
                     "front of the first specialize",
                     list_names(legal), to_string(directive.kind)));
}

void StageLoops::check_names(const Directive& directive) const {
  auto require = [&](const std::string& what, const Names& legal, const std::string& axis) {
    if (!contains(legal, axis)) refuse(stage_, directive, expected_name(what, legal, axis));
  };
  Names seen;  // of those that are there already
  size_t at = 0;
  for (const DirectiveArgument& argument : form_of(directive.kind).arguments) {
    if (!is_axis(argument.kind)) continue;
    const size_t end = is_list(argument.kind) ? directive.axes.size() : at + 1;
    for (; at < end; ++at) {
      const std::string& axis = directive.axes[at];
      switch (argument.kind) {
        case ArgumentKind::loop:
        case ArgumentKind::loops:
        case ArgumentKind::shared_loop:
          require("a loop of " + stage_, names_of(loops()), axis);
          break;
        case ArgumentKind::reduction_loop: {
          Names legal;
          for (const ScheduledLoop& loop : loops()) {
            if (loop.is_reduction) legal.push_back(loop.name);
          }
          require("a reduction loop of " + stage_, legal, axis);
          break;
        }
        case ArgumentKind::axis: {
          Names legal = pure_;
          legal.insert(legal.end(), reduction_.begin(), reduction_.end());
          require("an axis of " + stage_ + " as it was written", legal, axis);
          break;
        }
        case ArgumentKind::stored_axis:
        case ArgumentKind::stored_axes:
          require("an axis of " + stage_ + " as it was written", pure_, axis);
          break;
        case ArgumentKind::new_loop:
        case ArgumentKind::consumer_loop:
          continue;
        case ArgumentKind::none:
        case ArgumentKind::consumer:
        case ArgumentKind::buffer:
        case ArgumentKind::operand:
        case ArgumentKind::new_stage:
        case ArgumentKind::factor:
        case ArgumentKind::tail:
        case ArgumentKind::memory:
        case ArgumentKind::condition:
        case ArgumentKind::index:
          EMULSION_CHECK(false, "argument {} of {} is no axis", argument.word,
                         to_string(directive.kind));
      }
      if (contains(seen, axis)) {
        refuse(stage_, directive,
               fmt::format("expected distinct loops, got {0} twice; legal: {0} once", axis));
      }
      seen.push_back(axis);
    }
  }
}

void StageLoops::check_new_loops(const Directive& directive) const {
  const Names made = axes_of_kind(directive, ArgumentKind::new_loop);
  if (made.empty()) return;
  const Names replaced = axes_of_kind(directive, ArgumentKind::loop);
  Names rest;
  for (const ScheduledLoop& loop : loops()) {
    if (!contains(replaced, loop.name)) rest.push_back(loop.name);
  }
  if (rest.size() + made.size() > std::max(kMostLoops, loops().size())) {
    refuse(stage_, directive,
           fmt::format("expected at most {} loops of {}, got {}; legal: a fuse first", kMostLoops,
                       stage_, rest.size() + made.size()));
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (std::count(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(i), made[i]) > 0) {
      refuse(stage_, directive,
             fmt::format("expected distinct loops, got {0} twice; legal: {0} once", made[i]));
    }
    if (contains(rest, made[i])) {
      refuse(stage_, directive,
             fmt::format("expected a name that no other loop of {0} has ({1}), got {2}; legal: "
                         "{2}_1",
                         stage_, list_names(rest), made[i]));
    }
    if (cases_.back().gone.count(made[i]) > 0 && !contains(replaced, made[i])) {
      refuse(stage_, directive,
             fmt::format("expected a new name, got {0}, which {1} has or had; legal: {0}_1",
                         made[i], stage_));
    }
  }
}

void StageLoops::apply(const Directive& directive) {
  check(directive);
  if (has_argument(directive.kind, ArgumentKind::new_loop)) replace(directive);
  if (has_argument(directive.kind, ArgumentKind::loops)) reorder(directive);
  if (directive.kind == DirectiveKind::specialize) cases_.push_back(cases_.front());
  mark(directive);
}

// The new loops stand where the first of the old ones stood.
void StageLoops::replace(const Directive& directive) {
  Case& now = cases_.back();
  const Names replaced = axes_of_kind(directive, ArgumentKind::loop);
  std::vector<ScheduledLoop> loops;
  for (const ScheduledLoop& loop : now.loops) {
    if (loop.name == replaced.front()) {
      bool is_reduction = false;
      for (const std::string& name : replaced) {
        is_reduction = is_reduction || find_loop(now.loops, name)->is_reduction;
      }
      for (const std::string& name : axes_of_kind(directive, ArgumentKind::new_loop)) {
        loops.emplace_back(name, is_reduction);
      }
    } else if (!contains(replaced, loop.name)) {
      loops.push_back(loop);
    }
  }
  now.loops = std::move(loops);
  now.gone.insert(replaced.begin(), replaced.end());
}

// What is not named stays where it is.
void StageLoops::reorder(const Directive& directive) {
  std::vector<ScheduledLoop>& loops = cases_.back().loops;
  std::vector<ScheduledLoop> wanted;  // outermost first
  for (auto axis = directive.axes.rbegin(); axis != directive.axes.rend(); ++axis) {
    wanted.push_back(*find_loop(loops, *axis));
  }
  size_t next = 0;
  for (ScheduledLoop& loop : loops) {
    if (contains(directive.axes, loop.name)) loop = wanted[next++];
  }
}

// What the directive says of a loop that stays. Whether it may say so, lower() decides.
void StageLoops::mark(const Directive& directive) {
  std::vector<ScheduledLoop>& loops = cases_.back().loops;
  const auto named = [&] { return position_of(loops, directive.axes[0]).value(); };
  switch (directive.kind) {
    case DirectiveKind::vectorize:
      loops[named()].kind = LoopKind::vectorized;
      return;
    case DirectiveKind::unroll:
      loops[named()].kind = LoopKind::unrolled;
      return;
    case DirectiveKind::parallel:
      loops[named()].kind = LoopKind::parallel;
      return;
    case DirectiveKind::partition:
      loops[named()].partition = true;
      return;
    case DirectiveKind::tensorize:  // the loop and all inside it
      for (size_t i = named(); i < loops.size(); ++i) loops[i].kind = LoopKind::tile;
      return;
    case DirectiveKind::split:
    case DirectiveKind::fuse:
    case DirectiveKind::reorder:
    case DirectiveKind::specialize:
    case DirectiveKind::compute_at:
    case DirectiveKind::compute_with:
    case DirectiveKind::compute_root:
    case DirectiveKind::compute_inline:
    case DirectiveKind::store_at:
    case DirectiveKind::store_root:
    case DirectiveKind::hoist_storage:
    case DirectiveKind::store_in:
    case DirectiveKind::store_in_output:
    case DirectiveKind::fold_storage:
    case DirectiveKind::reorder_storage:
    case DirectiveKind::align_storage:
    case DirectiveKind::pack:
    case DirectiveKind::cache_write:
    case DirectiveKind::rfactor:
    case DirectiveKind::copy_in:
    case DirectiveKind::alternative:
    case DirectiveKind::precompute:
    case DirectiveKind::atomic:
    case DirectiveKind::prefetch:
    case DirectiveKind::cut:
      return;
  }
}

void StageLoops::reduce_only(const std::vector<std::string>& reduction) {
  Case& now = cases_.back();
  std::vector<ScheduledLoop> kept;
  for (const ScheduledLoop& loop : now.loops) {
    if (!loop.is_reduction) kept.push_back(loop);
  }
  for (const std::string& axis : reduction) kept.emplace_back(axis, true);
  now = {std::move(kept), {}};
  reduction_ = reduction;
}

}  // namespace emulsion
