#include "tests/random/guarded_run.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/interpreter/bind_arguments.h"

namespace emulsion {

TensorValues run_guarded(const JitKernel& kernel, const Graph& graph, const TensorValues& arguments,
                         const SizeValues& sizes, GuardedBuffer::Side side) {
  std::vector<GuardedBuffer> buffers;
  buffers.reserve(arguments.size() + graph.outputs().size());
  std::map<std::string, JitBuffer> bound;
  for (const auto& [name, value] : arguments) {
    buffers.emplace_back(value.bytes, side);
    bound[name] = {value.dtype, value.shape, buffers.back().data()};
  }
  TensorValues outputs;
  for (const OpPtr& op : graph.outputs()) {
    const std::vector<int64_t> shape = evaluate_shape(op->name, op->shape, sizes);
    TensorValue& value = outputs[op->name] = zeros(op->dtype, shape);
    fill_with_poison(&value);
    buffers.emplace_back(value.bytes, side);
    bound[op->name] = {op->dtype, shape, buffers.back().data()};
  }
  kernel.run(bound, sizes);
  for (auto& [name, value] : outputs) {
    const auto* bytes = static_cast<const uint8_t*>(bound.at(name).data);
    value.bytes.assign(bytes, bytes + value.bytes.size());
  }
  for (const GuardedBuffer& buffer : buffers) {
    if (!buffer.padding_is_intact()) throw std::runtime_error("JIT: wrote beside a buffer");
  }
  return outputs;
}

}  // namespace emulsion
