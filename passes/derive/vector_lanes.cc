#include "passes/derive/vector_lanes.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "dsl/affine.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_borders.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/narrow_values.h"

namespace emulsion {
std::optional<int64_t> elements_of_step(const Expr& read, const Axis& axis) {
  int64_t step = 0;
  std::optional<int64_t> row = 1;  // the elements of a step of the index
  for (size_t i = read->args.size(); i-- > 0;) {
    if (mentions(read->args[i], axis.name())) {
      const std::optional<Affine> index = affine_of(read->args[i]);
      if (!index || !row || *row > std::numeric_limits<int32_t>::max()) return std::nullopt;
      const auto factor = index->coefficients.find(axis.name());
      if (factor != index->coefficients.end()) step += saturated_product(factor->second, *row);
    }
    const std::optional<int64_t> extent = read->tensor->shape[i].as_constant();
    row = row && extent ? std::optional(saturated_product(*row, *extent)) : std::nullopt;
  }
  return step;
}

namespace {

// The types of the values that an expression computes with. Not of what only says where to read or
// at which places to choose what, nor of what is one value for all points: that needs no vector.
class ValueTypes {
 public:
  std::set<DType> types;

  // Whether `e` varies from point to point.
  bool collect(const Expr& e) { return visit_once(e, true); }

 private:
  bool visit_once(const Expr& e, bool is_value) {
    auto [known, is_new] = varies_.emplace(std::pair(&e.node(), is_value), e->op == ExprOp::axis);
    if (!is_new) return known->second;
    bool varies = known->second;
    const bool is_read = e->op == ExprOp::read;
    const bool chooses_by_place = e->op == ExprOp::select && !reads_data(e->args[0]);
    for (size_t i = 0; i < e->args.size(); ++i) {
      const bool is_place = is_read || (chooses_by_place && i == 0);
      varies = visit_once(e->args[i], is_value && !is_place) || varies;
    }
    varies_[{&e.node(), is_value}] = varies;
    if (varies && is_value) types.insert(e.dtype());
    return varies;
  }

  std::map<std::pair<const ExprNode*, bool>, bool> varies_;
};

// Whether it reads or writes elements of fewer than four bytes, of which few targets have masks and
// none gathers a vector.
bool has_narrow_elements(const Op& op) {
  constexpr int64_t kLeastBytes = 4;
  return size_in_bytes(op.dtype) < kLeastBytes || any_part(op.body, [](const Expr& e) {
           return e->op == ExprOp::read && size_in_bytes(e.dtype()) < kLeastBytes;
         });
}

// Whether all that it reads and writes has fewer than four bytes, and it combines nothing. Four
// such elements are shorter than a vector of any machine, so that they are a pixel, too.
bool is_narrow(const Op& op) {
  constexpr int64_t kBytes = 4;
  return op.reduction_axes.empty() && size_in_bytes(op.dtype) < kBytes &&
         !any_part(op.body, [](const Expr& e) {
           return e->op == ExprOp::read && size_in_bytes(e->dtype) >= kBytes;
         });
}

// Whether it reads every third byte along the axis. Of every second or fourth there are
// instructions.
bool reads_thirds_of_bytes(const Op& op, const Axis& axis) {
  constexpr int64_t kStep = 3;
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && size_in_bytes(e.dtype()) == 1 &&
           elements_of_step(e, axis) == kStep;
  });
}

}  // namespace

bool is_along(const Expr& read, const Axis& axis) {
  if (read->args.empty()) return false;
  const Expr& last = read->args.back();
  return last->op == ExprOp::axis && last->name == axis.name();
}

std::optional<Pixels> match_pixels(const Op& op, int64_t lanes) {
  constexpr int64_t kShortestVector = 4;
  // Of a vector along an axis by whose steps it chooses, all choices would be computed for each.
  const bool chooses = !op.axes.empty() && chooses_by(op.body, op.axes.back().name());
  const bool may_fill = is_narrow(op) || lie_side_by_side(op) || chooses;
  const int64_t most = may_fill ? kShortestVector : kShortestVector - 1;
  int64_t values = 1;  // of a pixel
  std::optional<Axis> colour;
  size_t at = op.axes.size();
  for (; at > 0; --at) {
    const Axis& axis = op.axes[at - 1];
    const std::optional<int64_t> extent = axis.extent().as_constant();
    if (!extent || *extent == 0 || values * *extent > most) break;
    values *= *extent;
    if (!colour || *extent > 1) colour = axis;
  }
  if (at == 0 || !colour || values > lanes || (values == lanes && !may_fill)) return std::nullopt;
  const Axis& x = op.axes[at - 1];
  if (x.extent().as_constant().value_or(lanes) < lanes) return std::nullopt;
  return Pixels{x, *colour, at - 1};
}

size_t vector_axis(const Op& op, const Target& target) {
  const std::optional<Pixels> pixels = match_pixels(op, value_lanes(op, target));
  return pixels ? pixels->rows : op.axes.size() - 1;
}

int64_t value_lanes(const Op& op, const Target& target) {
  ValueTypes values;
  values.collect(narrow_values(op.body));
  std::set<DType> types = std::move(values.types);
  types.insert(op.dtype);
  if (types.size() > 1) types.erase(DType::boolean);
  int64_t lanes = target.vector_lanes(*types.begin());
  for (DType type : types) lanes = std::min<int64_t>(lanes, target.vector_lanes(type));
  return lanes;
}

bool reads_apart(const Op& op) {
  const Axis& along = op.axes.back();
  return any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions(e, along.name())) return false;
    const bool elsewhere = std::any_of(e->args.begin(), e->args.end() - 1, [&](const Expr& index) {
      return mentions(index, along.name());
    });
    const std::optional<Affine> last = affine_of(e->args.back());
    return elsewhere || !last || last->coefficients.count(along.name()) == 0 ||
           last->coefficients.at(along.name()) != 1;
  });
}

int64_t lanes_apart(const Op& op, const Target& target) {
  constexpr int64_t kMost = 16;
  const int64_t lanes = value_lanes(op, target);
  return has_narrow_elements(op) ? std::min(lanes, kMost) : lanes;
}

// Of a run-time length those that are made element by element, since what they read lies far apart,
// are short: there are several loops of them to compile.
int64_t lanes_without_masks(const Op& op, const Target& target) {
  constexpr int64_t kShuffled = 16;  // bytes, by one instruction of any machine
  const Axis& along = op.axes[vector_axis(op, target)];
  const int64_t lanes = value_lanes(op, target);
  if (!along.extent().is_constant() && steps_far(op, along)) return lanes_apart(op, target);
  const bool has_pixels = match_pixels(op, lanes).has_value();
  const bool shuffles =
      !target.has("avx512_cannonlake") && !has_pixels && reads_thirds_of_bytes(op, along);
  return shuffles ? std::min(lanes, kShuffled) : lanes;
}

bool lacks_masks(const Op& op, const Target& target) {
  if (!target.has("avx") || match_pixels(op, value_lanes(op, target))) return true;
  return !target.has("avx512_skylake") && has_narrow_elements(op);
}

namespace {

// Whether masks are cheap, and so many steps, a part of a vector, would be stored in pieces. What
// reads the pieces as a whole, before these have left the processor's buffer, would wait.
bool is_masked_vector(const Op& op, const Extent& extent, const Target& target) {
  const int64_t lanes = target.vector_lanes(op.dtype), steps = extent.as_constant().value_or(lanes);
  const bool is_part = steps > 1 && steps < lanes && lanes % steps != 0;
  return is_part && target.has("avx512_skylake") && size_in_bytes(op.dtype) >= 4 &&
         value_lanes(op, target) == lanes && !reads_apart(op);
}

// Whether a row is a vector or a few and a little more, of what is cheap to compute: then that
// little takes shorter vectors, which are faster than one that overlaps the one before. A row with
// borders is cut there.
bool is_one_odd_vector(const Op& op, const Axis& row, int64_t lanes) {
  constexpr int64_t kFewest = 16, kMost = 80, kMostNodes = 40;
  const int64_t extent = row.extent().as_constant().value_or(0);
  const int64_t rest = lanes > 0 ? extent % lanes : 0;
  if (extent <= std::max(lanes, kFewest) || extent > kMost || size_of(op.body).nodes > kMostNodes) {
    return false;
  }
  const size_t pieces = std::bitset<64>(static_cast<uint64_t>(rest)).count();  // of powers of two
  const bool is_little = rest > 0 && 2 * rest <= lanes && pieces <= 2;
  if (borders_by_axis(op).count(row.name()) > 0) return false;
  return is_little && series_in(op) == 0 && !any_part(op.body, [&](const Expr& e) {
           return e->op == ExprOp::read && mentions(e, row.name()) && elements_of_step(e, row) != 1;
         });
}

}  // namespace

int64_t count_in_block(int64_t length, int64_t steps, int64_t most, int64_t few) {
  for (int64_t count = most; count > 1; count /= 2) {
    const int64_t block = count * steps;
    const int64_t again = (length + block - 1) / block * block - length;
    if (length >= block && again * few <= length) return count;
  }
  return 1;
}

void vectorize_row(const Op& op, const Axis& row, int64_t lanes, bool whole_rows,
                   const Target& target, StageSchedule* stage) {
  if (whole_rows && is_one_odd_vector(op, row, lanes)) {
    stage->vectorize(row);
    return;
  }
  if (!is_masked_vector(op, row.extent(), target)) {
    vectorize_last(*stage, row, lanes, whole_rows);
    return;
  }
  const Axis lane(fresh_axis(op, "lane"));
  stage->split(row, row, lane, lanes, Tail::predicate).vectorize(lane);
}

bool steps_far(const Op& op, const Axis& axis) {
  constexpr int64_t kNear = 8;
  return any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions(e, axis.name())) return false;
    const auto of_each = [&](const auto& holds) {
      return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& index) {
        return mentions(index, axis.name()) && holds(index);
      });
    };
    if (of_each(reads_data)) return true;
    if (of_each([](const Expr& index) { return !affine_of(index); })) return false;
    const std::optional<int64_t> elements = elements_of_step(e, axis);
    return !elements || *elements < 0 || *elements > kNear;
  });
}

bool steps_within(const Expr& read, const Axis& inner, const Axis& outer) {
  constexpr int64_t kMostElements = 16;
  const std::optional<int64_t> step = elements_of_step(read, outer),
                               within = elements_of_step(read, inner);
  return step && within && *within != 0 && std::abs(*within) < *step && *step <= kMostElements;
}

bool steps_a_little(const Op& op, const Axis& axis) {
  constexpr int64_t kMostElements = 4;
  const auto step = [&](const Expr& e) {
    return e->op == ExprOp::read ? elements_of_step(e, axis) : std::optional<int64_t>(0);
  };
  const bool steps = any_part(op.body, [&](const Expr& e) { return step(e).value_or(0) != 0; });
  return steps && !any_part(op.body, [&](const Expr& e) {
           const std::optional<int64_t> elements = step(e);
           return !elements || *elements < 0 || *elements > kMostElements;
         });
}

int64_t lines_in_cache(const Op& op, size_t at, const Target& target) {
  constexpr int64_t kLine = 64, kWay = 4096;
  const std::optional<int64_t> elements = elements_from(op, at + 1);
  if (!elements) return target.l1_bytes / kLine;
  const int64_t step = saturated_product(size_in_bytes(op.dtype), *elements);
  if (step % kLine != 0) return target.l1_bytes / kLine;
  return target.l1_bytes / std::gcd(step, kWay);
}

std::optional<size_t> crosses(const Op& op, const Target& target) {
  if (op.kind == OpKind::fused) return crosses(*written_out(op, {}), target);
  if (op.axes.empty()) return std::nullopt;
  const size_t last = vector_axis(op, target);
  if (last + 1 != op.axes.size()) return std::nullopt;
  const Axis& along = op.axes[last];
  constexpr int64_t kMany = int64_t{1} << 30;
  const int64_t extent = along.extent().as_constant().value_or(kMany);
  if (extent <= value_lanes(op, target)) return std::nullopt;
  std::map<std::string, Expr> reads;  // each once; not those of one value for a row
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || is_along(e, along) || !mentions(e, along.name())) return;
    reads.emplace(to_string(e), e);
  });
  const int64_t lines = saturated_product(extent, static_cast<int64_t>(reads.size()));
  std::optional<size_t> across;
  for (const auto& [text, e] : reads) {
    const auto moves = [&](const Expr& index) { return mentions(index, along.name()); };
    const auto moved = std::find_if(e->args.begin(), e->args.end(), moves);
    const auto at = static_cast<size_t>(moved - e->args.begin());
    if (lines <= lines_in_cache(*e->tensor, at, target)) continue;
    for (size_t i = 0; i < last; ++i) {
      if (is_along(e, op.axes[i])) across = i;
    }
  }
  if (across && op.axes[*across].extent().as_constant().value_or(kBlockedRows) < kBlockedRows) {
    return std::nullopt;
  }
  return across;
}

}  // namespace emulsion
