#ifndef EMULSION_BACKENDS_HALIDE_APPLY_LOOPS_H_
#define EMULSION_BACKENDS_HALIDE_APPLY_LOOPS_H_

// The schedule half of build_pipeline: a stage's place, storage and loops as Halide's directives.

#include <map>
#include <string>

#include "backends/halide/define_stages.h"
#include "backends/halide/nest_places.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

void apply_loops(const LoopNest& nest, const std::map<std::string, StagePlace>& places,
                 const StageDefiner& defined);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_APPLY_LOOPS_H_
