#include "benchmarks/halide_peer.h"

#include "Halide.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {

void calling_halide(const std::string& what, const std::function<void()>& call) {
  try {
    call();
  } catch (const Halide::Error& error) {
    fail("{} in Halide: {}", what, error.what());
  }
}

void running_halide(const std::string& what, const std::function<int()>& kernel) {
  int code = 0;
  calling_halide(what, [&] { code = kernel(); });
  if (code != 0) fail("{} in Halide: code {}", what, code);
}

void set_halide_threads(int count) { Halide::Internal::JITSharedRuntime::set_num_threads(count); }

}  // namespace emulsion::benchmarks
