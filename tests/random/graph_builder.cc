#include "tests/random/graph_builder.h"

#include <algorithm>
#include <cmath>

#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr int64_t kMostElements = 3000;  // of one tensor: an interpreter visits each of them
constexpr int kLargestSize = 17;

// Vectors have 2 to 16 lanes, tiles 4 to 12 rows: on, beside and far from their edges.
const std::vector<int64_t>& awkward_extents() {
  static const auto* const extents =
      new std::vector<int64_t>{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65};
  return *extents;
}

Traits whole_range(DType dtype) {
  const IntegerRange range = integer_range(dtype);
  return {static_cast<double>(std::max(-range.lowest, range.highest)), 0, false};
}

}  // namespace

GraphBuilder::GraphBuilder(uint64_t seed, bool exact, bool specials) : random_(seed) {
  recipe_.seed = seed;
  recipe_.exact = exact;
  recipe_.specials = specials;
  static const std::vector<DType> kWrapping = {i8, u8, i16, u16};
  int type = random_.below(12);
  main_type_ = type < 7 ? f32 : type < 9 ? f64 : type < 10 ? i32 : random_.of(kWrapping);
  if (random_.chance(0.4)) {
    sizes_.emplace_back("B");
    if (random_.chance(0.2)) sizes_.emplace_back("T");
  }
  for (const std::string& size : sizes_) largest_[size] = kLargestSize;
}

int64_t GraphBuilder::count_of(const Shape& shape) const {
  int64_t count = 1;
  for (const Extent& extent : shape) count *= extent_of(extent);
  return count;
}

bool GraphBuilder::is_number(int node) const { return dtype(node) != DType::boolean; }

int GraphBuilder::number_for(int node, int low, int high) {
  bool is_unsigned = is_integer(dtype(node)) && integer_range(dtype(node)).lowest == 0;
  return random_.between(is_unsigned ? std::max(low, 0) : low, high);
}

int64_t GraphBuilder::random_extent() {
  return random_.chance(0.02) ? 0 : random_.of(awkward_extents());
}

Extent GraphBuilder::random_size() {
  Extent size = Extent::size(random_.of(sizes_));
  int form = random_.below(10);
  return form < 7 ? size : form < 8 ? size + Extent(2) : form < 9 ? size * Extent(2) : size * 2 + 1;
}

Shape GraphBuilder::random_shape(int low_rank, int high_rank) {
  static const int kRanks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5};
  int rank = std::max(low_rank, std::min(high_rank, kRanks[random_.below(15)]));
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    bool run_time = !sizes_.empty() && random_.chance(i == 0 ? 0.6 : 0.08);
    shape.push_back(run_time ? random_size() : Extent(random_extent()));
  }
  // What is too large shrinks, some axis at a time.
  while (count_of(shape) > kMostElements / 2) {
    Extent& extent = shape[static_cast<size_t>(random_.below(rank))];
    extent = extent.is_constant() ? Extent(1 + extent.constant_term() / 3)
                                  : Extent(random_.between(1, 3));
  }
  return shape;
}

int GraphBuilder::pick(const Wanted& wanted) {
  std::vector<int> candidates;
  for (int node = 0; node < static_cast<int>(tensors_.size()); ++node) {
    if (!wanted(node)) continue;
    bool is_leaf = recipe_.nodes[static_cast<size_t>(node)].is_leaf();
    int users = users_[static_cast<size_t>(node)];
    int weight = is_leaf ? 2 : users == 0 ? 5 : users == 1 ? 16 : 2;
    candidates.insert(candidates.end(), static_cast<size_t>(weight), node);
  }
  return candidates.empty() ? -1 : random_.of(candidates);
}

int GraphBuilder::leaf(DType dtype, const Shape& shape, Fill fill, const std::string& kind) {
  bool fixed = true;
  for (const Extent& extent : shape) fixed = fixed && extent.is_constant();
  Step node;
  node.op = !kind.empty() ? kind : random_.chance(0.5) ? "input" : "weight";
  if (kind.empty() && fixed && random_.chance(0.25)) node.op = "constant";
  if (!fixed) node.op = "input";
  node.dtype = dtype;
  node.shape = shape;
  node.fill = fill;
  Traits traits;
  traits.bound = dtype == DType::boolean ? 1 : fill == Fill::any || exact() ? 4 : 2;
  if (wraps(dtype)) traits = whole_range(dtype);
  traits.quantum = is_float(dtype) ? (fill == Fill::power_of_two ? 1
                                      : fill == Fill::variance   ? 2
                                                                 : 0)
                                   : 0;
  traits.positive = fill != Fill::any && dtype != DType::boolean;
  node.label = static_cast<int>(recipe_.nodes.size());
  recipe_.nodes.push_back(node);
  tensors_.push_back(leaf_tensor(recipe_, node));
  traits_.push_back(traits);
  users_.push_back(0);
  return static_cast<int>(tensors_.size()) - 1;
}

int GraphBuilder::pick_or_leaf(const Wanted& wanted, DType dtype, const Shape& shape, Fill fill) {
  int found = random_.chance(0.96) ? pick(wanted) : -1;
  return found >= 0 ? found : leaf(dtype, shape, fill);
}

int GraphBuilder::numeric(int low_rank, int high_rank) {
  auto wanted = [&](int node) {
    return is_number(node) && rank(node) >= low_rank && rank(node) <= high_rank;
  };
  return pick_or_leaf(wanted, main_type_, random_shape(low_rank, high_rank));
}

int GraphBuilder::floating(int low_rank, int high_rank) {
  auto wanted = [&](int node) {
    return is_float(dtype(node)) && rank(node) >= low_rank && rank(node) <= high_rank;
  };
  DType type = is_float(main_type_) ? main_type_ : DType::f32;
  return pick_or_leaf(wanted, type, random_shape(low_rank, high_rank));
}

int GraphBuilder::boolean(const Shape& shape) {
  auto wanted = [&](int node) {
    return dtype(node) == DType::boolean && this->shape(node) == shape;
  };
  return pick_or_leaf(wanted, DType::boolean, shape);
}

int GraphBuilder::partner(int node, Fill fill) {
  const Shape& own = shape(node);
  auto broadcasts = [&](int other) {
    if (dtype(other) != dtype(node)) return false;
    if (fill != Fill::any && !traits(other).positive) return false;
    const Shape& theirs = shape(other);
    for (size_t back = 1; back <= std::min(own.size(), theirs.size()); ++back) {
      const Extent& a = own[own.size() - back];
      const Extent& b = theirs[theirs.size() - back];
      if (a != b && a != Extent(1) && b != Extent(1)) return false;
    }
    return true;
  };
  Shape shape(
      own.begin() + (random_.chance(0.35) ? random_.below(static_cast<int>(own.size()) + 1) : 0),
      own.end());
  for (Extent& extent : shape) {
    if (random_.chance(0.15)) extent = Extent(1);
  }
  return pick_or_leaf(broadcasts, dtype(node), shape, fill);
}

bool GraphBuilder::fits(DType dtype, const Traits& traits) const {
  if (dtype == DType::boolean || wraps(dtype)) return true;
  if (!is_float(dtype)) return traits.bound <= (1 << 30);
  if (!exact()) return traits.bound <= 1e6;
  return traits.quantum <= 12 && std::ldexp(traits.bound, traits.quantum) <= (1 << 22);
}

int GraphBuilder::emit(Step call, const Traits& traits) {
  for (const Arg& arg : call.args) EMULSION_CHECK(arg.node < static_cast<int>(tensors_.size()));
  if (random_.chance(0.2)) call.params["name"] = "t" + std::to_string(recipe_.nodes.size());
  Tensor result;
  try {
    result = call_operator(call, tensors_);
  } catch (const Error& error) {
    recipe_.nodes.push_back(call);
    throw Error(fmt::format("a legal call was refused: {}\n{}", error.what(), to_string(recipe_)));
  }
  if (count_of(result.shape()) > kMostElements || !fits(result.dtype(), traits)) return -1;
  for (const Arg& arg : call.args) {
    if (arg.node >= 0) ++users_[static_cast<size_t>(arg.node)];
  }
  recipe_.nodes.push_back(std::move(call));
  tensors_.push_back(result);
  traits_.push_back(wraps(result.dtype()) ? whole_range(result.dtype()) : traits);
  users_.push_back(0);
  ++calls_;
  return static_cast<int>(tensors_.size()) - 1;
}

Recipe GraphBuilder::finish() {
  // What nothing reads is an output, and often something that is read as well.
  std::vector<int> read_on;
  for (int node = 0; node < static_cast<int>(tensors_.size()); ++node) {
    if (recipe_.nodes[static_cast<size_t>(node)].is_leaf()) continue;
    if (users_[static_cast<size_t>(node)] == 0) {
      recipe_.outputs.push_back(node);
    } else {
      read_on.push_back(node);
    }
  }
  for (int more = 0; more < 2 && !read_on.empty(); ++more) {
    if (!random_.chance(more == 0 ? 0.4 : 0.1)) continue;
    int node = random_.of(read_on);
    auto found = std::find(recipe_.outputs.begin(), recipe_.outputs.end(), node);
    if (found == recipe_.outputs.end()) recipe_.outputs.push_back(node);
  }
  if (sizes_.empty()) {
    recipe_.runs.emplace_back();
    return recipe_;
  }
  static const std::vector<int64_t> kSizes = {2, 3, 5, 7, 8, 15, 16, kLargestSize};
  SizeValues few, many;
  for (const std::string& size : sizes_) {
    few[size] = random_.below(2);
    many[size] = random_.of(kSizes);
  }
  recipe_.runs = {few, many};
  return recipe_;
}

}  // namespace emulsion
