#include "tests/random/random_comprehensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/tensor.h"
#include "tests/random/comprehension_types.h"
#include "tests/random/place_condition.h"
#include "tests/random/random_numbers.h"

namespace emulsion {
namespace {

constexpr int kMostOperations = 12;    // of one body
constexpr double kMostInexact = 1000;  // of a product with what is no whole number

struct Value {
  Expr e;
  double bound = 0;      // of its size
  bool inexact = false;  // no whole number: a comparison could go either way
};

struct Function {
  Tensor tensor;
  double bound = 0;
  bool inexact = false;
};

class Drawer {
 public:
  Drawer(uint64_t seed, int index, const ComprehensionOptions& options)
      : options_(options),
        random_(RandomNumbers(seed ^ (static_cast<uint64_t>(index) << 32)).next()) {}

  ScheduleProgram draw(uint64_t seed_of_arguments) {
    draw_extents();
    draw_inputs();
    const int count = random_.between(1, 4);
    for (int tries = 0; tries < 40 && static_cast<int>(functions_.size()) < count; ++tries) {
      try {
        functions_.push_back(draw_function());
      } catch (const Error&) {  // an index that cannot be proved
      }
    }
    if (functions_.empty()) functions_.push_back(a_copy());
    std::vector<Tensor> outputs = {functions_.back().tensor};
    for (size_t i = 0; i + 1 < functions_.size(); ++i) {
      if (random_.chance(0.2)) outputs.push_back(functions_[i].tensor);
    }
    ScheduleProgram drawn = program_of_comprehensions(Graph(outputs), seed_of_arguments);
    drawn.runs = runs_of(drawn.graph);
    for (const Function& f : functions_) {
      if (!f.inexact) continue;
      drawn.relative = 1e-4;
      drawn.absolute = std::max(drawn.absolute, 1e-4 + 1e-5 * f.bound);
    }
    return drawn;
  }

 private:
  // Two or three, so that axes meet.
  void draw_extents() {
    static const std::vector<int> numbers = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 15,
                                             16, 17, 20, 31, 32, 33, 40, 48, 64, 67, 100};
    const std::vector<int>& drawn = options_.large ? large_extents() : numbers;
    const int count = random_.between(2, 3);
    for (int i = 0; i < count; ++i) {
      const bool is_size = random_.chance(0.5);
      extents_.push_back(is_size ? Extent::size(i == 0 ? "H" : "W") : Extent(random_.of(drawn)));
    }
    const Extent first = extents_.front();
    if (random_.chance(0.3)) extents_.push_back(2 * first);
    if (random_.chance(0.3)) extents_.push_back(first + random_.between(1, kMostLonger));
    if (random_.chance(0.4)) extents_.emplace_back(random_.between(1, 4));
  }

  void draw_inputs() {
    const int count = random_.between(1, 3);
    for (int i = 0; i < count; ++i) {
      Shape shape;
      const int rank = random_.between(1, 3);
      for (int d = 0; d < rank; ++d) shape.push_back(random_.of(extents_));
      while (options_.large && element_count(shape).value_or(0) > options_.most_steps) {
        shape.pop_back();
      }
      const DType dtype = random_.chance(0.1) ? DType::boolean : random_.of(value_types());
      inputs_.push_back(
          {input(fmt::format("x{}", i), dtype, shape), is_narrow(dtype) ? 65536.0 : 8});
    }
  }

  Function a_copy() {
    const Tensor& x = inputs_[0].tensor;
    axes_.clear();
    std::vector<Expr> indices;
    for (const Extent& extent : x.op()->shape) {
      axes_.emplace_back(fmt::format("a{}", axes_.size()), extent);
      indices.emplace_back(axes_.back());
    }
    return {compute("copy", axes_, x.at(indices)), inputs_[0].bound};
  }

  // The largest number of points that loops over the axes have in any run.
  int64_t steps(const std::vector<Axis>& axes) const {
    int64_t all = 1;
    for (const Axis& axis : axes) {
      const auto number = axis.extent().as_constant();
      all *= number ? std::max<int64_t>(*number, 1) : 2 * kMostSize;
    }
    return all;
  }

  Function draw_function() {
    const std::string name = fmt::format("f{}", functions_.size());
    axes_.clear();
    const int rank = random_.between(1, 3);
    for (int i = 0; i < rank; ++i) {
      axes_.emplace_back(fmt::format("i{}", i), random_.of(extents_));
    }
    while (steps(axes_) > options_.most_steps) axes_.pop_back();
    const std::vector<Axis> outer = axes_;
    std::vector<Axis> reduced;
    if (random_.chance(0.4)) {
      const int count = random_.between(1, 2);
      for (int i = 0; i < count; ++i) {
        const Axis axis(fmt::format("r{}", i), random_.of(extents_));
        axes_.push_back(axis);
        if (steps(axes_) > options_.most_steps) {
          axes_.pop_back();
          continue;
        }
        reduced.push_back(axis);
      }
    }
    left_ = kMostOperations;
    if (reduced.empty() && random_.chance(0.1)) return {compute(name, outer, draw_condition()), 1};
    const DType dtype = random_.of(value_types());
    Value body = draw_value(dtype, random_.between(1, 3));
    if (!reduced.empty()) body = draw_reduction(reduced, body);
    // Behind a sum, something of its places.
    axes_ = outer;
    if (!reduced.empty() && random_.chance(0.2)) body = draw_operation(body, 1);
    return {compute(name, outer, body.e), body.bound, body.inexact};
  }

  Value draw_reduction(const std::vector<Axis>& reduced, Value body) {
    const double terms = static_cast<double>(steps(reduced));
    switch (random_.below(6)) {
      case 0:
        return {reduce_max(reduced, body.e), body.bound, body.inexact};
      case 1:
        return {reduce_min(reduced, body.e), body.bound, body.inexact};
      case 2:  // of others no number of factors is exact
        if (is_narrow(body.e.dtype())) return {product(reduced, body.e), body.bound};
        [[fallthrough]];
      default:
        if (!is_narrow(body.e.dtype())) body = held(body, limit_of(body.e.dtype()) / terms);
        return {sum(reduced, body.e), body.bound * terms, body.inexact};
    }
  }

  // No larger than that.
  static Value held(Value value, double most) {
    if (value.bound <= most) return value;
    const double end = std::max(1.0, std::min(std::floor(most), 8.0));
    const DType dtype = value.e.dtype();
    return {clamp(value.e, constant(dtype, is_signed(dtype) ? -end : 0), constant(dtype, end)), end,
            value.inexact};
  }

  Value draw_value(DType dtype, int depth) {
    if (depth == 0 || --left_ < 0) return draw_leaf(dtype);
    if (is_narrow(dtype) && random_.chance(0.25)) return draw_narrowed(dtype, depth);
    return draw_operation(draw_value(dtype, depth - 1), depth - 1);
  }

  Value draw_operation(Value a, int depth) {
    const DType dtype = a.e.dtype();
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2: {
        const Value b = draw_value(dtype, depth);
        const bool adds = random_.chance(0.6);
        return {adds ? a.e + b.e : a.e - b.e, a.bound + b.bound, a.inexact || b.inexact};
      }
      case 3:
      case 4: {
        Value b = draw_value(dtype, depth);
        const double most = a.inexact || b.inexact ? kMostInexact : limit_of(dtype);
        if (!is_narrow(dtype) && a.bound * b.bound > most) {
          a = held(a, 8);
          b = held(b, 8);
        }
        return {a.e * b.e, a.bound * b.bound, a.inexact || b.inexact};
      }
      case 5: {
        const Value b = draw_value(dtype, depth);
        const bool takes_least = random_.chance(0.5);
        return {takes_least ? min(a.e, b.e) : max(a.e, b.e), std::max(a.bound, b.bound),
                a.inexact || b.inexact};
      }
      case 6:
      case 7:
      case 8: {
        const Value b = draw_value(dtype, depth);
        const Expr condition = draw_condition();
        return {random_.chance(0.5) ? select(condition, a.e, b.e) : select(condition, b.e, a.e),
                std::max(a.bound, b.bound), a.inexact || b.inexact};
      }
      case 9:
        if (is_float(dtype)) return draw_series(a);
        return {random_.chance(0.5) ? a.e / constant(dtype, random_.between(1, 7))
                                    : a.e % constant(dtype, random_.between(1, 7)),
                a.bound + 7};
      case 10:
        return {max(min(a.e, constant(dtype, random_.between(3, 100))),
                    constant(dtype, random_.between(0, 3))),
                100, a.inexact};
      case 11:
      case 12: {
        const Value b = draw_neighbours(dtype);
        return {a.e + b.e, a.bound + b.bound, a.inexact || b.inexact};
      }
      case 13:
      case 14:
        return draw_border(a);
      default:
        return is_signed(dtype) ? Value{abs(a.e), a.bound, a.inexact} : a;
    }
  }

  // Computed in a wider type.
  Value draw_narrowed(DType dtype, int depth) {
    const DType wide = random_.chance(0.8) ? DType::i32 : DType::i16;
    Value value = draw_value(wide, depth);
    if (random_.chance(0.4)) value.e = value.e * constant(wide, random_.between(2, 120)) + 128;
    if (random_.chance(0.4)) value.e = value.e / constant(wide, 1 << random_.between(1, 8));
    if (random_.chance(0.4)) value.e = clamp(value.e, 0, 100);
    return {cast(dtype, value.e), bound_of(dtype)};
  }

  Value draw_series(const Value& a) {
    const Value small = held(a, 4);
    if (!a.inexact && random_.chance(0.4)) return draw_whole(a);
    switch (random_.below(4)) {
      case 0:
        return {exp(small.e), 55 * small.bound, true};
      case 1:
        return {tanh(small.e), 1, true};
      case 2:
        return {sqrt(abs(small.e)), small.bound, true};
      default:
        return a;
    }
  }

  // Of halves, whole numbers again.
  Value draw_whole(const Value& a) {
    const Expr half = a.e / constant(a.e.dtype(), 2);
    switch (random_.below(4)) {
      case 0:
        return {floor(half), a.bound};
      case 1:
        return {ceil(half), a.bound};
      case 2:
        return {round(half), a.bound};
      default:
        return {trunc(half), a.bound};
    }
  }

  // Of places, or of data.
  Expr draw_condition() {
    if (axes_.empty() || random_.chance(0.3)) {
      const DType dtype = random_.of(value_types());
      const Value a = draw_leaf(dtype), b = draw_leaf(dtype);
      if (a.inexact || b.inexact) return Expr(0) < Expr(1);
      const int kind = random_.below(4);
      return kind == 0 ? a.e != b.e : kind == 1 ? a.e == b.e : a.e < b.e;
    }
    for (const Function& f : functions_) {
      if (f.tensor.op()->dtype != DType::boolean || random_.chance(0.5)) continue;
      const Expr holds = f.tensor.at(draw_indices(f));
      return random_.chance(0.5) ? holds : !holds;
    }
    const Axis& axis = random_.of(axes_);
    const int place = random_.between(0, 9);
    const int kind = random_.below(kPlaceConditions + 1);
    return kind == kPlaceConditions ? Expr(axis) <= Expr(random_.of(axes_))
                                    : place_condition(kind, axis, place);
  }

  Value draw_leaf(DType dtype) {
    const int choice = random_.below(10);
    if (choice == 0) {
      const int number = random_.between(0, 5);
      return {constant(dtype, number), static_cast<double>(number)};
    }
    if (choice == 1 && !axes_.empty()) {
      const double most = static_cast<double>(2 * kMostSize + 3);
      return {cast(dtype, random_.of(axes_)), most};
    }
    const Function& read = draw_function_to_read();
    return read_at(read, draw_indices(read), dtype);
  }

  // What stands beside one another, as windows and stencils read it.
  Value draw_neighbours(DType dtype) {
    const Function& read = draw_function_to_read();
    const Shape& shape = read.tensor.op()->shape;
    std::vector<Expr> indices = draw_indices(read);
    if (indices.empty()) return read_at(read, indices, dtype);
    const auto d = static_cast<size_t>(random_.below(static_cast<int>(shape.size())));
    const Expr middle = indices[d], last = shape[d] - 1;
    Value all = read_at(read, indices, dtype);
    const int count = random_.between(1, 2);
    for (int i = 0; i < count; ++i) {
      indices[d] = clamp(middle + random_.between(-3, 3), 0, last);
      const Value one = read_at(read, indices, dtype);
      all = {all.e + one.e, all.bound + one.bound, all.inexact || one.inexact};
    }
    return all;
  }

  // What is there as far as it goes, and behind or before that something else.
  Value draw_border(const Value& otherwise) {
    const Function& read = draw_function_to_read();
    std::vector<Expr> indices = draw_indices(read);
    if (axes_.empty() || indices.empty()) return otherwise;
    const auto d = static_cast<size_t>(random_.below(static_cast<int>(indices.size())));
    const Extent& extent = read.tensor.op()->shape[d];
    const Axis& axis = random_.of(axes_);
    const int distance = random_.between(0, 3);
    Expr inside = axis + distance < extent;
    indices[d] = axis + distance;
    if (random_.chance(0.6)) {
      indices[d] = axis - distance;
      inside = axis >= distance;
      if (!(axis.extent() == extent)) inside = inside && axis - distance < extent;
    }
    const Value there = read_at(read, indices, otherwise.e.dtype());
    return {select(inside, there.e, otherwise.e), std::max(there.bound, otherwise.bound),
            there.inexact || otherwise.inexact};
  }

  static Value read_at(const Function& read, const std::vector<Expr>& indices, DType dtype) {
    const Expr e = read.tensor.at(indices);
    if (read.inexact && !is_float(dtype)) return {constant(dtype, 1), 1};
    double bound = read.bound;
    if (is_narrow(e.dtype())) bound = bound_of(e.dtype());
    if (e.dtype() == dtype) return {e, bound, read.inexact};
    if (dtype == DType::f32 && bound > limit_of(dtype)) {
      return {cast(dtype, held({e, bound}, 8).e), 8, read.inexact};
    }
    return held({cast(dtype, e), bound, read.inexact}, is_narrow(dtype) ? bound : limit_of(dtype));
  }

  const Function& draw_function_to_read() {
    if (!functions_.empty() && random_.chance(0.6)) return random_.of(functions_);
    return random_.of(inputs_);
  }

  std::vector<Expr> draw_indices(const Function& read) {
    std::vector<Expr> indices;
    for (const Extent& extent : read.tensor.op()->shape) indices.push_back(draw_index(extent));
    return indices;
  }

  Expr draw_index(const Extent& extent) {
    std::vector<Axis> equal, twice, half;
    std::vector<std::pair<Axis, int>> shorter;  // and by how much
    std::vector<Expr> windows;                  // of two axes
    for (const Axis& axis : axes_) {
      if (axis.extent() == extent) equal.push_back(axis);
      if (axis.extent() == 2 * extent) twice.push_back(axis);
      if (2 * axis.extent() == extent) half.push_back(axis);
      for (int by = 1; by <= kMostLonger; ++by) {
        if (axis.extent() + by == extent) shorter.emplace_back(axis, by);
      }
      for (const Axis& other : axes_) {
        if (other.name() == axis.name()) continue;
        if (axis.extent() + other.extent() - 1 == extent) windows.push_back(axis + other);
        if (2 * axis.extent() == extent && other.extent() == 2) {
          windows.push_back(axis * 2 + other);
        }
      }
    }
    if (!windows.empty() && random_.chance(0.6)) return random_.of(windows);
    if (!twice.empty() && random_.chance(0.6)) return random_.of(twice) / 2;
    if (!half.empty() && random_.chance(0.6)) return random_.of(half) * 2 + random_.below(2);
    if (!shorter.empty() && random_.chance(0.6)) {
      const auto& [axis, by] = random_.of(shorter);
      return axis + random_.between(0, by);
    }
    if (!equal.empty() && random_.chance(0.8)) return of_equal(random_.of(equal), extent);
    if (axes_.empty()) return 0;
    const Expr last = extent - 1;
    if (random_.chance(0.15)) {
      const Function& data = random_.of(inputs_);
      Expr place = cast(i32, data.tensor.at(plain_indices(data.tensor)));
      return clamp(place, 0, last);
    }
    const Axis& axis = random_.of(axes_);
    Expr place = axis * random_.between(1, 2) + random_.between(-3, 3);
    if (random_.chance(0.2)) place = place + random_.of(axes_);
    return clamp(place, 0, last);
  }

  Expr of_equal(const Axis& axis, const Extent& extent) {
    const int distance = random_.between(1, 3);
    switch (random_.below(12)) {
      case 0:
        return extent - 1 - axis;
      case 1:
        return (axis + distance) % extent;
      case 2:
        return clamp(axis - distance, 0, extent - 1);
      case 3:
        return clamp(axis + distance, 0, extent - 1);
      case 4:
        return select(axis == 0, extent - 1, axis - 1);
      case 5:
        return axis / 2;
      default:
        return axis;
    }
  }

  // Inside whatever the axes are.
  std::vector<Expr> plain_indices(const Tensor& tensor) {
    std::vector<Expr> indices;
    for (const Extent& extent : tensor.op()->shape) {
      std::optional<Axis> own;
      for (const Axis& axis : axes_) {
        if (axis.extent() == extent) own = axis;
      }
      indices.push_back(own ? Expr(*own) : clamp(axes_.front(), 0, extent - 1));
    }
    return indices;
  }

  std::vector<SizeValues> runs_of(const Graph& graph) {
    static const std::vector<int64_t> values = {0,  1,  2,  3,  4,  5,  7,        8,
                                                15, 16, 17, 23, 31, 32, kMostSize};
    const std::vector<std::string> names(graph.sizes().begin(), graph.sizes().end());
    std::vector<SizeValues> runs;
    for (int run = 0; run < (names.empty() ? 1 : 6); ++run) {
      SizeValues sizes;
      for (const std::string& name : names) {
        sizes[name] = run < 2 ? run : run == 2 ? kMostSize : random_.of(values);
      }
      runs.push_back(sizes);
    }
    return runs;
  }

  static constexpr int64_t kMostSize = 37;
  static constexpr int kMostLonger = 3;

  const ComprehensionOptions options_;
  RandomNumbers random_;
  std::vector<Extent> extents_;
  std::vector<Function> inputs_, functions_;
  std::vector<Axis> axes_;  // that a body may use
  int left_ = 0;            // operations of this body
};

}  // namespace

ScheduleProgram random_comprehensions(uint64_t seed, int index,
                                      const ComprehensionOptions& options) {
  return Drawer(seed, index, options).draw(seed);
}

}  // namespace emulsion
