#ifndef EMULSION_BACKENDS_CODEGEN_WRITE_MANIFEST_H_
#define EMULSION_BACKENDS_CODEGEN_WRITE_MANIFEST_H_

// What a kernel is, as JSON, for tools that are not C++: arguments, shapes, targets, how each copy
// of it was scheduled, and how much arithmetic it does. Depends on the kernel only, so equal
// kernels have equal bytes.
//
//   {"format": 1, "kernel": "mlp", "arguments": [{"name": "x", "role": "input", "dtype": "f32",
//    "shape": ["B", 64]}, ...], "targets": [{"target": "x86-64-linux-...", "schedule": "derived",
//    "schedule_hash": "9c1f..."}], "warnings": [], ...}

#include <string>
#include <vector>

#include "backends/codegen/write_kernel_header.h"

namespace emulsion {

struct TargetSchedule {
  std::string text;     // as schedule_text.h writes it
  bool derived = true;  // not from a file
};

// `schedules`: one for each target of the kernel. `warnings`: of generate_kernel().
std::string kernel_manifest(const KernelDescription& kernel,
                            const std::vector<TargetSchedule>& schedules,
                            const std::vector<std::string>& warnings = {});

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_WRITE_MANIFEST_H_
