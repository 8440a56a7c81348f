#ifndef EMULSION_TESTS_BACKENDS_HALIDE_KERNEL_CODE_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_KERNEL_CODE_H_

#include <string>

#include "backends/halide/compile_aot.h"
#include "dsl/files.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"
#include "tests/test_folder.h"

namespace emulsion {

// Cases that read the assembly of kernels.
class KernelCode : public TestFolder {
 protected:
  std::string assembly(const LoopNest& nest, const Target& target) const {
    write_code({nest}, "kernel", {target}, folder_.string());
    return read_file("assembly", (folder_ / "kernel.s").string());
  }
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_KERNEL_CODE_H_
