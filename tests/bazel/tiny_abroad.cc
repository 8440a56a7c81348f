// tiny_linear in a program that writes 1234.5 as 1.234,5, as an application in Germany may:
// generator_test compares their kernels.

#include <clocale>
#include <locale>
#include <string>

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

namespace {

class Abroad : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "wahr"; }
};

// C's is what the environment says, where the machine has it.
bool go_abroad() {
  std::locale::global(std::locale(std::locale::classic(), new Abroad));
  return std::setlocale(LC_ALL, "") != nullptr;
}
[[maybe_unused]] const bool kIsAbroad = go_abroad();

}  // namespace

Graph emulsion_kernel(const KernelContext& context) {
  const Tensor x = input("x", f32, {Extent::size("B"), 20});
  const Tensor w = weight("w", f32, {20, 24});
  const Tensor bias = context.constant("bias", "//tests/bazel:tiny_bias.npy");
  return relu(add(matmul(x, w, "mm"), bias, "biased"), "y");
}
