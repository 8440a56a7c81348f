// A graph function that looks where it must not: generator_test reads what is said of each. Its
// data name what it looks at.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "backends/codegen/kernel_context.h"
#include "dsl/error.h"

namespace {

int64_t value_of(const std::string& kind) {
  if (kind == "clock") return std::time(nullptr) % 1000000;
  if (kind == "process") return getpid();
  if (kind == "environment") {
    const char* home = std::getenv("HOME");
    return home == nullptr ? 0 : static_cast<int64_t>(std::string(home).size());
  }
  if (kind == "address") {
    const auto object = std::make_unique<int>(0);
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(object.get()) >> 12 & 0xffffff);
  }
  if (kind == "random") return std::random_device()() % 1000000;
  if (kind == "seeded") return static_cast<int64_t>(std::mt19937(7)() % 1000000);
  emulsion::fail("restless: expected something to look at, got \"{}\"", kind);
}

}  // namespace

emulsion::Graph emulsion_kernel(const emulsion::KernelContext& context) {
  std::string kind;
  std::ifstream(context.path("kind")) >> kind;
  const emulsion::Tensor x = emulsion::input("x", emulsion::f32, {8});
  return emulsion::mul(x, static_cast<float>(value_of(kind)), "y");
}
