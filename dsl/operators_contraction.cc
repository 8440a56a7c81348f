#include "dsl/count_text.h"
#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

// The axes of a stack of matrices before its last `matrix_rank` axes.
Shape leading_axes(const Tensor& x, int matrix_rank) {
  return Shape(x.shape().begin(), x.shape().end() - matrix_rank);
}

// Reads one element of a stack of matrices; its leading axes broadcast to `batch`.
Expr read_matrix(const Tensor& x, const std::vector<Axis>& batch, const std::vector<Expr>& matrix) {
  std::vector<Expr> indices;
  size_t own = x.shape().size() - matrix.size();
  for (size_t i = 0; i < own; ++i) {
    indices.push_back(broadcast_index(x.shape()[i], batch[batch.size() - own + i]));
  }
  indices.insert(indices.end(), matrix.begin(), matrix.end());
  return x.at(std::move(indices));
}

// What conv2d knows of its arguments once they are checked.
struct Convolution {
  Convolution(const OperatorCall& call, const Tensor& x, const Tensor& w, const Conv2dOptions& o) {
    call.check_numeric(kX, x);
    call.check_rank(kX, x, 4, "N, H, W, C");
    call.check_same_type(kW, w, kX, x);
    call.check_rank(kW, w, 4, "KH, KW, C / groups, O");
    check_options(call, o);
    for (int i = 0; i < 2; ++i) {
      const Extent& k = w.shape()[i];
      if (!k.is_constant() || k.constant_term() < 1 || k.constant_term() > kFurthest) {
        call.refuse(kW, "{}: expected a number of 1 or more, got {}", i == 0 ? "KH" : "KW",
                    k.to_string());
      }
    }
    check_groups(call, x, w, o.groups);
    low = {0, o.pad_top, o.pad_left, 0};
    high = {0, o.pad_bottom, o.pad_right, 0};
    padded = padded_shape(x.shape(), low, high);
    out_h =
        window_extent(call, kX, "H", padded[1],
                      int64_t{o.dilation_h} * (w.shape()[0].constant_term() - 1) + 1, o.stride_h);
    out_w =
        window_extent(call, kX, "W", padded[2],
                      int64_t{o.dilation_w} * (w.shape()[1].constant_term() - 1) + 1, o.stride_w);
  }

  bool pads() const { return padded_anywhere(low) || padded_anywhere(high); }

  static constexpr Argument kW{2, "w"};
  static constexpr Argument kOptions{3, "options"};
  std::vector<int64_t> low, high;
  Shape padded;
  Extent out_h, out_w;

 private:
  static bool padded_anywhere(const std::vector<int64_t>& amounts) {
    for (int64_t amount : amounts) {
      if (amount > 0) return true;
    }
    return false;
  }

  static void check_options(const OperatorCall& call, const Conv2dOptions& o) {
    call.check_at_least(kOptions, "stride_h", o.stride_h, 1);
    call.check_at_least(kOptions, "stride_w", o.stride_w, 1);
    call.check_at_least(kOptions, "pad_top", o.pad_top, 0);
    call.check_at_least(kOptions, "pad_bottom", o.pad_bottom, 0);
    call.check_at_least(kOptions, "pad_left", o.pad_left, 0);
    call.check_at_least(kOptions, "pad_right", o.pad_right, 0);
    call.check_at_least(kOptions, "dilation_h", o.dilation_h, 1);
    call.check_at_least(kOptions, "dilation_w", o.dilation_w, 1);
    call.check_at_least(kOptions, "groups", o.groups, 1);
  }

  static void check_groups(const OperatorCall& call, const Tensor& x, const Tensor& w, int groups) {
    const Extent& channels = x.shape()[3];
    std::optional<Extent> share = channels.exact_quotient(groups);
    if (!share || (groups > 1 && !channels.is_constant())) {
      call.refuse(kOptions, "groups: expected a divisor of the {} of x {}, got {}",
                  count_text(channels.to_string(), "channel", "channels"), to_string(x.shape()),
                  groups);
    }
    if (w.shape()[2] != *share) {
      call.refuse(kW, "expected {} (the {} of x {} over {}), got {}",
                  count_text(share->to_string(), "input channel", "input channels"),
                  channels.to_string(), to_string(x.shape()), count_text(groups, "group", "groups"),
                  to_string(w.shape()));
    }
    const Extent& outputs = w.shape()[3];
    if (groups > 1 && (!outputs.is_constant() || outputs.constant_term() % groups != 0)) {
      call.refuse(kW, "expected a number of output channels that {} groups divide, got {}", groups,
                  to_string(w.shape()));
    }
  }
};

// The input channel that output channel o meets at position c of its group.
Expr input_channel(const Axis& o, const Axis& c, int groups) {
  if (groups == 1) return c;
  int64_t outputs_each = o.extent().constant_term() / groups;
  int64_t inputs_each = c.extent().constant_term();
  if (outputs_each == 0) return c;  // no output channels: nothing is ever read
  Expr group = outputs_each == 1 ? Expr(o) : o / int_constant(outputs_each);
  return inputs_each == 1 ? group + c : group * int_constant(inputs_each) + c;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const std::string& name) {
  constexpr Argument kA{1, "a"};
  constexpr Argument kB{2, "b"};
  OperatorCall call("matmul", name);
  call.check_numeric(kA, a);
  call.check_same_type(kB, b, kA, a);
  if (a.rank() == 0) call.refuse(kA, "expected rank 1 or more, got a scalar");
  if (b.rank() == 0) call.refuse(kB, "expected rank 1 or more, got a scalar");

  const Extent& columns = a.shape().back();
  const Extent& rows = b.shape()[b.rank() == 1 ? 0 : b.rank() - 2];
  if (rows != columns) {
    call.refuse(kB, "expected {} to match the columns of a {}, got {}",
                count_text(columns.to_string(), "row", "rows"), to_string(a.shape()),
                to_string(b.shape()));
  }
  int a_matrix = a.rank() == 1 ? 1 : 2;
  int b_matrix = b.rank() == 1 ? 1 : 2;
  Shape batch_shape = call.broadcast(leading_axes(a, a_matrix), "the leading axes of a", kB,
                                     leading_axes(b, b_matrix));

  Axis k("k", columns);
  std::vector<Axis> batch = axes_over(batch_shape, "b");
  std::vector<Axis> axes = batch;
  std::vector<Expr> a_indices = {k};
  std::vector<Expr> b_indices = {k};
  if (a_matrix == 2) {
    axes.emplace_back("m", a.shape()[a.rank() - 2]);
    a_indices.insert(a_indices.begin(), axes.back());
  }
  if (b_matrix == 2) {
    axes.emplace_back("n", b.shape().back());
    b_indices.emplace_back(axes.back());
  }
  return call.result(axes,
                     sum(k, read_matrix(a, batch, a_indices) * read_matrix(b, batch, b_indices)));
}

Tensor conv2d(const Tensor& x, const Tensor& w, const Conv2dOptions& options,
              const std::string& name) {
  OperatorCall call("conv2d", name);
  Convolution shapes(call, x, w, options);
  Tensor source = x;
  if (shapes.pads()) {
    std::vector<Axis> axes = axes_over(shapes.padded);
    source = call.member("pad", axes,
                         padded_body(x, axes, shapes.low, shapes.high, constant(x.dtype(), 0)));
  }

  Axis n("n", x.shape()[0]), y("y", shapes.out_h), xo("x", shapes.out_w), o("o", w.shape()[3]);
  Axis ky("ky", w.shape()[0]), kx("kx", w.shape()[1]), c("c", w.shape()[2]);
  Expr row = scaled(y, options.stride_h) + scaled(ky, options.dilation_h);
  Expr column = scaled(xo, options.stride_w) + scaled(kx, options.dilation_w);
  return call.result({n, y, xo, o},
                     sum({ky, kx, c}, source(n, row, column, input_channel(o, c, options.groups)) *
                                          w(ky, kx, c, o)));
}

}  // namespace emulsion
