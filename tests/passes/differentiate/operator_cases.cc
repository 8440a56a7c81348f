#include "dsl/operators.h"
#include "tests/passes/differentiate/gradient_cases.h"

namespace emulsion {
namespace {

// f of one tensor of this shape.
GradientCase one(const std::string& name, const Shape& shape,
                 const std::function<Tensor(const Tensor&)>& f, double low = -2, double high = 2) {
  return {name,
          [=](DType dtype) {
            const Tensor x = input("x", dtype, shape);
            return GradientProblem{f(x), {x}};
          },
          {{"B", 3}},
          low,
          high};
}

GradientCase two(const std::string& name, const Shape& a_shape, const Shape& b_shape,
                 const std::function<Tensor(const Tensor&, const Tensor&)>& f, double low = -2,
                 double high = 2) {
  return {name,
          [=](DType dtype) {
            const Tensor a = input("a", dtype, a_shape);
            const Tensor b = weight("b", dtype, b_shape);
            return GradientProblem{f(a, b), {a, b}};
          },
          {{"B", 3}},
          low,
          high};
}

GradientCase convolution(const std::string& name, const Shape& x, const Shape& w,
                         const Conv2dOptions& options) {
  return two(name, x, w, [=](const Tensor& a, const Tensor& b) { return conv2d(a, b, options); });
}

Conv2dOptions conv(int stride, int pad, int dilation, int groups) {
  Conv2dOptions o;
  o.stride_h = o.stride_w = stride;
  o.pad_top = o.pad_bottom = o.pad_left = o.pad_right = pad;
  o.dilation_h = o.dilation_w = dilation;
  o.groups = groups;
  return o;
}

PoolOptions pool(int window, int stride, int pad, bool count_pad = false) {
  PoolOptions o;
  o.window_h = o.window_w = window;
  o.stride_h = o.stride_w = stride;
  o.pad_top = o.pad_bottom = o.pad_left = o.pad_right = pad;
  o.count_include_pad = count_pad;
  return o;
}

void add_elementwise(std::vector<GradientCase>* cases) {
  const Shape s = {kBatch, 5};
  const auto add_two = [&](const std::string& name, auto f, double low = -2, double high = 2) {
    cases->push_back(two(name, s, s, f, low, high));
    cases->push_back(two(name + "_row", s, {5}, f, low, high));
    cases->push_back(two(name + "_column", s, {kBatch, 1}, f, low, high));
    cases->push_back(two(name + "_scalar", s, {}, f, low, high));
  };
  add_two("add", [](const Tensor& a, const Tensor& b) { return add(a, b); });
  add_two("sub", [](const Tensor& a, const Tensor& b) { return sub(a, b); });
  add_two("mul", [](const Tensor& a, const Tensor& b) { return mul(a, b); });
  add_two(
      "div", [](const Tensor& a, const Tensor& b) { return div(a, b); }, 0.5, 2);
  add_two(
      "pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }, 0.5, 2);
  add_two("min", [](const Tensor& a, const Tensor& b) { return min(a, b); });
  add_two("max", [](const Tensor& a, const Tensor& b) { return max(a, b); });
  const auto add_one = [&](const std::string& name, auto f, double low = -2, double high = 2) {
    cases->push_back(one(name, s, f, low, high));
  };
  add_one("square_of_one", [](const Tensor& x) { return mul(x, x); });
  add_one("pow_2", [](const Tensor& x) { return pow(x, 2); });
  add_one("pow_3", [](const Tensor& x) { return pow(x, 3); });
  add_one("pow_1", [](const Tensor& x) { return pow(x, 1); });
  add_one("pow_0", [](const Tensor& x) { return pow(x, 0); });
  add_one("two_to_the", [](const Tensor& x) { return pow(2.0, x); });
  add_one("neg", [](const Tensor& x) { return neg(x); });
  add_one("abs", [](const Tensor& x) { return abs(x); });
  add_one("relu", [](const Tensor& x) { return relu(x); });
  add_one("exp", [](const Tensor& x) { return exp(x); });
  add_one(
      "log", [](const Tensor& x) { return log(x); }, 0.5, 2);
  add_one(
      "sqrt", [](const Tensor& x) { return sqrt(x); }, 0.5, 2);
  add_one("tanh", [](const Tensor& x) { return tanh(x); });
  add_one("floor", [](const Tensor& x) { return mul(x, floor(x)); });
  add_one("ceil", [](const Tensor& x) { return sub(mul(x, 2), ceil(mul(x, x))); });
  add_one("round", [](const Tensor& x) { return sub(x, round(x)); });
  add_one("trunc", [](const Tensor& x) { return exp(sub(x, trunc(x))); });
  add_one("sigmoid", [](const Tensor& x) { return sigmoid(x); });
  add_one("gelu_tanh", [](const Tensor& x) { return gelu(x); });
  add_one("gelu_erf", [](const Tensor& x) { return gelu(x, Gelu::erf); });
  add_one("clamp", [](const Tensor& x) { return clamp(x, -1, 1); });
  add_one("cast_and_back", [](const Tensor& x) {
    const DType other = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
    return cast(cast(x, DType::f64), other);
  });
  add_one("swish", [](const Tensor& x) { return mul(x, sigmoid(x)); });
  add_one("where", [](const Tensor& x) { return where(less(x, 0), mul(x, 3), mul(x, x)); });
  add_one("log_where_positive", [](const Tensor& x) { return where(less(x, 0), x, log(abs(x))); });
}

void add_reductions(std::vector<GradientCase>* cases) {
  const Shape s = {kBatch, 4, 5};
  const auto add_one = [&](const std::string& name, auto f, double low = -2, double high = 2) {
    cases->push_back(one(name, s, f, low, high));
  };
  add_one("sum_last", [](const Tensor& x) { return sum(x, {-1}); });
  add_one("sum_first", [](const Tensor& x) { return sum(x, {0}); });
  add_one("sum_all", [](const Tensor& x) { return sum(x, {0, 1, 2}); });
  add_one("sum_keepdims", [](const Tensor& x) { return sum(x, {1}, true); });
  add_one("mean_last", [](const Tensor& x) { return mean(x, {-1}); });
  add_one("mean_batch", [](const Tensor& x) { return mean(x, {0, 1}); });
  add_one("reduce_max", [](const Tensor& x) { return reduce_max(x, {-1}); });
  add_one("reduce_max_two", [](const Tensor& x) { return reduce_max(x, {0, 2}); });
  add_one("reduce_min", [](const Tensor& x) { return reduce_min(x, {1}); });
  add_one("softmax", [](const Tensor& x) { return softmax(x); });
  add_one("softmax_middle", [](const Tensor& x) { return softmax(x, 1); });
  add_one("square_of_sums", [](const Tensor& x) {
    const Tensor total = sum(x, {-1});
    return mul(total, total);
  });
  cases->push_back({"layer_norm",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 7});
                      const Tensor gamma = weight("gamma", dtype, {7});
                      const Tensor beta = weight("beta", dtype, {7});
                      return GradientProblem{layer_norm(x, gamma, beta), {x, gamma, beta}};
                    },
                    {{"B", 3}}});
  cases->push_back({"rms_norm_two_axes",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 3, 4});
                      const Tensor gamma = weight("gamma", dtype, {3, 4});
                      return GradientProblem{rms_norm(x, gamma), {x, gamma}};
                    },
                    {{"B", 3}}});
  cases->push_back({"batch_norm",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 3, 4});
                      const Tensor mean = weight("mean", dtype, {4});
                      const Tensor variance = weight("variance", dtype, {4});
                      const Tensor gamma = weight("gamma", dtype, {4});
                      const Tensor beta = weight("beta", dtype, {4});
                      return GradientProblem{batch_norm(x, mean, variance, gamma, beta),
                                             {x, mean, variance, gamma, beta}};
                    },
                    {{"B", 2}},
                    0.5,
                    2});
}

void add_contractions(std::vector<GradientCase>* cases) {
  const auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  cases->push_back(two("matmul", {4, 5}, {5, 3}, product));
  cases->push_back(two("matmul_batch", {kBatch, 5}, {5, 3}, product));
  cases->push_back(two("matmul_inner_batch", {4, kBatch}, {kBatch, 3}, product));
  cases->push_back(two("matmul_batched", {2, 4, 5}, {2, 5, 3}, product));
  cases->push_back(two("matmul_broadcast", {2, 1, 4, 5}, {3, 5, 2}, product));
  cases->push_back(two("matrix_vector", {4, 5}, {5}, product));
  cases->push_back(two("vector_matrix", {5}, {5, 3}, product));
  cases->push_back(two("dot", {5}, {5}, product));
  cases->push_back(two("matmul_k_0", {4, 0}, {0, 3}, product));
  cases->push_back(two("matmul_k_1", {4, 1}, {1, 3}, product));
  cases->push_back(two("matmul_no_rows", {0, 5}, {5, 3}, product));
  cases->push_back(one("square_matrix", {4, 4}, [](const Tensor& x) { return matmul(x, x); }));
  cases->push_back(
      one("gram", {kBatch, 4}, [](const Tensor& x) { return matmul(transpose(x), x); }));
  cases->push_back(convolution("conv2d", {kBatch, 5, 6, 2}, {3, 3, 2, 4}, conv(1, 0, 1, 1)));
  cases->push_back(convolution("conv2d_padded", {1, 4, 5, 2}, {3, 3, 2, 3}, conv(1, 1, 1, 1)));
  cases->push_back(convolution("conv2d_strided", {1, 7, 7, 2}, {3, 3, 2, 3}, conv(2, 0, 1, 1)));
  cases->push_back(convolution("conv2d_stride_left", {1, 8, 8, 2}, {3, 2, 2, 3}, conv(3, 1, 1, 1)));
  cases->push_back(convolution("conv2d_dilated", {1, 7, 7, 2}, {3, 3, 2, 3}, conv(1, 0, 2, 1)));
  cases->push_back(convolution("conv2d_all", {1, 9, 9, 4}, {3, 2, 2, 6}, conv(2, 1, 2, 2)));
  cases->push_back(convolution("conv2d_depthwise", {1, 5, 5, 4}, {3, 3, 1, 4}, conv(1, 1, 1, 4)));
  cases->push_back(convolution("conv2d_pointwise", {1, 3, 3, 4}, {1, 1, 4, 2}, conv(1, 0, 1, 1)));
  cases->push_back(
      convolution("conv2d_rows", {1, kBatch + Extent(2), 4, 2}, {3, 3, 2, 2}, conv(1, 0, 1, 1)));
}

void add_windows_and_movement(std::vector<GradientCase>* cases) {
  const Shape s = {1, 6, 7, 2};
  const auto add_one = [&](const std::string& name, const Shape& shape, auto f) {
    cases->push_back(one(name, shape, f));
  };
  add_one("max_pool", s, [](const Tensor& x) { return max_pool(x, pool(2, 2, 0)); });
  add_one("max_pool_overlap", s, [](const Tensor& x) { return max_pool(x, pool(3, 2, 1)); });
  add_one("avg_pool", s, [](const Tensor& x) { return avg_pool(x, pool(2, 2, 0)); });
  add_one("avg_pool_overlap", s, [](const Tensor& x) { return avg_pool(x, pool(3, 1, 1)); });
  add_one("avg_pool_count_pad", s,
          [](const Tensor& x) { return avg_pool(x, pool(3, 2, 1, true)); });
  add_one("transpose", {2, kBatch, 4}, [](const Tensor& x) {
    return mul(transpose(x, {2, 0, 1}), 2);
  });
  add_one("reshape", {kBatch, 4, 6}, [](const Tensor& x) { return reshape(x, {kBatch, 24}); });
  add_one("reshape_split", {kBatch, 24}, [](const Tensor& x) {
    return reshape(x, {kBatch, 2, 3, 4});
  });
  add_one("reshape_across", {4, 6}, [](const Tensor& x) { return reshape(x, {3, 8}); });
  add_one("reshape_flat", {kBatch, 8}, [](const Tensor& x) { return reshape(x, {-1}); });
  add_one("reshape_sizes", {4, kBatch}, [](const Tensor& x) { return reshape(x, {kBatch, 2, 2}); });
  add_one("slice", {kBatch, 8}, [](const Tensor& x) {
    return slice(x, {0, 2}, {kBatch, 7}, {1, 2});
  });
  add_one("slice_backwards", {8}, [](const Tensor& x) { return slice(x, {6}, {-1}, {-3}); });
  add_one("slice_of_batch", {kBatch + Extent(2)},
          [](const Tensor& x) { return slice(x, {1}, {kBatch + Extent(1)}); });
  add_one("pad", {kBatch, 3}, [](const Tensor& x) { return pad(x, {1, 2}, {0, 1}, 1.5); });
  add_one("concat_of_one", {kBatch, 3}, [](const Tensor& x) { return concat({x, x, x}, 1); });
  cases->push_back(two("concat", {kBatch, 3}, {kBatch, 2}, [](const Tensor& a, const Tensor& b) {
    return concat({a, b, a}, 1);
  }));
  cases->push_back(two("concat_batch", {kBatch, 3}, {2, 3}, [](const Tensor& a, const Tensor& b) {
    return concat({b, a}, 0);
  }));
}

void add_graphs(std::vector<GradientCase>* cases) {
  cases->push_back(one("diamond", {kBatch, 4}, [](const Tensor& x) {
    const Tensor t = tanh(x);
    return add(mul(t, t), exp(t));
  }));
  cases->push_back({"shared_weight",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 4});
                      const Tensor w = weight("w", dtype, {4, 4});
                      return GradientProblem{matmul(tanh(matmul(x, w)), w), {x, w}};
                    },
                    {{"B", 3}}});
  cases->push_back({"cross_entropy",
                    [](DType dtype) {
                      const Tensor x = input("x", dtype, {kBatch, 6});
                      const Tensor target = input("target", dtype, {kBatch, 6});
                      const Tensor w1 = weight("w1", dtype, {6, 8});
                      const Tensor b1 = weight("b1", dtype, {8});
                      const Tensor w2 = weight("w2", dtype, {8, 6});
                      const Tensor hidden = relu(add(matmul(x, w1), b1));
                      const Tensor p = softmax(matmul(hidden, w2));
                      const Tensor loss = neg(mean(sum(mul(target, log(p)), {1}), {0}));
                      return GradientProblem{loss, {w1, b1, w2}};
                    },
                    {{"B", 5}}});
  cases->push_back({"attention",
                    [](DType dtype) {
                      const Tensor q = input("q", dtype, {kBatch, 4});
                      const Tensor k = input("k", dtype, {kBatch, 4});
                      const Tensor v = input("v", dtype, {kBatch, 3});
                      const Tensor scores = softmax(mul(matmul(q, transpose(k)), 0.5));
                      return GradientProblem{matmul(scores, v), {q, k, v}};
                    },
                    {{"B", 4}}});
}

}  // namespace

std::vector<GradientCase> operator_cases() {
  std::vector<GradientCase> cases;
  add_elementwise(&cases);
  add_reductions(&cases);
  add_contractions(&cases);
  add_windows_and_movement(&cases);
  add_graphs(&cases);
  return cases;
}

}  // namespace emulsion
