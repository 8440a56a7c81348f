#ifndef EMULSION_BACKENDS_HALIDE_ENTRY_MODULE_H_
#define EMULSION_BACKENDS_HALIDE_ENTRY_MODULE_H_

// The C function that an application calls, built as Halide's own statements so that Halide writes
// its header:
//
//   int name(buffers...) {
//     code = emulsion_check_arguments(descriptor, {buffers...});   if (code) return code;
//     sizes... = from the buffers' extents
//     for the first target whose features the processor has:
//       code = emulsion_check_storage(...) for what its nest stores;   if (code) return code;
//       its body, whose code is returned
//     or else: an error that names the instruction sets that would do
//   }
//
// and a function that does nothing, whose name says which kernel of that name it is:
//
//   int name_is_9c1f...()

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

// To be called inside call_halide(). `identity`: the function that is there in this kernel only.
Halide::Module entry_module(const std::string& name, const std::vector<Entry>& entries,
                            const std::string& identity);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_ENTRY_MODULE_H_
