#ifndef EMULSION_PASSES_LOWER_ALTERNATIVES_H_
#define EMULSION_PASSES_LOWER_ALTERNATIVES_H_

// alternative(condition, other): a stage that is computed in one way where a condition over the
// run-time sizes holds, and in another where it does not. Private to passes/lower/.

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dsl/expr.h"
#include "dsl/schedule.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {

// p = f(..); y = g(p)  ->  p = f(..); q = f(..); y = g(select(condition, q, p))
// Of an output, which chooses itself (choose_output): y = f(..)  ->  q = f(..); y = f(..)
// Returns q. `reduced_by`: a directive on p before it that makes another stage of what p computes.
WrittenStage add_alternative(WrittenNest* nest, size_t at, std::optional<DirectiveKind> reduced_by,
                             const Directive& d);

// Each of two alternatives is read where the condition holds, or where it does not, alone: so it
// needs what it reads itself only there. Once more when more is written into its body.
void decide_body(WrittenStage* plan);
// q = f(..); y = f(..)  ->  q = f(..); y = select(condition, q, f(..))
// Behind the last change of f(..), which is decided as what others read is not.
void choose_output(WrittenStage* output);

// Cases of stages, 0 for the general one, else one more than the position of a specialization.
using StageCases = std::vector<std::pair<const Stage*, size_t>>;

// A body where all of these cases are taken: a select by a condition that one of them decides is
// what is chosen.
Expr body_in_cases(const Expr& body, const StageCases& cases);

// The stages that only some cases of another read, itself or through others: of those at the same
// place as it, or in its loops, there is nothing in the other cases.
struct PartOfCases {
  StageId reader;
  std::set<size_t> cases;
};
std::map<StageId, PartOfCases> parts_of_cases(const NestPlan& nest);
// The conditions of those cases; none where the general one is among them, which has none.
std::vector<Expr> conditions_of(const NestPlan& nest, const PartOfCases& part);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_ALTERNATIVES_H_
