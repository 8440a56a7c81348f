#ifndef EMULSION_DSL_EXPR_H_
#define EMULSION_DSL_EXPR_H_

// Scalar expressions over axes: the right-hand side of every comprehension. Immutable trees, shared
// freely.
//
//   expr := constant                       a number of a given type
//         | axis                           the value of a loop index, i32
//         | size                           the value of a run-time size, i32
//         | read(expr...)                  one element of a tensor, indices row-major
//         | unary expr                     neg abs exp log sqrt tanh erf floor ceil round trunc
//                                          not cast
//         | expr binary expr               add sub mul div mod min max, comparisons, and, or
//         | select(expr, expr, expr)       lazy: what is not chosen is not evaluated
//         | reduce(axes, combiner, expr)   sum(k, ...): Func makes an operation of it
//
// Meaning: f32 and f64 are IEEE; min, max (and relu, clamp built from them) propagate NaN as NumPy
// does. i8, u8, i16 and u16 wrap around modulo 2^bits in every operator and in reductions, as
// NumPy's arrays do: a sum of u8 is a u8, so cast what is summed when it shall not wrap. i32 wraps
// nowhere that a kernel promises: a result outside i32 is unspecified. Integer div and mod round
// towards minus infinity; division by zero gives 0, as does mod.
//
// Both sides of a binary operator have the same type, which is also the result's: nothing is
// promoted, other types need a cast. A C++ literal takes the type of the other side when that loses
// nothing but float precision; one that the type does not hold is an Error. A cast between integers
// wraps; from float to an integer it goes towards zero, what the type does not hold becomes its
// nearest end, and NaN 0; to bool it is x != 0.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/extent.h"
#include "dsl/types.h"

namespace emulsion {

enum class ExprOp : uint8_t {
  // leaves
  constant,
  axis,
  size,
  read,  // args: one index per axis of the tensor
  // one argument
  neg,
  abs,
  exp,
  log,
  sqrt,
  tanh,
  erf,
  floor,
  ceil,
  round,
  trunc,
  logical_not,
  cast,
  // two arguments
  add,
  sub,
  mul,
  div,
  mod,
  pow,
  min,
  max,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  // three arguments: condition, value if true, value if false
  select,
  // one argument; reduction axes and combiner in the node
  reduce,
};

// eq, ne, lt, le, gt, ge: of any type, the result is a bool.
bool is_comparison(ExprOp op);
// Those of them that depend on which side is larger: lt, le, gt, ge.
bool is_order(ExprOp op);

// min and max of floats are NaN where one of the values is. To min_number and max_number NaN is no
// value (minimumNumber, maximumNumber of IEEE 754-2019). No graph has these two: lower() takes them
// where no output tells the difference (skip_nan).
enum class Combiner : uint8_t { none, sum, product, min, max, min_number, max_number };

// A named index. In a comprehension it has an extent; as the name of a loop in a schedule it needs
// none. Two axes are the same axis when their names are equal.
class Axis {
 public:
  explicit Axis(const std::string& name);
  Axis(const std::string& name, Extent extent);
  const std::string& name() const { return name_; }
  bool has_extent() const { return extent_.has_value(); }
  const Extent& extent() const;  // Error when the axis has none

 private:
  std::string name_;
  std::optional<Extent> extent_;
};

// Where the axis of this name stands among them, if it does.
std::optional<size_t> axis_index(const std::vector<Axis>& axes, const std::string& name);
std::vector<std::string> axis_names(const std::vector<Axis>& axes);

struct Op;  // an operation of a graph: dsl/tensor.h
using OpPtr = std::shared_ptr<const Op>;
struct ExprNode;

class Expr {
 public:
  Expr() = default;
  Expr(int value);  // NOLINT: y(m) + 1
  // Whatever a program counts with, int64_t or size_t; Error when it is no i32.
  Expr(long value);                // NOLINT
  Expr(long long value);           // NOLINT
  Expr(unsigned value);            // NOLINT
  Expr(unsigned long value);       // NOLINT
  Expr(unsigned long long value);  // NOLINT
  Expr(float value);               // NOLINT
  Expr(double value);              // NOLINT
  Expr(bool value);                // NOLINT
  Expr(const Axis& axis);          // NOLINT
  // The value of the extent: i == H - 1. A constant extent adapts to the type of the other side, as
  // a C++ literal does. One that depends on a run-time size is an i32 (extent_value). Two extents
  // compare in C++, before there is a kernel: H == 4 is a bool, Expr(H) == 4 is a condition.
  Expr(const Extent& extent);  // NOLINT
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  bool defined() const { return node_ != nullptr; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& node() const { return *node_; }
  DType dtype() const;
  bool same_as(const Expr& other) const { return node_ == other.node_; }

 private:
  friend struct ExprNode;  // takes its arguments apart
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  ExprNode() = default;
  ExprNode(const ExprNode&) = default;
  ExprNode& operator=(const ExprNode&) = delete;
  ~ExprNode();  // lets go of a long chain of operations without recursion

  ExprOp op;
  DType dtype;
  std::vector<Expr> args;
  double float_value = 0;  // constant of a float type
  int64_t int_value = 0;   // constant of any other type
  bool weak = false;       // constant written as a C++ literal: adapts to the other side's type
  std::string name;        // axis, size; read: the buffer's name once in a LoopNest
  OpPtr tensor;            // read, in a graph; null in a LoopNest
  Combiner combiner = Combiner::none;  // reduce
  std::vector<Axis> axes;              // reduce
};

// Constructors. Each checks its types and throws Error naming the operator, the argument and the
// types.
Expr constant(DType dtype, double value);  // value must be representable in an integer dtype
Expr int_constant(int64_t value);          // i32
Expr axis_value(const std::string& name);  // i32
Expr size_value(const std::string& name);  // i32
Expr extent_value(const Extent& extent);   // i32: the affine expression over size_value()
Expr unary(ExprOp op, Expr a);             // not for cast
Expr binary(ExprOp op, Expr a, Expr b);
Expr cast(DType to, Expr a);
Expr select(Expr condition, Expr if_true, Expr if_false);
// The same operation of other arguments, unchecked; `e` itself where they are the nodes that it
// has.
Expr with_args(const Expr& e, std::vector<Expr> args);
// A bool of C++ is known before the kernel is made: H == 4 of two extents is one, though a
// condition of the kernel is meant, Expr(H) == 4. For a bool that is meant: Expr(flag), or C++'s
// ?:.
Expr select(bool condition, Expr if_true, Expr if_false) = delete;
// A read inside a LoopNest: by the buffer's name.
Expr read_buffer(const std::string& buffer, DType dtype, std::vector<Expr> indices);
// A read of an operation in a graph.
Expr read_op(OpPtr op, std::vector<Expr> indices);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator%(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator&&(bool a, Expr b) = delete;  // as select of a bool
Expr operator&&(Expr a, bool b) = delete;
Expr operator||(bool a, Expr b) = delete;
Expr operator||(Expr a, bool b) = delete;
Expr operator!(Expr a);
Expr pow(Expr a, Expr b);  // a to the power of b: f32 or f64
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr clamp(Expr a, Expr low, Expr high);  // max(min(a, high), low)
Expr exp(Expr a);
Expr log(Expr a);
Expr sqrt(Expr a);
Expr tanh(Expr a);
Expr erf(Expr a);
// To a whole number of the same type, f32 or f64. round: to the nearest, of two to the even one.
Expr floor(Expr a);
Expr ceil(Expr a);
Expr round(Expr a);
Expr trunc(Expr a);  // towards zero
Expr abs(Expr a);

// Reductions in index notation: mm(m, n) = sum(k, x(m, k) * w(k, n)). Over an empty axis: sum 0,
// product 1, max -inf (an integer type's lowest), min +inf (its highest), as the identity of the
// combiner.
Expr sum(std::vector<Axis> axes, Expr body);
Expr product(std::vector<Axis> axes, Expr body);
Expr reduce_max(std::vector<Axis> axes, Expr body);
Expr reduce_min(std::vector<Axis> axes, Expr body);
inline Expr sum(const Axis& axis, Expr body) {
  return sum(std::vector<Axis>{axis}, std::move(body));
}
inline Expr product(const Axis& axis, Expr body) {
  return product(std::vector<Axis>{axis}, std::move(body));
}
inline Expr reduce_max(const Axis& axis, Expr body) {
  return reduce_max(std::vector<Axis>{axis}, std::move(body));
}
inline Expr reduce_min(const Axis& axis, Expr body) {
  return reduce_min(std::vector<Axis>{axis}, std::move(body));
}

std::string to_string(ExprOp op);          // "add", "lt", ...
std::string to_string(Combiner combiner);  // "sum", ...
Expr identity_of(Combiner combiner, DType dtype);
// combiner(a, b) as an expression: a + b, max(a, b), ...
Expr combine(Combiner combiner, Expr a, Expr b);

// Rebuilds the tree bottom-up: `rewrite` sees each node after its arguments and returns a
// replacement, or an undefined Expr to keep it. A tree in which nothing changed comes back as the
// same node.
Expr transform(const Expr& root, const std::function<Expr(const Expr&)>& rewrite);
// Calls `visit` on every node, arguments before their user.
void visit(const Expr& root, const std::function<void(const Expr&)>& visit);
// Whether something holds of a node; no further node is looked at then.
bool any_part(const Expr& root, const std::function<bool(const Expr&)>& holds);
// How large an expression is when it is written out: what is used twice counts twice.
struct ExprSize {
  int64_t nodes = 1;  // no more than kMostNodes + 1 is told
  int64_t height = 1;

  // What an operation may be made of. Most walks go down an expression by recursion, and its text
  // is written out.
  static constexpr int64_t kMostNodes = 100000;
  static constexpr int64_t kMostHeight = 1000;
};
// `of_read`, where given: the size of what stands in the place of a read, or nothing. Takes time
// and memory of the nodes that there are, and no stack.
ExprSize size_of(const Expr& root,
                 const std::function<std::optional<ExprSize>(const Expr&)>& of_read = {});

// Replaces axes by name.
Expr substitute_axes(const Expr& root, const std::function<Expr(const std::string&)>& value);
bool equal(const Expr& a, const Expr& b);  // structural

// Infix text: "max(mm[m, n] + b[n], 0f)"; parses back (graph_text.h). f32 constants end in f, f64
// in d, the 8- and 16-bit integers in their type: 200u8, -1i16.
std::string to_string(const Expr& expr);
// "i32(x[i])", for messages; of what is long "i32(...)".
std::string cast_text(DType to, const Expr& expr);

}  // namespace emulsion

#endif  // EMULSION_DSL_EXPR_H_
