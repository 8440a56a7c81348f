#include <algorithm>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

constexpr Argument kShape{2, "shape"};
const Extent kOne(1);

// How often b fits into a, when that is a whole number whatever the sizes are.
std::optional<int64_t> ratio(const Extent& a, const Extent& b) {
  int64_t factor = 0;
  if (b.constant_term() != 0) {
    factor = a.constant_term() / b.constant_term();
  } else if (!b.is_constant()) {
    const auto& [name, coefficient] = *b.coefficients().begin();
    auto found = a.coefficients().find(name);
    if (found != a.coefficients().end()) factor = found->second / coefficient;
  }
  if (factor < 1 || b * Extent(factor) != a) return std::nullopt;
  return factor;
}

// Nothing when the product does not fit 64 bits or is not affine in the sizes.
std::optional<Extent> product(const Extent& a, const Extent& b) {
  try {
    return a * b;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Extent> product(const Shape& shape) {
  std::optional<Extent> result = Extent(1);
  for (const Extent& extent : shape) {
    if (result) result = product(*result, extent);
  }
  return result;
}

bool has_zero(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

// Takes out of both shapes what they have in common: [B, T, 8, 8] and [B, T, 64] have equal counts
// though B * T is no affine extent.
void cancel_equal(Shape* a, Shape* b) {
  for (auto mine = a->begin(); mine != a->end();) {
    auto theirs = std::find(b->begin(), b->end(), *mine);
    if (theirs == b->end()) {
      ++mine;
    } else {
      b->erase(theirs);
      mine = a->erase(mine);
    }
  }
}

[[noreturn]] void refuse_counts(const OperatorCall& call, const Shape& from, const Shape& to) {
  call.refuse(kShape, "expected as many elements as x {} has, whatever the sizes, got {}",
              to_string(from), to_string(to));
}

// The shape with its -1 worked out.
Shape resolve(const OperatorCall& call, const Shape& from, const Shape& to) {
  Shape resolved = to;
  int unknown = -1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Extent(-1)) {
      if (unknown >= 0) call.refuse(kShape, "expected at most one -1, got {}", to_string(to));
      unknown = static_cast<int>(i);
    } else if (to[i].is_constant() && to[i].constant_term() < 0) {
      call.refuse(kShape, "expected extents of 0 or more, or one -1, got {}", to_string(to));
    }
  }
  if (unknown < 0) return resolved;
  Shape rest_from = from;
  Shape rest_to = to;
  rest_to.erase(rest_to.begin() + unknown);
  if (has_zero(rest_to)) {
    call.refuse(kShape, "expected a number instead of -1 beside an extent of 0, got {}",
                to_string(to));
  }
  cancel_equal(&rest_from, &rest_to);
  std::optional<Extent> left = product(rest_from);
  std::optional<Extent> known = product(rest_to);
  std::optional<Extent> quotient;
  if (left && known && known->is_constant()) {
    quotient = left->exact_quotient(known->constant_term());
  } else if (left && known) {
    if (auto factor = ratio(*left, *known)) quotient = Extent(*factor);
  }
  if (!left) {
    call.refuse(
        kShape,
        "expected elements that are a number of times one run-time size, or more, got those "
        "of {} for the -1 of {}; a product of two sizes is no extent: keep their axes apart",
        to_string(from), to_string(to));
  }
  if (!quotient) {
    call.refuse(kShape, "expected the other extents to divide the elements of x {}, got {}",
                to_string(from), to_string(to));
  }
  resolved[unknown] = *quotient;
  return resolved;
}

// Where a run of x's axes finds its indices from a run of result axes that hold the same elements.
class Group {
 public:
  Group(std::vector<Axis> axes, Shape extents)
      : axes_(std::move(axes)), extents_(std::move(extents)) {}

  std::vector<Expr> indices() const {
    std::vector<Expr> result(extents_.size(), int_constant(0));
    Expr position = linear();
    bool affine = affine_of(position).has_value();
    Extent stride(1);
    for (size_t i = extents_.size(); i-- > 0;) {
      if (extents_[i] == kOne) continue;
      bool outermost = std::all_of(extents_.begin(), extents_.begin() + i,
                                   [](const Extent& e) { return e == kOne; });
      result[i] = digit(position, affine, stride, extents_[i], outermost);
      if (!outermost) stride = stride * extents_[i];
    }
    return result;
  }

 private:
  // The row-major position in the group of the result's element.
  Expr linear() const {
    Expr position;
    Extent stride(1);
    for (size_t i = axes_.size(); i-- > 0;) {
      if (axes_[i].extent() == kOne) continue;
      Expr term = stride == kOne ? Expr(axes_[i]) : axes_[i] * extent_value(stride);
      position = position.defined() ? term + position : term;
      stride = stride * axes_[i].extent();
    }
    return position.defined() ? position : int_constant(0);
  }

  static Expr digit(const Expr& position, bool affine, const Extent& stride, const Extent& extent,
                    bool outermost) {
    Expr index = stride == kOne ? position : position / extent_value(stride);
    if (!outermost) index = index % extent_value(extent);
    // A quotient by a run-time size is in bounds, too, but only arithmetic that nobody does for us
    // proves it.
    bool provable = stride.is_constant() && (outermost ? affine : extent.is_constant());
    if (provable) return index;
    return max(min(index, extent_value(extent - kOne)), int_constant(0));
  }

  std::vector<Axis> axes_;
  Shape extents_;
};

// The indices of x for the element `axes` of the result. Both shapes are walked side by side and
// cut into the shortest runs of equal counts, so that an axis that both have costs no arithmetic.
std::vector<Expr> matched_indices(const OperatorCall& call, const Shape& from,
                                  const std::vector<Axis>& axes, const Shape& to) {
  std::vector<Expr> indices;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t first_i = i, first_j = j;
    Extent mine(1), theirs(1);
    // At least one axis each, where there is one; then whichever side lags takes its next one.
    if (i < from.size()) mine = from[i++];
    if (j < to.size()) theirs = to[j++];
    while (mine != theirs) {
      bool grow_mine = theirs.is_constant()
                           ? mine.is_constant() && mine.constant_term() < theirs.constant_term()
                           : mine.is_constant() || ratio(theirs, mine).has_value();
      std::optional<Extent> grown;
      if (grow_mine && i < from.size()) grown = product(mine, from[i++]);
      if (!grow_mine && j < to.size()) grown = product(theirs, to[j++]);
      if (!grown) refuse_counts(call, from, to);
      (grow_mine ? mine : theirs) = *grown;
    }
    std::vector<Expr> found = Group({axes.begin() + first_j, axes.begin() + j},
                                    {from.begin() + first_i, from.begin() + i})
                                  .indices();
    indices.insert(indices.end(), found.begin(), found.end());
  }
  return indices;
}

// An empty tensor: no element is read, so any index in an empty range will do.
std::vector<Expr> empty_indices(const Shape& from, const std::vector<Axis>& axes) {
  std::vector<Expr> indices;
  for (const Extent& extent : from) {
    Expr index = int_constant(0);
    for (const Axis& axis : axes) {
      if (extent == Extent(0) && axis.extent() == Extent(0)) index = axis;
    }
    indices.push_back(index);
  }
  return indices;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape, const std::string& name) {
  OperatorCall call("reshape", name);
  call.check_computable(kX, x);
  Shape to = resolve(call, x.shape(), shape);
  std::vector<Axis> axes = axes_over(to);
  std::vector<Expr> indices = has_zero(x.shape()) && has_zero(to)
                                  ? empty_indices(x.shape(), axes)
                                  : matched_indices(call, x.shape(), axes, to);
  return call.result(axes, x.at(std::move(indices)));
}

}  // namespace emulsion
