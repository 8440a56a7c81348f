#include "passes/nest/chosen_places.h"

#include <algorithm>
#include <cstddef>

#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

bool reads_data(const Expr& e) {
  return any_part(e, [](const Expr& part) { return part->op == ExprOp::read; });
}

// All that have to hold.
std::vector<Expr> conditions_of(const Expr& condition) {
  std::vector<Expr> all = {condition};
  for (size_t i = 0; i < all.size(); ++i) {
    while (all[i]->op == ExprOp::logical_and) {
      const Expr both = all[i];
      all[i] = both->args[0];
      all.push_back(both->args[1]);
    }
  }
  return all;
}

}  // namespace

std::optional<ChosenTerm> chosen_term(const Expr& body, Combiner combiner) {
  if (combiner == Combiner::none) return std::nullopt;
  if (body->op == ExprOp::select && equal(body->args[2], identity_of(combiner, body.dtype()))) {
    return ChosenTerm{body->args[0], body->args[1]};
  }
  const bool counts = combiner == Combiner::sum && body->op == ExprOp::cast &&
                      body->args[0].dtype() == DType::boolean;
  if (!counts) return std::nullopt;
  return ChosenTerm{body->args[0], constant(body.dtype(), 1)};
}

std::vector<ChosenPlace> chosen_places(const Expr& body, Combiner combiner,
                                       const std::vector<Axis>& axes) {
  std::vector<ChosenPlace> places;
  const std::optional<ChosenTerm> term = chosen_term(body, combiner);
  if (!term) return places;
  for (const Expr& condition : conditions_of(term->condition)) {
    if (condition->op != ExprOp::eq) continue;
    for (const size_t side : {0, 1}) {
      const Expr &axis = condition->args[side], &place = condition->args[1 - side];
      if (axis->op != ExprOp::axis || !reads_data(place)) continue;
      const std::string& name = axis->name;
      const bool is_of_result = axis_index(axes, name).has_value();
      const bool is_chosen = std::any_of(places.begin(), places.end(),
                                         [&](const ChosenPlace& one) { return one.axis == name; });
      if (!is_of_result || is_chosen || mentions(place, name)) continue;
      places.push_back({name, place});
      break;
    }
  }
  return places;
}

}  // namespace emulsion
