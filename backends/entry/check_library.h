#ifndef EMULSION_BACKENDS_ENTRY_CHECK_LIBRARY_H_
#define EMULSION_BACKENDS_ENTRY_CHECK_LIBRARY_H_

// What can be said of a library before any of it is compiled.

#include <string>
#include <vector>

#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Error: no C identifier, or the name of something that the C or C++ library declares, or that
// kernels call.
void check_kernel_name(const std::string& function);
// Error: no target, a target twice, one that is never run because the one before runs wherever it
// would.
void check_targets(const std::string& name, const std::vector<Target>& targets);
// Which generation of AMD's Zen must run the code of a target; 0: any processor that has its
// features. Halide's test of a processor ignores the two features outside AMD's own.
int zen_generation(const Target& target);
// Error: two nests for one function whose arguments or packs differ.
void check_same_arguments(const std::string& name, const LoopNest& first, const LoopNest& other);

// All of these, of the nests that one library is made of: one for each target.
void check_library(const std::vector<LoopNest>& nests, const std::string& name,
                   const std::vector<Target>& targets);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_CHECK_LIBRARY_H_
