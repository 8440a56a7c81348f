#include "tests/passes/derive/layer_graphs.h"

#include "dsl/operators.h"

namespace emulsion {

Tensor rows_of(const Extent& rows, int64_t width, DType type) {
  return input("x", type, {rows, width});
}

Tensor layer(const Tensor& x, const std::string& name, int64_t width) {
  const DType type = x.dtype();
  const Tensor w = weight("w" + name, type, {x.shape().back(), width});
  return relu(add(matmul(x, w, "p" + name), weight("b" + name, type, {width}), "s" + name), name);
}

Tensor mlp(const Extent& rows, int64_t width, int layers, DType type) {
  Tensor y = rows_of(rows, width, type);
  for (int i = 1; i <= layers; ++i) y = layer(y, "y" + std::to_string(i), width);
  return y;
}

}  // namespace emulsion
