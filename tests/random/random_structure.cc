#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/random/graph_builder.h"

// How contractions, windows and data movement are called at random.

namespace emulsion {
namespace {

using B = GraphBuilder;
using nlohmann::json;

Traits contraction_traits(const Traits& x, const Traits& y, int64_t depth) {
  return {x.bound * y.bound * static_cast<double>(std::max<int64_t>(depth, 1)),
          x.quantum + y.quantum, false};
}

constexpr int64_t kMostProducts = 60000;  // of one contraction

bool add_matmul(B* b, const std::string& op) {
  int x = b->random().chance(0.6) ? b->numeric(2, 2) : b->numeric(1, 5);
  const Shape own = b->shape(x);
  const Extent depth = own.back();
  auto fits = [&](int node) {
    if (b->dtype(node) != b->dtype(x) || b->rank(node) < 1 || b->rank(node) > 2) return false;
    return b->shape(node)[0] == depth;
  };
  Shape shape = {depth};
  if (b->random().chance(0.85))
    shape.emplace_back(b->random().between(1, 4) * b->random().between(1, 17));
  int leading = b->rank(x) - 2;
  if (leading > 0 && shape.size() == 2 && b->random().chance(0.4)) {  // a stack of matrices
    Shape batch(own.begin() + b->random().below(leading), own.begin() + leading);
    for (Extent& extent : batch) {
      if (b->random().chance(0.3)) extent = Extent(1);
    }
    shape.insert(shape.begin(), batch.begin(), batch.end());
  }
  int y =
      shape.size() <= 2 ? b->pick_or_leaf(fits, b->dtype(x), shape) : b->leaf(b->dtype(x), shape);
  int64_t columns = b->rank(y) == 1 ? 1 : b->extent_of(b->shape(y).back());
  if (b->count_of(own) * columns > kMostProducts) return false;
  return added(b->emit(call(op, {node_arg(x), node_arg(y)}),
                       contraction_traits(b->traits(x), b->traits(y), b->extent_of(depth))));
}

// An image [N, H, W, C] with at least 3 rows and columns: one that is there, or a new one.
int image(B* b, bool floats) {
  auto wanted = [&](int node) {
    if (b->rank(node) != 4 || !b->is_number(node) || (floats && !is_float(b->dtype(node))))
      return false;
    for (int axis : {1, 2}) {
      const Extent& extent = b->shape(node)[static_cast<size_t>(axis)];
      if (!extent.is_constant() || extent.constant_term() < 3) return false;
    }
    return b->shape(node)[3].is_constant();
  };
  static const std::vector<int64_t> kSides = {3, 5, 7, 8, 9};
  static const std::vector<int64_t> kChannels = {1, 2, 3, 4, 8, 17};
  Extent images = b->random_shape(1, 1)[0];
  if (b->extent_of(images) > 4) images = Extent(b->random().between(0, 3));
  DType type = floats && !is_float(b->main_type()) ? DType::f32 : b->main_type();
  return b->pick_or_leaf(
      wanted, type,
      {images, b->random().of(kSides), b->random().of(kSides), b->random().of(kChannels)});
}

bool add_conv2d(B* b, const std::string& op) {
  int x = image(b, false);
  int64_t channels = b->shape(x)[3].constant_term();
  int groups = 1;
  if (channels > 1 && b->random().chance(0.4)) {
    groups = b->random().chance(0.5) ? static_cast<int>(channels) : channels % 2 == 0 ? 2 : 1;
  }
  int64_t outputs = groups * b->random().between(1, groups > 4 ? 2 : 9);
  Shape kernel = {b->random().between(1, 3), b->random().between(1, 3), channels / groups, outputs};
  json params;
  params["stride"] = {b->random().between(1, 2), b->random().between(1, 3)};
  bool wide = kernel[0].constant_term() == 1 && kernel[1].constant_term() == 1;
  int dilation = b->random().chance(wide ? 0.5 : 0.2) ? 2 : 1;
  std::vector<int> pad = {0, 0, 0, 0};
  if (dilation == 2) pad = {1, 1, 1, 1};  // so that 5 rows fit
  if (b->random().chance(0.5)) {
    for (int& p : pad) p += b->random().below(3);
  }
  params["dilation"] = {dilation, dilation};
  params["pad"] = pad;
  params["groups"] = groups;
  int w = b->leaf(b->dtype(x), kernel, Fill::any, b->random().chance(0.7) ? "weight" : "constant");
  int64_t depth = b->count_of(kernel) / std::max<int64_t>(outputs, 1);
  const int64_t points = b->count_of(b->shape(x)) / std::max<int64_t>(channels, 1);
  if (points * depth * outputs > 4 * kMostProducts) return false;
  return added(b->emit(call(op, {node_arg(x), node_arg(w)}, params),
                       contraction_traits(b->traits(x), b->traits(w), depth)));
}

bool add_pool(B* b, const std::string& op) {
  bool average = op == "avg_pool";
  int x = image(b, average);
  std::vector<int> window = {b->random().between(1, 3), b->random().between(1, 3)};
  if (b->exact() && average) window = {2, b->random().between(1, 2)};
  std::vector<int> pad;
  for (int side = 0; side < 4; ++side) {
    pad.push_back(b->random().chance(0.3) ? b->random().below(window[static_cast<size_t>(side / 2)])
                                          : 0);
  }
  bool include = (b->exact() && average) || b->random().chance(0.4);
  Traits result = b->traits(x);
  if (average && b->exact()) result.quantum += 2;
  if (average) result.positive = false;
  json params = {{"window", window},
                 {"stride", {b->random().between(1, 3), b->random().between(1, 2)}},
                 {"pad", pad},
                 {"count_include_pad", include}};
  return added(b->emit(call(op, {node_arg(x)}, params), result));
}

int anything(B* b, int low_rank = 0) {
  if (b->random().chance(0.1)) return b->boolean(b->random_shape(std::max(low_rank, 1), 4));
  return b->numeric(low_rank);
}

bool add_transpose(B* b, const std::string& op) {
  int x = anything(b);
  std::vector<int> perm(static_cast<size_t>(b->rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) {
    std::swap(perm[i - 1], perm[static_cast<size_t>(b->random().below(static_cast<int>(i)))]);
  }
  if (b->random().chance(0.3)) perm.clear();
  return added(b->emit(call(op, {node_arg(x)}, {{"perm", perm}}), b->traits(x)));
}

bool add_reshape(B* b, const std::string& op) {
  int x = anything(b);
  Shape shape = b->shape(x);
  for (int step = b->random().between(1, 3); step > 0; --step) {
    int what = b->random().below(3);
    size_t at =
        shape.empty() ? 0 : static_cast<size_t>(b->random().below(static_cast<int>(shape.size())));
    if (what == 0 && shape.size() < 5) {
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), Extent(1));
    } else if (what == 1 && at + 1 < shape.size()) {  // two neighbours become one
      if (!shape[at].is_constant() && !shape[at + 1].is_constant()) continue;
      shape[at + 1] = shape[at] * shape[at + 1];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (what == 2 && shape.size() < 5 && !shape.empty()) {  // one becomes two
      static const std::vector<int64_t> kFactors = {2, 3, 5, 7, 16};
      int64_t factor = b->random().of(kFactors);
      auto quotient = shape[at].exact_quotient(factor);
      if (!quotient || shape[at] == Extent(0)) continue;
      shape[at] = *quotient;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at) + b->random().below(2),
                   Extent(factor));
    }
  }
  bool empty = std::find(shape.begin(), shape.end(), Extent(0)) != shape.end();
  json extents = json::array(), resolved = json::array();
  int rest = !shape.empty() && !empty && b->random().chance(0.3)
                 ? b->random().below(static_cast<int>(shape.size()))
                 : -1;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    resolved.push_back(extent_to_json(shape[static_cast<size_t>(i)]));
    extents.push_back(i == rest ? extent_to_json(Extent(-1)) : resolved.back());
  }
  // NumPy has no -1 where a size is 0.
  return added(
      b->emit(call(op, {node_arg(x)}, {{"shape", extents}, {"resolved", resolved}}), b->traits(x)));
}

bool add_slice(B* b, const std::string& op) {
  int x = anything(b, 1);
  json begins = json::array(), ends = json::array();
  std::vector<int64_t> steps;
  for (const Extent& extent : b->shape(x)) {
    int64_t least = extent.lower_bound().value_or(0);
    Extent begin(0), end = extent;
    int64_t step = 1;
    if (least > 0 && b->random().chance(0.6))
      begin = Extent(b->random().between(0, static_cast<int>(least)));
    if (extent.is_constant() && b->random().chance(0.5)) {
      end = Extent(
          b->random().between(static_cast<int>(begin.constant_term()), static_cast<int>(least)));
      step = b->random().between(1, 3);
      if (least > 0 && b->random().chance(0.3)) {  // downwards
        begin = Extent(b->random().between(0, static_cast<int>(least) - 1));
        end = Extent(b->random().between(-1, static_cast<int>(begin.constant_term())));
        step = -step;
      }
    }
    begins.push_back(extent_to_json(begin));
    ends.push_back(extent_to_json(end));
    steps.push_back(step);
  }
  if (std::count(steps.begin(), steps.end(), 1) == b->rank(x) && b->random().chance(0.5))
    steps.clear();
  json params = {{"begin", begins}, {"end", ends}, {"step", steps}};
  return added(b->emit(call(op, {node_arg(x)}, params), b->traits(x)));
}

bool add_concat(B* b, const std::string& op) {
  int x = anything(b, 1);
  int axis = b->random().below(b->rank(x));
  std::vector<Arg> args = {node_arg(x)};
  Traits result = b->traits(x);
  auto joins = [&](int node) {
    if (b->dtype(node) != b->dtype(x) || b->rank(node) != b->rank(x)) return false;
    Shape shape = b->shape(node);
    shape[static_cast<size_t>(axis)] = b->shape(x)[static_cast<size_t>(axis)];
    return shape == b->shape(x);
  };
  for (int more = b->random().between(b->random().chance(0.1) ? 0 : 1, 3); more > 0; --more) {
    Shape shape = b->shape(x);
    shape[static_cast<size_t>(axis)] = Extent(b->random_extent());
    int y = b->pick_or_leaf(joins, b->dtype(x), shape);
    args.insert(args.begin() + b->random().below(static_cast<int>(args.size()) + 1), node_arg(y));
    result = largest_of(result, b->traits(y));
  }
  if (b->random().chance(0.3)) axis -= b->rank(x);
  return added(b->emit(call(op, args, {{"axis", axis}}), result));
}

bool add_pad(B* b, const std::string& op) {
  int x = anything(b);
  std::vector<int64_t> low, high;
  for (int i = 0; i < b->rank(x); ++i) {
    low.push_back(b->random().chance(0.4) ? b->random().between(1, 3) : 0);
    high.push_back(b->random().chance(0.4) ? b->random().between(1, 9) : 0);
  }
  double value = b->is_number(x) ? b->number_for(x, -2, 2) : b->random().below(2);
  Traits result = b->traits(x);
  result.bound = std::max(result.bound, 2.0);
  result.positive = result.positive && value >= 1;
  return added(
      b->emit(call(op, {node_arg(x)}, {{"low", low}, {"high", high}, {"value", value}}), result));
}

}  // namespace

const std::map<std::string, Adder>& structural_adders() {
  static const auto* const table = new std::map<std::string, Adder>{
      {"matmul", add_matmul}, {"conv2d", add_conv2d},       {"max_pool", add_pool},
      {"avg_pool", add_pool}, {"transpose", add_transpose}, {"reshape", add_reshape},
      {"slice", add_slice},   {"concat", add_concat},       {"pad", add_pad},
  };
  return *table;
}

}  // namespace emulsion
