#ifndef EMULSION_BACKENDS_HALIDE_JIT_H_
#define EMULSION_BACKENDS_HALIDE_JIT_H_

// Compiles a nest into this process and runs it: for tests, and for whoever builds kernels while an
// application runs. Parallel loops run on Halide's own pool of threads, not on OpenMP's.
//
// A JitKernel may be run from several threads at once, and so may a JitCall, as far as its memory
// allows. Compiling waits for other compilations.

#include <map>
#include <memory>
#include <string>

#include "backends/entry/bind_buffers.h"
#include "backends/entry/compile_options.h"
#include "dsl/extent.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// A kernel and its arguments, checked and packed once: a run of a small kernel takes as long as
// that kernel.
class JitCall {
 public:
  // Error: memory that ran out.
  void run() const;

 private:
  friend class JitKernel;
  struct Bound;
  std::shared_ptr<const Bound> bound_;
};

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
  void run(const std::map<std::string, JitBuffer>& arguments, const SizeValues& known = {}) const;

  // The same arguments for many runs, in memory that outlives them. A weight is packed here: when
  // its values change, bind it again. Errors as for run().
  JitCall bind(const std::map<std::string, JitBuffer>& arguments,
               const SizeValues& known = {}) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_JIT_H_
