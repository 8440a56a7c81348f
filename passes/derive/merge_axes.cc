#include "passes/derive/merge_axes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "dsl/affine.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/planes_of_pixels.h"
#include "passes/derive/repeated_reads.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"
#include "passes/index/simplify_quotients.h"

namespace emulsion {
namespace {

using Axes = std::vector<Axis>;

bool mentions_any(const Expr& e, const Axes& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return mentions(e, axis.name()); });
}

// How far an index is behind an axis: the 2 of i + 2; nothing where it is anything else.
std::optional<Extent> distance_from(const Expr& index, const Axis& axis) {
  const std::optional<Affine> place = affine_of(index);
  const std::map<std::string, int64_t> alone = {{axis.name(), 1}};
  return place && place->coefficients == alone ? std::optional(place->offset) : std::nullopt;
}

// The first of the indices of a read that are these axes, or so many steps behind the outermost of
// them, where nothing lies between their elements but what the indices behind them say.
std::optional<size_t> place_in(const Expr& read, const Axes& axes) {
  const size_t rank = read->args.size();
  size_t first = 0;
  while (first < rank && !mentions_any(read->args[first], axes)) ++first;
  if (first + axes.size() > rank) return std::nullopt;
  for (size_t i = first; i < rank; ++i) {
    const size_t at = i - first;
    if (at >= axes.size()) {
      if (mentions_any(read->args[i], axes)) return std::nullopt;
      continue;
    }
    const std::optional<Extent> distance = distance_from(read->args[i], axes[at]);
    if (!distance || (at > 0 && *distance != Extent(0))) return std::nullopt;
    if (at > 0 && read->tensor->shape[i] != axes[at].extent()) return std::nullopt;
  }
  return first;
}

// Whether they are the last indices.
bool walks(const Expr& read, const Axes& axes) {
  const std::optional<size_t> first = place_in(read, axes);
  return first && *first + axes.size() == read->args.size();
}

// Whether every read has the axes so, or nothing to do with them, and nothing else has.
template <typename HasAxes>
bool all_have(const Expr& body, const Axes& axes, const HasAxes& has_axes) {
  if (body->op == ExprOp::axis) return !mentions_any(body, axes);
  if (body->op == ExprOp::read) return !mentions_any(body, axes) || has_axes(body, axes);
  return std::all_of(body->args.begin(), body->args.end(),
                     [&](const Expr& arg) { return all_have(arg, axes, has_axes); });
}

bool all_walk(const Expr& body, const Axes& axes) { return all_have(body, axes, walks); }

Axes last_of(const Axes& axes, size_t count) {
  return {axes.end() - static_cast<std::ptrdiff_t>(count), axes.end()};
}

// Whether the last `count` axes of the result of a group can be merged in it and in all that is
// computed inline for it. A member is read as any tensor is; where its last axes are as long, they
// may be the merged ones.
bool all_walk_in(const Op& group, size_t count) {
  const Axes merged = last_of(result_of(group).axes, count);
  const auto is_fine = [&](const Op& op) {
    if (op.axes.size() < count) return true;
    const Axes own = last_of(op.axes, count);
    for (size_t i = 1; i < count; ++i) {
      if (own[i].extent() != merged[i].extent()) return true;  // nobody walks it
    }
    return all_walk(op.body, own);
  };
  if (group.kind == OpKind::compute) return is_fine(group);
  return std::all_of(group.members.begin(), group.members.end(),
                     [&](const OpPtr& member) { return is_fine(*member); });
}

// Whether all elements of a read, for all steps of the axes, lie in so many; no value but those of
// reads is made of the axes.
bool all_near(const Expr& body, const Axes& axes, int64_t elements) {
  if (body->op == ExprOp::axis) return !mentions_any(body, axes);
  if (body->op != ExprOp::read) {
    return std::all_of(body->args.begin(), body->args.end(),
                       [&](const Expr& arg) { return all_near(arg, axes, elements); });
  }
  int64_t span = 1;
  for (const Axis& axis : axes) {
    if (!mentions(body, axis.name())) continue;
    const std::optional<int64_t> step = elements_of_step(body, axis);
    if (!step) return false;
    span += std::abs(*step) * (axis.extent().constant_term() - 1);
  }
  return span <= elements;
}

Extent product_of(const Axes& axes) {
  Extent product = 1;
  for (const Axis& axis : axes) product = product * axis.extent();
  return product;
}

// A tensor with one axis in the place of `count` of its axes.
OpPtr merged_tensor(const Op& op, size_t first, size_t count) {
  auto tensor = std::make_shared<Op>();
  tensor->kind = OpKind::input;
  tensor->name = op.name;
  tensor->dtype = op.dtype;
  Extent extent = 1;
  for (size_t i = first; i < first + count; ++i) extent = extent * op.shape[i];
  for (size_t i = 0; i < op.shape.size(); ++i) {
    if (i < first || i >= first + count) tensor->shape.push_back(op.shape[i]);
    if (i == first) tensor->shape.push_back(extent);
  }
  return tensor;
}

// The axes as quotients and remainders of the merged one.
Expr over_merged(const Expr& read, const Axes& axes, const Axis& merged) {
  return substitute_axes(read, [&](const std::string& name) {
    Expr place = axis_value(merged.name());
    for (size_t i = axes.size(); i-- > 0;) {
      const Expr extent = int_constant(axes[i].extent().constant_term());
      if (axes[i].name() == name) return i > 0 ? place % extent : place;
      place = place / extent;
    }
    return Expr();
  });
}

// `may_have_more`: a read may have other indices behind those that are the axes.
Expr merged_body(const Expr& body, const Axes& axes, const Axis& merged, bool may_have_more) {
  return transform(body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions_any(e, axes)) return Expr();
    const std::optional<size_t> first = place_in(e, axes);
    if (!first || (!may_have_more && !walks(e, axes))) return over_merged(e, axes, merged);
    Extent behind = distance_from(e->args[*first], axes.front()).value();
    for (size_t i = 1; i < axes.size(); ++i) behind = behind * e->tensor->shape[*first + i];
    const Expr place = axis_value(merged.name());
    std::vector<Expr> indices;
    for (size_t i = 0; i < e->args.size(); ++i) {
      if (i < *first || i >= *first + axes.size()) indices.push_back(e->args[i]);
      if (i == *first) {
        indices.push_back(behind == Extent(0) ? place : place + extent_value(behind));
      }
    }
    return read_op(merged_tensor(*e->tensor, *first, axes.size()), std::move(indices));
  });
}

// Whether vectors along an axis leave much of the last one empty.
bool is_short(const Extent& extent, int64_t lanes) {
  constexpr int64_t kManyVectors = 16;
  const std::optional<int64_t> number = extent.as_constant();
  return number && *number < kManyVectors * lanes;
}

bool may_be_inner(const Axis& axis) {
  return axis.extent().is_constant() && axis.extent() != Extent(0);
}

// `list`: of the operation, whose last `count` axes become one. `may_have_more`: as above.
MergedAxes merge(const Op& op, Axes Op::*list, size_t count, bool may_have_more = false) {
  MergedAxes result{op, last_of(op.*list, count), {}};
  for (size_t i = 1; i < count; ++i) {
    result.fused.emplace_back(fresh_axis(op, i + 1 < count ? "flat" + std::to_string(i) : "flat"));
  }
  const Axis merged(result.fused.back().name(), product_of(result.merged));
  Axes& axes = result.view.*list;
  axes.erase(axes.end() - static_cast<std::ptrdiff_t>(count), axes.end());
  axes.push_back(merged);
  result.view.body = merged_body(op.body, result.merged, merged, may_have_more);
  return result;
}

// Of the result, whose last `count` axes become one.
MergedAxes merge_result(const Op& op, size_t count, bool may_have_more = false) {
  MergedAxes result = merge(op, &Op::axes, count, may_have_more);
  result.view.shape.clear();
  for (const Axis& axis : result.view.axes) result.view.shape.push_back(axis.extent());
  return result;
}

}  // namespace

void MergedAxes::fuse(StageSchedule* stage) const {
  Axis inner = merged.back();
  for (size_t i = 0; i < fused.size(); ++i) {
    stage->fuse(merged[merged.size() - 2 - i], inner, fused[i]);
    inner = fused[i];
  }
}

namespace {

// At most `most` of the last axes of a result, not before `first`.
std::optional<MergedAxes> merge_some_axes(const Op& group, size_t first, size_t most,
                                          const Target& target) {
  const Op& op = result_of(group);
  if (op.axes.empty() || !is_short(op.axes.back().extent(), value_lanes(op, target))) {
    return std::nullopt;
  }
  // The last vector of a run-time number needs masks.
  const auto may_be_outer = [&](const Axis& axis) {
    return axis.extent().is_constant() || !lacks_masks(op, target);
  };
  size_t count = 1;
  while (count < most && first + count < op.axes.size() &&
         may_be_inner(op.axes[op.axes.size() - count]) &&
         may_be_outer(op.axes[op.axes.size() - count - 1]) && all_walk_in(group, count + 1)) {
    ++count;
  }
  return count < 2 ? std::nullopt : std::optional(merge_result(op, count));
}

}  // namespace

std::optional<MergedAxes> merge_last_axes(const Op& group, size_t first, const Target& target) {
  const Op& op = result_of(group);
  if (op.combiner != Combiner::none) return std::nullopt;
  return merge_some_axes(group, first, op.axes.size(), target);
}

std::optional<MergedAxes> merge_few_elements(const Op& op, const Target& target) {
  constexpr int64_t kMostVectors = 2;
  const int64_t lanes = value_lanes(op, target);
  if (op.kind != OpKind::compute || op.axes.size() < 2) return std::nullopt;
  if (vector_axis(op, target) + 1 != op.axes.size()) return std::nullopt;  // pixels
  size_t count = 0;
  int64_t elements = 1;
  while (count < op.axes.size()) {
    const auto extent = op.axes[op.axes.size() - count - 1].extent().as_constant();
    if (!extent || *extent == 0 || elements * *extent > kMostVectors * lanes) break;
    elements *= *extent;
    ++count;
  }
  const int64_t last = op.axes.back().extent().as_constant().value_or(elements);
  if (count < 2 || 2 * last > elements || 2 * last > lanes) return std::nullopt;
  const Axes merged = last_of(op.axes, count);
  if (!all_near(op.body, merged, kMostVectors * lanes)) return std::nullopt;
  return merge_result(op, count);
}

namespace {

// Whether no index but a plain one is made of the axes, and which of them there is one of.
enum class ReadsOfRows : uint8_t { none, all, last, before_last, others };
ReadsOfRows reads_of_rows(const Expr& read, const Axes& axes) {
  if (!mentions_any(read, axes)) return ReadsOfRows::none;
  if (walks(read, axes)) return ReadsOfRows::all;
  std::optional<std::string> found;
  for (const Expr& index : read->args) {
    if (!mentions_any(index, axes)) continue;
    if (index->op != ExprOp::axis || found) return ReadsOfRows::others;
    found = index->name;
  }
  if (*found == axes.back().name()) return ReadsOfRows::last;
  return axes.size() == 2 ? ReadsOfRows::before_last : ReadsOfRows::others;
}

bool all_are_of_rows(const Expr& body, const Axes& axes, bool* any_walks) {
  if (body->op == ExprOp::axis) return !mentions_any(body, axes);
  if (body->op == ExprOp::read) {
    const ReadsOfRows reads = reads_of_rows(body, axes);
    *any_walks = *any_walks || reads == ReadsOfRows::all;
    return reads != ReadsOfRows::others;
  }
  return std::all_of(body->args.begin(), body->args.end(),
                     [&](const Expr& arg) { return all_are_of_rows(arg, axes, any_walks); });
}

}  // namespace

std::optional<MergedAxes> merge_short_rows(const Op& op, const Target& target) {
  constexpr int64_t kLeastLanes = 4, kLeast = 5, kMost = 14;  // fewer are pixels
  const int64_t lanes = value_lanes(op, target);
  if (op.kind != OpKind::compute || op.axes.size() < 2 || lanes < kLeastLanes) return std::nullopt;
  if (vector_axis(op, target) + 1 != op.axes.size()) return std::nullopt;  // pixels
  const int64_t columns = op.axes.back().extent().as_constant().value_or(0);
  if (columns < kLeast || columns > kMost) return std::nullopt;
  size_t count = 1;
  while (count < op.axes.size() && may_be_inner(op.axes[op.axes.size() - count])) {
    bool any_walks = false;
    if (!all_are_of_rows(op.body, last_of(op.axes, count + 1), &any_walks) || !any_walks) break;
    ++count;
  }
  if (count < 2) return std::nullopt;
  MergedAxes result = merge_result(op, count);
  return block_of_repeats(result.view, target) > 0 ? std::optional(std::move(result))
                                                   : std::nullopt;
}

std::optional<Expr> merges_few_rows(const MergedAxes& merged, const Target& target) {
  // What is left behind the last block is computed element by element.
  constexpr int64_t kLeastBlocks = 2;
  const std::vector<Axis>& axes = merged.view.axes;
  if (axes.size() < 2 || axes.back().extent().is_constant()) return std::nullopt;
  const int64_t least = kLeastBlocks * block_of_repeats(merged.view, target);
  return extent_value(axes.back().extent()) < int_constant(least);
}

namespace {

// How many elements behind the first one of its row a read is, where the axis is at that step;
// nothing where that is no number, or is in no row of a known length. Clamps are left out, and all
// other axes are at their first step.
std::optional<int64_t> element_at(const Expr& read, const std::string& axis, int64_t step) {
  int64_t element = 0;
  std::optional<int64_t> row = 1;  // the elements of a step of the index
  for (size_t d = read->args.size(); d-- > 0;) {
    if (mentions(read->args[d], axis)) {
      const Expr at = substitute_axes(without_clamps(read->args[d]), [&](const std::string& name) {
        return int_constant(name == axis ? step : 0);
      });
      const std::optional<int64_t> index = constant_value(simplify_index(at));
      if (!index || !row) return std::nullopt;
      element += saturated_product(*index, *row);
    }
    const std::optional<int64_t> extent = read->tensor->shape[d].as_constant();
    row = row && extent ? std::optional(saturated_product(*row, *extent)) : std::nullopt;
  }
  return element;
}

// Whether each vector of blocks along the last axis reads so near that it is loaded and shuffled
// (backends/halide/shuffled_loads.h).
bool reads_blocks_near(const Op& op, int64_t block, int64_t lanes) {
  constexpr int64_t kBlocks = 2, kLongest = 64;  // bytes
  const std::string& axis = op.axes.back().name();
  const std::vector<Expr> reads = reads_in(op.body);
  return std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
    if (!mentions(read, axis)) return true;
    for (int64_t first = block; first < kBlocks * block; first += lanes) {
      std::optional<int64_t> least, most;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const std::optional<int64_t> element = element_at(read, axis, first + lane);
        if (!element) return false;
        least = std::min(least.value_or(*element), *element);
        most = std::max(most.value_or(*element), *element);
      }
      const int64_t bytes = size_in_bytes(read->dtype);
      const int64_t registers = lanes * bytes >= kLongest ? 3 : 2;
      if ((*most - *least + 1) * bytes > registers * kLongest) return false;
    }
    return true;
  });
}

// Whether some read is at quotients or remainders of the axis by numbers.
bool repeats_along(const Op& op, const Axis& axis) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::any_of(reads.begin(), reads.end(), [&](const Expr& read) {
    return any_part(read, [&](const Expr& e) {
      return (e->op == ExprOp::div || e->op == ExprOp::mod) && mentions(e, axis.name());
    });
  });
}

bool walks_backwards(const Op& op, const Axis& axis) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::any_of(reads.begin(), reads.end(), [&](const Expr& read) {
    return mentions(read, axis.name()) && elements_of_step(read, axis).value_or(0) < 0;
  });
}

// Whether some rows, or their values, are read backwards, and vectors through several rows are then
// faster than a vector for each. They are not where a row fills the shortest register, nor where
// three values are in another order.
bool turns_short_rows(const Op& op, int64_t values) {
  constexpr int64_t kMost = 14, kShortestVector = 16;  // bytes
  if (values > kMost) return false;
  if (values > 2 && values * size_in_bytes(op.dtype) == kShortestVector) return false;
  if (walks_backwards(op, op.axes.back())) return values != 3;
  return walks_backwards(op, op.axes[op.axes.size() - 2]);
}

}  // namespace

std::optional<MergedAxes> merge_repeated_pixels(const Op& op, const Target& target) {
  constexpr int64_t kMost = 4;  // values of a pixel
  if (op.kind != OpKind::compute || op.axes.size() < 2) return std::nullopt;
  const int64_t values = op.axes.back().extent().as_constant().value_or(0);
  if (values < 2) return std::nullopt;
  const bool repeats = values <= kMost && repeats_along(op, op.axes[op.axes.size() - 2]);
  if (!repeats && !turns_short_rows(op, values)) return std::nullopt;
  if (chooses_by(op.body, op.axes.back().name())) return std::nullopt;
  MergedAxes result = merge_result(op, 2);
  Op& view = result.view;
  view.body = simplify_quotients(over_merged(op.body, result.merged, view.axes.back()), {});
  const int64_t block = block_of_repeats(view, target);
  if (block == 0 || !reads_blocks_near(view, block, value_lanes(view, target))) return std::nullopt;
  return result;
}

std::optional<MergedAxes> merge_rows_of_planes(const Op& op, const Target& target) {
  if (op.kind != OpKind::compute || op.combiner != Combiner::none) return std::nullopt;
  size_t count = 1;
  while (count < op.axes.size() && may_be_inner(op.axes[op.axes.size() - count]) &&
         all_have(op.body, last_of(op.axes, count + 1), place_in)) {
    ++count;
  }
  for (; count > 1; --count) {
    MergedAxes result = merge_result(op, count, true);
    if (match_planes(result.view, target)) return result;
  }
  return std::nullopt;
}

std::optional<MergedAxes> merge_result_axes(const Op& op, size_t first, const Target& target) {
  return merge_some_axes(op, first, 2, target);
}

std::optional<MergedAxes> merge_reduction_axes(const Op& op, const Target& target) {
  const Axes& all = op.reduction_axes;
  if (all.empty() || !is_short(all.back().extent(), value_lanes(op, target))) return std::nullopt;
  size_t count = 1;
  while (count < all.size() && may_be_inner(all[all.size() - count]) &&
         all_walk(op.body, last_of(all, count + 1))) {
    ++count;
  }
  if (count < 2) return std::nullopt;
  return merge(op, &Op::reduction_axes, count);
}

}  // namespace emulsion
