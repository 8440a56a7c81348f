#ifndef EMULSION_BACKENDS_CODEGEN_GENERATE_KERNEL_H_
#define EMULSION_BACKENDS_CODEGEN_GENERATE_KERNEL_H_

// A graph from the user's code, and everything that emulsion_library (bazel/defs.bzl) promises
// about it, as files in one directory:
//
//   NAME.a NAME.h         the kernel and its C header
//   NAME_kernel.h         the typed C++17 header
//   NAME.schedule.txt     how the first target's copy is computed; parses back
//   NAME.nest.txt         its loops
//   NAME.json             the manifest
//   NAME.1.schedule.txt NAME.1.nest.txt ...    the same for the other targets, counted from 1
//
// Either all of them appear or none. Their bytes depend on the request, the graph and nothing else:
// not on the directory, the clock, the environment or this machine's processor.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/codegen/kernel_context.h"
#include "backends/entry/compile_options.h"
#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/derive_schedule.h"

namespace emulsion {

struct KernelRequest {
  std::string name;             // of the kernel's C function
  std::string label;            // for readers of the files; the name when empty
  std::vector<Target> targets;  // the best first
  std::string schedule;  // a file (schedule_file.h), for all targets; empty: derived, for each
  DeriveOptions derive;  // for derived schedules
  // What derived schedules must not compute apart (passes/fuse/expect_fused.h).
  std::vector<std::string> fail_on_unfused;
  CompileOptions compile;                   // of the kernel's code
  std::map<std::string, std::string> data;  // see KernelContext
  std::string directory = ".";
};

using KernelFunction = std::function<Graph(const KernelContext&)>;

// What who builds the kernel should know: nothing, or which derived schedules could not be lowered,
// so that a simpler one was taken (passes/pipeline_with_fallback.h). The manifest has it too.
// Error: whatever is wrong with the request, the data, the graph, the schedule or the directory.
std::vector<std::string> generate_kernel(const KernelRequest& request,
                                         const KernelFunction& kernel);

// What every pass makes of the graph on its way to the kernel, as EMULSION_DUMP=1 prints it, for
// each target. Errors as above; nothing is written.
std::string dump_kernel(const KernelRequest& request, const KernelFunction& kernel);

// Instead of the kernel, its code to be read: see write_code() in backends/halide/compile_aot.h.
void generate_code(const KernelRequest& request, const KernelFunction& kernel);

// The names of the files, in order.
std::vector<std::string> kernel_files(const std::string& name, size_t target_count);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_GENERATE_KERNEL_H_
