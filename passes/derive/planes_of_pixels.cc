#include "passes/derive/planes_of_pixels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// Each is written to memory of its own.
constexpr int64_t kMostPlanes = 15;

// Compiling takes longer the more of them there are, and the longer the body is.
constexpr int64_t kMostChosen = 8, kMostOfChosen = 2000;

// So many of a plane, one after another, lie in few lines that are not whole.
constexpr int64_t kSeveralVectors = 4;

// Whether each of a few planes is computed otherwise, and several read the same along their rows.
bool mixes_planes(const Op& op, const Axis& plane, int64_t planes, const Axis& along) {
  if (planes > kMostChosen || !chooses_by(op.body, plane.name())) return false;
  if (size_of(op.body).nodes > kMostOfChosen) return false;
  std::set<std::string> before;
  for (int64_t i = 0; i < planes; ++i) {
    std::set<std::string> reads;
    for (const Expr& read : reads_in(chosen_at(op.body, plane.name(), i))) {
      const Expr there = substitute_axes(read, [&](const std::string& axis) {
        return axis == plane.name() ? int_constant(i) : Expr();
      });
      if (mentions(there, along.name())) reads.insert(to_string(simplify_index(there)));
    }
    for (const std::string& read : reads) {
      if (!before.insert(read).second) return true;
    }
  }
  return false;
}

// Whether two planes are better computed one after the other. Side by side, only a few vectors of
// each row could be stored one after another, and many would take two accesses (vectors_of_plane).
// The second plane finds what it reads again in the cache.
bool are_better_apart(const Op& op, size_t at, const Target& target) {
  constexpr int64_t kPartOfCache = 4;
  if (at + 2 >= op.axes.size() || op.axes[at].extent() != Extent(2)) return false;
  const std::optional<int64_t> points = elements_from(op, at + 1);
  if (!points) return false;
  int64_t bytes = size_in_bytes(op.dtype);
  for (const Expr& read : reads_in(op.body)) bytes += size_in_bytes(read.dtype());
  if (saturated_product(*points, 2 * bytes) > target.l2_bytes / kPartOfCache) return false;
  const Op plane = one_plane(op, at);
  const PlaneRow row{op.axes.back(), value_lanes(op, target), true, true};
  return vectors_of_row(plane, op.axes[at], row) < kSeveralVectors;
}

bool reads_pixels(const Op& op, const Axis& plane, const Axis& along) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::any_of(reads.begin(), reads.end(),
                     [&](const Expr& read) { return steps_within(read, plane, along); });
}

// The tensor of a read where the extent of its axes that are as long is a number.
OpPtr with_extent(const Op& tensor, const Extent& extent, int64_t number) {
  auto known = std::make_shared<Op>();
  known->kind = OpKind::input;
  known->name = tensor.name;
  known->dtype = tensor.dtype;
  known->shape = tensor.shape;
  std::replace(known->shape.begin(), known->shape.end(), extent, Extent(number));
  return known;
}

std::optional<size_t> find_planes(const Op& op, const Target& target, bool of_pixels_alone) {
  if (op.axes.size() < 2 || match_pixels(op, value_lanes(op, target))) return std::nullopt;
  const Axis& along = op.axes.back();
  const int64_t lanes = value_lanes(op, target);
  if (along.extent().as_constant().value_or(lanes) < lanes) return std::nullopt;
  for (size_t at = 0; at + 1 < op.axes.size(); ++at) {
    const Axis& plane = op.axes[at];
    const int64_t planes = plane.extent().as_constant().value_or(0);
    if (planes < 2 || planes > kMostPlanes) continue;
    const bool of_pixels = reads_pixels(op, plane, along) && !are_better_apart(op, at, target);
    const bool matches = of_pixels || (!of_pixels_alone && mixes_planes(op, plane, planes, along));
    if (matches && !crosses(one_plane(op, at), target)) return at;
  }
  return std::nullopt;
}

}  // namespace

std::optional<size_t> match_planes(const Op& op, const Target& target) {
  return find_planes(op, target, false);
}

Op one_plane(const Op& op, size_t planes) {
  Op one = op;
  const auto position = static_cast<std::ptrdiff_t>(planes);
  one.reduction_axes.push_back(op.axes[planes]);
  one.axes.erase(one.axes.begin() + position);
  std::rotate(one.shape.begin() + position, one.shape.begin() + position + 1, one.shape.end());
  return one;
}

Op with_planes(const Op& op, size_t planes, int64_t count) {
  const Axis& axis = op.axes[planes];
  Op known = op;
  known.axes[planes] = Axis(axis.name(), count);
  known.shape[planes] = count;
  known.body = transform(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return Expr();
    return read_op(with_extent(*e->tensor, axis.extent(), count), e->args);
  });
  return known;
}

std::optional<size_t> planes_of_run_time_number(const Op& op, const Target& target) {
  constexpr int64_t kSome = 3;
  for (size_t at = 0; at + 1 < op.axes.size(); ++at) {
    const Extent& planes = op.axes[at].extent();
    if (!is_what_is_left_of_a_size(planes)) continue;
    const bool is_other = std::any_of(op.axes.begin(), op.axes.end(), [&](const Axis& axis) {
      return axis.name() != op.axes[at].name() && share_a_size(axis.extent(), planes);
    });
    if (!is_other && find_planes(with_planes(op, at, kSome), target, true) == at) return at;
  }
  return std::nullopt;
}

void bring_planes_inside(const Op& plane, const Axis& planes, StageSchedule* stage) {
  std::vector<Axis> order(plane.axes.rbegin(), plane.axes.rend());
  order.insert(order.begin(), planes);
  stage->reorder(order);
}

int64_t vectors_of_plane(const Op& plane, const Axis& planes) {
  constexpr int64_t kMost = 8, kMostOfAll = 24;
  constexpr int64_t kMostOperations = 64;  // of more the registers hold one vector of each plane
  if (size_of(plane.body).nodes > kMostOperations) return 1;
  int64_t vectors = kMost;
  while (vectors * planes.extent().as_constant().value_or(kMostOfAll) > kMostOfAll) vectors /= 2;
  return std::max<int64_t>(vectors, 1);
}

int64_t vectors_of_row(const Op& plane, const Axis& planes, const PlaneRow& row) {
  constexpr int64_t kFew = 16;  // one in so many is computed twice
  const std::optional<int64_t> length = row.along.extent().as_constant();
  const int64_t most = vectors_of_plane(plane, planes);
  if (!length) return row.fills_block ? most : 1;
  const int64_t none = *length + 1;  // where less may be computed than the axis has
  const int64_t count = count_in_block(*length, row.lanes, most, row.is_whole ? kFew : none);
  if (count >= kSeveralVectors) return count;
  // Any number that divides the row, such as 7 of 7 or 14 vectors.
  int64_t more = most;
  while (more > count && *length % (more * row.lanes) != 0) --more;
  return more;
}

bool vectorize_planes(const Op& plane, const Axis& planes, const PlaneRow& row, const Axis& lane,
                      StageSchedule* stage) {
  const int64_t vectors = vectors_of_row(plane, planes, row);
  if (vectors == 1) return false;
  const int64_t block = vectors * row.lanes;
  const bool ends = row.along.extent().exact_quotient(block).has_value();
  stage->split(row.along, row.along, lane, block, ends ? Tail::automatic : Tail::shift_inwards)
      .reorder({lane, planes})
      .vectorize(lane, row.lanes)
      .unroll(lane)
      .unroll(planes);
  return true;
}

}  // namespace emulsion
