#include "benchmarks/nest_pair.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "benchmarks/halide_peer.h"
#include "benchmarks/progress.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {

Values values_of(const Graph& graph) {
  auto values = std::make_shared<TensorValues>();
  uint64_t seed = 0;
  for (const OpPtr& op : graph.arguments()) {
    const std::vector<int64_t> shape = evaluate_shape(op->name, op->shape, {});
    values->emplace(op->name, random_integers(op->dtype, shape, ++seed));
  }
  for (const OpPtr& op : graph.outputs()) {
    values->emplace(op->name, zeros(op->dtype, evaluate_shape(op->name, op->shape, {})));
  }
  return values;
}

std::function<void()> emulsion_kernel(const LoopNest& nest, const Values& values) {
  for (auto& [name, value] : apply_packs(nest, *values)) values->emplace(name, value);
  std::map<std::string, JitBuffer> buffers;
  for (const Buffer* argument : nest.arguments()) {
    TensorValue& value = values->at(argument->name);
    buffers[argument->name] = {value.dtype, value.shape, value.bytes.data()};
  }
  return [kernel = JitKernel(nest), buffers, values] { kernel.run(buffers); };
}

void add(KernelPair pair, const Values& values, std::vector<KernelPair>* pairs) {
  announce(fmt::format("comparing {} with {}", pair.name, pair.peer));
  TensorValue& y = values->at("y");
  pair.call_peer();
  const TensorValue expected = y;
  fill_with_poison(&y);
  pair.emulsion();
  const auto difference = first_difference(expected, y);
  if (difference) fail("{} and {} differ: {}", pair.name, pair.peer, *difference);
  if (!pair.prepare) pair.prepare = [] { set_halide_threads(HalideThreads::all); };
  pairs->push_back(std::move(pair));
}

}  // namespace emulsion::benchmarks
