#ifndef EMULSION_DSL_TENSOR_H_
#define EMULSION_DSL_TENSOR_H_

// Operations and handles to them. The whole graph IR:
//
//   op := input                       an argument of the kernel
//       | weight                      an argument that rarely changes: may be packed
//       | constant data               values known when the kernel is built
//       | compute axes [combiner axes] expr    one comprehension: every operator is this
//       | fused members               a small graph of its own; its last member is the result
//
// Ops are immutable and form a DAG through the reads of their expressions (SSA). A Tensor is a
// cheap handle.

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/types.h"

namespace emulsion {

enum class OpKind : uint8_t { input, weight, constant, compute, fused };

struct Op {
  OpKind kind;
  std::string name;         // unique within a Graph (Graph makes it so)
  bool auto_named = false;  // the user gave no name: a Graph may number it
  uint64_t declared = 0;    // input, weight: greater than that of each one made before it
  DType dtype;
  Shape shape;  // row-major; the extents of `axes` for a compute op
  // constant: element_count * size_in_bytes(dtype) bytes, row-major, host byte order
  std::shared_ptr<const std::vector<uint8_t>> data;
  // compute: out[axes] = combiner over reduction_axes of body (combiner none: out[axes] = body)
  std::vector<Axis> axes;
  std::vector<Axis> reduction_axes;
  Combiner combiner = Combiner::none;
  Expr body;
  // fused: topological order, reads of each other and of outside ops; the last is the result
  std::vector<OpPtr> members;
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(OpPtr op) : op_(std::move(op)) {}
  bool defined() const { return op_ != nullptr; }
  const OpPtr& op() const { return op_; }
  const std::string& name() const { return op_->name; }
  DType dtype() const { return op_->dtype; }
  const Shape& shape() const { return op_->shape; }
  int rank() const { return static_cast<int>(op_->shape.size()); }
  // One element: x(m, k). Error when the number of indices is not the rank or an index is not i32.
  template <typename... Indices>
  Expr operator()(Indices... indices) const {
    return at({Expr(indices)...});
  }
  Expr at(std::vector<Expr> indices) const;

 private:
  OpPtr op_;
};

// Leaves. Error: an illegal name, a type that has no kernels yet, a negative or overflowing shape
// (more than 2^31 - 1 bytes), a constant whose data do not fit its shape.
//
// A kernel takes inputs and weights in the order in which these functions were called, unless
// Graph::arguments() says another. So each is declared in a statement of its own: C++ leaves open
// which argument of matmul(input(..), weight(..)) is made first.
Tensor input(const std::string& name, DType dtype, Shape shape);
Tensor weight(const std::string& name, DType dtype, Shape shape);
Tensor constant(const std::string& name, DType dtype, const Shape& shape,
                std::vector<uint8_t> bytes);
Tensor constant(const std::string& name, Shape shape, const std::vector<float>& values);
Tensor constant(const std::string& name, Shape shape, const std::vector<double>& values);
Tensor constant(const std::string& name, Shape shape, const std::vector<int32_t>& values);
Tensor constant(const std::string& name, Shape shape, const std::vector<int8_t>& values);
Tensor constant(const std::string& name, Shape shape, const std::vector<uint8_t>& values);
Tensor constant(const std::string& name, Shape shape, const std::vector<int16_t>& values);
Tensor constant(const std::string& name, Shape shape, const std::vector<uint16_t>& values);
// A rank-0 constant.
Tensor scalar(float value);
Tensor scalar(double value);
Tensor scalar(int32_t value);

// One comprehension, checked: axes have extents and distinct names, every axis that `body` uses is
// one of them, the body's type is computable, reads stay inside their tensor where that can be
// decided (an index that is affine in the axes). An empty `name` is chosen from `auto_name`. A
// reduce inside `body` is lifted into an operation of its own.
Tensor compute(const std::string& name, std::vector<Axis> axes, Expr body,
               const std::string& auto_name = "compute");

// What the user writes: Func y("y"); y(m, n) = max(mm(m, n) + b(n), 0.0f). After the definition it
// is a Tensor in every respect; before, using it is an Error. A second definition is an Error.
class Func {
 public:
  explicit Func(const std::string& name);

  class Definition {
   public:
    Definition(Func* func, std::vector<Axis> axes) : func_(func), axes_(std::move(axes)) {}
    Definition(const Definition&) = default;
    void operator=(Expr body);  // NOLINT: f(m) = ... returns nothing to chain
    // f(m) = g(m) defines f, too, and is no copy of what stands on the right.
    void operator=(const Definition& read) { *this = Expr(read); }  // NOLINT: as above
    operator Expr() const;                                          // NOLINT: a read at these axes
   private:
    Func* func_;
    std::vector<Axis> axes_;
  };

  // With axes only, the left-hand side of the definition or a read; with other indices (axes,
  // expressions and numbers in any mix), a read: bx(y + 1, x), table(0).
  template <typename... Indices>
  auto operator()(const Indices&... indices) {
    if constexpr ((std::is_same_v<Indices, Axis> && ...)) {
      return Definition(this, {indices...});
    } else {
      return at({Expr(indices)...});
    }
  }
  template <typename... Indices>
  Expr operator()(const Indices&... indices) const {
    return at({Expr(indices)...});
  }
  Expr at(std::vector<Expr> indices) const { return tensor().at(std::move(indices)); }
  const std::string& name() const { return name_; }
  const Tensor& tensor() const;                        // Error before the definition
  operator const Tensor&() const { return tensor(); }  // NOLINT

 private:
  std::string name_;
  Tensor tensor_;
};

}  // namespace emulsion

#endif  // EMULSION_DSL_TENSOR_H_
