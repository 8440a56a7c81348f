#include "backends/halide/llvm_options.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "Halide.h"

namespace emulsion {
namespace {

constexpr std::string_view kVariable = "HL_LLVM_ARGS=";
constexpr std::string_view kOption = "-disable-vector-combine";

// Halide reads options for LLVM from the environment, once, and from nowhere else. setenv() may
// free the table in which another thread looks something up, so the environment is another table
// meanwhile, which stays.
void initialize_with_option() {
  static std::string entry(kVariable);
  static std::vector<char*> table;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.substr(0, kVariable.size()) != kVariable) {
      table.push_back(*variable);
    } else if (text.size() > kVariable.size()) {
      entry += text.substr(kVariable.size());
    }
  }
  if (entry != kVariable) entry += ' ';
  entry += kOption;
  table.push_back(entry.data());
  table.push_back(nullptr);
  char** const before = environ;
  environ = table.data();
  Halide::Internal::CodeGen_LLVM::initialize_llvm();
  if (environ == table.data()) environ = before;  // else another thread has set something since
}

}  // namespace

void set_llvm_options() {
  static std::once_flag once;
  std::call_once(once, initialize_with_option);
}

}  // namespace emulsion
