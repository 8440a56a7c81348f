#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "tests/random/chain_drawer.h"
#include "tests/random/comprehension_types.h"

namespace emulsion {

// Of rows and columns, of which there may be few, one or none.
void ChainDrawer::product() {
  const Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  const size_t rank = x.shape().size();
  kinds_.insert("product");
  std::vector<bool> is_along(rank, false), is_shared(rank, false);
  is_along[chance(0.7) ? rank - 1 : static_cast<size_t>(random_.below(x.rank()))] = true;
  if (rank > 2 && chance(0.15)) is_along[rank - 2] = true;
  static const std::string names = "ijklm", reduced_names = "rstuv";
  Axes axes, along, own;  // of the result, of the sum, of the other operand
  Places places;
  for (size_t d = 0; d < rank; ++d) {
    const Axis axis(std::string(1, is_along[d] ? reduced_names[d] : names[d]), x.shape()[d]);
    (is_along[d] ? along : axes).push_back(axis);
    is_shared[d] = is_along[d] || chance(0.2);
    if (is_shared[d]) own.push_back(axis);
    places.push_back(is_along[d] ? turned(axis, axis.extent()) : Expr(axis));
  }
  if (chance(0.8)) {
    const Extent columns = chance(0.5) ? draw_extent() : Extent(random_.between(1, 9));
    const Axis n("n", columns);
    axes.insert(chance(0.9) ? axes.end() : axes.begin(), n);
    own.insert(chance(0.7) ? own.end() : own.begin() + random_.below(static_cast<int>(own.size())),
               n);
  }
  Shape shape;
  Places of_own;
  for (const Axis& axis : own) {
    const auto length = axis.extent().as_constant();
    if (length && *length % 4 == 0 && chance(0.05)) {  // as two axes
      shape.emplace_back(*length / 4);
      shape.emplace_back(4);
      of_own.push_back(axis / 4);
      of_own.push_back(axis % 4);
      continue;
    }
    if (chance(0.05)) {  // every second
      shape.push_back(2 * axis.extent());
      of_own.push_back(axis * 2 + random_.below(2));
      continue;
    }
    shape.push_back(axis.extent());
    of_own.push_back(turned(axis, axis.extent()));
  }
  Value a = at(x, places), b = at(fresh(x.tensor.dtype(), shape), of_own);
  if (is_narrow(x.tensor.dtype()) && chance(0.8)) {
    const DType wide = chance(0.8) ? DType::i32 : DType::f32;
    a = as_type(wide, a);
    b = as_type(wide, b);
  }
  Value body = times(a, b);
  Combiner combiner = Combiner::sum;
  if (chance(0.15)) {
    const Value between = minus(a, b);
    body = chance(0.5) ? size_of_value(between) : times(between, between);
    if (chance(0.3)) combiner = Combiner::min;
  }
  if (chance(0.1)) body = times(body, beside(along, body.e.dtype()));
  const double terms = most_terms(along);
  Value all = reduced(combiner, along, terms, body);
  const bool is_followed = chance(0.6);
  if (chance(0.1)) {  // in the same comprehension, behind the sum
    all = element_operation(all, axes);
  }
  go_on(computed(axes, all, along));
  if (is_followed) follow_product();
}

void ChainDrawer::follow_product() {
  const Known x = values_.back();
  const Axes axes = axes_of(x.shape(), "ijklm");
  const DType dtype = x.tensor.dtype();
  current_ = values_.size() - 1;
  switch (random_.below(5)) {
    case 0:
    case 1: {  // a bias, an activation
      Value value = at(x, places_of(axes));
      if (!axes.empty() && chance(0.7)) {
        const Known bias = fresh(dtype, {axes.back().extent()});
        value = plus(value, at(bias, {axes.back()}));
      }
      if (is_float(dtype) && chance(0.8)) {
        kinds_.insert("series");
        value = series(static_cast<Series>(random_.below(kSeries)), value);
      } else {
        value = larger(value, number(dtype, 0));
      }
      return go_on(computed(axes, value));
    }
    case 2:
      return draw_rows_step();
    case 3:
      return is_float(dtype) ? softmax(x, draw_split(x.rank())) : rows();
    default:
      return is_float(dtype) ? norm(x, draw_split(x.rank())) : elements();
  }
}

// Of many small squares.
void ChainDrawer::small_matrices() {
  const int side = random_.between(2, 4);
  Shape shape = {draw_extent(), side, side};
  if (chance(0.3)) shape.insert(shape.begin(), draw_extent());
  Known x = fresh(dtype_, shape);
  const Shape& last = values_[current_].shape();
  const auto rank = last.size();
  if (rank > 2 && last[rank - 1] == last[rank - 2] &&
      last[rank - 1].as_constant().value_or(9) < 5) {
    x = values_[current_];
    shape = last;
  }
  const Known z = fresh(x.tensor.dtype(), shape);
  const Axes axes = axes_of(shape, "ghijk");
  const Axis r("r", shape.back());
  Places left = places_of(axes), right = left;
  left.back() = r;
  right[right.size() - 2] = r;
  if (chance(0.2)) std::swap(right.back(), right[right.size() - 2]);
  kinds_.insert("product");
  go_on(computed(axes, reduced(Combiner::sum, {r}, side, times(at(x, left), at(z, right))), {r}));
  if (chance(0.5)) elements();
}

// Products one behind another, as the layers of a perceptron.
void ChainDrawer::layers() {
  Known x = current();
  if (x.rank() == 0 || x.rank() > 3) throw DoesNotFit();
  const DType dtype = x.tensor.dtype();
  const int count = random_.between(2, 3);
  for (int layer = 0; layer < count; ++layer) {
    Axes axes = axes_of(x.shape(), "ijkl");
    const Axis r("r", axes.back().extent());
    const Axis n(axes.back().name(), chance(0.5) ? Extent(random_.between(1, 33)) : draw_extent());
    axes.back() = n;
    Places places = places_of(axes);
    places.back() = r;
    const bool is_turned = chance(0.2);
    const Known w =
        fresh(dtype, is_turned ? Shape{n.extent(), r.extent()} : Shape{r.extent(), n.extent()});
    const Value term = times(at(x, places), at(w, is_turned ? Places{n, r} : Places{r, n}));
    const double terms = most_terms({r});
    const Known product = computed(axes, reduced(Combiner::sum, {r}, terms, term), {r});
    Value value = at(product, places_of(axes));
    if (chance(0.7)) value = plus(value, at(fresh(dtype, {n.extent()}), {n}));
    if (is_float(dtype) && chance(0.3)) {
      value = series(chance(0.5) ? Series::gelu : Series::sigmoid, value);
      kinds_.insert("series");
    } else if (chance(0.8)) {
      value = larger(value, number(dtype, 0));
    }
    x = computed(axes, value);
    kinds_.insert("product");
    if (chance(0.1)) values_.push_back(x);
  }
  go_on(x);
  if (chance(0.3)) follow_product();
}

// Rows of products that are combined, and the product of these.
void ChainDrawer::attention() {
  if (!is_float(current().tensor.dtype())) throw DoesNotFit();
  const Known q = current();
  if (q.rank() < 2) throw DoesNotFit();
  const DType dtype = q.tensor.dtype();
  Axes axes = axes_of(q.shape(), "fghij");
  const Axis d("d", axes.back().extent()), i = axes[axes.size() - 2];
  axes.pop_back();
  const Axis j("n", chance(0.5) ? i.extent() : draw_extent());
  Axes outer(axes.begin(), axes.end() - 1);
  Shape of_keys;
  Places key_places;
  if (chance(0.7)) {
    for (const Axis& axis : outer) {
      of_keys.push_back(axis.extent());
      key_places.emplace_back(axis);
    }
  }
  Shape of_values = of_keys;
  Places value_places = key_places;
  const bool is_turned = chance(0.3);
  for (const Axis& axis : is_turned ? Axes{d, j} : Axes{j, d}) {
    of_keys.push_back(axis.extent());
    key_places.emplace_back(axis);
  }
  const Extent columns = chance(0.6) ? d.extent() : draw_extent();
  const Axis e("e", columns);
  of_values.push_back(j.extent());
  of_values.push_back(columns);
  value_places.emplace_back(j);
  value_places.emplace_back(e);
  Places query = places_of(axes);
  query.emplace_back(d);
  Axes pairs = axes;
  pairs.push_back(j);
  const double terms = most_terms({d});
  const Known k = fresh(dtype, of_keys), v = fresh(dtype, of_values);
  kinds_.insert("product");
  Known scores = computed(
      pairs, reduced(Combiner::sum, {d}, terms, times(at(q, query), at(k, key_places))), {d});
  if (chance(0.5)) {
    Value value = at(scores, places_of(pairs));
    if (chance(0.5)) value = over(value, number(dtype, 4));
    if (chance(0.4)) value = chosen(j <= i, value, number(dtype, -8));
    if (chance(0.2)) value = plus(value, beside(pairs, dtype));
    value.error = std::max(value.error, 1e-9);
    scores = computed(pairs, value);
  }
  Split split;
  for (size_t p = 0; p < axes.size(); ++p) split.kept.push_back(p);
  split.along = {axes.size()};
  if (chance(0.8)) {
    softmax(scores, split);
  } else {
    go_on(scores);
  }
  const Known shares = values_.back();
  if (shares.rank() != static_cast<int>(pairs.size())) return;
  Axes result = axes;
  result.push_back(e);
  const Value term = times(at(shares, places_of(pairs)), at(v, value_places));
  Value all = reduced(Combiner::sum, {j}, most_terms({j}), term);
  all.error = std::min(all.error, 1e-3 * std::max(1.0, term.bound) + 64 * term.error);
  go_on(computed(result, all, {j}));
}

}  // namespace emulsion
