#include "benchmarks/peers/halide_peer.h"

#include "Halide.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

using Task = int (*)(Halide::JITUserContext*, int, uint8_t*);

int run_all_here(Halide::JITUserContext* context, Task task, int begin, int count,
                 uint8_t* closure) {
  for (int i = begin; i < begin + count; ++i) {
    if (int code = task(context, i, closure)) return code;
  }
  return 0;
}

}  // namespace

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

void set_halide_threads(HalideThreads threads) {
  Halide::JITHandlers handlers;  // none: Halide's own
  if (threads == HalideThreads::one) handlers.custom_do_par_for = run_all_here;
  Halide::Internal::JITSharedRuntime::set_default_handlers(handlers);
}

}  // namespace emulsion::benchmarks
