#include "dsl/operators.h"
#include "tests/passes/differentiate/gradient_cases.h"

namespace emulsion {
namespace {

using Body = std::function<Expr(const Tensor& x)>;

// y(axes) = body over one tensor x.
GradientCase over(const std::string& name, const Shape& shape, const std::vector<Axis>& axes,
                  const Body& body, SizeValues sizes = {{"B", 3}}) {
  return {name,
          [=](DType dtype) {
            const Tensor x = input("x", dtype, shape);
            return GradientProblem{compute("y", axes, body(x)), {x}};
          },
          std::move(sizes)};
}

const Axis i("i", 6), j("j", 4), k("k", 3), b("b", kBatch);

Expr clamped(const Expr& index, const Extent& extent) {
  return max(min(index, extent_value(extent - Extent(1))), 0);
}

void add_affine(std::vector<GradientCase>* cases) {
  const auto add = [&](const std::string& name, const Shape& shape, const std::vector<Axis>& axes,
                       const Body& body) { cases->push_back(over(name, shape, axes, body)); };
  add("shifted", {9}, {i}, [](const Tensor& x) { return x(i + 2); });
  add("reversed", {6}, {i}, [](const Tensor& x) { return x(5 - i); });
  add("strided", {14}, {i}, [](const Tensor& x) { return x(2 * i + 1); });
  add("strided_backwards", {20}, {i}, [](const Tensor& x) { return x(17 - 3 * i); });
  add("diagonal", {6, 6}, {i}, [](const Tensor& x) { return x(i, i); });
  add("wide_diagonal", {6, 13}, {i}, [](const Tensor& x) { return x(i, 2 * i + 1); });
  add("diagonal_of_batch", {kBatch, kBatch}, {b}, [](const Tensor& x) { return x(b, b); });
  add("diagonal_and_rest", {6, 6}, {i, Axis("r", 6)}, [](const Tensor& x) {
    const Axis r("r");
    return x(i, i) * x(i, r) + x(r, r);
  });
  add("trace", {6, 6}, {}, [](const Tensor& x) { return sum(i, x(i, i)); });
  add("constant_index", {6, 3}, {i}, [](const Tensor& x) { return x(i, 1); });
  add("one_element", {6, 3}, {j}, [](const Tensor& x) { return x(4, 2); });
  add("neighbours", {8}, {i}, [](const Tensor& x) { return x(i) * x(i + 1) - 3.0 * x(i + 2); });
  add("sum_of_two_axes", {9}, {i, j}, [](const Tensor& x) { return x(i + j); });
  add("difference_of_two_axes", {9}, {i, j}, [](const Tensor& x) { return x(i - j + 3); });
  add("three_axes", {16}, {i, j, k}, [](const Tensor& x) { return x(2 * i + j + k); });
  add("weighted_axes", {24}, {i, j}, [](const Tensor& x) { return x(4 * i + j); });
  add("gaps_between_rows", {6 * 7 - 3}, {i, j}, [](const Tensor& x) { return x(7 * i + j); });
  add("rows_overlap", {6 * 3 + 1}, {i, j}, [](const Tensor& x) { return x(3 * i + j); });
  add("window", {8}, {i}, [](const Tensor& x) { return sum(k, x(i + k) * x(i + k)); });
  add("window_of_batch", {kBatch + Extent(2)}, {b},
      [](const Tensor& x) { return sum(k, x(b + k)); });
  add("convolved_with_itself", {11}, {i}, [](const Tensor& x) {
    return sum({j, k}, x(i + j) * x(k + j));
  });
  add("broadcast", {6}, {b, i, j}, [](const Tensor& x) { return x(i) * x(i); });
  add("unused_reduction", {6}, {i}, [](const Tensor& x) { return sum({b, k}, x(i)); });
  add("scaled_sum", {6, 4}, {i}, [](const Tensor& x) { return sum(j, 0.5 * x(i, j)) * 2.0; });
  add("axis_as_value", {6}, {i, b}, [](const Tensor& x) { return x(i) * cast(x.dtype(), i + b); });
  add("size_as_value", {6, kBatch}, {i},
      [](const Tensor& x) { return sum(b, x(i, b)) / cast(x.dtype(), size_value("B")); });
}

void add_borders(std::vector<GradientCase>* cases) {
  const auto add = [&](const std::string& name, const Shape& shape, const std::vector<Axis>& axes,
                       const Body& body) { cases->push_back(over(name, shape, axes, body)); };
  add("clamped_low", {6}, {i}, [](const Tensor& x) { return x(max(i - 1, 0)); });
  add("clamped_far", {6}, {i}, [](const Tensor& x) { return x(clamped(i - 3, 6)); });
  add("clamped_high", {4}, {i}, [](const Tensor& x) { return x(min(i, 3)); });
  add("clamped_all", {3}, {i}, [](const Tensor& x) { return x(clamped(i + 7, 3)); });
  add("clamped_to_one", {1}, {i}, [](const Tensor& x) { return x(clamped(i - 3, 1)); });
  add("clamped_other_way", {6}, {i}, [](const Tensor& x) { return x(min(max(i - 2, 0), 5)); });
  add("clamped_inside", {9}, {i}, [](const Tensor& x) { return x(max(min(i, 4), 2)); });
  add("clamped_strided", {9}, {i}, [](const Tensor& x) { return x(clamped(2 * i - 2, 9)); });
  add("clamped_batch", {kBatch}, {b}, [](const Tensor& x) { return x(clamped(b + 1, kBatch)); });
  add("clamped_batch_low", {5}, {b}, [](const Tensor& x) { return x(min(b, 4)); });
  add("blur", {6, 4}, {i, j}, [](const Tensor& x) {
    return x(clamped(i - 1, 6), j) + 2.0 * x(i, j) + x(clamped(i + 1, 6), j);
  });
  add("blur_2d", {6, 4}, {i, j}, [](const Tensor& x) {
    const Axis q("q", 3), p("p", 3);
    return sum({q, p}, x(clamped(i + q - 1, 6), clamped(j + p - 1, 4)));
  });
  add("blur_of_squares", {kBatch, 4}, {b, j}, [](const Tensor& x) {
    const Expr e = x(clamped(b + k - 1, kBatch), j);
    return sum(k, e * e);
  });
  add("padded_by_hand", {4}, {i}, [](const Tensor& x) {
    return select(i >= 1 && i < 5, x(clamped(i - 1, 4)), constant(x.dtype(), 2));
  });
  add("chosen_halves", {6}, {i}, [](const Tensor& x) {
    return select(i < 3, x(clamped(i + 3, 6)), x(clamped(i - 3, 6)) * 2.0);
  });
  add("chosen_outside", {6}, {i},
      [](const Tensor& x) { return select(i < 2 || i > 4, x(i) * 3.0, constant(x.dtype(), 0)); });
  add("chosen_last", {kBatch}, {i}, [](const Tensor& x) {
    const Expr size = size_value("B");
    return select(i < size, x(max(min(i, size - 1), 0)), constant(x.dtype(), 0));
  });
  // Ends that are further away than the index goes.
  add("clamped_batch_beyond", {kBatch}, {b},
      [](const Tensor& x) { return x(clamped(b + 4, kBatch)); });
  add("clamped_batch_before", {kBatch}, {b},
      [](const Tensor& x) { return x(clamped(b - 4, kBatch)); });
  add("clamped_batch_far_below", {kBatch + 6}, {b},
      [](const Tensor& x) { return x(max(b, 5)) * x(b + 1); });
  add("mirrored", {6}, {i}, [](const Tensor& x) { return x(clamped(abs(i - 2), 6)); });
}

void add_digits(std::vector<GradientCase>* cases) {
  const auto add = [&](const std::string& name, const Shape& shape, const std::vector<Axis>& axes,
                       const Body& body) { cases->push_back(over(name, shape, axes, body)); };
  const Axis n("n", 12);
  add("quotient", {6}, {n}, [=](const Tensor& x) { return x(n / 2); });
  add("remainder", {5}, {n}, [=](const Tensor& x) { return x(n % 5); });
  add("remainder_of_batch", {2}, {b}, [](const Tensor& x) { return x(b % 2); });
  add("digits", {3, 4}, {n}, [=](const Tensor& x) { return x(n / 4, n % 4); });
  add("digits_swapped", {4, 3}, {n}, [=](const Tensor& x) { return x(n % 4, n / 4); });
  add("digit_twice", {4, 4}, {n}, [=](const Tensor& x) { return x(n % 4, n % 4); });
  add("quotient_shifted", {8}, {n}, [=](const Tensor& x) { return x((n + 3) / 2); });
  add("quotient_of_sum", {8}, {n, j}, [=](const Tensor& x) { return x((n + j) / 2); });
  add("scaled_quotient", {16}, {n}, [=](const Tensor& x) { return x(clamped(n / 4 * 5 + 1, 16)); });
  add("negative_quotient", {6}, {n}, [=](const Tensor& x) { return x(clamped(5 - n / 2, 6)); });
  add("product_of_axes", {26}, {i}, [](const Tensor& x) { return x(clamped(i * i, 26)); });
  add("maximum_of_axes", {6}, {i, j}, [](const Tensor& x) { return x(max(i, j)); });
}

void add_written_reductions(std::vector<GradientCase>* cases) {
  const auto add = [&](const std::string& name, const Shape& shape, const std::vector<Axis>& axes,
                       const Body& body) { cases->push_back(over(name, shape, axes, body)); };
  add("maximum_of_squares", {6, 4}, {i},
      [](const Tensor& x) { return reduce_max(j, x(i, j) * x(i, j)); });
  add("minimum_of_window", {8}, {i}, [](const Tensor& x) { return reduce_min(k, x(i + k)); });
  add("product", {6, 4}, {i}, [](const Tensor& x) { return product({j}, x(i, j)); });
  add("product_of_two_axes", {2, 3, b.extent()}, {b}, [](const Tensor& x) {
    const Axis p("p", 2), q("q", 3);
    return product({p, q}, x(p, q, b) + 0.5);
  });
  add("reduction_in_a_body", {6, 4}, {i},
      [](const Tensor& x) { return x(i, 0) * sum(j, x(i, j)) + reduce_max(j, x(i, j)); });
  add("empty_batch", {kBatch, 4}, {j}, [](const Tensor& x) { return sum(b, x(b, j) * x(b, j)); });
  cases->back().sizes = {{"B", 0}};
  add("empty_result", {4}, {b, j}, [](const Tensor& x) { return x(j) * x(j); });
  cases->back().sizes = {{"B", 0}};
  add("empty_clamped", {kBatch}, {b}, [](const Tensor& x) { return x(clamped(b - 1, kBatch)); });
  cases->back().sizes = {{"B", 0}};
  add("empty_chosen", {kBatch}, {i}, [](const Tensor& x) {
    const Expr size = size_value("B");
    return select(i < size, x(max(min(i, size - 1), 0)), constant(x.dtype(), 0));
  });
  cases->back().sizes = {{"B", 0}};
  cases->push_back({"factor_beside_an_empty_one",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch}), w = input("w", dtype, {6});
                      const Expr padded = select(i < kBatch, x(i), constant(dtype, 2));
                      return GradientProblem{compute("y", {i}, padded * w(i)), {x, w}};
                    },
                    {{"B", 0}}});
  add("batch_of_one", {kBatch, 4}, {b, j}, [](const Tensor& x) { return x(b, j) * x(b, j); });
  cases->back().sizes = {{"B", 1}};
  cases->push_back({"distances",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 3});
                      const Tensor c = weight("c", dtype, {4, 3});
                      const Expr d = x(b, k) - c(j, k);
                      return GradientProblem{compute("y", {b, j}, sum(k, d * d)), {x, c}};
                    },
                    {{"B", 3}}});
  cases->push_back({"layer_in_one_body",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 3});
                      const Tensor w = weight("w", dtype, {3, 4});
                      const Tensor c = weight("c", dtype, {4});
                      const Expr z = sum(k, x(b, k) * w(k, j)) + c(j);
                      return GradientProblem{compute("y", {b, j}, tanh(z) * z), {x, w, c}};
                    },
                    {{"B", 3}}});
  cases->push_back({"same_axis_names",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {6, 6});
                      const Axis i0("i0", 6), i1("i1", 6);
                      return GradientProblem{compute("y", {i1, i0}, x(i0, i1) * x(i1, i1)), {x}};
                    },
                    {}});
}

}  // namespace

std::vector<GradientCase> comprehension_cases() {
  std::vector<GradientCase> cases;
  add_affine(&cases);
  add_borders(&cases);
  add_digits(&cases);
  add_written_reductions(&cases);
  return cases;
}

}  // namespace emulsion
