#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "tests/random/chain_drawer.h"
#include "tests/random/comprehension_types.h"
#include "tests/random/place_condition.h"

namespace emulsion {

// An operand: a value that is there already, or an argument that is the same along some axes.
Value ChainDrawer::beside(const Axes& axes, DType dtype) {
  if (chance(0.35)) {
    const Known known = random_.of(chance(0.7) ? values_ : inputs_);
    Places places;
    for (size_t d = 0; d < known.shape().size(); ++d) {
      std::vector<Axis> equal;
      for (const Axis& axis : axes) {
        if (axis.extent() == known.shape()[d]) equal.push_back(axis);
      }
      if (equal.empty()) break;
      const bool is_own = d < axes.size() && axes[d].extent() == known.shape()[d];
      const Axis axis = is_own && chance(0.8) ? axes[d] : random_.of(equal);
      places.push_back(turned(axis, known.shape()[d]));
    }
    if (places.size() == known.shape().size()) return as_type(dtype, at(known, places));
  }
  Axes some;
  for (const Axis& axis : axes) {
    if (chance(0.6)) some.push_back(axis);
  }
  if (chance(0.3)) some = axes;
  if (some.size() > 1 && chance(0.1)) std::swap(some.front(), some.back());
  Shape shape;
  for (const Axis& axis : some) shape.push_back(axis.extent());
  Places places;
  for (const Axis& axis : some) places.push_back(turned(axis, axis.extent()));
  const DType own = !options_.differentiable && chance(0.1) ? random_.of(value_types()) : dtype;
  return as_type(dtype, at(fresh(own, shape), places));
}

// Now and then another place than the axis says.
Expr ChainDrawer::turned(const Axis& axis, const Extent& extent) {
  if (!chance(0.08)) return axis;
  kinds_.insert("move");
  switch (random_.below(6)) {
    case 0:
      return extent - 1 - axis;
    case 1:
      return (axis + random_.between(1, 3)) % extent;
    case 2:
      return clamp(axis + random_.between(-2, 2), 0, extent - 1);
    case 3:
      return axis / random_.between(2, 4);
    case 4:
      return axis % random_.between(2, 4) % extent;
    default:
      return place_of_data({axis}, extent);
  }
}

Value ChainDrawer::element_operation(const Value& value, const Axes& axes) {
  const DType dtype = value.e.dtype();
  switch (random_.below(14)) {
    case 0:
    case 1:
      return plus(value, beside(axes, dtype));
    case 2:
      return minus(value, beside(axes, dtype));
    case 3:
    case 4:
      return times(value, beside(axes, dtype));
    case 5:
      return larger(value, number(dtype, 0));
    case 6: {
      const Value other = beside(axes, dtype);
      return chance(0.5) ? larger(value, other) : smaller(value, other);
    }
    case 7:
    case 8:
      if (!is_float(dtype)) return plus(times(value, number(dtype, 3)), number(dtype, 1));
      kinds_.insert("series");
      return series(static_cast<Series>(random_.below(kSeries)), value);
    case 9: {
      if (axes.empty()) return value;
      const Axis& axis = random_.of(axes);
      const Expr condition =
          place_condition(random_.below(kPlaceConditions), axis, random_.between(0, 9));
      return chosen(condition, value, beside(axes, dtype));
    }
    case 10: {
      if (options_.differentiable || value.error > 0) return size_of_value(value);
      const Value other = beside(axes, dtype);
      if (other.error > 0) return plus(value, other);
      return chosen(value.e < other.e, value, chance(0.5) ? other : number(dtype, 1));
    }
    case 11:
      if (options_.differentiable || value.error > 0) return minus(value, number(dtype, 2));
      return as_type(dtype, as_type(random_.of(value_types()), value));
    case 12:
      return over(value, plus(size_of_value(held(beside(axes, dtype), 8)), number(dtype, 1)));
    default:
      return plus(times(value, number(dtype, 2)), number(dtype, 1));
  }
}

void ChainDrawer::elements() {
  const Known x = current();
  const Axes axes = axes_of(x.shape(), "ijklm");
  Value value = at(x, places_of(axes));
  if (!options_.differentiable && x.error == 0 && chance(0.15)) {
    value = as_type(random_.of(value_types()), value);
  }
  const int count = random_.between(1, 3);
  for (int i = 0; i < count; ++i) value = element_operation(value, axes);
  go_on(computed(axes, value));
}

// One value, and what is made of it and of what it was made of.
void ChainDrawer::two_of_one() {
  const Known x = current();
  const Axes axes = axes_of(x.shape(), "ijklm");
  const Value of = at(x, places_of(axes)), other = beside(axes, of.e.dtype());
  const Known y = computed(axes, chance(0.5) ? times(of, other) : plus(of, other));
  const Value again = at(y, places_of(axes));
  const Known z = computed(axes, larger(minus(again, other), number(of.e.dtype(), 0)));
  if (chance(0.5)) {
    go_on(z);
    return go_on(y);
  }
  go_on(y);
  go_on(z);
}

// The same elements, or some of them, elsewhere.
void ChainDrawer::move() {
  const Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  Shape shape = x.shape();
  const auto d = static_cast<size_t>(random_.below(x.rank()));
  const Extent extent = shape[d];
  const int by = random_.between(2, 4);
  kinds_.insert("move");
  const int kind = random_.below(9);
  if (kind == 0 && x.rank() > 1) {  // transposed
    const auto other = static_cast<size_t>(random_.below(x.rank()));
    std::swap(shape[d], shape[other]);
    const Axes axes = axes_of(shape, "ijklm");
    Places places = places_of(axes);
    std::swap(places[d], places[other]);
    return go_on(computed(axes, at(x, places)));
  }
  if (kind == 1 && d + 1 < shape.size()) {  // two axes are one
    const Extent inner = shape[d + 1];
    if (!inner.is_constant() || *inner.as_constant() == 0) throw DoesNotFit();
    shape[d] = extent * inner;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    const Axes axes = axes_of(shape, "ijklm");
    Places places = places_of(axes);
    const Expr whole = places[d];
    const int length = static_cast<int>(*inner.as_constant());
    places[d] = whole / length;
    places.insert(places.begin() + static_cast<std::ptrdiff_t>(d) + 1, whole % length);
    return go_on(computed(axes, at(x, places)));
  }
  if (kind == 2) {  // one axis is two
    const auto outer = extent.exact_quotient(by);
    if (!outer) throw DoesNotFit();
    shape[d] = *outer;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, Extent(by));
    const Axes axes = axes_of(shape, "ijklm");
    Places places = places_of(axes);
    places[d] = places[d] * by + places[d + 1];
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    return go_on(computed(axes, at(x, places)));
  }
  if (kind == 3) {  // along a new axis the same
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d), draw_extent());
    const Axes axes = axes_of(shape, "ijklm");
    Places places = places_of(axes);
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(d));
    return go_on(computed(axes, plus(at(x, places), beside(axes, x.tensor.dtype()))));
  }
  const auto part = extent.exact_quotient(by);
  if (kind == 4 && part) shape[d] = *part;
  if (kind == 5) shape[d] = by * extent;
  if (kind == 6) shape[d] = extent + by;
  const Axes axes = axes_of(shape, "ijklm");
  Places places = places_of(axes);
  const Expr place = places[d];
  Expr inside;
  switch (kind) {
    case 4:  // every second, third, ..
      places[d] = place * (part ? by : 1);
      break;
    case 5:  // each several times, or all
      places[d] = chance(0.5) ? place / by : place % extent;
      break;
    case 6:  // padded
      places[d] = place - (chance(0.5) ? 1 : by);
      inside = places[d] >= 0 && places[d] < extent;
      break;
    case 7:
      places[d] = extent - 1 - place;
      break;
    default:
      places[d] = (place + by) % extent;
  }
  Value value = at(x, places);
  if (inside.defined()) value = chosen(inside, value, number(value.e.dtype(), by));
  if (chance(0.4)) value = element_operation(value, axes);
  go_on(computed(axes, value));
}

// One behind another, as a concatenation.
void ChainDrawer::joined() {
  const Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  const auto d = static_cast<size_t>(random_.below(x.rank()));
  Shape other = x.shape(), both = x.shape();
  other[d] = chance(0.5) ? Extent(random_.between(1, 9)) : draw_extent();
  const bool is_first = chance(0.5);
  const Known z = fresh(x.tensor.dtype(), other);
  const Extent border = is_first ? x.shape()[d] : other[d];
  both[d] = x.shape()[d] + other[d];
  const Axes axes = axes_of(both, "ijklm");
  const Places front = places_of(axes);
  Places behind = front;
  behind[d] = behind[d] - border;
  const Value a = at(is_first ? x : z, front), b = at(is_first ? z : x, behind);
  kinds_.insert("move");
  Value value = chosen(axes[d] < border, a, b);
  if (chance(0.4)) value = element_operation(value, axes);
  go_on(computed(axes, value));
}

// A place that data say, for each step of some of the axes.
Expr ChainDrawer::place_of_data(const Axes& axes, const Extent& extent) {
  Axes some;
  for (const Axis& axis : axes) {
    if (chance(0.7)) some.push_back(axis);
  }
  if (some.empty()) some.push_back(random_.of(axes));
  Shape shape;
  for (const Axis& axis : some) shape.push_back(axis.extent());
  const Known data = fresh_places(shape);
  Expr place = cast(i32, data.tensor.at(places_of(some)));
  if (chance(0.3)) place = place + random_.of(axes);
  if (chance(0.1)) place = place * 2 - 1;
  return clamp(place, 0, extent - 1);
}

// Elements from where data say, or sums of them.
void ChainDrawer::gather() {
  const Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  const auto d = static_cast<size_t>(random_.below(x.rank()));
  Shape shape = x.shape();
  if (chance(0.4)) shape[d] = draw_extent();
  const Axes axes = axes_of(shape, "ijklm");
  Places places = places_of(axes);
  places[d] = place_of_data(axes, x.shape()[d]);
  const Value value = at(x, places);
  if (axes.size() < 2 || chance(0.5)) return go_on(computed(axes, value));
  const auto along = static_cast<size_t>(random_.below(static_cast<int>(axes.size())));
  Axes kept = axes;
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(along));
  const Axes reduced_axes = {axes[along]};
  const double terms = most_terms(reduced_axes);
  const Combiner combiner = chance(0.7) ? Combiner::sum : Combiner::max;
  go_on(computed(kept, reduced(combiner, reduced_axes, terms, value), reduced_axes));
}

// Sums by class: data say to which element a term is added.
void ChainDrawer::by_class() {
  const Known x = current();
  if (x.rank() == 0 || options_.differentiable) throw DoesNotFit();
  Axes terms = axes_of(x.shape(), "rstuv");
  const Known which = fresh_places({x.shape()[0]});
  const Axis r = terms.front();
  Axes axes = {Axis("c", chance(0.6) ? Extent(random_.between(1, 9)) : draw_extent())};
  axes.insert(axes.end(), terms.begin() + 1, terms.end());
  const DType dtype = x.tensor.dtype();
  const Value term =
      chosen(cast(i32, which.tensor(r)) == axes.front(), at(x, places_of(terms)), number(dtype, 0));
  const Axes along = {r};
  go_on(computed(axes, reduced(Combiner::sum, along, most_terms(along), term), along));
}

}  // namespace emulsion
