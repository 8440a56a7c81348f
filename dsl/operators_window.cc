#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

constexpr Argument kOptions{2, "options"};

// What both pools share: checked options, padding and the axes of the comprehension.
struct Pooling {
  Pooling(const OperatorCall& call, const Tensor& x, const PoolOptions& options) : o(options) {
    call.check_rank(kX, x, 4, "N, H, W, C");
    call.check_at_least(kOptions, "window_h", o.window_h, 1);
    call.check_at_least(kOptions, "window_w", o.window_w, 1);
    call.check_at_least(kOptions, "stride_h", o.stride_h, 1);
    call.check_at_least(kOptions, "stride_w", o.stride_w, 1);
    check_padding(call, "pad_top", o.pad_top, o.window_h);
    check_padding(call, "pad_bottom", o.pad_bottom, o.window_h);
    check_padding(call, "pad_left", o.pad_left, o.window_w);
    check_padding(call, "pad_right", o.pad_right, o.window_w);
    low = {0, o.pad_top, o.pad_left, 0};
    high = {0, o.pad_bottom, o.pad_right, 0};
    padded = padded_shape(x.shape(), low, high);
    axes = {Axis("n", x.shape()[0]),
            Axis("y", window_extent(call, kX, "H", padded[1], o.window_h, o.stride_h)),
            Axis("x", window_extent(call, kX, "W", padded[2], o.window_w, o.stride_w)),
            Axis("c", x.shape()[3])};
    window = {Axis("ky", o.window_h), Axis("kx", o.window_w)};
  }

  // More padding would make windows that hold nothing of x.
  static void check_padding(const OperatorCall& call, const char* field, int pad, int window) {
    if (pad < 0 || pad >= window) {
      call.refuse(kOptions, "{}: expected 0 or more and less than the window's {}, got {}", field,
                  window, pad);
    }
  }

  bool pads() const { return o.pad_top + o.pad_bottom + o.pad_left + o.pad_right > 0; }

  // x with its padding, an operation of its own where there is any.
  Tensor source(const OperatorCall& call, const Tensor& x, const Expr& value) const {
    if (!pads()) return x;
    std::vector<Axis> all = axes_over(padded);
    return call.member("pad", all, padded_body(x, all, low, high, value));
  }

  Expr read(const Tensor& source) const {
    return source(axes[0], scaled(axes[1], o.stride_h) + window[0],
                  scaled(axes[2], o.stride_w) + window[1], axes[3]);
  }

  const PoolOptions& o;
  std::vector<int64_t> low, high;
  Shape padded;
  std::vector<Axis> axes, window;
};

// How many of the window's places along one axis lie inside x.
Expr places_inside(const Axis& out, int stride, int pad, int window, const Extent& extent) {
  Expr first = scaled(out, stride);
  if (pad > 0) first = first - int_constant(pad);
  return min(first + window, extent_value(extent)) - max(first, int_constant(0));
}

}  // namespace

Tensor max_pool(const Tensor& x, const PoolOptions& options, const std::string& name) {
  OperatorCall call("max_pool", name);
  call.check_numeric(kX, x);
  Pooling pool(call, x, options);
  Tensor source = pool.source(call, x, identity_of(Combiner::max, x.dtype()));
  return call.result(pool.axes, reduce_max(pool.window, pool.read(source)));
}

Tensor avg_pool(const Tensor& x, const PoolOptions& options, const std::string& name) {
  OperatorCall call("avg_pool", name);
  call.check_float(kX, x);
  Pooling pool(call, x, options);
  Tensor source = pool.source(call, x, constant(x.dtype(), 0));
  Tensor total = call.member("sum", pool.axes, sum(pool.window, pool.read(source)));

  Expr count = constant(x.dtype(), static_cast<double>(options.window_h) * options.window_w);
  if (pool.pads() && !options.count_include_pad) {
    Expr rows = places_inside(pool.axes[1], options.stride_h, options.pad_top, options.window_h,
                              x.shape()[1]);
    Expr columns = places_inside(pool.axes[2], options.stride_w, options.pad_left, options.window_w,
                                 x.shape()[2]);
    count = cast(x.dtype(), rows * columns);
  }
  return call.result(pool.axes, total.at(values_of(pool.axes)) / count);
}

}  // namespace emulsion
