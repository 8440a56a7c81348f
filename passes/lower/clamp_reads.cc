// Clamps: where a region is larger than the domain, the values beyond it do not matter, but the
// reads that they are computed from must be legal.

#include <algorithm>

#include "dsl/affine.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_region.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// A sum of loop variables with positive coefficients and no negative constant is never below 0.
bool is_sum_of_loops(const Expr& e) {
  auto affine = affine_of(e);
  if (!affine || !never_negative(affine->offset)) return false;
  return std::all_of(affine->coefficients.begin(), affine->coefficients.end(),
                     [](const auto& term) { return term.second > 0; });
}

// Whether all indices of an axis that are computed are in its domain.
bool is_in_domain(const Axis& axis, const AxisRegion& region) {
  if (!region.lowest || !region.highest || !(*region.lowest == Extent(0))) return false;
  const Extent spare = axis.extent() - Extent(1) - *region.highest;
  return spare.is_constant() && spare.constant_term() >= 0;
}

// An axis inside its domain.
Expr clamped(const Axis& axis, const AxisRegion& region) {
  Expr result = min(axis_value(axis.name()), extent_value(axis.extent() - Extent(1)));
  // The low side too, unless every index is known to be 0 or greater.
  const bool from_zero = region.lowest && never_negative(*region.lowest);
  return from_zero || is_sum_of_loops(region.needed_min) ? result : max(result, int_constant(0));
}

// Whether an index is inside a dimension of that extent, whatever of the region is computed.
bool stays_inside(const StageRegion& reader, const Expr& index, const Extent& extent) {
  AxisExtents axes;
  for (size_t i = 0; i < reader.axes.size(); ++i) {
    const std::string& name = reader.stage.axes[i].name();
    const AxisRegion& axis = reader.axes[i];
    if (!axis.lowest || !axis.highest || !(*axis.lowest == Extent(0))) {
      if (mentions(index, name)) return false;
      continue;
    }
    axes.emplace(name, *axis.highest + Extent(1));
  }
  for (const Axis& axis : reader.stage.reduction_axes) axes.emplace(axis.name(), axis.extent());
  return proves_in_bounds(index, extent, axes);
}

// How long each dimension of a buffer is; nothing for those of which all that is read is computed.
std::vector<std::optional<Extent>> limits_of(const NestPlan& nest,
                                             const std::vector<StageRegion>& regions,
                                             const std::string& name) {
  std::vector<std::optional<Extent>> limits;
  if (const std::optional<StageId> id = nest.find(name)) {
    const StageRegion& region = regions[*id];
    const bool is_whole = nest.stages[*id].ends_at_domain();
    for (size_t d = 0; d < region.axes.size(); ++d) {
      limits.push_back(is_whole || region.axes[d].is_whole
                           ? std::optional(region.stage.axes[d].extent())
                           : std::nullopt);
    }
    return limits;
  }
  const Shape& shape = nest.find_buffer(name)->shape;
  return {shape.begin(), shape.end()};
}

// Whether a buffer that the body reads may be empty: no index is inside it then, clamped or not.
bool reads_what_may_be_empty(const NestPlan& nest, const std::vector<StageRegion>& regions,
                             const Expr& body) {
  return any_part(body, [&](const Expr& read) {
    if (read->op != ExprOp::read) return false;
    const auto limits = limits_of(nest, regions, read->name);
    return std::any_of(limits.begin(), limits.end(), [](const std::optional<Extent>& limit) {
      return limit && limit->lower_bound().value_or(0) < 1;
    });
  });
}

bool has_remainder(const Expr& index) {
  return any_part(index, [](const Expr& e) { return e->op == ExprOp::mod; });
}

// A clamped index, kept between the places that infer_regions() takes it to be between: beyond the
// domain of the reader's axes its clamp may move it farther.
Expr inside_region(const StageRegion& reader, const Expr& index) {
  const std::vector<Expr> places = relax_clamps(index, domain_of(reader.stage));
  if (places.size() == 1) return places.front();
  Expr least = places.front(), most = places.front();
  for (size_t i = 1; i < places.size(); ++i) {
    least = min(least, places[i]);
    most = max(most, places[i]);
  }
  return min(max(index, simplify_index(least)), simplify_index(most));
}

// Axes replaced in an index, but not in what is read inside of it: that has indices of its own,
// which say where it is stored.
Expr with_axes_outside_reads(const Expr& index,
                             const std::function<Expr(const std::string&)>& value) {
  std::map<std::string, Expr> reads;
  const auto read_again = [&](const std::string& name) {
    const auto found = reads.find(name);
    return found == reads.end() ? Expr() : found->second;
  };
  const Expr bare = transform(index, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read) return Expr();
    const std::string name = "read " + std::to_string(reads.size());  // no axis's
    reads.emplace(name, substitute_axes(e, read_again));
    return axis_value(name);
  });
  return substitute_axes(bare, [&](const std::string& name) {
    Expr read = read_again(name);
    return read.defined() ? read : value(name);
  });
}

}  // namespace

// The axis is clamped inside the index, so that it is hoisted out of the loops it does not vary in.
Expr clamped_body(const NestPlan& nest, const std::vector<StageRegion>& regions, StageId id) {
  const StageRegion& reader = regions[id];
  std::map<std::string, Expr> leaving;  // the axes that may leave their domain, clamped
  for (size_t i = 0; i < reader.axes.size(); ++i) {
    const Axis& axis = reader.stage.axes[i];
    if (!is_in_domain(axis, reader.axes[i])) leaving[axis.name()] = clamped(axis, reader.axes[i]);
  }
  if (leaving.empty()) return reader.stage.body;
  const auto at_clamped_axes = [&](const Expr& index) {
    return with_axes_outside_reads(index, [&](const std::string& axis) {
      auto found = leaving.find(axis);
      return found == leaving.end() ? Expr() : found->second;
    });
  };
  // Beyond the domain a select takes the branch that it takes at the end of the domain.
  const Expr body = reads_what_may_be_empty(nest, regions, reader.stage.body)
                        ? with_conditions(reader.stage.body, at_clamped_axes)
                        : reader.stage.body;
  return with_indices(body, [&](const Expr& read) {
    const std::vector<std::optional<Extent>> limits = limits_of(nest, regions, read->name);
    std::vector<Expr> indices = read->args;
    std::vector<size_t> remainders;  // the dimensions of those that need no clamp
    bool is_clamped = false;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (!limits[d]) {
        const bool may_leave = std::any_of(leaving.begin(), leaving.end(), [&](const auto& axis) {
          return mentions(indices[d], axis.first);
        });
        if (may_leave) indices[d] = inside_region(reader, indices[d]);
        continue;
      }
      if (stays_inside(reader, indices[d], *limits[d])) {
        if (has_remainder(indices[d])) remainders.push_back(d);
        continue;
      }
      indices[d] = at_clamped_axes(indices[d]);
      is_clamped = true;
    }
    // A remainder and the quotient beside it are a place in a row as long as both are of one
    // number: x[min(m, 3 * R - 1) / 3, m % 3] would be gathered.
    if (is_clamped) {
      for (const size_t d : remainders) indices[d] = at_clamped_axes(indices[d]);
    }
    return indices;
  });
}

}  // namespace emulsion
