#include "passes/lower/alternatives.h"

#include <algorithm>

#include "dsl/error.h"
#include "passes/lower/refusal.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

bool has_part(const Expr& condition, const Expr& part) {
  if (equal(condition, part)) return true;
  if (condition->op != ExprOp::logical_and) return false;
  return std::any_of(condition->args.begin(), condition->args.end(),
                     [&](const Expr& both) { return has_part(both, part); });
}

// What the case says of a condition, if it says anything: a case is taken where its own condition
// holds and none of those before it.
std::optional<bool> decided(const Stage& stage, size_t number, const Expr& condition) {
  const std::vector<Specialization>& all = stage.specializations;
  if (number > 0 && has_part(all[number - 1].condition, condition)) return true;
  const size_t before = number > 0 ? number - 1 : all.size();
  for (size_t i = 0; i < before; ++i) {
    if (equal(all[i].condition, condition)) return false;
  }
  return std::nullopt;
}

Expr where(const Expr& body, const Expr& condition, bool holds) {
  return transform(body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::select || !equal(e->args[0], condition)) return Expr();
    return e->args[holds ? 1 : 2];
  });
}

// Whether a condition over run-time sizes alone decides.
bool chooses_by_sizes(const Expr& e) {
  if (e->op != ExprOp::select) return false;
  return any_part(e->args[0], [](const Expr& part) { return part->op == ExprOp::size; }) &&
         !any_part(e->args[0], [](const Expr& part) {
           return part->op == ExprOp::axis || part->op == ExprOp::read;
         });
}

class CaseReads {
 public:
  CaseReads(const NestPlan& nest, StageId reader) : nest_(nest), reader_(reader) {
    const Stage& stage = nest.stages[reader].stage;
    if (stage.specializations.empty()) return;
    for (size_t number = 0; number <= stage.specializations.size(); ++number) {
      read_in_.push_back(all_read_in({{&stage, number}}));
    }
  }

  // A stage in whose loops something is computed that every case has is itself in every case. What
  // no case reads is there with the stage in whose loops it is, and says nothing.
  void record(std::map<StageId, PartOfCases>* parts) {
    for (size_t before = 0;; before = whole_.size()) {
      std::map<StageId, PartOfCases> found = find();
      for (StageId id = 0; id < nest_.stages.size(); ++id) {
        const std::optional<LoopLevel>& place = nest_.stages[id].compute_at;
        if (place && found.count(place->stage) && !found.count(id) && is_read(id)) {
          whole_.insert(place->stage);
        }
      }
      if (whole_.size() == before) return parts->merge(found);
    }
  }

 private:
  bool is_read(StageId id) const {
    return std::any_of(read_in_.begin(), read_in_.end(),
                       [&](const std::set<StageId>& read) { return read.count(id) > 0; });
  }

  std::map<StageId, PartOfCases> find() {
    std::map<StageId, PartOfCases> found;
    apart_.clear();
    for (StageId id = reader_; id-- > 0;) {
      std::set<size_t> cases;
      for (size_t number = 0; number < read_in_.size(); ++number) {
        if (read_in_[number].count(id)) cases.insert(number);
      }
      if (cases.empty() || cases.size() == read_in_.size() || !can_be_apart(id)) continue;
      apart_.insert(id);
      found.emplace(id, PartOfCases{reader_, std::move(cases)});
    }
    return found;
  }

  // The stages that the reader reads in that case, and what these read in it.
  std::set<StageId> all_read_in(const StageCases& cases) const {
    std::set<StageId> found = {reader_};
    for (StageId id = reader_ + 1; id-- > 0;) {
      if (!found.count(id)) continue;
      visit(body_in_cases(nest_.stages[id].stage.body, cases), [&](const Expr& e) {
        if (e->op != ExprOp::read) return;
        if (const std::optional<StageId> producer = nest_.find(e->name)) found.insert(*producer);
      });
    }
    return found;
  }

  // Whether nothing else needs it, and it has a place and storage that it shares with nothing.
  bool can_be_apart(StageId id) const {
    const ScheduledStage& plan = nest_.stages[id];
    const auto belongs = [&](StageId other) { return other == reader_ || apart_.count(other) > 0; };
    // A window is kept in the loops of what slides along it.
    const bool is_kept_elsewhere =
        plan.store_root || (plan.outlives_compute_loop() && !apart_.count(plan.store_at->stage)) ||
        (plan.hoist_at && !apart_.count(plan.hoist_at->stage));
    if (whole_.count(id) || plan.is_output || is_kept_elsewhere || plan.compute_with ||
        plan.joins || !plan.sharing.empty()) {
      return false;
    }
    const std::optional<LoopLevel>& place = plan.compute_at;
    const bool is_there =
        place == nest_.stages[reader_].compute_at || (place && belongs(place->stage));
    return is_there && std::all_of(plan.readers.begin(), plan.readers.end(), belongs);
  }

  const NestPlan& nest_;
  const StageId reader_;
  std::vector<std::set<StageId>> read_in_;  // each case; empty: every case reads all
  std::set<StageId> apart_, whole_;
};

}  // namespace

void decide_body(WrittenStage* plan) {
  for (const DecidedCondition& one : plan->decided) {
    plan->stage.body = where(plan->stage.body, one.condition, one.holds);
  }
}

void choose_output(WrittenStage* output) {
  Stage& stage = output->stage;
  const std::vector<Expr> own(stage.axes.begin(), stage.axes.end());
  for (auto one = output->decided.rbegin(); one != output->decided.rend(); ++one) {
    const Expr other = read_buffer(one->other, stage.dtype, own);
    stage.body = select(one->condition, other, stage.body);
  }
}

WrittenStage add_alternative(WrittenNest* nest, size_t at, std::optional<DirectiveKind> reduced_by,
                             const Directive& d) {
  WrittenStage& self = nest->stages[at];
  const std::string& name = self.stage.name;
  if (reduced_by) {
    refuse(name, d,
           fmt::format("expected alternative in front of {0}, got it behind; legal: alternative "
                       "first, and {0} of either",
                       to_string(*reduced_by)));
  }
  if (self.is_output && self.stage.is_reduction()) {
    refuse(name, d,
           fmt::format("expected an operation that others read, or an output without a reduction, "
                       "got {0}, an output that is a {1}; legal: cache_write of {0}, and "
                       "alternative of what that makes",
                       name, to_string(self.stage.combiner)));
  }
  WrittenStage made;
  made.stage = self.stage;
  made.stage.name = d.target;
  made.alternative_of = name;
  made.decided = self.decided;
  made.decided.push_back({d.condition, true, {}});
  self.decided.push_back({d.condition, false, self.is_output ? d.target : std::string()});
  decide_body(&made);
  decide_body(&self);
  if (self.is_output) return made;
  for (WrittenStage& reader : nest->stages) {
    reader.stage.body = transform(reader.stage.body, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::read || e->name != name) return Expr();
      return select(d.condition, read_buffer(d.target, e->dtype, e->args), e);
    });
  }
  return made;
}

Expr body_in_cases(const Expr& body, const StageCases& cases) {
  return transform(body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::select) return Expr();
    for (const auto& [stage, number] : cases) {
      if (const std::optional<bool> holds = decided(*stage, number, e->args[0])) {
        return e->args[*holds ? 1 : 2];
      }
    }
    return Expr();
  });
}

std::map<StageId, PartOfCases> parts_of_cases(const NestPlan& nest) {
  std::map<StageId, PartOfCases> parts;
  // Most nests have no such stage, however many specializations they have: looking at what each
  // case of each stage reads would take time that grows with the square of their number.
  const auto is_by_sizes = [](const ScheduledStage& plan) {
    return any_part(plan.stage.body, chooses_by_sizes);
  };
  if (std::none_of(nest.stages.begin(), nest.stages.end(), is_by_sizes)) return parts;
  for (StageId id = 0; id < nest.stages.size(); ++id) CaseReads(nest, id).record(&parts);
  return parts;
}

std::vector<Expr> conditions_of(const NestPlan& nest, const PartOfCases& part) {
  std::vector<Expr> conditions;
  for (size_t number : part.cases) {
    if (number == 0) return {};
    conditions.push_back(nest.stages[part.reader].stage.specializations[number - 1].condition);
  }
  return conditions;
}

}  // namespace emulsion
