#include "tests/random/gradient_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backends/interpreter/bind_arguments.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/tensor.h"
#include "tests/random/gradient_indices.h"
#include "tests/random/place_condition.h"
#include "tests/random/random_numbers.h"

namespace emulsion {
namespace {

constexpr int64_t kMostSize = 9;
constexpr int64_t kMostSteps = 500;      // of one comprehension: the interpreter walks them
constexpr int64_t kMostElements = 3000;  // of an input
constexpr double kMostBound = 6;         // beyond it a value is made smaller

struct Value {
  Expr e;
  double bound = 0;  // of its size, about
};

struct Source {
  Tensor tensor;
  double bound = 0;
};

int64_t most(const Extent& extent) { return extent.evaluate({{"H", kMostSize}, {"W", kMostSize}}); }

int64_t steps(const std::vector<Axis>& axes) {
  int64_t all = 1;
  for (const Axis& axis : axes) all *= std::max<int64_t>(most(axis.extent()), 1);
  return all;
}

class Maker {
 public:
  Maker(uint64_t seed, int index, DType dtype)
      : random_(RandomNumbers(seed ^ (static_cast<uint64_t>(index) << 32)).next()), dtype_(dtype) {}

  GradientProgram make() {
    draw_extents();
    const int count = random_.between(1, 3);
    for (int tries = 0; tries < 60 && static_cast<int>(functions_.size()) < count; ++tries) {
      const size_t inputs = inputs_.size();
      try {
        functions_.push_back(draw_function());
      } catch (const Error&) {  // an index that cannot be proved
        inputs_.resize(inputs);
        ++refused_;
      }
    }
    if (functions_.empty()) functions_.push_back(a_square());
    std::vector<Tensor> outputs = {functions_.back().tensor};
    for (size_t i = 0; i + 1 < functions_.size(); ++i) {
      if (random_.chance(0.25)) outputs.push_back(functions_[i].tensor);
    }
    GradientProgram program{Graph(outputs), {}, {}, refused_};
    program.by = names_to_differentiate_by(program.graph);
    if (program.by.empty()) {  // it reads none
      outputs.push_back(a_square().tensor);
      program.graph = Graph(outputs);
      program.by = names_to_differentiate_by(program.graph);
    }
    program.runs = runs_of(program.graph);
    return program;
  }

 private:
  void draw_extents() {
    static const std::vector<int> numbers = {1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12};
    const int count = random_.between(2, 3);
    for (int i = 0; i < count; ++i) {
      const bool is_size = random_.chance(0.4);
      extents_.push_back(is_size ? Extent::size(i == 0 ? "H" : "W") : Extent(random_.of(numbers)));
    }
    if (random_.chance(0.3)) extents_.push_back(2 * extents_.front());
    if (random_.chance(0.2)) extents_.push_back(extents_.front() + random_.between(1, 3));
    extents_.emplace_back(random_.between(1, 4));
  }

  std::vector<std::string> names_to_differentiate_by(const Graph& graph) {
    std::vector<std::string> all, some;
    for (const OpPtr& op : graph.arguments()) {
      if (!is_float(op->dtype) || op->name[0] == 't') continue;
      all.push_back(op->name);
      if (random_.chance(0.85)) some.push_back(op->name);
    }
    return some.empty() ? all : some;
  }

  Source a_square() {
    const Axis i("i0", 5);
    const Tensor x = input("x", dtype_, {5});
    return {compute("f", {i}, x(i) * x(i)), 4};
  }

  Source draw_function() {
    outer_.clear();
    const int rank = random_.between(0, 3);
    for (int i = 0; i < rank; ++i) {
      outer_.emplace_back(fmt::format("i{}", i), random_.of(extents_));
    }
    while (steps(outer_) > kMostSteps) outer_.pop_back();
    axes_ = outer_;
    left_ = 10;
    reductions_ = 0;
    Value body = random_.chance(0.5) || outer_.empty() ? draw_reduction() : draw_value(3);
    if (random_.chance(0.2)) body = draw_operation(std::move(body), 1);
    body = tamed(std::move(body));
    return {compute(fmt::format("f{}", functions_.size()), outer_, body.e), body.bound};
  }

  Value draw_reduction() {
    const std::vector<Axis> before = axes_;
    std::vector<Axis> reduced;
    const int count = random_.between(1, 2);
    ++reductions_;
    for (int i = 0; i < count; ++i) {
      const Axis axis(fmt::format("r{}{}", reductions_, i), random_.of(extents_));
      axes_.push_back(axis);
      if (steps(axes_) > kMostSteps) {
        axes_.pop_back();
        continue;
      }
      reduced.push_back(axis);
    }
    const Value body = draw_value(random_.between(1, 3));
    const int64_t terms = steps(reduced);
    const bool is_short = terms <= 12 && steps(axes_) * terms <= kMostSteps;
    axes_ = before;
    if (reduced.empty()) return body;
    switch (random_.below(8)) {
      case 0:
        return {reduce_max(reduced, body.e), body.bound};
      case 1:
        return {reduce_min(reduced, body.e), body.bound};
      case 2:
        if (is_short) return {product(reduced, tanh(body.e) + number(0.25)), 4};
        [[fallthrough]];
      default:
        return {sum(reduced, body.e), body.bound * static_cast<double>(terms)};
    }
  }

  Expr number(double value) const { return constant(dtype_, value); }

  Value tamed(Value value) {
    if (value.bound <= kMostBound) return value;
    switch (random_.below(4)) {
      case 0:
        return {tanh(value.e), 1};
      case 1:
        return {clamp(value.e, number(-3.25), number(2.75)), 3.25};
      default:
        return {value.e * number(1 / value.bound), 1};
    }
  }

  Value draw_value(int depth) {
    if (depth == 0 || --left_ < 0) return draw_leaf();
    if (reductions_ < 2 && random_.chance(0.05)) return tamed(draw_reduction());
    return tamed(draw_operation(draw_value(depth - 1), depth - 1));
  }

  Value draw_operation(Value a, int depth) {
    switch (random_.below(13)) {
      case 0:
      case 1: {
        const Value b = draw_value(depth);
        return {random_.chance(0.6) ? a.e + b.e : a.e - b.e, a.bound + b.bound};
      }
      case 2:
      case 3:
      case 4: {
        const Value b = random_.chance(0.2) ? a : draw_value(depth);
        return {a.e * b.e, a.bound * b.bound};
      }
      case 5: {
        const Value b = draw_value(depth);
        return {random_.chance(0.5) ? min(a.e, b.e) : max(a.e, b.e), std::max(a.bound, b.bound)};
      }
      case 6:
      case 7: {
        const Value b = random_.chance(0.4) ? Value{number(0), 0} : draw_value(depth);
        const Expr condition = draw_condition();
        return {random_.chance(0.5) ? select(condition, a.e, b.e) : select(condition, b.e, a.e),
                std::max(a.bound, b.bound)};
      }
      case 8:
        return draw_guarded(a);
      case 9: {
        const Value b = draw_value(depth);
        return {a.e / (abs(b.e) + number(0.75)), a.bound * 4 / 3};
      }
      default:
        return draw_series(a);
    }
  }

  Value draw_series(const Value& a) {
    switch (random_.below(9)) {
      case 0:
        return {exp(a.bound > 2 ? tanh(a.e) : a.e), a.bound > 2 ? 2.72 : 7.4};
      case 1:
        return {tanh(a.e), 1};
      case 2:
        return {sqrt(abs(a.e) + number(0.5)), a.bound};
      case 3:
        return {log(abs(a.e) + number(0.5)), a.bound};
      case 4:
        return {erf(a.e), 1};
      case 5:
        return {pow(abs(a.e) + number(0.5), draw_leaf().e * number(0.25)), a.bound + 1};
      case 6:
        return {a.e * number(0.5) + floor(a.e), a.bound * 1.5 + 1};
      case 7:
        return {max(a.e, number(0)), a.bound};
      default:
        return {abs(a.e), a.bound};
    }
  }

  // What stays inside because of a condition.
  Value draw_guarded(const Value& a) {
    if (axes_.empty()) return a;
    const Axis axis = random_.of(axes_);
    const Extent& extent = axis.extent();
    const int distance = random_.between(1, 3);
    const Source read = source_with(extent);
    const auto at = [&](const Expr& place) { return read_at(read.tensor, extent, place); };
    const double bound = std::max(a.bound, 2 * read.bound);
    switch (random_.below(5)) {
      case 0:
        return {select(axis >= distance, at(axis - distance), a.e), bound};
      case 1:
        return {select(axis + distance < extent, at(axis + distance), a.e), bound};
      case 2:
        return {select(axis == 0 || axis == extent - 1, a.e, at(axis - 1) + at(axis + 1)), bound};
      case 3:
        return {select(axis >= 1 && axis < extent - 1, at(axis + 1) - at(axis - 1), a.e), bound};
      default:
        return {select(axis < extent - distance, at(axis + distance), at(axis)), bound};
    }
  }

  // One that has a dimension of that extent.
  Source source_with(const Extent& extent) {
    std::vector<Source> with;
    for (const std::vector<Source>* sources : {&functions_, &inputs_}) {
      for (const Source& source : *sources) {
        const Shape& shape = source.tensor.op()->shape;
        if (std::find(shape.begin(), shape.end(), extent) != shape.end()) with.push_back(source);
      }
    }
    if (!with.empty() && random_.chance(0.7)) return random_.of(with);
    Shape shape = {extent};
    if (random_.chance(0.3)) shape.push_back(random_.of(extents_));
    return new_input(shape);
  }

  // That place along the first dimension of that extent, and elsewhere any.
  Expr read_at(const Tensor& tensor, const Extent& extent, const Expr& place) {
    std::vector<Expr> indices;
    bool is_placed = false;
    for (const Extent& own : tensor.op()->shape) {
      indices.push_back(!is_placed && own == extent ? place : plain_index(own));
      is_placed = is_placed || own == extent;
    }
    return tensor.at(indices);
  }

  Source new_input(const Shape& shape) {
    int64_t elements = 1;
    for (const Extent& extent : shape) elements *= most(extent);
    if (elements > kMostElements) fail("too large");
    inputs_.push_back({input(fmt::format("x{}", next_input_++), dtype_, shape), 1.5});
    return inputs_.back();
  }

  Expr draw_condition() {
    if (axes_.empty() || random_.chance(0.2)) {
      if (random_.chance(0.5)) {
        const Tensor mask = input(fmt::format("m{}", next_input_++), DType::boolean, outer_shape());
        return mask.at(outer_values());
      }
      const Source a =
          random_.chance(0.5) || inputs_.empty() ? new_input(outer_shape()) : random_.of(inputs_);
      return any_read(a) < number(0.25);
    }
    const Axis& axis = random_.of(axes_);
    const Axis& other = random_.of(axes_);
    const int place = random_.between(0, 5);
    const int kind = random_.below(kPlaceConditions + 5);
    if (kind < kPlaceConditions) return place_condition(kind, axis, place);
    switch (kind - kPlaceConditions) {
      case 0:
        return Expr(axis) <= Expr(other);
      case 1:
        return axis + other < place + 3;
      case 2:
        return Expr(axis) == Expr(other);
      case 3:
        return !(axis * 2 > other + place);
      default: {
        const Tensor data = input(fmt::format("d{}", next_input_++), i32, outer_shape());
        return data.at(outer_values()) == Expr(axis);
      }
    }
  }

  Shape outer_shape() const {
    Shape shape;
    for (const Axis& axis : outer_) shape.push_back(axis.extent());
    return shape;
  }
  std::vector<Expr> outer_values() const { return {outer_.begin(), outer_.end()}; }

  Value draw_leaf() {
    const int choice = random_.below(14);
    if (choice == 0) return {number(random_.between(-4, 6) * 0.375), 2};
    if (choice == 1 && !axes_.empty()) return {cast(dtype_, random_.of(axes_)) * number(0.125), 2};
    if (choice == 2) return draw_lookup();
    if (choice < 7 && inputs_.size() < 4) return draw_sums();
    std::vector<Source> sources = functions_;
    if (sources.empty() || random_.chance(0.4)) {
      sources = inputs_;
      if (sources.empty())
        sources.push_back(new_input({random_.of(extents_), random_.of(extents_)}));
    }
    const Source read = random_.of(sources);
    return {any_read(read), read.bound};
  }

  // Of a table by which nothing is differentiated, where data says.
  Value draw_lookup() {
    const Tensor data = input(fmt::format("d{}", next_input_++), i32, outer_shape());
    const Tensor table = input(fmt::format("t{}", next_input_++), dtype_, {5});
    return {table(clamp(data.at(outer_values()), 0, 4)), 1.5};
  }

  // Of a tensor as large as its indices need, each a sum of axes.
  Value draw_sums() {
    Shape shape;
    std::vector<Expr> indices;
    const int rank = random_.between(1, 3);
    for (int d = 0; d < rank; ++d) {
      if (axes_.empty() || random_.chance(0.08)) {
        shape.emplace_back(3);
        indices.emplace_back(random_.below(3));
        continue;
      }
      Expr index = 0;
      Extent extent = 0;
      int64_t rest = 1;
      const int terms = random_.chance(0.6) ? 1 : random_.between(2, 3);
      for (int t = 0; t < terms; ++t) {
        const Axis& axis = random_.of(axes_);
        const bool is_plain = random_.chance(0.6);
        int factor = is_plain ? 1 : random_.between(-3, 4);
        if (factor == 0) factor = 2;
        if (is_plain && t > 0 && most(axes_.front().extent()) <= 4 && random_.chance(0.3)) {
          factor = static_cast<int>(most(axes_.front().extent()));  // digits
        }
        index = t == 0 ? (factor == 1 ? Expr(axis) : axis * factor) : index + axis * factor;
        if (factor < 0) index = index - (axis.extent() - 1) * factor;
        extent = extent + axis.extent() * std::abs(factor);
        rest -= axis.extent().as_constant() ? std::abs(factor) : 0;
      }
      if (extent.as_constant()) extent = extent + rest;
      if (random_.chance(0.3)) {
        const int offset = random_.between(1, 2);
        index = index + offset;
        extent = extent + offset + random_.below(2);
      }
      shape.push_back(extent);
      indices.push_back(index);
    }
    return {new_input(shape).tensor.at(indices), 1.5};
  }

  Expr any_read(const Source& source) {
    std::vector<Expr> indices;
    for (const Extent& extent : source.tensor.op()->shape) indices.push_back(any_index(extent));
    return source.tensor.at(indices);
  }

  Expr plain_index(const Extent& extent) {
    std::vector<Axis> equal;
    for (const Axis& axis : axes_) {
      if (axis.extent() == extent) equal.push_back(axis);
    }
    if (!equal.empty()) return random_.of(equal);
    return axes_.empty() ? Expr(0) : clamp(random_.of(axes_), 0, extent - 1);
  }

  Expr any_index(const Extent& extent) {
    std::vector<Axis> equal, twice, half;
    for (const Axis& axis : axes_) {
      if (axis.extent() == extent) equal.push_back(axis);
      if (axis.extent() == 2 * extent) twice.push_back(axis);
      if (2 * axis.extent() == extent) half.push_back(axis);
    }
    if (axes_.empty())
      return extent.as_constant() ? random_.below(static_cast<int>(*extent.as_constant())) : 0;
    if (!twice.empty() && random_.chance(0.5)) return random_.of(twice) / 2;
    if (!half.empty() && random_.chance(0.5)) {
      const Axis axis = random_.of(half);
      return axis * 2 + random_.below(2);
    }
    if (!equal.empty() && random_.chance(0.75))
      return index_along_equal(random_.of(equal), axes_, extent, &random_);
    const Axis axis = random_.of(axes_);
    return index_along_any(axis, random_.of(axes_), extent, &random_);
  }

  std::vector<SizeValues> runs_of(const Graph& graph) {
    static const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6, 7, 8, kMostSize};
    const std::vector<std::string> names(graph.sizes().begin(), graph.sizes().end());
    std::vector<SizeValues> runs;
    for (int run = 0; run < (names.empty() ? 1 : 5); ++run) {
      SizeValues sizes;
      for (const std::string& name : names) {
        sizes[name] = run < 2 ? run : run == 2 ? kMostSize : random_.of(values);
      }
      runs.push_back(sizes);
    }
    return runs;
  }

  RandomNumbers random_;
  const DType dtype_;
  std::vector<Extent> extents_;
  std::vector<Source> inputs_, functions_;
  std::vector<Axis> outer_, axes_;  // of this function; that a body may use
  int left_ = 0;                    // operations of this body
  int reductions_ = 0;
  int next_input_ = 0;
  int refused_ = 0;
};

}  // namespace

GradientProgram random_gradient_program(uint64_t seed, int index, DType dtype) {
  return Maker(seed, index, dtype).make();
}

TensorValues gradient_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments;
  RandomNumbers random(seed);
  for (const OpPtr& op : graph.arguments()) {
    TensorValue value = zeros(op->dtype, evaluate_shape(op->name, op->shape, sizes));
    for (int64_t i = 0; i < value.element_count(); ++i) {
      const double real = static_cast<float>(random.real(-1.5, 1.5));
      const bool is_number = is_float(op->dtype);
      const int whole = random.below(op->dtype == DType::boolean ? 2 : 7);
      value.set_value(i, is_number ? real : whole);
    }
    arguments[op->name] = std::move(value);
  }
  return arguments;
}

}  // namespace emulsion
