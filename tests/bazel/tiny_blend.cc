// fg over bg: declared in an order that its formula does not meet them in.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

// A name that nobody uses is no warning here, which would be an error: users leave it standing.
Graph emulsion_kernel(const KernelContext& context) {
  const Shape shape = {Extent::size("N")};
  const Tensor fg = input("fg", f32, shape);
  const Tensor bg = input("bg", f32, shape);
  const Tensor alpha = input("alpha", f32, shape);
  return add(mul(fg, alpha), mul(bg, sub(1.0f, alpha)), "mix");
}
