#ifndef EMULSION_DSL_OPERATORS_H_
#define EMULSION_DSL_OPERATORS_H_

// The named operators: functions that build comprehensions with compute(), nothing more. Whatever
// comes later sees only the comprehension, so a matmul written by hand is the same operation as
// matmul().
//
// Shapes are row-major, the last axis contiguous. An axis argument counts from 0, or from -1 for
// the last axis backwards. Operands have one type: nothing is promoted, cast() says so where it is
// meant. A C++ number takes the type of the tensor beside it, when it is a value of that type up to
// float rounding.
//
// Broadcasting is NumPy's: shapes are aligned at their last axis, and an axis of extent 1 (or a
// missing one) repeats. A run-time extent matches an equal extent or 1, never another number.
// Extents of 0 are legal and give empty results, the empty sum 0.
//
// Values are NumPy's: NaN passes through every operator, relu, min, max, clamp and max_pool
// included. Where a formula is given below, that formula is the definition. Integer arithmetic and
// exp, log, ... are as in expr.h.
//
// Every operator takes a name for its result last; without one it is named after the operator
// (matmul, matmul_1, ...). Inner steps of a composite operator are named after it: softmax_max,
// softmax_exp, ...
//
// A wrong rank, extent, type or axis is an Error that names operator and argument, what was found
// and what is legal: "argument 2 (b) of matmul: expected 256 rows to match the columns of a
// [128, 256], got [255, 512]".

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "dsl/expr.h"
#include "dsl/tensor.h"
#include "dsl/types.h"

namespace emulsion {

// What an elementwise operator computes with: a tensor, or a number in the other operand's type.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(tensor) {}     // NOLINT: add(x, y)
  Operand(const Func& func) : tensor_(func.tensor()) {}  // NOLINT: add(f, y)
  // NOLINTNEXTLINE: add(x, 1), of any type of numbers
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T value) : is_number_(true), number_(static_cast<double>(value)) {}  // NOLINT
  bool is_number() const { return is_number_; }
  double number() const { return number_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
  bool is_number_ = false;
  double number_ = 0;
};

// --- Elementwise, two operands ---
// They broadcast; one at least is a tensor. Any type but bool.

Tensor add(const Operand& a, const Operand& b, const std::string& name = "");
Tensor sub(const Operand& a, const Operand& b, const std::string& name = "");
Tensor mul(const Operand& a, const Operand& b, const std::string& name = "");
// Integers: rounds towards minus infinity; by zero gives 0.
Tensor div(const Operand& a, const Operand& b, const std::string& name = "");
// a to the power of b, as NumPy has it for floats: f32 or f64 only. An integer tensor is cast
// first. pow(x, 0) and pow(1, x) are 1 whatever x is, NaN too. A negative base has a power for
// whole exponents only, else NaN. pow(0, b) is infinite for b < 0; with an odd b it keeps the sign
// of -0.
Tensor pow(const Operand& a, const Operand& b, const std::string& name = "");
Tensor min(const Operand& a, const Operand& b, const std::string& name = "");
Tensor max(const Operand& a, const Operand& b, const std::string& name = "");

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Tensor& x);

// Comparisons: a bool tensor. equal and not_equal also compare bool.
Tensor less(const Operand& a, const Operand& b, const std::string& name = "");
Tensor less_equal(const Operand& a, const Operand& b, const std::string& name = "");
Tensor greater(const Operand& a, const Operand& b, const std::string& name = "");
Tensor greater_equal(const Operand& a, const Operand& b, const std::string& name = "");
Tensor equal(const Operand& a, const Operand& b, const std::string& name = "");
Tensor not_equal(const Operand& a, const Operand& b, const std::string& name = "");
// bool only.
Tensor logical_and(const Operand& a, const Operand& b, const std::string& name = "");
Tensor logical_or(const Operand& a, const Operand& b, const std::string& name = "");
// condition ? a : b. All three broadcast; `condition` is bool, a and b are of any one type.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b,
             const std::string& name = "");

// --- Elementwise, one operand ---

Tensor neg(const Tensor& x, const std::string& name = "");   // any type but bool
Tensor abs(const Tensor& x, const std::string& name = "");   // any type but bool
Tensor relu(const Tensor& x, const std::string& name = "");  // max(x, 0): any type but bool
Tensor exp(const Tensor& x, const std::string& name = "");   // f32 or f64, as all below to gelu
Tensor log(const Tensor& x, const std::string& name = "");
Tensor sqrt(const Tensor& x, const std::string& name = "");
Tensor tanh(const Tensor& x, const std::string& name = "");
// To whole numbers, as NumPy's floor, ceil, rint and trunc: round takes of two the even one.
Tensor floor(const Tensor& x, const std::string& name = "");
Tensor ceil(const Tensor& x, const std::string& name = "");
Tensor round(const Tensor& x, const std::string& name = "");
Tensor trunc(const Tensor& x, const std::string& name = "");
// 1 / (1 + exp(-x)), computed from exp(-|x|), which cannot overflow: 0 at -inf, 1 at +inf.
Tensor sigmoid(const Tensor& x, const std::string& name = "");

enum class Gelu : uint8_t {
  tanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
  erf,   // x / 2 * (1 + erf(x / sqrt(2)))
};
// Hendrycks and Gimpel, 2016. Both forms give NaN at -inf, as the formulas do (-inf * 0).
Tensor gelu(const Tensor& x, Gelu form = Gelu::tanh, const std::string& name = "");

Tensor logical_not(const Tensor& x, const std::string& name = "");  // bool
// min(max(x, low), high). low and high are numbers, low <= high: any type but bool.
Tensor clamp(const Tensor& x, double low, double high, const std::string& name = "");
// To bool: x != 0. Between integers: modulo 2^bits. From float to an integer: towards zero; what it
// does not hold becomes its nearest end, NaN 0.
Tensor cast(const Tensor& x, DType dtype, const std::string& name = "");

// --- Reductions ---
// Over a list of axes, in any order, each once. keepdims: a reduced axis stays, with extent 1.
// Reducing all axes without it gives rank 0. Any type but bool.

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims = false,
           const std::string& name = "");
// Over a run-time extent that turns out to be 0: the identity (-inf, +inf; integers: lowest,
// highest). Over an extent of constant 0: an Error, as in NumPy, unless the result has no elements
// either.
Tensor reduce_max(const Tensor& x, const std::vector<int>& axes, bool keepdims = false,
                  const std::string& name = "");
Tensor reduce_min(const Tensor& x, const std::vector<int>& axes, bool keepdims = false,
                  const std::string& name = "");
// sum / count. f32 or f64; over no elements 0 / 0 = NaN.
Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims = false,
            const std::string& name = "");

// --- Normalisations ---
// f32 or f64.

// exp(x - max) / sum(exp(x - max)) along one axis, computed as exp(x - max) * (1 / sum(..)): one
// division for each sum.
Tensor softmax(const Tensor& x, int axis = -1, const std::string& name = "");
// (x - mean) / sqrt(variance + eps) * gamma + beta over the last axes, as many as gamma has (at
// least one): gamma and beta have the shape of those axes. The variance is mean((x - mean)^2).
// Ba, Kiros and Hinton, 2016.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps = 1e-5,
                  const std::string& name = "");
// x / sqrt(mean(x^2) + eps) * gamma over the last axes, as many as gamma has.
// Zhang and Sennrich, 2019.
Tensor rms_norm(const Tensor& x, const Tensor& gamma, double eps = 1e-5,
                const std::string& name = "");
// Inference: (x - mean) * (gamma / sqrt(variance + eps)) + beta. The four statistics are [C], C the
// extent of `axis`. Ioffe and Szegedy, 2015.
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                  const Tensor& beta, double eps = 1e-5, int axis = -1,
                  const std::string& name = "");

// --- Contractions ---
// Any type but bool.

// a [.., M, K] x b [.., K, N] -> [.., M, N]; the leading axes broadcast. Rank 1 as in NumPy: a [K]
// counts as [1, K] and b [K] as [K, 1], and that axis is missing in the result. K = 0 gives zeros.
Tensor matmul(const Tensor& a, const Tensor& b, const std::string& name = "");

struct Conv2dOptions {
  int stride_h = 1, stride_w = 1;                                // 1 or more
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;  // rows, columns of zeros
  int dilation_h = 1, dilation_w = 1;                            // 1 or more
  int groups = 1;                                                // divides C and O
};
// x [N, H, W, C], w [KH, KW, C / groups, O] -> [N, OH, OW, O], w not mirrored:
//   out[n, y, x, o] = sum over ky, kx, c of
//       padded[n, y * stride_h + ky * dilation_h, x * stride_w + kx * dilation_w, first(o) + c]
//       * w[ky, kx, c, o]
//   first(o) = o / (O / groups) * (C / groups), the first input channel of o's group
//   OH = floor((H + pad_top + pad_bottom - dilation_h * (KH - 1) - 1) / stride_h) + 1
// KH and KW are numbers. H may be a run-time size where OH is affine in it and never negative,
// whatever the size: so declare H + 2 for a 3-row window, and with a stride a multiple of it.
Tensor conv2d(const Tensor& x, const Tensor& w, const Conv2dOptions& options = {},
              const std::string& name = "");

// --- Windows ---
// x [N, H, W, C] -> [N, OH, OW, C], with OH as for conv2d.

struct PoolOptions {
  int window_h = 1, window_w = 1;                                // 1 or more
  int stride_h = 1, stride_w = 1;                                // 1 or more
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;  // less than the window
  // avg_pool: divide by the window's size instead of by how much of x it holds.
  bool count_include_pad = false;
};
// Padding is the identity of max: -inf, an integer type's lowest value. Any type but bool.
Tensor max_pool(const Tensor& x, const PoolOptions& options, const std::string& name = "");
// f32 or f64. Padding is zeros.
Tensor avg_pool(const Tensor& x, const PoolOptions& options, const std::string& name = "");

// --- Data movement ---
// Any type.

// out axis i is axis perm[i] of x; no perm reverses the axes.
Tensor transpose(const Tensor& x, const std::vector<int>& perm = {}, const std::string& name = "");
// The same elements in row-major order. One extent may be -1: whatever is left. Run-time extents
// are welcome where the counts are equal for every size: [B, 8, 8] -> [B, 64] or [64 * B].
Tensor reshape(const Tensor& x, const Shape& shape, const std::string& name = "");
// x[begin], x[begin + step], ... before `end`, per axis. Positions count from 0, never from the
// end, and are not clipped: 0 <= begin <= end <= extent. A negative step walks down: extent > begin
// >= end >= -1. No step: 1 everywhere. slice(x, {0, 2}, {batch, 8}) takes columns 2 to 7.
Tensor slice(const Tensor& x, const std::vector<Extent>& begin, const std::vector<Extent>& end,
             const std::vector<int64_t>& step = {}, const std::string& name = "");
// Equal shapes but for `axis`, where the extents add up.
Tensor concat(const std::vector<Tensor>& tensors, int axis, const std::string& name = "");
// `low` elements of `value` before each axis and `high` after it, none negative.
Tensor pad(const Tensor& x, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
           double value = 0, const std::string& name = "");

}  // namespace emulsion

#endif  // EMULSION_DSL_OPERATORS_H_
