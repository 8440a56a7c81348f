// A program that writes 1234.5 as 1.234,5 when EMULSION_ABROAD is set, as an application in Germany
// may: generator_test compares the kernels that it makes here and there.

#include <clocale>
#include <cstdlib>
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

// C's locale becomes what the environment says, where the machine has it.
bool go_abroad() {
  if (std::getenv("EMULSION_ABROAD") == nullptr) return false;
  std::locale::global(std::locale(std::locale::classic(), new Abroad));
  return std::setlocale(LC_ALL, "") != nullptr;
}
[[maybe_unused]] const bool kIsAbroad = go_abroad();

}  // namespace

Graph emulsion_kernel(const KernelContext& /*context*/) {
  const Axis i("i", Extent::size("B")), j("j", 2048);
  const Tensor x = input("x", f32, {Extent::size("B"), 2048});
  return compute("y", {i, j}, max(x(i, j) * 1234.5f - 0.1f, 0.0f));
}
