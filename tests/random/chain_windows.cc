#include <optional>

#include "dsl/error.h"
#include "tests/random/chain_drawer.h"
#include "tests/random/comprehension_types.h"

namespace emulsion {
namespace {

// How a window goes along one axis, and what it finds beyond the ends.
struct Walk {
  size_t dimension = 0;
  int taps = 3, dilation = 1, stride = 1, before = 0;
  enum class Ends { inside, held, padded, around } ends = Ends::inside;
  Extent out;

  Expr place(const Expr& step, const Expr& tap) const {
    Expr at = stride == 1 ? step : step * stride;
    at = at + (dilation == 1 ? tap : tap * dilation);
    return before == 0 ? at : at - before;
  }
};

// Nothing where the window does not fit between the ends.
std::optional<Walk> draw_walk(size_t dimension, const Extent& extent, RandomNumbers* random) {
  Walk walk;
  walk.dimension = dimension;
  walk.taps = random->between(2, random->chance(0.8) ? 3 : 5);
  walk.dilation = random->chance(0.85) ? 1 : 2;
  walk.stride = random->chance(0.75) ? 1 : random->between(2, 3);
  const int span = (walk.taps - 1) * walk.dilation;
  const int kind = random->below(10);
  walk.ends = kind < 3   ? Walk::Ends::inside
              : kind < 6 ? Walk::Ends::held
              : kind < 9 ? Walk::Ends::padded
                         : Walk::Ends::around;
  const auto length = extent.as_constant();
  if (walk.ends == Walk::Ends::inside) {
    if (length) {
      if (*length <= span) return std::nullopt;
      walk.out = Extent((*length - 1 - span) / walk.stride + 1);
      return walk;
    }
    if (extent.constant_term() < span) walk.ends = Walk::Ends::held;
    walk.stride = 1;
    walk.out = extent - span;
  }
  if (walk.ends == Walk::Ends::inside) return walk;
  if (walk.ends == Walk::Ends::around) walk.stride = 1;
  walk.before = walk.ends == Walk::Ends::around ? 0 : random->chance(0.8) ? span / 2 : span;
  walk.out = extent;
  if (walk.stride > 1) {
    const auto part = extent.exact_quotient(walk.stride);
    if (!part && !length) {
      walk.stride = 1;
    } else {
      walk.out = part ? *part : Extent((*length - 1) / walk.stride + 1);
    }
  }
  return walk;
}

}  // namespace

// Sums, maxima or products with a filter of windows along one axis or two.
void ChainDrawer::window() {
  const Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  const auto rank = static_cast<size_t>(x.rank());
  const auto first = static_cast<size_t>(random_.below(x.rank()));
  const auto other = (first + 1) % rank;
  windows_of(x, other != first && chance(0.4) ? std::vector{first, other} : std::vector{first});
  if (chance(0.3)) elements();
}

// Windows of windows, and now and then something between them.
void ChainDrawer::stencils() {
  const Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  // As a rule along the rows or down them, of pixels too.
  const size_t from = x.rank() > 2 && chance(0.5) ? 1 : 0;
  std::vector<size_t> dimensions = {from};
  if (x.rank() > 1 && chance(0.7)) dimensions.push_back(from + 1 < x.shape().size() ? from + 1 : 0);
  const int count = random_.between(2, 4);
  for (int i = 0; i < count; ++i) {
    const Known last = i == 0 ? x : values_.back();
    if (last.rank() != x.rank()) return;  // of what was between them
    if (chance(0.5)) {
      windows_of(last, {random_.of(dimensions)});
    } else {
      windows_of(last, dimensions);
    }
    if (chance(0.2)) elements();
  }
}

void ChainDrawer::windows_of(const Known& x, const std::vector<size_t>& dimensions) {
  const auto rank = static_cast<size_t>(x.rank());
  kinds_.insert("window");
  std::vector<Walk> walks;
  Shape shape = x.shape();
  for (const size_t d : dimensions) {
    const auto walk = draw_walk(d, x.shape()[d], &random_);
    if (!walk) throw DoesNotFit();
    walks.push_back(*walk);
    shape[d] = walk->out;
  }
  const DType dtype = x.tensor.dtype();
  Axes axes = axes_of(shape, "ijklm");
  // The element of a window with these taps, and 0 where there is none.
  const auto element = [&](const Places& taps, Places places) {
    Expr inside;
    for (size_t w = 0; w < walks.size(); ++w) {
      const Walk& walk = walks[w];
      const Extent extent = x.shape()[walk.dimension];
      Expr& place = places[walk.dimension];
      place = walk.place(place, taps[w]);
      if (walk.ends == Walk::Ends::held) place = clamp(place, 0, extent - 1);
      if (walk.ends == Walk::Ends::around) place = place % extent;
      if (walk.ends != Walk::Ends::padded) continue;
      const Expr holds = place >= 0 && place < extent;
      inside = inside.defined() ? inside && holds : holds;
    }
    const Value there = at(x, places);
    return inside.defined() ? chosen(inside, there, number(dtype, 0)) : there;
  };
  if (chance(0.35)) {  // written out
    Value all;
    const int most = walks.size() == 1 ? walks[0].taps : random_.between(2, 5);
    const bool is_largest = chance(0.2);
    for (int tap = 0; tap < most; ++tap) {
      Places taps;
      for (const Walk& walk : walks) {
        taps.emplace_back(walks.size() == 1 ? tap : random_.below(walk.taps));
      }
      Value one = element(taps, places_of(axes));
      if (chance(0.3)) one = times(one, number(dtype, random_.between(2, 3)));
      all = tap == 0 ? one : is_largest ? larger(all, one) : plus(all, one);
    }
    if (chance(0.3)) all = element_operation(all, axes);
    return go_on(computed(axes, all));
  }
  Axes along;
  double terms = 1;
  Shape filter;
  for (const Walk& walk : walks) {
    along.emplace_back(along.empty() ? "r" : "s", walk.taps);
    filter.emplace_back(walk.taps);
    terms *= walk.taps;
  }
  const int kind = random_.below(10);  // of filter
  Value value;
  const bool is_last = walks.back().dimension == rank - 1 || walks.front().dimension == rank - 1;
  if (kind == 9 && !is_last && rank > 1) {  // a convolution of channels
    const Extent channels = x.shape()[rank - 1];
    Places places = places_of(axes);
    const Axis c("c", channels);
    places[rank - 1] = c;
    axes[rank - 1] =
        Axis(axes[rank - 1].name(), chance(0.5) ? Extent(random_.between(1, 9)) : draw_extent());
    value = element(places_of(along), places);
    along.push_back(c);
    filter.push_back(channels);
    filter.push_back(axes[rank - 1].extent());
    Places of_filter = places_of(along);
    of_filter.emplace_back(axes[rank - 1]);
    terms = most_terms(along);
    kinds_.insert("product");
    value = times(value, at(fresh(dtype, filter), of_filter));
  } else {
    value = element(places_of(along), places_of(axes));
    Places of_filter = places_of(along);
    if (kind >= 7) {  // for each step of another axis its own
      const Axis& axis = random_.of(axes);
      filter.push_back(axis.extent());
      of_filter.emplace_back(axis);
    }
    if (kind >= 4) value = times(value, at(fresh(dtype, filter), of_filter));
  }
  const Combiner combiner = chance(0.75)  ? Combiner::sum
                            : chance(0.7) ? Combiner::max
                                          : Combiner::min;
  Value found = reduced(combiner, along, terms, value);
  go_on(computed(axes, found, along));
}

// Pixels or planes of a few elements, each made otherwise of all of them, or by turns.
void ChainDrawer::pixels() {
  Known x = current();
  if (x.rank() == 0) throw DoesNotFit();
  const bool is_last = chance(0.6);
  const size_t d = is_last ? x.shape().size() - 1 : static_cast<size_t>(random_.below(x.rank()));
  const auto length = x.shape()[d].as_constant();
  const DType dtype = x.tensor.dtype();
  if (!length || *length < 2 || *length > 4) {
    Shape shape = x.shape();
    const Extent count(random_.between(2, 4));
    shape.insert(is_last ? shape.end() : shape.begin(), count);
    if (shape.size() > 4) throw DoesNotFit();
    x = fresh(dtype, shape);
    values_.push_back(x);
    return pixels_of(x, is_last ? shape.size() - 1 : 0);
  }
  pixels_of(x, d);
}

void ChainDrawer::pixels_of(const Known& x, size_t d) {
  const DType dtype = x.tensor.dtype();
  const auto count = static_cast<int>(*x.shape()[d].as_constant());
  const Axes axes = axes_of(x.shape(), "ijklm");
  const auto element = [&](int number_of_element) {
    Places places = places_of(axes);
    places[d] = number_of_element;
    return at(x, places);
  };
  kinds_.insert("pixels");
  if (chance(0.3)) {  // one value of each
    Value all = times(element(0), number(dtype, random_.between(1, 3)));
    for (int i = 1; i < count; ++i) all = plus(all, times(element(i), number(dtype, i)));
    Axes kept = axes;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(d));
    return go_on(computed(kept, all));
  }
  Value all;
  for (int i = 0; i < count; ++i) {
    Value one = element(random_.below(count));
    const int terms = random_.between(0, 2);
    for (int term = 0; term < terms; ++term) {
      const Value other = element(random_.below(count));
      one = chance(0.4) ? minus(one, other) : plus(one, times(other, number(dtype, 2)));
    }
    if (chance(0.2)) one = element_operation(one, axes);
    all = i == 0 ? one : chosen(axes[d] == i, one, all);
  }
  go_on(computed(axes, all));
}

}  // namespace emulsion
