#ifndef EMULSION_BACKENDS_HALIDE_BUILD_PIPELINE_H_
#define EMULSION_BACKENDS_HALIDE_BUILD_PIPELINE_H_

// LoopNest -> Halide Funcs and directives. Reads nothing but the nest: a stage is a Func, its Alloc
// is where the Func is stored and how much of it, its loops are the Func's splits, its place in the
// tree is the Func's compute_at. Here, and only here, dimensions are reversed: Halide's dimension 0
// is the innermost.
//
// Loops over reduction axes are not made by Halide's splits: the reduction domain has exactly the
// nest's loops, in the nest's order, since Halide would not reorder what it cannot prove to be
// associative.
//
// Run-time sizes are scalar parameters, before the buffers: whoever calls the kernel solves them
// from shapes.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct HalidePipeline {
  Halide::Pipeline pipeline;
  std::vector<Halide::Argument>
      arguments;  // sizes in the order of nest.sizes, then inputs and weights
  std::map<std::string, Halide::Param<int32_t>> sizes;
  std::map<std::string, Halide::Func> funcs;  // by stage
  std::vector<Halide::Func> outputs;          // in the order of the arguments
  std::set<std::string> fused;                // names of the Funcs with a fused loop
};

// To be called inside call_halide(). `has_fma`: whether the target has an instruction for a * b +
// c.
HalidePipeline build_pipeline(const LoopNest& nest, bool has_fma);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_BUILD_PIPELINE_H_
