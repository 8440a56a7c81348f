#include "tests/backends/halide/emitted_points.h"

#include <algorithm>
#include <set>

#include "backends/halide/emit_nest.h"
#include "backends/halide/emit_places.h"

namespace emulsion {
namespace {

constexpr int64_t kSizes[] = {0, 1, 3, 16, 37};
constexpr int kPoints = 8;  // of each item for each choice of sizes

// The numbers in a condition are where one side takes over from the other, and those in an extent
// where a loop gets its first step. A loop between the first tile and the last gets it at twice as
// many.
void add_sizes_around(const Expr& expr, std::set<int64_t>* sizes) {
  visit(expr, [&](const Expr& e) {
    if (e->op != ExprOp::constant || e->int_value < 1 || e->int_value > 1024) return;
    for (const int64_t size : {e->int_value, 2 * e->int_value}) {
      sizes->insert({size - 1, size, size + 1});
    }
  });
}

bool has_all_shapes(const LoopNest& nest, const SizeValues& sizes) {
  for (const Buffer& buffer : nest.buffers) {
    for (const Extent& extent : buffer.shape) {
      if (extent.evaluate(sizes) < 0) return false;
    }
  }
  return true;
}

// All sizes equal, so that every value is tried; and each another, so that none is mistaken.
std::vector<SizeValues> sizes_of(const LoopNest& nest, const NestItem& item) {
  std::set<int64_t> values(std::begin(kSizes), std::end(kSizes));
  for (const auto& [branch, holds] : item.branches) add_sizes_around(branch->condition, &values);
  for (const Loop* loop : item.loops) add_sizes_around(loop->extent, &values);
  std::vector<SizeValues> result;
  for (int64_t value : values) {
    SizeValues sizes;
    for (const std::string& size : nest.sizes) sizes[size] = value;
    result.push_back(sizes);
    if (nest.sizes.empty()) break;
    if (nest.sizes.size() == 1) continue;
    int64_t another = value;
    for (auto& [name, one] : sizes) one = another++;
    result.push_back(sizes);
  }
  return result;
}

int64_t step_of(int point, size_t loop, int64_t extent) {
  const int64_t choices[] = {0, extent - 1, std::min<int64_t>(1, extent - 1), extent / 2};
  if (point < 3) return choices[point];
  uint64_t mixed = (static_cast<uint64_t>(point) * 31 + loop + 1) * 6364136223846793005ULL;
  mixed ^= mixed >> 29;
  return choices[(mixed * 1442695040888963407ULL) >> 62];
}

}  // namespace

std::string to_string(const EmittedPoint& point) {
  std::string text;
  for (const auto& [name, value] : point.nest) {
    text += (text.empty() ? "at " : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

std::vector<EmittedPoint> points_of(const EmittedPair& pair, const NestItem& item) {
  std::vector<EmittedPoint> points;
  for (const SizeValues& sizes : sizes_of(pair.nest, item)) {
    const bool reached =
        has_all_shapes(pair.nest, sizes) &&
        std::all_of(item.branches.begin(), item.branches.end(), [&](const auto& branch) {
          return (evaluate_index(branch.first->condition, sizes) != 0) == branch.second;
        });
    if (!reached) continue;
    for (int number = 0; number < (item.loops.empty() ? 1 : kPoints); ++number) {
      EmittedPoint point;
      for (const auto& [name, value] : sizes) {
        point.nest[name] = point.halide[size_argument(name)] = value;
      }
      bool runs = true;
      for (size_t i = 0; runs && i < item.loops.size(); ++i) {
        const Loop& loop = *item.loops[i];
        const int64_t extent = evaluate_index(loop.extent, point.nest);
        runs = extent > 0;
        const size_t position = item.loop_items[i];
        const bool last_lane = position == kLastLane;
        const bool shorter = !last_lane && pair.wanted[position].last_lane_apart;
        const int64_t step =
            last_lane ? extent - 1 : step_of(number, i, shorter ? extent - 1 : extent);
        const int64_t at = evaluate_index(loop.min, point.nest) + step;
        point.nest[loop.variable()] = at;
        if (!last_lane) point.halide[pair.found[position].full_name] = at;
      }
      if (runs) points.push_back(std::move(point));
    }
  }
  return points;
}

bool Region::holds(const std::vector<int64_t>& index) const {
  for (size_t d = 0; d < index.size(); ++d) {
    if (!folded(d) && (index[d] < mins[d] || index[d] >= mins[d] + extents[d])) return false;
  }
  return true;
}

bool Region::is_of_buffer(const std::vector<int64_t>& index) const {
  for (size_t d = 0; d < index.size(); ++d) {
    if (folded(d) && (index[d] < 0 || index[d] >= shape[d])) return false;
  }
  return true;
}

int64_t Region::offset(const std::vector<int64_t>& index) const {
  int64_t result = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    int64_t place = index[d] - (folded(d) ? 0 : mins[d]);
    if (folded(d)) place = (place % folds[d] + folds[d]) % folds[d];
    result += place * strides[d];
  }
  return result;
}

int64_t elements_of(const StorageLayout& layout, const std::vector<int64_t>& extents) {
  int64_t elements = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    elements *= std::max<int64_t>(1, layout.padded(d, extents[d]));
  }
  return elements;
}

std::vector<int64_t> values_of(const std::vector<Expr>& exprs,
                               const std::map<std::string, int64_t>& variables) {
  std::vector<int64_t> values;
  values.reserve(exprs.size());
  for (const Expr& expr : exprs) values.push_back(evaluate_index(expr, variables));
  return values;
}

Region region_of(const EmittedPair& pair, const NestItem& item, const std::string& buffer,
                 const EmittedPoint& point) {
  Region region;
  for (const Extent& extent : pair.nest.buffer(buffer).shape) {
    region.shape.push_back(extent.evaluate(point.nest));
  }
  auto live = item.live.find(buffer);
  if (live == item.live.end()) {
    auto output = item.in_outputs.find(buffer);
    region.memory = halide_name(output == item.in_outputs.end() ? buffer : output->second);
    region.extents = region.shape;
    region.mins.assign(region.shape.size(), 0);
    region.strides.resize(region.shape.size());
    region.elements = 1;
    for (size_t d = region.shape.size(); d-- > 0;) {
      region.strides[d] = region.elements;
      region.elements *= region.shape[d];
    }
    return region;
  }
  const Alloc& alloc = *live->second.alloc;
  const Storage& memory = *live->second.memory;
  region.memory = pair.found[live->second.item].full_name;
  region.mins = values_of(alloc.mins, point.nest);
  region.extents = values_of(alloc.extents, point.nest);
  region.strides = alloc.layout.strides(region.extents);
  region.folds = alloc.layout.folds;
  region.elements = elements_of(memory.layout, values_of(memory.extents, point.nest));
  return region;
}

std::map<std::string, int64_t> axis_values(const LoopNest& nest, const UopNode& uop,
                                           const std::map<std::string, int64_t>& variables) {
  std::map<std::string, int64_t> values;
  for (const std::string& size : nest.sizes) values[size] = variables.at(size);
  const Stage& stage = nest.stage(uop.stage);
  for (size_t d = 0; d < uop.point.size(); ++d) {
    const bool pure = d < stage.axes.size();
    const Axis& axis = pure ? stage.axes[d] : stage.reduction_axes[d - stage.axes.size()];
    values[axis.name()] = evaluate_index(uop.point[d], variables);
  }
  return values;
}

}  // namespace emulsion
