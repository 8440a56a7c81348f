#include "backends/halide/wrapped_vectors.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/named_vectors.h"
#include "backends/halide/one_lane.h"
#include "backends/halide/ramp_indices.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// The index of a vector whose lanes are a step apart where some conditions hold.
struct Places {
  LaneSteps steps;
  std::vector<Halide::Expr> conditions;
};

Halide::Expr signed_base(const LaneSteps& steps) {
  return hi::simplify(Halide::reinterpret(Halide::Int(32), steps.base));
}

class FindsPlaces {
 public:
  // The condition by which the lanes choose a side, where there is one.
  Halide::Expr chosen_by;
  // Whether all lanes of it are added up modulo 2^32, or chosen: others are left to
  // clamped_vectors.h.
  bool found = false;

  std::optional<Places> of(const Halide::Expr& tagged) {
    const Halide::Expr e = hi::unwrap_tags(tagged);
    const Halide::Type type = e.type();
    if (!type.is_int_or_uint() || type.bits() != 32) return std::nullopt;
    if (const auto* op = e.as<hi::Cast>()) return of_same_bits(type, op->value);
    if (const auto* op = e.as<hi::Reinterpret>()) return of_same_bits(type, op->value);
    if (const auto* op = e.as<hi::Add>()) return of_both(op->a, op->b, sum_of_steps);
    if (const auto* op = e.as<hi::Sub>()) return of_both(op->a, op->b, difference_of_steps);
    if (const auto* op = e.as<hi::Mul>()) return of_both(op->a, op->b, product_of_steps);
    if (const auto* op = e.as<hi::Min>()) return of_bounded(op->a, op->b, true);
    if (const auto* op = e.as<hi::Max>()) return of_bounded(op->a, op->b, false);
    if (const auto* op = e.as<hi::Select>()) return of_chosen(*op);
    const std::optional<LaneSteps> steps = steps_of_ramp(e);
    return steps ? std::optional(Places{*steps, {}}) : std::nullopt;
  }

 private:
  std::optional<Places> of_same_bits(const Halide::Type& type, const Halide::Expr& value) {
    found = found || (type.is_int() && value.type().is_uint());
    return of(value);
  }

  template <typename Made>
  std::optional<Places> of_both(const Halide::Expr& a, const Halide::Expr& b, const Made& made) {
    std::optional<Places> first = of(a);
    const std::optional<Places> second = first ? of(b) : std::nullopt;
    if (!second) return std::nullopt;
    const std::optional<LaneSteps> steps = made(first->steps, second->steps);
    if (!steps) return std::nullopt;
    first->steps = *steps;
    first->conditions.insert(first->conditions.end(), second->conditions.begin(),
                             second->conditions.end());
    return first;
  }

  // Whether b, which is no less than a, is so far behind it: also where i32 does not hold b - a.
  static Halide::Expr is_behind(const Halide::Expr& b, const Halide::Expr& a, int by) {
    const Halide::Type bits = Halide::UInt(32);
    return Halide::cast(bits, b) - Halide::cast(bits, a) >= Halide::cast(bits, by);
  }

  // Of a bound that is the same in all lanes: where none is beyond it.
  std::optional<Places> of_bounded(const Halide::Expr& a, const Halide::Expr& b, bool is_most) {
    const auto* bound = b.as<hi::Broadcast>();
    if (bound == nullptr || !a.type().is_int()) return std::nullopt;
    std::optional<Places> places = of(a);
    const auto stride = static_cast<int32_t>(places ? places->steps.stride : 0);
    if (stride <= 0) return std::nullopt;
    const Halide::Expr first = signed_base(places->steps);
    if (is_most) {
      const int span = stride * (a.type().lanes() - 1);
      places->conditions.push_back(first <= bound->value && is_behind(bound->value, first, span));
    } else {
      places->conditions.push_back(first >= bound->value);
    }
    return places;
  }

  // Whether a comparison of a ramp, which rises, with what is the same in all lanes holds in the
  // first one, and whether in all alike. Lanes that are added up modulo 2^32 may wrap around.
  struct Sides {
    Halide::Expr holds_first, are_alike;
  };
  std::optional<Sides> sides(const Halide::Expr& condition) {
    const auto* less = condition.as<hi::LT>();
    const auto* most = condition.as<hi::LE>();
    if (less == nullptr && most == nullptr) return std::nullopt;
    const Halide::Expr &a = less ? less->a : most->a, &b = less ? less->b : most->b;
    if (!a.type().is_int() || a.type().bits() != 32) return std::nullopt;
    const bool rises = b.as<hi::Broadcast>() == nullptr;  // from where it does not hold
    const auto* same = (rises ? a : b).as<hi::Broadcast>();
    const std::optional<Places> places = of(rises ? b : a);
    if (same == nullptr || !places || !places->conditions.empty()) return std::nullopt;
    const auto stride = static_cast<int32_t>(places->steps.stride);
    if (stride <= 0) return std::nullopt;
    const int span = stride * (a.type().lanes() - 1);
    const Halide::Expr first = signed_base(places->steps), &end = same->value;
    // first < end, or first <= end
    const bool is_strict = (less != nullptr) != rises;
    const Halide::Expr before = is_strict ? first < end : first <= end;
    const Halide::Expr all = before && is_behind(end, first, is_strict ? span + 1 : span);
    const bool wraps = (rises ? b : a).as<hi::Ramp>() == nullptr;
    const Halide::Type bits = Halide::UInt(32);
    const Halide::Expr last = Halide::cast(bits, first) + Halide::cast(bits, span);
    const Halide::Expr none =
        wraps ? !before && Halide::reinterpret(Halide::Int(32), last) >= first : !before;
    return Sides{rises ? !before : before, all || none};
  }

  // Of neighbours in front of an end, and others behind.
  std::optional<Places> of_chosen(const hi::Select& op) {
    if (chosen_by.defined() && !hi::equal(chosen_by, op.condition)) return std::nullopt;
    const std::optional<Sides> by = sides(hi::unwrap_tags(op.condition));
    if (!by) return std::nullopt;
    chosen_by = op.condition;
    found = true;
    const std::optional<Places> a = of(op.true_value), b = of(op.false_value);
    if (!a || !b || a->steps.stride != b->steps.stride) return std::nullopt;
    Places made{{hi::Select::make(by->holds_first, a->steps.base, b->steps.base), a->steps.stride},
                {by->are_alike}};
    for (const Halide::Expr& holds : a->conditions) {
      made.conditions.push_back(!by->holds_first || holds);
    }
    for (const Halide::Expr& holds : b->conditions) {
      made.conditions.push_back(by->holds_first || holds);
    }
    return made;
  }
};

Halide::Expr ramp_of(const LaneSteps& steps, const Halide::Type& type) {
  const auto stride = static_cast<int32_t>(steps.stride);
  if (stride == 0) return hi::Broadcast::make(signed_base(steps), type.lanes());
  return hi::Ramp::make(signed_base(steps), stride, type.lanes());
}

// The choice of an index by a comparison of lanes that do not fall with what is the same in all:
// the places of pixels, one for each of their values.
class FindsChoice : public hi::IRVisitor {
 public:
  Halide::Expr condition;

 private:
  using hi::IRVisitor::visit;

  void visit(const hi::Select* op) override {
    const auto* less = op->condition.as<hi::LT>();
    const bool has_lanes = less != nullptr && less->a.as<hi::Broadcast>() == nullptr &&
                           less->b.as<hi::Broadcast>() != nullptr && rises(less->a);
    if (has_lanes && !condition.defined()) condition = op->condition;
    hi::IRVisitor::visit(op);
  }

  static bool rises(const Halide::Expr& vector) {
    Halide::Expr before = one_lane(vector, 0);
    for (int lane = 1; before.defined() && lane < vector.type().lanes(); ++lane) {
      const Halide::Expr here = one_lane(vector, lane);
      const auto step = hi::as_const_int(hi::simplify(here - before));
      if (!step || *step < 0) return false;
      before = here;
    }
    return before.defined();
  }
};

// What chooses by that condition with another one in its place, or one of its sides.
class Chooses : public hi::IRMutator {
 public:
  Chooses(const Halide::Expr& condition, const Halide::Expr& by) : condition_(condition), by_(by) {}

 private:
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Select* op) override {
    if (!hi::equal(op->condition, condition_)) return hi::IRMutator::visit(op);
    if (hi::is_const_one(by_)) return mutate(op->true_value);
    if (hi::is_const_zero(by_)) return mutate(op->false_value);
    return hi::Select::make(by_, mutate(op->true_value), mutate(op->false_value));
  }

  const Halide::Expr &condition_, &by_;
};

Halide::Expr chosen(const Halide::Expr& index, const Halide::Expr& condition,
                    const Halide::Expr& by) {
  return hi::simplify(Chooses(condition, by).mutate(index));
}

using Elements = std::map<std::string, Halide::Expr>;

class SplitWrapped : public NamedVectors {
 public:
  // With `elements` vectors of fewer bits, else those of more.
  explicit SplitWrapped(int least_bits, std::optional<Elements> elements = std::nullopt)
      : least_bits_(least_bits), elements_(std::move(elements)) {}

 private:
  using NamedVectors::visit;

  Halide::Expr visit(const hi::Load* op) override {
    Halide::Expr made = NamedVectors::visit(op);
    const auto* load = made.as<hi::Load>();
    if (load->type.is_scalar() || load->index.type().element_of() != Halide::Int(32)) return made;
    if ((load->type.bits() < least_bits_) != elements_.has_value()) return made;
    const Halide::Expr index = with_values(load->index);
    FindsPlaces finds;
    const std::optional<Places> places = finds.of(index);
    if (!places) return pixels(made, index);
    if (!finds.found || places->conditions.empty()) return made;
    Halide::Expr is_whole = hi::const_true();
    for (const Halide::Expr& holds : places->conditions) is_whole = is_whole && holds;
    return whole_or_parts(made, is_whole, ramp_of(places->steps, index.type()), index,
                          finds.chosen_by);
  }

  // Of pixels and their values, which lie side by side.
  Halide::Expr pixels(const Halide::Expr& made, const Halide::Expr& index) const {
    FindsChoice choice;
    index.accept(&choice);
    const int lanes = index.type().lanes();
    if (!choice.condition.defined() || choice.condition.type().lanes() != lanes) return made;
    const Halide::Expr first = one_lane(choice.condition, 0);
    const Halide::Expr same = hi::Broadcast::make(first, lanes);
    const Halide::Expr ramp = ramp_of_neighbours(chosen(index, choice.condition, same));
    if (!ramp.defined()) return made;
    const Halide::Expr is_whole = !first || one_lane(choice.condition, lanes - 1);
    return whole_or_parts(made, is_whole, ramp, index, choice.condition);
  }

  // No choice stands in another one: what stands in front of a statement is computed whatever
  // chooses it (NamesInFront of lower_statement.cc).
  Halide::Expr whole_or_parts(const Halide::Expr& made, const Halide::Expr& is_whole,
                              const Halide::Expr& whole, const Halide::Expr& index,
                              const Halide::Expr& chosen_by) const {
    const auto* load = made.as<hi::Load>();
    if (elements_ && !hi::is_const_one(load->predicate)) return made;
    const Halide::Expr alone = load_at(*load, whole, load->predicate);
    Halide::Expr before, behind;
    if (chosen_by.defined() && load->type.lanes() % 2 == 0) {
      before = side(index, chosen_by, hi::const_true());
      behind = side(index, chosen_by, hi::const_false());
    }
    if (!before.defined() || !behind.defined()) return if_then_else(is_whole, alone, made);
    if (elements_) return both(made, is_whole, whole, before, behind, chosen_by);
    const auto masked = [&](const Halide::Expr& ramp, const Halide::Expr& mask) {
      const bool is_all = hi::is_const_one(load->predicate);
      return load_at(*load, ramp, is_all ? mask : load->predicate && mask);
    };
    return if_then_else(
        is_whole, alone,
        hi::Select::make(chosen_by, masked(before, chosen_by), masked(behind, !chosen_by)));
  }

  // Without masks: all lanes of both sides, where the memory has them. Where all are on one side,
  // that is loaded twice.
  Halide::Expr both(const Halide::Expr& made, const Halide::Expr& is_whole,
                    const Halide::Expr& whole, const Halide::Expr& before,
                    const Halide::Expr& behind, const Halide::Expr& chosen_by) const {
    const auto* load = made.as<hi::Load>();
    const int lanes = load->type.lanes();
    const Halide::Expr all = hi::const_true(lanes);
    const auto elements = elements_->find(load->name);
    const auto* places = whole.as<hi::Ramp>();
    if (elements == elements_->end() || places == nullptr || !hi::is_const_one(places->stride)) {
      return if_then_else(is_whole, load_at(*load, whole, all), made);
    }
    const auto first = [](const Halide::Expr& ramp) { return ramp.as<hi::Ramp>()->base; };
    const auto fits = [&](const Halide::Expr& ramp) {
      return first(ramp) >= 0 && first(ramp) <= elements->second - lanes;
    };
    const auto loaded = [&](const Halide::Expr& ramp) {
      const Halide::Expr at = hi::Select::make(is_whole, first(whole), first(ramp));
      return load_at(*load, hi::Ramp::make(at, 1, lanes), all);
    };
    return if_then_else(is_whole || (fits(before) && fits(behind)),
                        hi::Select::make(chosen_by, loaded(before), loaded(behind)), made);
  }

  // The places of the lanes on one side, as a ramp of all lanes.
  static Halide::Expr side(const Halide::Expr& index, const Halide::Expr& condition,
                           const Halide::Expr& holds) {
    const Halide::Expr at = chosen(index, condition, holds);
    FindsPlaces finds;
    const std::optional<Places> places = finds.of(at);
    if (!places) return ramp_of_neighbours(at);
    if (!places->conditions.empty() || places->steps.stride != 1) return {};
    return ramp_of(places->steps, index.type());
  }

  static Halide::Expr if_then_else(const Halide::Expr& condition, const Halide::Expr& a,
                                   const Halide::Expr& b) {
    return hi::Call::make(a.type(), hi::Call::if_then_else, {hi::simplify(condition), a, b},
                          hi::Call::PureIntrinsic);
  }

  static Halide::Expr load_at(const hi::Load& load, const Halide::Expr& index,
                              const Halide::Expr& mask) {
    return hi::Load::make(load.type, load.name, index, load.image, load.param, mask, {});
  }

  const int least_bits_;
  const std::optional<Elements> elements_;  // of memory, by its name
};

}  // namespace

hi::Stmt mask_wrapped_vectors(const hi::Stmt& statement, int least_bits) {
  return SplitWrapped(least_bits).mutate(statement);
}

hi::Stmt load_wrapped_vectors(const hi::Stmt& statement, int least_bits,
                              const std::map<std::string, Halide::Expr>& elements) {
  return SplitWrapped(least_bits, elements).mutate(statement);
}

}  // namespace emulsion
