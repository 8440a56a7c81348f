#include "backends/halide/build_pipeline.h"

#include "backends/halide/apply_loops.h"
#include "backends/halide/define_stages.h"
#include "backends/halide/drop_prefetches.h"
#include "backends/halide/nest_places.h"
#include "backends/halide/refuse_tiles.h"
#include "dsl/error.h"

namespace emulsion {

HalidePipeline build_pipeline(const LoopNest& nest, bool has_fma) {
  refuse_tiles(nest);
  std::map<std::string, StagePlace> places = find_places(nest);
  StageDefiner defined(nest, places, has_fma);
  apply_loops(nest, places, defined);

  HalidePipeline result;
  result.sizes = defined.sizes();
  for (const std::string& size : nest.sizes) result.arguments.push_back(result.sizes.at(size));
  for (const Halide::ImageParam& input : defined.inputs()) result.arguments.push_back(input);
  for (const auto& [name, made] : defined.stages()) result.funcs.emplace(name, made.func);
  for (const Stage& stage : nest.stages) {
    if (has_fused_loops(stage)) result.fused.insert(result.funcs.at(stage.name).name());
  }
  for (const Buffer& buffer : nest.buffers) {
    if (buffer.role == BufferRole::output) result.outputs.push_back(result.funcs.at(buffer.name));
  }
  EMULSION_CHECK(!result.outputs.empty(), "nest {}: no outputs", nest.name);
  result.pipeline = Halide::Pipeline(result.outputs);
  drop_prefetches(&result.pipeline);
  return result;
}

}  // namespace emulsion
