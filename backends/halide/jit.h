#ifndef EMULSION_BACKENDS_HALIDE_JIT_H_
#define EMULSION_BACKENDS_HALIDE_JIT_H_

// Compiles a nest into this process and runs it: for tests, and for whoever builds kernels while an
// application runs. Parallel loops run on Halide's own pool of threads, not on OpenMP's. A
// JitKernel may be run from several threads at once. Compiling waits for other compilations. After
// fork() the child runs kernels on the thread that calls; it compiles none when another thread of
// the parent did just then.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backends/entry/bind_buffers.h"
#include "backends/entry/compile_options.h"
#include "dsl/extent.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

class JitKernel {
 public:
  // Error: a target that this machine is not.
  explicit JitKernel(const LoopNest& nest, const Target& target = Target::host(),
                     const CompileOptions& options = {});

  // Runs once. `arguments` holds every input, weight and output by name. A weight that the nest
  // packs comes as the user has it, and is packed here on every call, or packed already under its
  // packed name. `known`: sizes that no shape gives, and a check of those that one does. Error:
  // arguments that do not fit, named; an output that shares memory with another argument; storage
  // that is too large for these sizes; memory that ran out.
  void run(const std::map<std::string, JitBuffer>& arguments, const SizeValues& known = {}) const {
    bind(arguments, known)();
  }

  // A function that runs with these arguments, as often as it is called. They are checked and
  // packed once, here; their memory has to outlive the function. Errors as above.
  std::function<void()> bind(const std::map<std::string, JitBuffer>& arguments,
                             const SizeValues& known = {}) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_JIT_H_
