#include "passes/index/moved_index.h"

#include <algorithm>
#include <set>
#include <string>

#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

bool reads_any(const Expr& e) {
  return any_part(e, [](const Expr& part) { return part->op == ExprOp::read; });
}

std::set<std::string> axes_in(const Expr& e) {
  std::set<std::string> names;
  visit(e, [&](const Expr& part) {
    if (part->op == ExprOp::axis) names.insert(part->name);
  });
  return names;
}

void add_terms(const Expr& e, bool is_negative, MovedIndex* sum) {
  if (e->op == ExprOp::add || e->op == ExprOp::sub) {
    add_terms(e->args[0], is_negative, sum);
    return add_terms(e->args[1], is_negative != (e->op == ExprOp::sub), sum);
  }
  Expr& terms = reads_any(e) || axes_in(e).empty() ? sum->moved : sum->place;
  if (!terms.defined() && !is_negative) {
    terms = e;
    return;
  }
  const Expr before = terms.defined() ? terms : int_constant(0);
  terms = is_negative ? before - e : before + e;
}

// A remainder, without clamps that change nothing of it.
Expr without_end_clamps(const Expr& e) {
  if (e->op != ExprOp::max || constant_value(e->args[1]) != 0) return e;
  const Expr& least = e->args[0];
  if (least->op != ExprOp::min || least->args[0]->op != ExprOp::mod) return e;
  const std::optional<Extent> n = as_extent(least->args[0]->args[1]);
  const std::optional<Extent> last = as_extent(least->args[1]);
  return n && last && *n - Extent(1) == *last ? least->args[0] : e;
}

}  // namespace

std::optional<MovedIndex> moved_index(const Expr& index, const AxisExtents& axes) {
  if (index->dtype != i32 || !reads_any(index)) return std::nullopt;
  const Expr e = without_end_clamps(index);
  const bool wraps = e->op == ExprOp::mod;
  MovedIndex found;
  add_terms(wraps ? e->args[0] : e, false, &found);
  if (!found.place.defined() || !found.moved.defined()) return std::nullopt;
  const std::set<std::string> of_place = axes_in(found.place), of_moved = axes_in(found.moved);
  const auto is_of_both = [&](const std::string& name) { return of_moved.count(name) > 0; };
  if (std::any_of(of_place.begin(), of_place.end(), is_of_both)) return std::nullopt;
  if (!wraps) return found;
  const std::optional<Extent> n = as_extent(e->args[1]);
  if (!n || !proves_in_bounds(found.place, *n, axes)) return std::nullopt;
  found.around = e->args[1];
  return found;
}

}  // namespace emulsion
