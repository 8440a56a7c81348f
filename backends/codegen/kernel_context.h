#ifndef EMULSION_BACKENDS_CODEGEN_KERNEL_CONTEXT_H_
#define EMULSION_BACKENDS_CODEGEN_KERNEL_CONTEXT_H_

// The one include of a file that emulsion_library (bazel/defs.bzl) makes a kernel of. Such a file
// defines
//
//   emulsion::Graph emulsion_kernel(const emulsion::KernelContext& context);
//
// and everything else is generated: the library, its headers, its test and its benchmark. The
// function is called by the generator and again by the test, in other processes, so it depends on
// nothing but the context: not on the clock, the process id, the environment or random numbers
// without a seed, nor on the order of pointers (as in a std::set of them, or what a hash of them
// iterates in). It reads no file but those of context.path(). The generator's --check_reproducible
// (check_reproducible = True of emulsion_library) runs it twice and refuses when the graphs differ.
//
// The kernel takes its inputs and weights in the order in which the function declares them, or as
// Graph::arguments() says.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/graph.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "dsl/tensor.h"

namespace emulsion {

class KernelContext {
 public:
  // `files`: where each file of `data` is, by its path in the workspace.
  KernelContext(std::vector<Target> targets, std::map<std::string, std::string> files)
      : targets_(std::move(targets)), files_(std::move(files)) {}

  // What the kernel is for, the best first. There is one graph for all of them.
  const std::vector<Target>& targets() const { return targets_; }

  // Where a file of `data` is now. `name` is its label ("//digits:weights/w1.npy") or its path, as
  // far from the end as is needed to tell it from the others ("weights/w1.npy"). Error: no such
  // file, or several.
  std::string path(const std::string& name) const;

  // The array in a .npy file as a constant of the kernel. Error: a file that is damaged, or of a
  // type without kernels.
  Tensor constant(const std::string& name, const std::string& file) const;

 private:
  std::vector<Target> targets_;
  std::map<std::string, std::string> files_;
};

}  // namespace emulsion

emulsion::Graph emulsion_kernel(const emulsion::KernelContext& context);

#endif  // EMULSION_BACKENDS_CODEGEN_KERNEL_CONTEXT_H_
