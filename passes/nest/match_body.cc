#include "passes/nest/match_body.h"

#include <string>
#include <utility>

namespace emulsion {
namespace {

bool is_sum_or_product(const Expr& e) {
  return e->op == ExprOp::add || e->op == ExprOp::sub || e->op == ExprOp::mul;
}

// What an IndexTable computes of its arguments, which are numbers of i32 again.
bool is_arithmetic(const Expr& e) {
  return is_sum_or_product(e) || e->op == ExprOp::neg || e->op == ExprOp::div ||
         e->op == ExprOp::mod || e->op == ExprOp::min || e->op == ExprOp::max;
}

// A name that no axis has.
std::string name_of_data(size_t number) { return "data." + std::to_string(number); }

// Any numbers, near 0 and not, since a clamp around them may make all large ones the same.
IndexColumn any_numbers(size_t count, size_t seed) {
  IndexColumn numbers(count);
  uint64_t state = seed + 1;
  for (int64_t& number : numbers) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    number = static_cast<int64_t>(state >> 58) - 16;
    if ((state >> 57 & 1) != 0) number = static_cast<int64_t>(state >> 44 & 0xffff) - 32768;
  }
  return numbers;
}

}  // namespace

bool BodyMatcher::matches(const Expr& own, const Expr& of_stage, bool in_place) {
  if (own.same_as(of_stage)) return true;
  if (in_place && is_index(own) && is_index(of_stage)) {
    return equal(own, of_stage) || is_same_place(own, of_stage);
  }
  if (has_same_form(own, of_stage, in_place)) return true;
  if (in_place && is_same_of_any_data(own, of_stage)) return true;
  if (of_stage->op != ExprOp::select || !is_index(of_stage->args[0])) return false;
  const Expr& condition = of_stage->args[0];
  return (is_always(condition, true) && matches(own, of_stage->args[1], in_place)) ||
         (is_always(condition, false) && matches(own, of_stage->args[2], in_place));
}

bool BodyMatcher::has_same_form(const Expr& own, const Expr& of_stage, bool in_place) {
  if (own->op != of_stage->op || own->dtype != of_stage->dtype || own->name != of_stage->name ||
      own->args.size() != of_stage->args.size()) {
    return false;
  }
  if (own->args.empty()) return equal(own, of_stage);
  const bool is_place = in_place || own->op == ExprOp::read;
  const bool chooses = own->op == ExprOp::select && is_index(of_stage->args[0]);
  if (chooses && !has_same_condition(own, of_stage)) return false;
  for (size_t i = chooses ? 1 : 0; i < own->args.size(); ++i) {
    if (!matches(own->args[i], of_stage->args[i], is_place)) return false;
  }
  return true;
}

bool BodyMatcher::is_same_of_any_data(const Expr& own, const Expr& of_stage) {
  if (!is_sum_or_product(own) && !is_sum_or_product(of_stage)) return false;
  if (own->dtype != DType::i32 || of_stage->dtype != DType::i32) return false;
  const std::optional<Misplaced> first = misplaced;
  std::vector<Expr> data;
  const Expr wanted = with_data(of_stage, true, &data);
  const Expr found = with_data(own, false, &data);
  const bool is_same = found.defined() && is_same_place(found, wanted);
  misplaced = first;  // of a place that data make there is no value to be told
  return is_same;
}

// A place in which a variable stands for each part that data make, the same one for equal parts.
// `may_add`: to those that there are; else nothing where there is another one.
Expr BodyMatcher::with_data(const Expr& place, bool may_add, std::vector<Expr>* data) {
  if (is_index(place)) return place;
  if (place->dtype == DType::i32 && is_arithmetic(place)) {
    std::vector<Expr> args;
    for (const Expr& arg : place->args) {
      args.push_back(with_data(arg, may_add, data));
      if (!args.back().defined()) return Expr();
    }
    return with_args(place, std::move(args));
  }
  size_t number = 0;
  while (number < data->size() && !matches(place, (*data)[number], true)) ++number;
  if (number == data->size()) {
    if (!may_add) return Expr();
    data->push_back(place);
  }
  const std::string name = name_of_data(number);
  if (axes_.variables().count(name) == 0) axes_.set(name, any_numbers(axes_.points(), number));
  return axis_value(name);
}

bool BodyMatcher::is_same_place(const Expr& own, const Expr& of_stage) {
  const IndexColumn x = axes_.values(own, runs_);
  const IndexColumn& y = axes_.values(of_stage, runs_);
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i] || x[i] == y[i]) continue;
    if (!misplaced) misplaced = {own, of_stage, x[i], y[i], i};
    return false;
  }
  return true;
}

bool BodyMatcher::has_same_condition(const Expr& own, const Expr& of_stage) {
  if (!is_index(own->args[0])) return false;
  if (equal(own->args[0], of_stage->args[0])) return true;
  const IndexColumn x = axes_.values(own->args[0], runs_);
  const IndexColumn& y = axes_.values(of_stage->args[0], runs_);
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i] && (x[i] != 0) != (y[i] != 0)) return false;
  }
  return true;
}

bool BodyMatcher::is_always(const Expr& condition, bool holds) {
  const IndexColumn& values = axes_.values(condition, runs_);
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i] && (values[i] != 0) != holds) return false;
  }
  return true;
}

}  // namespace emulsion
