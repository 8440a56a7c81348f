// Operators that are made of several steps, in f32 as they are compiled, against themselves in f64
// as the interpreter has them, each held to its bound. u = 2^-24 is half a unit in the last place
// of 1. The README states the bounds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

constexpr double kU = 0x1p-24;
using Floats = std::vector<float>;

// An operator's graph, of that type.
using Make = std::function<Graph(DType type)>;

struct Results {
  TensorValue found, exact;
};

Results compute_both(const Make& make, const std::map<std::string, Floats>& values) {
  const Graph graph = make(f32), wide = make(f64);
  TensorValues arguments, wide_arguments;
  for (const auto& [name, floats] : values) {
    std::vector<int64_t> shape;
    for (const Extent& extent : (*graph.find(name))->shape) shape.push_back(extent.evaluate({}));
    arguments.emplace(name, make_tensor(shape, floats));
    const std::vector<double> doubles(floats.begin(), floats.end());
    wide_arguments.emplace(name, make_tensor(shape, doubles));
  }
  const Target target = Target::host();
  const LoopNest nest = run_pipeline(graph, target).nest;
  return {run_by_jit(nest, arguments, 1, target).at("y"),
          interpret_graph(wide, wide_arguments).at("y")};
}

// `bound`: of element i. Prints the greatest part of it that was needed.
void expect_within(const std::string& what, const Results& results,
                   const std::function<double(int64_t i)>& bound) {
  double needed = 0;
  for (int64_t i = 0; i < results.exact.element_count(); ++i) {
    const double error = std::fabs(results.found.value(i) - results.exact.value(i));
    const double allowed = bound(i);
    ASSERT_LE(error, allowed) << what << " [" << i << "]: " << results.found.value(i) << ", not "
                              << results.exact.value(i);
    if (allowed > 0) needed = std::max(needed, error / allowed);
  }
  fmt::print("{}: {:.3f} of the bound\n", what, needed);
}

Floats normal(size_t count, double mean, double deviation, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> distribution(mean, deviation);
  Floats values(count);
  for (float& value : values) value = static_cast<float>(distribution(engine));
  return values;
}

// From -12.5 to 12.5, and numbers of every exponent.
TEST(OperatorErrors, Gelu) {
  constexpr int64_t kNear = 100003, kExponents = 277, kCount = kNear + 2 * kExponents;
  Floats x;
  for (int64_t i = 0; i < kNear; ++i) x.push_back(static_cast<float>(i - kNear / 2) * 2.5e-4f);
  for (int exponent = -149; exponent < -149 + kExponents; ++exponent) {
    x.push_back(std::ldexp(1.0f, exponent));
    x.push_back(std::ldexp(-1.0f, exponent));
  }
  for (const Gelu form : {Gelu::tanh, Gelu::erf}) {
    const auto make = [&](DType type) {
      return Graph(gelu(input("x", type, {kCount}), form, "y"));
    };
    expect_within(
        form == Gelu::tanh ? "gelu, tanh" : "gelu, erf", compute_both(make, {{"x", x}}),
        [&](int64_t i) { return 8 * kU * std::fabs(x[static_cast<size_t>(i)]) + 0x1p-149; });
  }
}

// The greatest of a row of n elements is taken off first; what that rounds is part of the exponent.
TEST(OperatorErrors, Softmax) {
  for (const int64_t n : {1, 7, 100, 1031}) {
    constexpr int64_t kRows = 5;
    const auto count = static_cast<size_t>(n * kRows);
    for (const double spread : {0.1, 10.0, 30.0}) {
      const Floats x = normal(count, 100, spread, 1);
      const auto make = [&](DType type) {
        return Graph(softmax(input("x", type, {kRows, n}), 1, "y"));
      };
      Floats greatest;
      for (auto row = x.begin(); row != x.end(); row += n) {
        greatest.push_back(*std::max_element(row, row + n));
      }
      expect_within(fmt::format("softmax of {}", n), compute_both(make, {{"x", x}}),
                    [&](int64_t i) {
                      const double below =
                          double{greatest[static_cast<size_t>(i / n)]} - x[static_cast<size_t>(i)];
                      const double size = std::exp(-below);  // of y at most
                      return (2 * below + static_cast<double>(n) + 16) * kU * size + 0x1p-149;
                    });
    }
  }
}

// Where the mean is far greater than the deviation, x - mean has few bits left: so the bound has
// the greatest |x| over the deviation in it.
TEST(OperatorErrors, LayerNorm) {
  for (const int64_t n : {2, 33, 1000}) {
    constexpr int64_t kRows = 6;
    const auto width = static_cast<size_t>(n);
    for (const double mean : {0.0, 1000.0}) {
      const Floats x = normal(width * kRows, mean, 3, 2);
      const Floats gamma = normal(width, 1, 1, 3), beta = normal(width, 0, 1, 4);
      const auto make = [&](DType type) {
        return Graph(layer_norm(input("x", type, {kRows, n}), weight("gamma", type, {n}),
                                weight("beta", type, {n}), 1e-5, "y"));
      };
      expect_within(
          fmt::format("layer_norm of {}", n),
          compute_both(make, {{"x", x}, {"gamma", gamma}, {"beta", beta}}), [&](int64_t i) {
            const auto first = static_cast<size_t>(i / n) * width;
            double sum = 0, squares = 0, greatest = 0;
            for (size_t k = first; k < first + width; ++k) sum += x[k];
            for (size_t k = first; k < first + width; ++k) {
              squares += std::pow(x[k] - sum / static_cast<double>(n), 2);
              greatest = std::max(greatest, std::fabs(double{x[k]}));
            }
            const double deviation = std::sqrt(squares / static_cast<double>(n) + 1e-5);
            const size_t column = static_cast<size_t>(i) % width;
            const double steps = static_cast<double>(n) + 16;
            return steps * kU *
                   (2 * greatest / deviation * std::fabs(gamma[column]) + std::fabs(beta[column]));
          });
    }
  }
}

// Also of numbers whose squares count for nothing beside epsilon, or nearly leave f32.
TEST(OperatorErrors, RmsNorm) {
  for (const int64_t n : {1, 33, 1000}) {
    constexpr int64_t kRows = 6;
    const auto width = static_cast<size_t>(n);
    const Floats gamma = normal(width, 1, 1, 3);
    const auto make = [&](DType type) {
      return Graph(rms_norm(input("x", type, {kRows, n}), weight("gamma", type, {n}), 1e-5, "y"));
    };
    for (const double scale : {0x1p-120, 0x1p-20, 1.0, 0x1p54}) {
      const Floats x = normal(width * kRows, 5 * scale, 3 * scale, 2);
      const Results results = compute_both(make, {{"x", x}, {"gamma", gamma}});
      expect_within(fmt::format("rms_norm of {}, {}", n, scale), results, [&](int64_t i) {
        return (static_cast<double>(n) + 16) * kU * std::fabs(results.exact.value(i));
      });
    }
  }
}

// Pairs that cancel to the last bit, and one small number that is left.
Floats cancelling(size_t count, unsigned seed) {
  Floats values = normal(count, 0, 1e4, seed);
  for (size_t i = 1; i < count; i += 2) values[i] = -values[i - 1];
  std::shuffle(values.begin(), values.end(), std::mt19937(seed));
  values[0] += 0.25f;
  return values;
}

double size_of(const Floats& values) {
  double size = 0;
  for (float value : values) size += std::fabs(double{value});
  return size;
}

// In whatever order: n u times the sum of the sizes.
TEST(OperatorErrors, SumsThatCancelAndLargeSums) {
  constexpr int64_t kCount = (int64_t{1} << 20) + 3;
  const auto make = [](DType type) {
    return Graph(sum(input("x", type, {kCount}), {0}, false, "y"));
  };
  for (const bool cancels : {true, false}) {
    const Floats x = cancels ? cancelling(kCount, 5) : normal(kCount, 1, 0.1, 6);
    expect_within(cancels ? "a sum that cancels" : "a large sum", compute_both(make, {{"x", x}}),
                  [&](int64_t /*i*/) { return kCount * kU * size_of(x); });
  }
}

TEST(OperatorErrors, ProductsThatCancel) {
  constexpr int64_t kDepth = 4096, kRows = 9, kColumns = 35;
  Floats x, w;
  for (int64_t m = 0; m < kRows; ++m) {
    for (float value : cancelling(kDepth, static_cast<unsigned>(m))) x.push_back(value);
  }
  const Floats rows = normal(kDepth, 1, 1e-3, 8);  // all columns nearly alike, so that x cancels
  for (float row : rows) {
    for (int64_t n = 0; n < kColumns; ++n) w.push_back(row * (1 + 1e-3f * static_cast<float>(n)));
  }
  const auto make = [](DType type) {
    return Graph(
        matmul(input("x", type, {kRows, kDepth}), weight("w", type, {kDepth, kColumns}), "y"));
  };
  expect_within("a product that cancels", compute_both(make, {{"x", x}, {"w", w}}), [&](int64_t i) {
    double size = 0;
    for (int64_t k = 0; k < kDepth; ++k) {
      size += std::fabs(double{x[static_cast<size_t>(i / kColumns * kDepth + k)]} *
                        w[static_cast<size_t>(k * kColumns + i % kColumns)]);
    }
    return (kDepth + 1) * kU * size;
  });
}

}  // namespace
}  // namespace emulsion
