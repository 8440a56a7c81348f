#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "passes/derive/derive_stage.h"
#include "passes/index/index_arithmetic.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// The types of the values that an expression computes with. Not of what only says where to read,
// nor of what is one value for all points: that needs no vector.
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
    for (const Expr& arg : e->args) {
      varies = visit_once(arg, is_value && e->op != ExprOp::read) || varies;
    }
    varies_[{&e.node(), is_value}] = varies;
    if (varies && is_value) types.insert(e.dtype());
    return varies;
  }

  std::map<std::pair<const ExprNode*, bool>, bool> varies_;
};

constexpr int64_t kBlockedRows = 16;  // a cache line of f32

// for r: for between: for i  ->  for r: for between: for i: for row: vectorized lane
void block_rows(const Op& op, size_t across, size_t last, int64_t lanes, StageSchedule* stage) {
  const Axis& rows = op.axes[across];
  const Axis& along = op.axes[last];
  const Axis row(fresh_axis(op, "row")), lane(fresh_axis(op, "lane"));
  auto exact_or = [](const Axis& axis, int64_t block, Tail tail) {
    return axis.extent().exact_quotient(block) ? Tail::automatic : tail;
  };
  const Tail of_lanes = along.extent().is_constant() ? Tail::shift_inwards : Tail::predicate;
  cache_block(*stage, {{rows, kBlockedRows, exact_or(rows, kBlockedRows, Tail::guard), rows, row},
                       {along, lanes, exact_or(along, lanes, of_lanes), along, lane}});
  stage->vectorize(lane);
  if (of_lanes == Tail::predicate && !along.extent().exact_quotient(lanes)) stage->partition(along);
  std::vector<Axis> between(op.axes.begin() + static_cast<std::ptrdiff_t>(across) + 1,
                            op.axes.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  std::reverse(between.begin(), between.end());
  if (between.size() > 1) stage->reorder(between);
}

// How many comparisons with that axis alone decide what is computed: the borders of what is
// concatenated or padded, masks.
std::map<std::string, int64_t> borders_by_axis(const Op& op) {
  std::map<std::string, int64_t> borders;
  const auto add = [&](const Expr& condition) {
    visit(condition, [&](const Expr& e) {
      const bool compares =
          e->op == ExprOp::lt || e->op == ExprOp::le || e->op == ExprOp::gt || e->op == ExprOp::ge;
      if (!compares) return;
      std::set<std::string> axes;
      bool is_index = true;
      visit(e, [&](const Expr& part) {
        if (part->op == ExprOp::axis) axes.insert(part->name);
        is_index = is_index && part->op != ExprOp::read;
      });
      if (is_index && axes.size() == 1) ++borders[*axes.begin()];
    });
  };
  visit(op.body, [&](const Expr& e) {
    if (e->op == ExprOp::select) add(e->args[0]);
  });
  return borders;
}

// Whether vectors along the axis leave no loop behind.
bool is_one_vector(const Op& op, const Axis& axis, const Target& target) {
  const std::optional<int64_t> extent = axis.extent().as_constant();
  return extent && *extent <= value_lanes(op, target);
}

// Threads are woken for each piece of a loop that they share.
constexpr int64_t kMostBordersOfShared = 4;

}  // namespace

bool is_along(const Expr& read, const Axis& axis) {
  if (read->args.empty()) return false;
  const Expr& last = read->args.back();
  return last->op == ExprOp::axis && last->name == axis.name();
}

int64_t value_lanes(const Op& op, const Target& target) {
  ValueTypes values;
  values.collect(op.body);
  std::set<DType> types = std::move(values.types);
  types.insert(op.dtype);
  if (types.size() > 1) types.erase(DType::boolean);
  int64_t lanes = target.vector_lanes(*types.begin());
  for (DType type : types) lanes = std::min<int64_t>(lanes, target.vector_lanes(type));
  return lanes;
}

std::optional<Pixels> match_pixels(const Op& op, int64_t lanes) {
  constexpr int64_t kShortestVector = 4;
  int64_t values = 1;  // of a pixel
  std::optional<Axis> colour;
  size_t at = op.axes.size();
  for (; at > 0; --at) {
    const Axis& axis = op.axes[at - 1];
    const std::optional<int64_t> extent = axis.extent().as_constant();
    if (!extent || *extent == 0 || values * *extent >= kShortestVector) break;
    values *= *extent;
    if (!colour || *extent > 1) colour = axis;
  }
  if (at == 0 || !colour || values >= lanes) return std::nullopt;
  const Axis& x = op.axes[at - 1];
  if (x.extent().as_constant().value_or(lanes) < lanes) return std::nullopt;
  return Pixels{x, *colour, at - 1};
}

size_t vector_axis(const Op& op, const Target& target) {
  const std::optional<Pixels> pixels = match_pixels(op, value_lanes(op, target));
  return pixels ? pixels->rows : op.axes.size() - 1;
}

namespace {

// How many lines, one for each step of an index, the first cache holds at a time: all that it has,
// or, where the steps are a multiple of the lines, no more than its ways in each set that they
// meet.
int64_t lines_in_cache(const Expr& read, size_t index, const Target& target) {
  constexpr int64_t kLine = 64, kWay = 4096;
  int64_t step = size_in_bytes(read->tensor->dtype);
  for (size_t i = index + 1; i < read->args.size(); ++i) {
    const std::optional<int64_t> extent = read->tensor->shape[i].as_constant();
    if (!extent) return target.l1_bytes / kLine;
    step = saturated_product(step, *extent);
  }
  if (step % kLine != 0) return target.l1_bytes / kLine;
  return target.l1_bytes / std::gcd(step, kWay);
}

}  // namespace

std::optional<size_t> crosses(const Op& op, const Target& target) {
  const size_t last = vector_axis(op, target);
  if (last + 1 != op.axes.size()) return std::nullopt;
  const Axis& along = op.axes[last];
  constexpr int64_t kMany = int64_t{1} << 30;
  const int64_t extent = along.extent().as_constant().value_or(kMany);
  if (extent <= value_lanes(op, target)) return std::nullopt;
  std::optional<size_t> across;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || is_along(e, along)) return;
    const auto moves = [&](const Expr& index) { return mentions(index, along.name()); };
    const auto moved = std::find_if(e->args.begin(), e->args.end(), moves);
    if (moved == e->args.end()) return;  // one value for a row
    if (extent <= lines_in_cache(e, static_cast<size_t>(moved - e->args.begin()), target)) return;
    for (size_t i = 0; i < last; ++i) {
      if (is_along(e, op.axes[i])) across = i;
    }
  });
  if (across && op.axes[*across].extent().as_constant().value_or(kBlockedRows) < kBlockedRows) {
    return std::nullopt;
  }
  return across;
}

bool has_borders(const Op& op) { return !borders_by_axis(op).empty(); }

void vectorize_points(const Op& op, const Axis& along, const Target& target, StageSchedule* stage,
                      bool whole_rows) {
  const int64_t lanes = value_lanes(op, target);
  if (const std::optional<Pixels> pixels = match_pixels(op, lanes)) {
    vectorize_pixels(*stage, along, pixels->colour, Axis(fresh_axis(op, "lane")), lanes,
                     whole_rows);
  } else {
    vectorize_last(*stage, along, lanes, whole_rows);
  }
}

bool wakes_threads(const Op& op, const Target& target) {
  const std::optional<int64_t> points = element_count(op.shape);
  return target.cores > 1 && (!points || *points >= kPointsForThreads);
}

void derive_pointwise(const Op& op, const Target& target, Schedule* schedule) {
  if (op.axes.empty()) return;
  StageSchedule& stage = (*schedule)[op.name];
  const bool threads = wakes_threads(op, target);
  const size_t rows = vector_axis(op, target);
  const std::map<std::string, int64_t> borders = borders_by_axis(op);
  const auto borders_of = [&](const Axis& axis) {
    const auto found = borders.find(axis.name());
    return found == borders.end() ? 0 : found->second;
  };
  Axis along = op.axes[rows];
  std::vector<Axis> cut;  // the loops that say on which side of a border they are
  if (borders_of(along) > 0 && !is_one_vector(op, along, target)) cut.push_back(along);
  std::optional<Axis> shared;
  if (threads && rows == 0) {  // one long row: a block of it for each task
    constexpr int64_t kBlock = 8192;
    shared = Axis(fresh_axis(op, "block"));
    const Axis within(fresh_axis(op, "within"), kBlock);
    stage.split(along, *shared, within, kBlock, Tail::guard);
    along = within;
    if (!cut.empty()) cut = {*shared};
  }
  const auto across = crosses(op, target);
  if (across) {
    block_rows(op, *across, rows, value_lanes(op, target), &stage);
    cut.clear();
  } else {
    vectorize_points(op, along, target, &stage);
  }
  size_t count = 0;  // of the leading loops that the threads share
  if (threads && rows > 0) {
    std::vector<Axis> loops;
    while (loops.size() < rows && borders_of(op.axes[loops.size()]) <= kMostBordersOfShared) {
      loops.push_back(op.axes[loops.size()]);
    }
    count = count_shared(loops, target);
    if (count > 0) {
      const bool is_cut = across || borders_of(loops[count - 1]) > 0;
      const auto points = is_cut ? std::nullopt : element_count(op.shape);
      shared = share_loops(op, loops, count, points, target, &stage).tasks;
    }
  }
  for (size_t i = count > 1 ? count : 0; i < rows && !across; ++i) {
    if (borders_of(op.axes[i]) > 0) cut.push_back(op.axes[i]);
  }
  for (const Axis& loop : cut) stage.partition(loop);
  if (shared) parallel_from(stage, *shared, op.shape, kPointsForThreads);
}

}  // namespace emulsion
