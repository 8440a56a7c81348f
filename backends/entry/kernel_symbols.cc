#include "backends/entry/kernel_symbols.h"

#include <cstddef>
#include <iterator>

#include "dsl/error.h"

namespace emulsion {

std::string own_symbol(const std::string& function, const std::string& identity) {
  return function + "_is_" + identity;
}

std::string with_own_symbols(std::string header, const std::vector<std::string>& functions,
                             const std::string& identity) {
  const std::string results[] = {"int ", "int ", "const struct halide_filter_metadata_t *"};
  const std::string forms[] = {"", "_argv", "_metadata"};
  for (const std::string& function : functions) {
    for (size_t i = 0; i < std::size(forms); ++i) {
      const size_t declared = header.find("\n" + results[i] + function + forms[i] + "(");
      const size_t end = header.find(");", declared);
      EMULSION_CHECK(declared != std::string::npos && end != std::string::npos,
                     "a header does not declare {}{}", function, forms[i]);
      header.insert(end + 1, " __asm__(\"" + own_symbol(function, identity) + forms[i] + "\")");
    }
  }
  const size_t end = header.rfind("\n#ifdef __cplusplus\n}");
  EMULSION_CHECK(end != std::string::npos, "a header that does not end");
  header.insert(end, fmt::format(R"(
// Functions have symbols of their own: another kernel of this name, which some shared library has,
// is not called instead. Two kernels of one name do not link into one program.
__attribute__((used)) static int (*const {0}_here)(void **) = {0}_argv;
)",
                                 own_symbol(functions.front(), identity)));
  return header;
}

}  // namespace emulsion
