#ifndef EMULSION_BACKENDS_HALIDE_COMPILE_AOT_H_
#define EMULSION_BACKENDS_HALIDE_COMPILE_AOT_H_

// A nest as a library: NAME.h, as Halide writes it, and NAME.a, with
//
//   int NAME(halide_buffer_t *inputs and weights..., halide_buffer_t *outputs...)
//   for each weight that is packed:
//   int NAME_pack_WEIGHT(halide_buffer_t *weight, halide_buffer_t *packed)
//
// Each returns 0, or a code and a message (backends/runtime/emulsion_runtime.h), and leaves its
// output alone when an argument is wrong. Linked with //backends/runtime. Equal inputs, equal
// bytes.
//
// Two different kernels of one NAME do not link into one program ("multiple definition of NAME"),
// once a source file of it includes the header of each. With shared libraries they do, and each
// header calls its own, in C too: in it NAME stands for a symbol with the kernel's hash in it
// (backends/entry/kernel_symbols.h). NAME itself is there for dlsym.

#include <string>
#include <vector>

#include "backends/entry/compile_options.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// One library for several targets; the first whose instruction sets the processor has is run. A
// nest for each target, since a schedule is made for one: nests[i] is what targets[i] runs. The
// files appear when everything has been compiled; what was there before stays when something fails.
// A directory that is not there is made, with those above it.
// Error: a name that is no C identifier or that a function of the library has already, no target, a
// target twice, a directory that cannot be made or written, nests that differ in their arguments or
// packs.
void compile_aot(const std::vector<LoopNest>& nests, const std::string& name,
                 const std::vector<Target>& targets, const std::string& directory,
                 const CompileOptions& options = {});
void compile_aot(const LoopNest& nest, const std::string& name, const std::vector<Target>& targets,
                 const std::string& directory, const CompileOptions& options = {});
inline void compile_aot(const LoopNest& nest, const std::string& name, const Target& target,
                        const std::string& directory, const CompileOptions& options = {}) {
  compile_aot(nest, name, std::vector<Target>{target}, directory, options);
}

// What is compiled, to be read: for each target what Halide's code generator is given, as text, and
// the assembly that LLVM makes of it. NAME.stmt.txt and NAME.s for the first target,
// NAME.1.stmt.txt and NAME.1.s for the second, and so on. Errors as above.
void write_code(const std::vector<LoopNest>& nests, const std::string& name,
                const std::vector<Target>& targets, const std::string& directory,
                const CompileOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_COMPILE_AOT_H_
