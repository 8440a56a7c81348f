#include "backends/halide/clamped_vectors.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/equal_indices.h"
#include "backends/halide/first_lanes.h"
#include "backends/halide/lanes_in_front.h"
#include "backends/halide/named_vectors.h"
#include "backends/halide/one_lane.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Of a clamped index: the bound on one side.
struct Bound {
  bool is_most;  // of a min
  Halide::Expr value;
};

// An index rest + step * clamp, where the clamp bounds neighbours on one side or on both. Behind a
// guard there may be no bound: rest + select(guard, neighbours, one element).
struct Clamp {
  std::optional<Halide::Expr> guard;
  Halide::Expr neighbours;    // with marks of likeliness
  Halide::Expr base;          // of their ramp
  std::vector<Bound> bounds;  // innermost first
  int step;
  Halide::Expr rest;

  // What a lane reads whose neighbour is `at`, without the rest.
  Halide::Expr clamped(Halide::Expr at) const {
    for (const auto& [is_most, bound] : bounds) at = is_most ? min(at, bound) : max(at, bound);
    return at;
  }
};

// min(a, bound) or max(a, bound), of which the bound is the same in all lanes.
std::optional<std::pair<Halide::Expr, Bound>> bounded(const Halide::Expr& index) {
  const auto* least = index.as<hi::Min>();
  const auto* greatest = index.as<hi::Max>();
  if (least == nullptr && greatest == nullptr) return std::nullopt;
  const Halide::Expr& a = least != nullptr ? least->a : greatest->a;
  const Halide::Expr& b = least != nullptr ? least->b : greatest->b;
  const auto* bound = b.as<hi::Broadcast>();
  if (bound == nullptr) return std::nullopt;
  return std::pair(a, Bound{least != nullptr, bound->value});
}

// What is the same in all lanes, in a + same or same + a, and a.
std::optional<std::pair<Halide::Expr, Halide::Expr>> moved(const Halide::Expr& index) {
  const auto* sum = index.as<hi::Add>();
  if (sum == nullptr) return std::nullopt;
  if (const auto* same = sum->b.as<hi::Broadcast>()) return std::pair(sum->a, same->value);
  const auto* same = sum->a.as<hi::Broadcast>();
  return same == nullptr ? std::nullopt : std::optional(std::pair(sum->b, same->value));
}

// Takes the bounds off the neighbours, one for each side as far as that goes. What a bound that is
// inside of others adds goes to them, and to the rest:
//   min(min(i, N - 1) + 1, N - 1)  ->  min(i, N - 2) + 1
void strip_bounds(Clamp* clamp) {
  for (;;) {
    const Halide::Expr index = hi::unwrap_tags(clamp->neighbours);
    if (const auto inner = bounded(index)) {
      const auto& [is_most, bound] = inner->second;
      if (!clamp->bounds.empty() && clamp->bounds.front().is_most == is_most) {
        Halide::Expr& outer = clamp->bounds.front().value;
        outer = hi::simplify(is_most ? min(outer, bound) : max(outer, bound));
      } else {
        clamp->bounds.insert(clamp->bounds.begin(), inner->second);
      }
      clamp->neighbours = inner->first;
    } else if (const auto sum = moved(index)) {
      for (Bound& bound : clamp->bounds) bound.value = hi::simplify(bound.value - sum->second);
      clamp->rest = hi::simplify(clamp->rest + sum->second * clamp->step);
      clamp->neighbours = sum->first;
    } else {
      return;
    }
  }
}

constexpr int kMostSteps = 4;  // beyond, most of what is loaded is between

std::optional<Clamp> steps_in(Halide::Expr index, const Halide::Expr& rest) {
  std::optional<Halide::Expr> guard;
  if (const auto* select = index.as<hi::Select>()) {
    const auto* holds = select->condition.as<hi::Broadcast>();
    if (holds == nullptr || select->false_value.as<hi::Broadcast>() == nullptr) return std::nullopt;
    guard = holds->value;
    index = select->true_value;
  }
  const auto* product = index.as<hi::Mul>();
  const auto* factor = product == nullptr ? nullptr : product->b.as<hi::Broadcast>();
  if (product != nullptr && factor == nullptr) return std::nullopt;
  const auto times =
      factor == nullptr ? std::optional<int64_t>(1) : hi::as_const_int(factor->value);
  if (!times || *times < 1 || *times > kMostSteps) return std::nullopt;
  Clamp clamp{guard, product == nullptr ? index : product->a, {}, {}, static_cast<int>(*times),
              rest};
  strip_bounds(&clamp);
  const auto* ramp = hi::unwrap_tags(clamp.neighbours).as<hi::Ramp>();
  if (ramp == nullptr || !hi::is_const_one(ramp->stride)) return std::nullopt;
  if ((clamp.bounds.empty() && !guard) || clamp.bounds.size() > 2) return std::nullopt;
  clamp.base = ramp->base;
  return clamp;
}

// An index that is a clamp, a few times one, or that and what is the same in all lanes.
std::optional<Clamp> clamp_in(const Halide::Expr& index) {
  const auto* sum = index.as<hi::Add>();
  if (sum == nullptr) return steps_in(index, 0);
  for (const auto& [one, other] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
    const auto* same = other.as<hi::Broadcast>();
    if (same == nullptr) continue;
    if (const auto found = steps_in(one, same->value)) return found;
  }
  return std::nullopt;
}

// Whether lanes are used in other lanes than they are computed in.
class LaneMoves : public hi::IRVisitor {
 public:
  bool any = false;

 private:
  using hi::IRVisitor::visit;

  void visit(const hi::Shuffle*) override { any = true; }
  void visit(const hi::VectorReduce*) override { any = true; }
  void visit(const hi::Broadcast* op) override { note(op->value); }
  void visit(const hi::Ramp* op) override { note(op->base); }
  void note(const Halide::Expr& repeated) {
    any = any || repeated.type().is_vector();
    repeated.accept(this);
  }
};

// Of add(before, select(..)), the sums of a vector of which the last lanes add nothing.
const hi::Select* chosen_in(const Halide::Expr& sum) {
  const auto* call = sum.as<hi::Call>();
  if (call == nullptr || call->call_type != hi::Call::PureIntrinsic) return nullptr;
  std::vector<Front> fronts;
  const auto* select = call->args.back().as<hi::Select>();
  if (select != nullptr) add_fronts(select->condition, &fronts);
  return fronts.empty() ? nullptr : select;
}

// Names of values that only what is chosen uses, inside that:
//   let t = x[..] in add(before, select(c, t * t, 0))
//     ->  add(before, select(c, let t = x[..] in t * t, 0))
Halide::Expr with_names_inside(const Halide::Expr& value) {
  std::vector<const hi::Let*> names, outside;
  Halide::Expr sum = value;
  for (const auto* let = sum.as<hi::Let>(); let != nullptr; let = sum.as<hi::Let>()) {
    names.push_back(let);
    sum = let->body;
  }
  const hi::Select* select = names.empty() ? nullptr : chosen_in(sum);
  if (select == nullptr) return value;
  const auto* call = sum.as<hi::Call>();
  Halide::Expr chosen = select->true_value;
  for (auto let = names.rbegin(); let != names.rend(); ++let) {
    const auto uses = [&](const Halide::Expr& e) { return hi::expr_uses_var(e, (*let)->name); };
    const bool is_inside = !uses(select->condition) && !uses(select->false_value) &&
                           std::none_of(call->args.begin(), call->args.end() - 1, uses) &&
                           std::none_of(outside.begin(), outside.end(),
                                        [&](const hi::Let* other) { return uses(other->value); });
    if (is_inside) {
      chosen = hi::Let::make((*let)->name, (*let)->value, chosen);
    } else {
      outside.push_back(*let);
    }
  }
  std::vector<Halide::Expr> args = call->args;
  args.back() = hi::Select::make(select->condition, chosen, select->false_value);
  Halide::Expr made = hi::Call::make(call->type, call->name, args, call->call_type);
  for (const hi::Let* let : outside) made = hi::Let::make(let->name, let->value, made);
  return made;
}

class ClampedVectors : public NamedVectors {
 public:
  using Elements = std::map<std::string, Halide::Expr>;

  // With `elements` vectors of fewer bits are loaded as a whole, else those of more under masks.
  explicit ClampedVectors(int least_bits, std::optional<Elements> elements = std::nullopt)
      : least_bits_(least_bits), elements_(std::move(elements)) {}

 private:
  using NamedVectors::visit;

  Halide::Expr visit(const hi::Load* op) override {
    Halide::Expr made = NamedVectors::visit(op);
    const auto* load = made.as<hi::Load>();
    const int lanes = op->type.lanes();
    const std::optional<Clamp> clamp = clamp_in(load->index);
    const bool has_masks = op->type.bits() >= least_bits_;
    if (elements_) {
      Halide::Expr between = with_what_is_between(*load, has_masks);
      if (between.defined()) return between;
      if (has_masks) return made;
      const std::optional<InFront> lies = clamp ? std::nullopt : in_front(*load);
      return lies ? whole_where_it_fits(*load, lies->places, made) : whole_or(made, clamp);
    }
    // Halide cannot mask a vector of an odd number of lanes: see last_lane of emit_nest.cc.
    const bool can_mask = lanes % 2 == 0 && has_masks;
    if (!can_mask) return made;
    if (!clamp) {
      const std::optional<InFront> lies = in_front(*load);
      return lies ? load_at(*load, lies->places, lies->mask) : made;
    }
    if (clamp->step > 1) return steps(made, *clamp);
    const std::optional<Halide::Expr> count = first_lanes(load->predicate, lanes);
    return count ? neighbours(*load, *clamp, *count) : made;
  }

  // What is chosen where lanes are in front of an end: of a clamp at that end no lane is used.
  Halide::Expr visit(const hi::Select* op) override {
    const size_t known = fronts_.size();
    add_fronts(with_values(op->condition), &fronts_);
    const auto forget = [&] { fronts_.erase(fronts_.begin() + known, fronts_.end()); };
    if (fronts_.size() > known) {
      LaneMoves moves;
      op->true_value.accept(&moves);
      if (moves.any) forget();
    }
    const Halide::Expr chosen = mutate(op->true_value);
    forget();
    const Halide::Expr condition = mutate(op->condition), other = mutate(op->false_value);
    const bool same = chosen.same_as(op->true_value) && condition.same_as(op->condition) &&
                      other.same_as(op->false_value);
    return same ? Halide::Expr(op) : hi::Select::make(condition, chosen, other);
  }

  Stmt visit(const hi::Allocate* op) override {
    if (elements_ && op->extents.size() == 1) {
      elements_->insert_or_assign(op->name, op->extents[0]);
    }
    return NamedVectors::visit(op);
  }

  Stmt visit(const hi::Store* op) override {
    const Halide::Expr value = with_names_inside(op->value);
    if (value.same_as(op->value)) return NamedVectors::visit(op);
    const Stmt made =
        hi::Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
    return NamedVectors::visit(made.as<hi::Store>());
  }

  // Whether no lane is used whose neighbour is above the bound.
  bool is_inside(const Clamp& clamp, const Halide::Expr& bound) const {
    return std::any_of(fronts_.begin(), fronts_.end(), [&](const Front& front) {
      const std::optional<Halide::Expr> last = last_lane_of(front);
      return last && are_equal_indices(bound - clamp.base, *last);
    });
  }

  // Neighbours through several short rows, of which the last are beyond the end and not used.
  struct InFront {
    Halide::Expr places, mask;
  };
  std::optional<InFront> in_front(const hi::Load& load) const {
    if (load.type.is_scalar() || !hi::is_const_one(load.predicate)) return std::nullopt;
    for (const Front& front : fronts_) {
      const Halide::Expr index = with_values(load.index);
      const Halide::Expr inside = without_clamps(index, front);
      const Halide::Expr ramp = inside.same_as(index) ? Halide::Expr() : ramp_of_neighbours(inside);
      if (ramp.defined()) return InFront{ramp, front.condition};
    }
    return std::nullopt;
  }

  // Whether the memory has all lanes from the first one on.
  static Halide::Expr fits(const Halide::Expr& first, int lanes, const Halide::Expr& elements) {
    return first >= 0 && first <= elements - lanes;
  }

  // In lanes too that nothing asks for.
  Halide::Expr whole_where_it_fits(const hi::Load& load, const Halide::Expr& places,
                                   const Halide::Expr& otherwise) const {
    const auto elements = elements_->find(load.name);
    if (elements == elements_->end()) return otherwise;
    const int lanes = load.type.lanes();
    const Halide::Expr first = places.as<hi::Ramp>()->base;
    return if_then_else(hi::simplify(fits(first, lanes, elements->second)),
                        load_at(load, places, hi::const_true(lanes)), otherwise);
  }

  static Halide::Expr load_at(const hi::Load& load, const Halide::Expr& index,
                              const Halide::Expr& mask) {
    return hi::Load::make(load.type.with_lanes(index.type().lanes()), load.name,
                          hi::simplify(index), load.image, load.param, mask, {});
  }

  // The element at an edge, in all lanes. `reads_any`: where it is not said, some lane is read; of
  // none the memory may not be there.
  static Halide::Expr edge_of(const hi::Load& load, const Clamp& clamp, const Halide::Expr& lane,
                              const std::optional<Halide::Expr>& reads_any) {
    Halide::Expr element =
        load_at(load, clamp.clamped(clamp.base + lane) + clamp.rest, hi::const_true());
    if (reads_any) element = if_then_else(*reads_any, element, hi::make_zero(element.type()));
    return hi::Broadcast::make(element, load.type.lanes());
  }

  // Undefined: whether any of the first `count` lanes is read is no question.
  static std::optional<Halide::Expr> reads_any_of(const hi::Load& load, const Clamp& clamp,
                                                  const Halide::Expr& count) {
    if (clamp.guard) return *clamp.guard && count > 0;
    return hi::is_const_one(load.predicate) ? std::nullopt : std::optional(count > 0);
  }

  static Halide::Expr is_inside_of(const Clamp& clamp, const Bound& bound, int lanes) {
    const Halide::Expr at = hi::Broadcast::make(bound.value, lanes);
    return bound.is_most ? clamp.neighbours <= at : clamp.neighbours >= at;
  }

  static Halide::Expr if_then_else(const Halide::Expr& condition, const Halide::Expr& a,
                                   const Halide::Expr& b) {
    return hi::Call::make(a.type(), hi::Call::if_then_else, {condition, a, b},
                          hi::Call::PureIntrinsic);
  }

  // Without masks: as a whole where the memory has all of it, else as it is.
  Halide::Expr whole_or(const Halide::Expr& made, const std::optional<Clamp>& clamp) {
    const auto* load = made.as<hi::Load>();
    const int lanes = load->type.lanes();
    const auto elements = elements_->find(load->name);
    if (lanes == 1 || elements == elements_->end()) return made;
    const bool is_masked = !hi::is_const_one(load->predicate);
    Halide::Expr first, may_read = hi::const_true();
    if (!clamp) {
      const auto* ramp = load->index.as<hi::Ramp>();
      if (ramp == nullptr || !hi::is_const_one(ramp->stride) || !is_masked) return made;
      first = ramp->base;
    } else {
      if (clamp->step > 1) return made;
      first = hi::simplify(clamp->base + clamp->rest);
    }
    Halide::Expr values = load_at(*load, hi::Ramp::make(first, 1, lanes), hi::const_true(lanes));
    if (clamp) {
      const std::optional<Halide::Expr> count = first_lanes(load->predicate, lanes);
      if (!count) return made;
      const std::optional<Halide::Expr> reads_any = reads_any_of(*load, *clamp, *count);
      if (reads_any) may_read = *reads_any;
      for (const Bound& bound : clamp->bounds) {
        if (bound.is_most && is_inside(*clamp, bound.value)) continue;
        const Halide::Expr lane = bound.is_most ? *count - 1 : 0;
        values = hi::Select::make(is_inside_of(*clamp, bound, lanes), values,
                                  edge_of(*load, *clamp, lane, reads_any));
      }
    }
    may_read = hi::simplify(may_read && fits(first, lanes, elements->second));
    return if_then_else(may_read, values, made);
  }

  // Of every second to fourth element, of which a tail takes the first ones. Undefined of others.
  Halide::Expr with_what_is_between(const hi::Load& load, bool has_masks) const {
    const int lanes = load.type.lanes();
    const auto* ramp = load.index.as<hi::Ramp>();
    if (ramp == nullptr || lanes % 2 != 0 || hi::is_const_one(load.predicate)) return {};
    const int64_t step = hi::as_const_int(ramp->stride).value_or(0);
    if (step < 2 || step > kMostSteps || load.type.bits() < 8) return {};
    const auto elements = elements_->find(load.name);
    const std::optional<Halide::Expr> count = first_lanes(load.predicate, lanes);
    if (!count || (!has_masks && elements == elements_->end())) return {};
    const auto steps = static_cast<int>(step);
    const Halide::Expr end = hi::simplify((max(min(*count, lanes), 0) - 1) * steps + 1);
    std::vector<Halide::Expr> parts;
    for (int part = 0; part < steps; ++part) {
      const Halide::Expr mask =
          hi::Ramp::make(part * lanes, 1, lanes) < hi::Broadcast::make(end, lanes);
      parts.push_back(load_at(load, hi::Ramp::make(ramp->base + part * lanes, 1, lanes),
                              has_masks ? mask : hi::const_true(lanes)));
    }
    Halide::Expr values = hi::Shuffle::make_slice(hi::Shuffle::make_concat(parts), 0, steps, lanes);
    if (has_masks) return values;
    const Halide::Expr fits =
        hi::simplify(ramp->base >= 0 && ramp->base <= elements->second - lanes * steps);
    return if_then_else(fits, values, Halide::Expr(&load));
  }

  // `count`: of the lanes that read anything, the first ones.
  Halide::Expr neighbours(const hi::Load& load, const Clamp& clamp,
                          const Halide::Expr& count) const {
    const int lanes = load.type.lanes();
    Halide::Expr mask = load.predicate;
    const auto restrict_to = [&](const Halide::Expr& condition) {
      mask = hi::is_const_one(mask) ? condition : mask && condition;
    };
    if (clamp.guard) restrict_to(hi::Broadcast::make(*clamp.guard, lanes));
    const std::optional<Halide::Expr> reads_any = reads_any_of(load, clamp, count);
    std::vector<std::pair<Halide::Expr, Halide::Expr>> beyond;  // and what is read there
    for (const auto& [is_most, bound] : clamp.bounds) {
      const Halide::Expr inside = is_inside_of(clamp, {is_most, bound}, lanes);
      restrict_to(inside);
      if (is_most && is_inside(clamp, bound)) continue;
      beyond.emplace_back(inside, edge_of(load, clamp, is_most ? count - 1 : 0, reads_any));
    }
    Halide::Expr values = load_at(load, hi::Ramp::make(clamp.base + clamp.rest, 1, lanes), mask);
    for (const auto& [inside, element] : beyond) values = hi::Select::make(inside, values, element);
    return values;
  }

  // With what is between.
  static Halide::Expr steps(const Halide::Expr& made, const Clamp& clamp) {
    const auto* load = made.as<hi::Load>();
    const int lanes = load->type.lanes(), step = clamp.step;
    const bool has_end = clamp.bounds.size() == 1 && clamp.bounds[0].is_most;
    if (!has_end || clamp.guard || !hi::is_const_one(load->predicate)) return made;
    const Halide::Expr end = clamp.bounds[0].value;
    std::vector<Halide::Expr> parts;  // of the elements from the first one to the last
    for (int part = 0; part < step; ++part) {
      const Halide::Expr first = clamp.base * step + part * lanes;
      const Halide::Expr mask =
          hi::Ramp::make(hi::simplify(first), 1, lanes) <= hi::Broadcast::make(end * step, lanes);
      parts.push_back(load_at(*load, hi::Ramp::make(first + clamp.rest, 1, lanes), mask));
    }
    const Halide::Expr values =
        hi::Shuffle::make_slice(hi::Shuffle::make_concat(parts), 0, step, lanes);
    const Halide::Expr last = min(clamp.base + (lanes - 1), end) * step + clamp.rest;
    return hi::Select::make(clamp.neighbours <= hi::Broadcast::make(end, lanes), values,
                            hi::Broadcast::make(load_at(*load, last, hi::const_true()), lanes));
  }

  // A name for a clamp that several loads share would hide it.
  template <typename Let>
  auto without_name(const Let* op) {
    return op->value.type().is_vector() && clamp_in(op->value)
               ? mutate(hi::substitute(op->name, op->value, op->body))
               : NamedVectors::visit(op);
  }
  Stmt visit(const hi::LetStmt* op) override { return without_name(op); }
  Halide::Expr visit(const hi::Let* op) override { return without_name(op); }

  const int least_bits_;
  std::optional<Elements> elements_;  // of memory, by its name
  std::vector<Front> fronts_;         // lanes that are used, by the conditions around
};

}  // namespace

Stmt mask_clamped_vectors(const Stmt& statement, int least_bits) {
  return ClampedVectors(least_bits).mutate(statement);
}

Stmt load_whole_vectors(const Stmt& statement, int least_bits,
                        const std::map<std::string, Halide::Expr>& elements) {
  return ClampedVectors(least_bits, elements).mutate(statement);
}

}  // namespace emulsion
