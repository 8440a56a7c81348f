#include <algorithm>

#include "dsl/error.h"
#include "tests/random/chain_drawer.h"
#include "tests/random/comprehension_types.h"

namespace emulsion {
// Along the last axis, the first, one in between, or several.
ChainDrawer::Split ChainDrawer::draw_split(int rank) {
  if (rank == 0) throw DoesNotFit();
  const int kind = random_.below(10);
  Split split;
  const int only = kind < 5 ? rank - 1 : kind == 5 ? 0 : random_.below(rank);
  for (int d = 0; d < rank; ++d) {
    const bool is_along = kind == 9 ? d > 0 || rank == 1 : d == only || (kind >= 8 && chance(0.4));
    (is_along ? split.along : split.kept).push_back(static_cast<size_t>(d));
  }
  return split;
}

namespace {

std::vector<Axis> part_of(const std::vector<Axis>& axes, const std::vector<size_t>& which) {
  std::vector<Axis> part;
  for (const size_t d : which) part.push_back(axes[d]);
  return part;
}

}  // namespace

// Something of each row. With `squares`, a mean of squares, and one of the elements without.
Known ChainDrawer::statistic(const Known& x, const Split& split, bool squares) {
  const Axes axes = axes_of(x.shape(), "ijklm");
  const Axes kept = part_of(axes, split.kept), along = part_of(axes, split.along);
  Value value = at(x, places_of(axes));
  if (squares) value = times(value, value);
  const DType dtype = value.e.dtype();
  const Value all = reduced(Combiner::sum, along, most_terms(along), value);
  const Known sums = computed(kept, all, along);
  if (!is_float(dtype)) return sums;
  Expr count = constant(dtype, 1);
  for (const Axis& axis : along) {
    const auto length = axis.extent().as_constant();
    count = count * (length ? constant(dtype, static_cast<double>(*length))
                            : cast(dtype, extent_value(axis.extent())));
  }
  const Value whole = at(sums, places_of(kept));
  Value mean = over(whole, {count, 1, 0});
  mean.bound = value.bound;
  mean.error = value.error + 1e-6 * value.bound;
  return computed(kept, mean);
}

// A statistic, and what is done with it.
void ChainDrawer::rows() {
  const Known x = current();
  const Split split = draw_split(x.rank());
  const Axes axes = axes_of(x.shape(), "ijklm");
  const Axes kept = part_of(axes, split.kept), along = part_of(axes, split.along);
  Value value = at(x, places_of(axes));
  const DType dtype = value.e.dtype();
  kinds_.insert("rows");
  const int first = random_.below(6);
  if (first == 0) value = times(value, value);
  if (first == 1) value = element_operation(value, axes);
  if (first == 2) value = size_of_value(minus(value, beside(axes, dtype)));
  static const std::vector<Combiner> combiners = {Combiner::sum, Combiner::sum, Combiner::max,
                                                  Combiner::max, Combiner::min, Combiner::product};
  Combiner combiner = random_.of(combiners);
  if (options_.differentiable && combiner == Combiner::product) combiner = Combiner::sum;
  const double terms = most_terms(along);
  Known found = computed(kept, reduced(combiner, along, terms, value), along);
  if (chance(0.2)) {
    values_.push_back(found);
    found = computed(kept, element_operation(at(found, places_of(kept)), kept));
  }
  values_.push_back(found);
  if (chance(0.3)) return go_on(found);
  const Value own = at(x, places_of(axes)), of_row = as_type(dtype, at(found, places_of(kept)));
  Value body;
  switch (random_.below(5)) {
    case 0:
    case 1:
      body = minus(own, of_row);
      break;
    case 2:
      body = times(own, of_row);
      break;
    case 3:
      body = over(own, plus(size_of_value(held(of_row, 8)), number(dtype, 1)));
      break;
    default:
      body = larger(own, of_row);
      if (!options_.differentiable && own.error == 0 && of_row.error == 0) {
        body = chosen(own.e == of_row.e, own, number(dtype, 0));
      }
  }
  if (chance(0.3)) body = element_operation(body, axes);
  go_on(computed(axes, body));
}

void ChainDrawer::softmax(const Known& x, const Split& split) {
  const Axes axes = axes_of(x.shape(), "ijklm");
  const Axes kept = part_of(axes, split.kept), along = part_of(axes, split.along);
  const double terms = most_terms(along);
  const Value value = held(at(x, places_of(axes)), 8);
  if (!is_float(value.e.dtype())) throw DoesNotFit();
  kinds_.insert("rows");
  kinds_.insert("series");
  const Known top = computed(kept, reduced(Combiner::max, along, terms, value), along);
  const Value away = {value.e - top.tensor.at(places_of(kept)), 0, value.error};
  const bool is_logarithm = chance(0.3);
  const Value power = {exp(away.e), 1, value.error + 1e-6};
  if (is_logarithm || chance(0.2)) {
    Value sum = reduced(Combiner::sum, along, terms, power);
    sum.error = (value.error + 1e-6) * terms;
    const Known sums = computed(kept, sum, along);
    const Value total = at(sums, places_of(kept));
    if (is_logarithm) {
      const Known loss = computed(
          kept, {log(total.e) + top.tensor.at(places_of(kept)), 16, 2 * value.error + 1e-5});
      values_.push_back(loss);
      if (chance(0.5)) return go_on(loss);
      return go_on(computed(axes, minus(value, at(loss, places_of(kept)))));
    }
    return go_on(computed(axes, {power.e / total.e, 1, 3 * value.error + 1e-5}));
  }
  const Known powers = computed(axes, power);
  Value sum = reduced(Combiner::sum, along, terms, at(powers, places_of(axes)));
  sum.error = 0.001;
  const Known sums = computed(kept, sum, along);
  if (chance(0.2)) values_.push_back(powers);
  const Expr share = powers.tensor.at(places_of(axes)) / sums.tensor.at(places_of(kept));
  go_on(computed(axes, {share, 1, 3 * value.error + 1e-5}));
}

void ChainDrawer::norm(const Known& x, const Split& split) {
  if (!is_float(x.tensor.dtype())) throw DoesNotFit();
  const DType dtype = x.tensor.dtype();
  const Axes axes = axes_of(x.shape(), "ijklm");
  const Axes kept = part_of(axes, split.kept);
  kinds_.insert("rows");
  Known from = x;
  if (from.bound > 16) from = computed(axes, held(at(x, places_of(axes)), 8));
  if (chance(0.7)) {
    const Known mean = statistic(from, split, false);
    const Value centred = minus(at(from, places_of(axes)), at(mean, places_of(kept)));
    from = computed(axes, centred);
    if (chance(0.2)) values_.push_back(from);
  }
  const Known squares = statistic(from, split, true);
  const Expr spread =
      sqrt(squares.tensor.at(places_of(kept)) + constant(dtype, chance(0.5) ? 1 : 0.5));
  Value body = {from.tensor.at(places_of(axes)) / spread, from.bound, 4 * from.error + 1e-5};
  if (chance(0.5)) body = times(held(body, 8), beside(axes, dtype));
  if (chance(0.4)) body = plus(body, beside(axes, dtype));
  go_on(computed(axes, body));
}

void ChainDrawer::place_of_greatest() {
  const Known x = current();
  if (x.rank() == 0 || x.error > 0 || options_.differentiable) throw DoesNotFit();
  const Axes axes = axes_of(x.shape(), "ijklm");
  const auto d = static_cast<size_t>(random_.below(x.rank()));
  Axes kept = axes;
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(d));
  const Axes along = {axes[d]};
  const Value value = at(x, places_of(axes));
  kinds_.insert("rows");
  const Known top = computed(kept, reduced(Combiner::max, along, 1, value), along);
  const Value place = {select(value.e == top.tensor.at(places_of(kept)), Expr(axes[d]),
                              extent_value(axes[d].extent())),
                       200, 0};
  values_.push_back(top);
  go_on(computed(kept, reduced(Combiner::min, along, 1, place), along));
}

void ChainDrawer::draw_rows_step() {
  const int kind = random_.below(10);
  if (kind < 5 || !is_float(current().tensor.dtype())) {
    return chance(0.9) ? rows() : place_of_greatest();
  }
  const Known x = current();
  const Split split = draw_split(x.rank());
  if (kind < 7) return softmax(x, split);
  norm(x, split);
  if (!chance(0.2)) return;
  const Known again = values_.back();
  norm(again, draw_split(again.rank()));
}

}  // namespace emulsion
