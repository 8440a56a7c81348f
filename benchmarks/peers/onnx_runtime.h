#ifndef EMULSION_BENCHMARKS_PEERS_ONNX_RUNTIME_H_
#define EMULSION_BENCHMARKS_PEERS_ONNX_RUNTIME_H_

// ONNX Runtime on one thread, in a process of its own: its threads and ours would take each other's
// cores. The process measures its calls itself, so that no pipe is in their time.

#include <set>
#include <string>

#include "benchmarks/child_program.h"
#include "benchmarks/nest_kernel.h"

namespace emulsion::benchmarks {

struct OnnxModel {
  std::string name;  // of a function in onnx_runtime.py
  std::set<std::string> weights = {};
  bool at_run_time = false;  // it knows only the last extent of its inputs
};

class OnnxRuntime {
 public:
  // `script` is onnx_runtime.py, `site` the folder that holds its packages. Error: no Python.
  OnnxRuntime(const std::string& script, const std::string& site);

  // The model of the values' f32 inputs; the model's output is "y". This object has to outlive it.
  // Error: the process refuses the model.
  Contender peer(const OnnxModel& model, const Values& values);

 private:
  AnsweringProgram process_;
  ScratchDirectory files_;
  int file_count_ = 0;
};

// For a program by its argv[0], whose runfiles hold the script and the packages. Error: the
// packages were not to be had, with the reason; no Python.
OnnxRuntime start_onnx_runtime(const char* program);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_ONNX_RUNTIME_H_
