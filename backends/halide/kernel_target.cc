#include "backends/halide/kernel_target.h"

#include "dsl/error.h"

namespace emulsion {

Halide::Target kernel_target(const Target& target) {
  const std::string text = target.to_string();
  if (!Halide::Target::validate_target_string(text)) {
    fail("target \"{}\": expected a target that Halide knows", text);
  }
  Halide::Target result(text);
  result.set_feature(Halide::Target::StrictFloat);
  result.set_feature(Halide::Target::NoBoundsQuery);
  return result;
}

}  // namespace emulsion
