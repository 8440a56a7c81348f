// The kernel is of another factor than a graph that is made where a variable is set, by so little
// that only what has to be exact shows it. Run by kernel_needs_test.

#include <cstdlib>

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& context) {
  const bool whole = std::getenv("EMULSION_TEST_WHOLE_FACTOR") != nullptr;
  return mul(input("x", f32, {8}), whole ? 2.0F : 2.00001F, "y");
}
