#ifndef EMULSION_BACKENDS_ENTRY_DESCRIPTOR_TEXT_H_
#define EMULSION_BACKENDS_ENTRY_DESCRIPTOR_TEXT_H_

// What a kernel expects of its arguments, as the text that emulsion_check_arguments reads (the
// grammar is in backends/runtime/descriptor.h).

#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// `kernel` is the name of the C function.
std::string descriptor_text(const LoopNest& nest, const std::string& kernel);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_DESCRIPTOR_TEXT_H_
