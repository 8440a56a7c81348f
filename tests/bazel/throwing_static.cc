// A static object that throws before the generator's main(): generator_test reads what is said of
// it.

#include <stdexcept>

#include "backends/codegen/kernel_context.h"

namespace {

int table() { throw std::runtime_error("no table"); }
const int kTable = table();

}  // namespace

emulsion::Graph emulsion_kernel(const emulsion::KernelContext& /*context*/) {
  return emulsion::relu(emulsion::input("x", emulsion::f32, {kTable}));
}
