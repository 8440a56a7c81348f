#ifndef EMULSION_BENCHMARKS_LINEAR_ROWS_H_
#define EMULSION_BENCHMARKS_LINEAR_ROWS_H_

// The rows of //benchmarks:linear, and what the machine itself says about them in the same run.

#include <string>
#include <vector>

#include "benchmarks/kernel_seconds.h"
#include "benchmarks/linear_shape.h"
#include "benchmarks/report.h"

namespace emulsion::benchmarks {

struct LinearSituation {
  LinearShape shape;
  int threads = 1;
  bool cold = false;  // the caches are empty before each call
};

// "512x512x512/one_thread/warm", "peak/one_thread", "read/one_thread/warm". Any number of threads
// above one is all of them.
std::string layer_name(const LinearSituation& at);
std::string peak_name(int threads);
std::string read_name(int threads, bool cold);

// Whether memory, not arithmetic, is what such a layer waits for. It is then measured in GB/s.
bool is_bound_by_memory(const LinearShape& shape);
std::string layer_unit(const LinearShape& shape);
// Of one call, in that unit times seconds: its multiply-adds, or the bytes that it must read and
// write at least.
double layer_work(const LinearShape& shape);

// Adds peers to the layers among `rows`: the peak, or for layers bound by memory the read, of as
// many threads; and for more than one thread the row of one. `instructions` are those of the peak:
// AVX-512 sets the marks.
void add_machine_peers(const std::vector<LinearSituation>& layers, const std::string& instructions,
                       std::vector<Row>* rows);

// The peak needs nothing but the processor. When it varies, somebody else had the processor.
std::vector<std::string> noise_warnings(const std::vector<Row>& rows);

// Seconds to a nest, and to a library with its limit.
std::vector<Row> rows_of(const std::vector<KernelSeconds>& kernels);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_ROWS_H_
