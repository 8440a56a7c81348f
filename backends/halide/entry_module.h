#ifndef EMULSION_BACKENDS_HALIDE_ENTRY_MODULE_H_
#define EMULSION_BACKENDS_HALIDE_ENTRY_MODULE_H_

// The C function that an application calls, built as Halide's own statements so that Halide writes
// its header. It has a name of its own, which says which kernel of its name it is, and which the C
// header puts in the place of the short one:
//
//   int name_is_9c1f...(buffers...) {
//     code = emulsion_check_arguments(descriptor, {buffers...});   if (code) return code;
//     sizes... = from the buffers' extents
//     for the first target whose features the processor has:
//       code = emulsion_check_storage(...) for what its nest stores;   if (code) return code;
//       its body, whose code is returned
//     or else: an error that names the instruction sets that would do
//   }
//
//   int name(buffers...) { return name_is_9c1f...(buffers...); }    for dlsym, and so that two
//                                                                   kernels do not link

#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// One body for each target, the best first.
struct TargetBody {
  std::string function;            // int function(sizes..., buffers...)
  Target target;                   // its features are what the processor is asked for
  const LoopNest* nest = nullptr;  // what it computes
};

struct Entry {
  const LoopNest* nest;
  std::string name;
  std::vector<TargetBody> bodies;
};

// To be called inside call_halide(). `identity`: as for own_symbol().
Halide::Module entry_module(const std::string& name, const std::vector<Entry>& entries,
                            const std::string& identity);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_ENTRY_MODULE_H_
