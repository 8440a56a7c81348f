#include "tests/random/random_chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph.h"
#include "dsl/operators.h"
#include "tests/random/chain_drawer.h"
#include "tests/random/comprehension_types.h"

namespace emulsion {
namespace {

constexpr int64_t kUsualSize = 24;  // of a run-time size, where work is estimated
constexpr int64_t kMostSize = 131;
constexpr int kMostValue = 3;            // of an argument that no narrow type has
constexpr int64_t kMostOfConstant = 64;  // elements
constexpr int kMostRank = 5;
constexpr double kMostError = 0.01;  // of a value that something else is computed of

int64_t length_of(const Extent& extent, int64_t size) {
  int64_t length = extent.constant_term();
  for (const auto& [name, coefficient] : extent.coefficients()) length += coefficient * size;
  return std::max<int64_t>(length, 1);
}

int64_t steps_of(const Graph& graph, const SizeValues& sizes) {
  int64_t most = 0;
  for (const OpPtr& op : graph.ops()) {
    int64_t steps = 1;
    for (const auto* axes : {&op->axes, &op->reduction_axes}) {
      for (const Axis& axis : *axes) steps *= std::max<int64_t>(axis.extent().evaluate(sizes), 0);
    }
    most = std::max(most, steps);
  }
  return most;
}

bool has_extremes(const Graph& graph) {
  return std::any_of(graph.ops().begin(), graph.ops().end(), [](const OpPtr& op) {
    if (op->kind != OpKind::compute) return false;
    if (op->combiner == Combiner::min || op->combiner == Combiner::max) return true;
    return any_part(op->body,
                    [](const Expr& e) { return e->op == ExprOp::min || e->op == ExprOp::max; });
  });
}

// Small ones, so that sums of products of sums are exact; of narrow types any.
TensorValue values_of(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  auto [low, high] = range_of_arguments(dtype);
  if (!is_narrow(dtype)) {
    low = -kMostValue;
    high = kMostValue;
  }
  return random_integers(dtype, shape, seed, low, high);
}

TensorValues chain_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments;
  for (const OpPtr& op : graph.arguments()) {
    std::vector<int64_t> shape;
    for (const Extent& extent : op->shape) shape.push_back(extent.evaluate(sizes));
    arguments[op->name] = values_of(op->dtype, shape, ++seed);
  }
  return arguments;
}

}  // namespace

ChainDrawer::ChainDrawer(uint64_t seed, int index, const ChainOptions& options)
    : options_(options),
      random_(RandomNumbers(seed ^ (static_cast<uint64_t>(index) << 32)).next()) {}

RandomChain ChainDrawer::draw(uint64_t seed_of_arguments) {
  draw_extents();
  dtype_ = draw_type();
  values_ = {draw_start()};
  const int count = random_.between(2, 6);
  int done = 0;
  for (int tries = 0; done < count && tries < 60; ++tries) {
    try {
      draw_step();
      ++done;
    } catch (const DoesNotFit&) {
    } catch (const Error&) {  // an index that cannot be proved
    }
  }
  if (values_.size() == 1) {
    const Axes axes = axes_of(values_[0].shape(), "ijklm");
    go_on(computed(axes, plus(at(values_[0], places_of(axes)), number(dtype_, 1))));
  }
  std::vector<Tensor> outputs = {values_.back().tensor};
  double error = values_.back().error;
  for (size_t i = 1; i + 1 < values_.size(); ++i) {
    const bool is_there = std::any_of(outputs.begin(), outputs.end(), [&](const Tensor& output) {
      return output.op() == values_[i].tensor.op();
    });
    if (is_there || values_[i].tensor.op()->kind != OpKind::compute || !chance(0.15)) continue;
    outputs.push_back(values_[i].tensor);
    error = std::max(error, values_[i].error);
  }
  if (chance(0.3)) std::reverse(outputs.begin(), outputs.end());
  RandomChain chain{ScheduleProgram{"chain", Graph(outputs), {}}, kinds_};
  // The sign of a zero is open where a maximum has both.
  chain.program.absolute = has_extremes(chain.program.graph) ? std::max(error, 1e-9) : error;
  chain.program.arguments = [seed_of_arguments](const Graph& graph, const SizeValues& sizes) {
    return chain_arguments(graph, sizes, seed_of_arguments);
  };
  chain.program.runs = draw_runs(chain.program.graph);
  if (!chain.program.graph.sizes().empty()) chain.kinds.insert("run-time size");
  if (outputs.size() > 1) chain.kinds.insert("several outputs");
  if (error == 0) chain.kinds.insert("exact");
  return chain;
}

// A few for all, so that axes meet.
void ChainDrawer::draw_extents() {
  static const std::vector<int> numbers = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 15, 16,
                                           17, 18, 20, 24, 31, 32, 33, 40, 48, 56, 64, 72, 100};
  const int count = random_.between(2, 3);
  const double often = chance(0.3) ? 0 : 0.4;
  for (int i = 0; i < count; ++i) {
    const bool is_size = chance(often);
    extents_.push_back(is_size ? Extent::size(i == 0   ? "H"
                                              : i == 1 ? "W"
                                                       : "N")
                               : Extent(random_.of(options_.large ? large_extents() : numbers)));
  }
  const Extent first = extents_.front();
  if (chance(0.15)) extents_.push_back(2 * first);
  if (chance(0.2)) extents_.push_back(first + random_.between(1, 3));
  if (chance(0.6)) extents_.emplace_back(random_.between(1, 4));
}

Extent ChainDrawer::draw_extent() { return random_.of(extents_); }

DType ChainDrawer::draw_type() {
  if (options_.differentiable) return DType::f64;
  if (chance(0.55)) return DType::f32;
  return random_.of(value_types());
}

int64_t ChainDrawer::steps(const Axes& axes) const {
  int64_t all = 1;
  for (const Axis& axis : axes) all *= length_of(axis.extent(), kUsualSize);
  return all;
}

double ChainDrawer::most_terms(const Axes& along) const {
  double all = 1;
  for (const Axis& axis : along) all *= static_cast<double>(length_of(axis.extent(), kMostSize));
  return all;
}

Known ChainDrawer::draw_start() {
  Shape shape;
  const int rank = random_.between(1, chance(0.85) ? 4 : kMostRank);
  for (int i = 0; i < rank; ++i) shape.push_back(draw_extent());
  while (steps(axes_of(shape, "ijklm")) > options_.most_steps) shape.pop_back();
  return fresh(dtype_, shape);
}

Known ChainDrawer::fresh(DType dtype, const Shape& shape) {
  if (steps(axes_of(shape, "ijklmn")) > 2 * options_.most_steps) throw DoesNotFit();
  const bool is_known = std::all_of(shape.begin(), shape.end(),
                                    [](const Extent& extent) { return extent.is_constant(); });
  const std::string name = fmt::format("x{}", inputs_.size());
  Tensor made;
  if (is_known && !values_.empty() && chance(0.4)) {
    const auto count = element_count(shape);
    std::vector<int64_t> lengths;
    for (const Extent& extent : shape) lengths.push_back(*extent.as_constant());
    made = count && *count > 0 && *count <= kMostOfConstant && chance(0.3)
               ? constant(name, dtype, shape, values_of(dtype, lengths, random_.next()).bytes)
               : weight(name, dtype, shape);
  } else {
    made = input(name, dtype, shape);
  }
  inputs_.push_back({made, is_narrow(dtype) ? bound_of(dtype) : kMostValue});
  if (is_narrow(dtype)) kinds_.insert("narrow types");
  return inputs_.back();
}

Known ChainDrawer::fresh_places(const Shape& shape) {
  static const std::vector<DType> types = {DType::i8,  DType::u8,  DType::i16,
                                           DType::i32, DType::i32, DType::i32};
  if (options_.differentiable) throw DoesNotFit();
  kinds_.insert("places of data");
  return fresh(random_.of(types), shape);
}

// Named by single letters.
std::vector<Axis> ChainDrawer::axes_of(const Shape& shape, const std::string& names) {
  Axes axes;
  for (const Extent& extent : shape) axes.emplace_back(std::string(1, names[axes.size()]), extent);
  return axes;
}

Value ChainDrawer::at(const Known& of, const Places& places) const {
  return {of.tensor.at(places), of.bound, of.error};
}

Known ChainDrawer::computed(const Axes& axes, const Value& body, const Axes& along) {
  Axes all = axes;
  all.insert(all.end(), along.begin(), along.end());
  if (steps(all) > options_.most_steps || axes.size() > kMostRank) throw DoesNotFit();
  if (body.error > kMostError * std::max(1.0, body.bound)) throw DoesNotFit();
  return {compute(fmt::format("y{}", names_++), axes, body.e), body.bound, body.error};
}

void ChainDrawer::go_on(const Known& with) {
  values_.push_back(with);
  current_ = values_.size() - 1;
}

const Known& ChainDrawer::current() {
  if (values_.size() > 2 && chance(0.15)) {
    current_ = static_cast<size_t>(random_.below(static_cast<int>(values_.size())));
  }
  return values_[current_];
}

void ChainDrawer::draw_step() {
  switch (random_.below(23)) {
    case 0:
    case 1:
    case 2:
      return elements();
    case 3:
      return two_of_one();
    case 4:
    case 5:
      return move();
    case 6:
      return chance(0.5) ? joined() : gather();
    case 7:
      return chance(0.6) ? gather() : by_class();
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
      return draw_rows_step();
    case 13:
    case 14:
    case 15:
      return window();
    case 16:
    case 17:
      return product();
    case 18:
      return layers();
    case 19:
      return stencils();
    case 20:
      return pixels();
    case 21:
      return small_matrices();
    default:
      return attention();
  }
}

std::vector<SizeValues> ChainDrawer::draw_runs(const Graph& graph) {
  static const std::vector<int64_t> values = {0,  1,  2,  3,  4,  5,  6,  7,        8,
                                              9,  15, 16, 17, 18, 23, 24, 31,       32,
                                              33, 37, 47, 48, 63, 65, 96, kMostSize};
  const std::vector<std::string>& names = graph.sizes();
  std::vector<SizeValues> runs;
  for (int tries = 0; tries < 40 && runs.size() < (names.empty() ? 1 : 6); ++tries) {
    SizeValues sizes;
    for (const std::string& name : names) sizes[name] = tries < 2 ? tries : random_.of(values);
    if (tries < 2 || steps_of(graph, sizes) <= 2 * options_.most_steps) runs.push_back(sizes);
  }
  return runs;
}

RandomChain random_chain(uint64_t seed, int index, const ChainOptions& options) {
  return ChainDrawer(seed, index, options).draw(seed);
}

}  // namespace emulsion
