#ifndef EMULSION_BENCHMARKS_ONNX_PROGRAMS_H_
#define EMULSION_BENCHMARKS_ONNX_PROGRAMS_H_

// Kernels as derived beside the same models in ONNX Runtime, both on one thread: what the programs
// that measure against it share.

#include <string>
#include <vector>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/report.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion::benchmarks {

struct OnnxProgram {
  std::string name;  // of a function in peers/onnx_runtime.py
  std::string size;
  Graph graph;            // its weights are the model's; its output is y
  SizeValues sizes = {};  // where there are any, the model knows only the last extents
  double work = 0;        // operations or bytes of one call
  std::string unit = "GF/s";
};

struct OnnxValues {
  float divisor = 1;     // the values are whole numbers over this
  double tolerance = 0;  // how far apart results may be, relative and absolute
};

// A row for each program, named "name/size/constant" or "name/size/run_time". `argv0` is the
// benchmark's own. Error: see start_onnx_runtime(); results that differ.
Report measure_against_onnx_runtime(const std::vector<OnnxProgram>& programs,
                                    const OnnxValues& given, const ProgramOptions& options,
                                    const char* argv0);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_ONNX_PROGRAMS_H_
