#include "passes/derive/precompute_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/directive_table.h"
#include "dsl/fitting_name.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/stage_directives.h"
#include "passes/fuse/fused_group.h"
#include "passes/nest/costly_part.h"

namespace emulsion {
namespace {

constexpr int64_t kLeastRows = 8, kLeastColumns = 4;
constexpr int kMostParts = 4;

// The directives of the cases of a stage are behind these.
std::vector<Directive>::const_iterator first_case(const std::vector<Directive>& all) {
  return std::find_if(all.begin(), all.end(),
                      [](const Directive& d) { return d.kind == DirectiveKind::specialize; });
}

// The loops of a few rows, where others have cases: those of the last case, which are of any
// length. Nothing where they are not.
std::optional<std::vector<Directive>> loops_of_few(const std::vector<Directive>& all) {
  const auto cases = first_case(all);
  if (cases == all.end() || has_kind({all.begin(), cases}, DirectiveKind::vectorize)) {
    return std::vector<Directive>();
  }
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const Directive& d) {
    return d.kind == DirectiveKind::specialize;
  });
  const std::vector<Directive> loops(last.base(), all.end());
  const bool is_of_any_length = std::none_of(loops.begin(), loops.end(), [](const Directive& d) {
    return d.tail == Tail::shift_inwards || d.kind == DirectiveKind::parallel;
  });
  return is_of_any_length ? std::optional(loops) : std::nullopt;
}

class PartFinder {
 public:
  PartFinder(const Graph& shared, const Target& target, const Schedule& schedule)
      : shared_(shared), target_(target), made_(schedule) {
    for (const auto& [name, stage] : schedule.stages()) {
      all_[name] = stage.directives();
      for (const Directive& d : stage.directives()) {
        if (has_argument(d.kind, ArgumentKind::consumer)) has_guests_.insert(d.target);
      }
    }
  }

  Schedule find() {
    for (const OpPtr& op : shared_.ops()) {
      if (!is_computed(*op) || is_always_empty(*op)) continue;
      const std::vector<OpPtr> members = comprehensions(op);
      const bool combines = std::any_of(members.begin(), members.end(), [](const OpPtr& member) {
        return member->combiner != Combiner::none;
      });
      if (combines || !has_plain_loops(result_of(*op).name)) continue;
      for (const OpPtr& member : members) {
        if (member == members.back() || is_inline(member->name)) consider(*member, result_of(*op));
      }
    }
    if (parts_.empty()) return made_;
    Schedule schedule = made_.without_directives();
    for (const auto& [name, directives] : all_) {
      for (const Directive& d : directives) schedule[name].add(d);
    }
    for (const Part& part : parts_) {
      if (part.few_rows.defined()) {
        schedule[part.op.name].alternative(part.few_rows, part.of_few);
        schedule[part.of_few].compute_inline();
      }
      derive_pointwise(part.op, target_, &schedule);
    }
    return schedule;
  }

 private:
  struct Part {
    Op op;          // as if it were one of the graph
    Expr few_rows;  // where it is not stored
    std::string of_few;
  };

  bool is_inline(const std::string& name) const {
    const auto found = all_.find(name);
    return found != all_.end() && has_kind(found->second, DirectiveKind::compute_inline);
  }

  // Whether a stage is computed at the root in loops of its own, where nothing else is computed.
  bool has_plain_loops(const std::string& name) const {
    if (has_guests_.count(name) > 0) return false;
    const auto found = all_.find(name);
    if (found == all_.end()) return true;
    return std::all_of(found->second.begin(), found->second.end(), [](const Directive& d) {
      switch (form_of(d.kind).scope) {
        case DirectiveScope::loop:
          return true;
        case DirectiveScope::nest:
          return d.kind == DirectiveKind::specialize;
        case DirectiveScope::place:
        case DirectiveScope::store:
        case DirectiveScope::layout:
        case DirectiveScope::stage:
          return false;
      }
      return false;
    });
  }

  // Whether all that is read is there before any loop.
  bool reads_what_is_whole(const Expr& part) const {
    return !any_part(part, [&](const Expr& e) {
      return e->op == ExprOp::read && is_computed(*e->tensor) && !is_whole(e->tensor->name);
    });
  }

  bool is_whole(const std::string& name) const {
    const auto found = all_.find(name);
    if (found == all_.end()) return true;
    return std::all_of(found->second.begin(), found->second.end(), [](const Directive& d) {
      const DirectiveScope scope = form_of(d.kind).scope;
      return scope != DirectiveScope::place && scope != DirectiveScope::store &&
             d.kind != DirectiveKind::compute_inline && d.kind != DirectiveKind::store_in_output;
    });
  }

  std::string new_name(const Op& op, const std::string& suffix) const {
    return free_name(op.name + suffix, [&](const std::string& name) {
      return all_.count(name) > 0 || made_.graph().has_name(name);
    });
  }

  // The parts of `op`, which is computed in the loops of `result`.
  void consider(const Op& op, const Op& result) {
    const auto columns = std::find_if(op.axes.rbegin(), op.axes.rend(),
                                      [](const Axis& axis) { return axis.extent() != Extent(1); });
    if (columns == op.axes.rend()) return;
    if (columns->extent().as_constant().value_or(kLeastColumns) < kLeastColumns) return;
    std::vector<Extent> rows;
    for (const Axis& axis : op.axes) {
      if (axis.name() != columns->name()) rows.push_back(axis.extent());
    }
    const std::optional<Expr> many = reaches(rows, kLeastRows);
    if (!many || (many->defined() && (*many)->op != ExprOp::ge)) return;
    const Expr few = many->defined() ? (*many)->args[0] < (*many)->args[1] : Expr();
    const std::optional<std::vector<Directive>> loops = loops_of_few(all_[result.name]);
    if (few.defined() && !loops) return;
    std::vector<Directive> made;
    Expr body = op.body;
    while (made.size() < kMostParts) {
      const Expr part = costly_part(body, columns->name());
      if (!part.defined() || !reads_what_is_whole(part)) break;
      const Expr taken = constant(part.dtype(), 0);
      body = transform(body, [&](const Expr& e) { return equal(e, part) ? taken : Expr(); });
      Part one;
      one.op.kind = OpKind::compute;
      one.op.name = new_name(op, "_part");
      one.op.dtype = part.dtype();
      one.op.axes = {*columns};
      one.op.shape = {columns->extent()};
      one.op.body = part;
      one.few_rows = few;
      StageSchedule directive;
      directive.precompute(*columns, one.op.name);
      made.push_back(directive.directives().front());
      all_[one.op.name];
      if (few.defined()) {
        one.of_few = new_name(op, "_part_of_few");
        all_[one.of_few];
      }
      parts_.push_back(std::move(one));
    }
    if (made.empty()) return;
    std::vector<Directive>& own = all_[op.name];
    own.insert(own.begin(), made.begin(), made.end());
    if (few.defined()) add_case(few, *loops, &all_[result.name]);
  }

  // In front of the others: so they are told that there are more rows.
  static void add_case(const Expr& condition, std::vector<Directive> loops,
                       std::vector<Directive>* all) {
    const auto cases = first_case(*all);
    if (cases != all->end() && equal(cases->condition, condition)) return;
    StageSchedule directive;
    directive.specialize(condition);
    loops.insert(loops.begin(), directive.directives().front());
    all->insert(cases, loops.begin(), loops.end());
  }

  const Graph& shared_;
  const Target& target_;
  const Schedule& made_;
  std::map<std::string, std::vector<Directive>> all_;
  std::set<std::string> has_guests_;  // stages in whose loops others are computed
  std::vector<Part> parts_;
};

}  // namespace

Schedule with_precomputed_parts(const Graph& shared, const Target& target,
                                const Schedule& schedule) {
  return PartFinder(shared, target, schedule).find();
}

}  // namespace emulsion
