// Rows whose parts are made of the same elements, as in a step of a wavelet.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// The first step of the axis behind the border that a comparison with a number makes. Nothing of
// any other comparison.
std::optional<int64_t> border_of(const Expr& e, const Axis& axis) {
  if (!is_order(e->op)) return std::nullopt;
  const auto is_axis = [&](const Expr& side) {
    return side->op == ExprOp::axis && side->name == axis.name();
  };
  const bool is_left = is_axis(e->args[0]);
  if (!is_left && !is_axis(e->args[1])) return std::nullopt;
  const std::optional<int64_t> number = constant_value(e->args[is_left ? 1 : 0]);
  if (!number) return std::nullopt;
  const bool is_before =
      e->op == (is_left ? ExprOp::lt : ExprOp::gt) || e->op == (is_left ? ExprOp::ge : ExprOp::le);
  return is_before ? *number : *number + 1;
}

// Whether nothing but such comparisons decide it.
bool is_of_borders(const Expr& condition, const Axis& axis) {
  const ExprOp op = condition->op;
  if (op == ExprOp::logical_not || op == ExprOp::logical_and || op == ExprOp::logical_or) {
    return std::all_of(condition->args.begin(), condition->args.end(),
                       [&](const Expr& part) { return is_of_borders(part, axis); });
  }
  return border_of(condition, axis).has_value();
}

// The same of equal indices.
std::string text_of(const Expr& index) {
  const std::optional<Affine> affine = affine_of(index);
  if (!affine) return to_string(simplify_index(index));
  std::string text = affine->offset.to_string();
  for (const auto& [axis, coefficient] : affine->coefficients) {
    text += fmt::format(" + {} * {}", coefficient, axis);
  }
  return text;
}

// What is read in that part, at steps that count from its start. No border is inside it.
std::set<std::string> reads_in_part(const Expr& body, const Axis& axis, int64_t first) {
  std::set<std::string> reads;
  for (const Expr& read : reads_in(chosen_at(body, axis.name(), first))) {
    if (!mentions(read, axis.name())) continue;
    std::string text = read->tensor->name;
    for (const Expr& index : read->args) {
      const Expr at = substitute_axes(without_clamps(index), [&](const std::string& name) {
        return name == axis.name() ? axis_value(name) + int_constant(first) : Expr();
      });
      text += ", " + text_of(at);
    }
    reads.insert(text);
  }
  return reads;
}

// The borders of the axis, if all that decides by it are comparisons with numbers.
std::optional<std::set<int64_t>> borders_of(const Expr& body, const Axis& axis) {
  std::set<int64_t> borders;
  bool are_all = true;
  visit(body, [&](const Expr& e) {
    if (e->op != ExprOp::select || !mentions(e->args[0], axis.name())) return;
    are_all = are_all && is_of_borders(e->args[0], axis);
    visit(e->args[0], [&](const Expr& part) {
      if (const std::optional<int64_t> border = border_of(part, axis)) borders.insert(*border);
    });
  });
  return are_all && !borders.empty() ? std::optional(borders) : std::nullopt;
}

}  // namespace

int64_t parts_at_a_time(const Op& op, const Axis& along, const Target& target) {
  constexpr int64_t kMostParts = 4;
  const std::optional<int64_t> all = along.extent().as_constant();
  if (!all) return 1;
  const std::optional<std::set<int64_t>> borders = borders_of(op.body, along);
  if (!borders) return 1;
  for (int64_t parts = 2; parts <= kMostParts; ++parts) {
    const int64_t length = *all / parts;
    if (*all % parts != 0 || length < value_lanes(op, target)) continue;
    const bool are_between = std::all_of(borders->begin(), borders->end(),
                                         [&](int64_t border) { return border % length == 0; });
    if (!are_between) continue;
    std::set<std::string> before;
    for (int64_t part = 0; part < parts; ++part) {
      for (const std::string& read : reads_in_part(op.body, along, part * length)) {
        if (!before.insert(read).second) return parts;
      }
    }
    return 1;
  }
  return 1;
}

}  // namespace emulsion
