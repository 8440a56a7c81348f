#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/error.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

// Bytes with a page behind them, and one before, that nobody may touch: a kernel that reads or
// writes past its buffers ends the test. Of an empty buffer, even the pointer is of such a page.
class GuardedBytes {
 public:
  explicit GuardedBytes(const std::vector<uint8_t>& bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes.size() + page - 1) / page * page;
    size_ = inside + 2 * page;
    void* mapped = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EMULSION_CHECK(mapped != MAP_FAILED, "mmap of {} bytes", size_);
    base_ = static_cast<uint8_t*>(mapped);
    data_ = base_ + page + inside - bytes.size();
    if (bytes.empty()) return;
    EMULSION_CHECK(mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) == 0, "mprotect");
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~GuardedBytes() { munmap(base_, size_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  uint8_t* data() const { return data_; }

 private:
  uint8_t* base_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

TensorValues arguments_for(const Graph& graph, int64_t batch, uint64_t seed) {
  TensorValues values;
  for (const OpPtr& op : graph.arguments()) {
    std::vector<int64_t> shape;
    for (const Extent& extent : op->shape) shape.push_back(extent.evaluate({{"B", batch}}));
    const bool is_bool = op->dtype == DType::boolean;
    values[op->name] = random_integers(op->dtype, shape, ++seed, is_bool ? 0 : -4, is_bool ? 1 : 4);
  }
  return values;
}

TensorValues run_by_jit(const JitKernel& kernel, const LoopNest& nest,
                        const TensorValues& arguments, int64_t batch) {
  TensorValues outputs;
  std::map<std::string, GuardedBytes> memory;
  std::map<std::string, JitBuffer> buffers;
  auto add = [&](const std::string& name, const TensorValue& value) {
    uint8_t* data = memory.emplace(name, value.bytes).first->second.data();
    buffers[name] = JitBuffer{value.dtype, value.shape, data};
  };
  for (const auto& [name, value] : arguments) add(name, value);
  for (const Buffer* argument : nest.arguments()) {
    if (argument->role != BufferRole::output) continue;
    std::vector<int64_t> shape;
    for (const Extent& extent : argument->shape) shape.push_back(extent.evaluate({{"B", batch}}));
    TensorValue& value = outputs[argument->name] = zeros(argument->dtype, shape);
    fill_with_poison(&value);
    add(argument->name, value);
  }
  kernel.run(buffers);
  for (auto& [name, value] : outputs) {
    const uint8_t* data = memory.at(name).data();
    value.bytes.assign(data, data + value.bytes.size());
  }
  return outputs;
}

TensorValues run_by_jit(const LoopNest& nest, const TensorValues& arguments, int64_t batch,
                        const Target& target) {
  return run_by_jit(JitKernel(nest, target), nest, arguments, batch);
}

void expect_same_as_graph(const Graph& graph, const LoopNest& nest,
                          const std::vector<int64_t>& batches, double tolerance,
                          const Target& target, const CompileOptions& options) {
  const JitKernel kernel(nest, target, options);
  for (int64_t batch : graph.sizes().empty() ? std::vector<int64_t>{1} : batches) {
    const TensorValues arguments = arguments_for(graph, batch, 7);
    InterpretOptions sizes;
    for (const std::string& size : graph.sizes()) sizes.sizes[size] = batch;
    const TensorValues expected = interpret_graph(graph, arguments, sizes);
    const TensorValues actual = run_by_jit(kernel, nest, arguments, batch);
    ASSERT_EQ(expected.size(), actual.size());
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(first_difference(value, actual.at(name), tolerance, tolerance), std::nullopt)
          << name << ", batch " << batch << "\n"
          << to_string(nest);
    }
  }
}

}  // namespace emulsion
