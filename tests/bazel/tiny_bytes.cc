// The integers that wrap around, as arguments and results of a kernel.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

// As the documentation writes it: a context that nothing uses is no warning.
Graph emulsion_kernel(const KernelContext& context) {
  const Shape shape = {Extent::size("B"), 67};
  const Tensor bytes = input("bytes", u8, shape), signs = input("signs", i8, shape);
  const Tensor wide = mul(cast(bytes, i16, "wide"), cast(signs, i16, "wide_signs"), "products");
  return Graph(std::vector<Tensor>{wide, sum(bytes, {1}, false, "wrapped"),
                                   sum(cast(bytes, u16, "counts"), {1}, false, "counted")});
}
