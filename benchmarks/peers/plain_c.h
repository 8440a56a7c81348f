#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_C_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_C_H_

// A graph as plain loops in C: what an engineer writes first, with a nest of loops for each
// operation. Which order of the loops is the fast one depends on the operation and on the compiler,
// so there are several ways to write a graph; the peer is the fastest of them.

#include <functional>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion::benchmarks {

enum class PlainOrder : uint8_t {
  // The axes of an operation as they are named; a sum is in a variable and stored at its end.
  as_written,
  // Sums of a whole row are added to at once: the last axis stands inside the sum's. Where there is
  // no sum, the last two axes stand in each other's place.
  by_rows,
  // The sum's axes stand outside of all others.
  sums_outside,
};
std::vector<PlainOrder> all_plain_orders();

// `void NAME(char** tensors, const long* sizes)` for a C compiler. `tensors` are the graph's leaves
// and operations in the order of ops(), `sizes` those of the graph. Error: a fused operation.
std::string plain_c(const Graph& graph, PlainOrder order, const std::string& name);

// The C functions of several graphs and ways, compiled together by the C compiler of this machine
// ($CC, else cc) with -O3 -march=native. They stay loaded until the process ends.
class CompiledC {
 public:
  // Error: the compiler cannot be started or refuses the source; its messages stand on standard
  // error.
  explicit CompiledC(const std::string& source);
  // A call of the function of that name, which reads and writes `values`; what is stored between
  // operations is allocated now.
  std::function<void()> call(const std::string& name, const Graph& graph, const SizeValues& sizes,
                             TensorValues* values) const;

 private:
  void* library_;
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_C_H_
