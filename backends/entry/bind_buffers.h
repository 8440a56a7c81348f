#ifndef EMULSION_BACKENDS_ENTRY_BIND_BUFFERS_H_
#define EMULSION_BACKENDS_ENTRY_BIND_BUFFERS_H_

// The arguments of a kernel that runs in this process, checked against what its nest declares. A
// kernel in a library checks its own (backends/runtime/check_arguments.h).

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/extent.h"
#include "dsl/types.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Dense and row-major; memory of the caller. `data` may be null when there are no elements.
struct JitBuffer {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  void* data = nullptr;
};

// A buffer with memory of its own.
struct OwnedBuffer {
  JitBuffer buffer;
  std::vector<uint64_t> memory;
};
// Of what a nest declares. Error: a size that is not among them; 2^31 bytes or more.
OwnedBuffer make_buffer(const Buffer& declared, const SizeValues& sizes);

// Packs the weights that are given unpacked: `run` calls the kernel of a pack. `arguments` have
// what they are packed to in their place, in the memory that is returned.
std::vector<OwnedBuffer> pack_weights(
    const LoopNest& nest, const SizeValues& sizes, std::map<std::string, JitBuffer>* arguments,
    const std::function<void(const Pack& pack, const std::map<std::string, JitBuffer>& of_pack)>&
        run);

struct BoundBuffers {
  SizeValues sizes;
  std::vector<const JitBuffer*> buffers;  // of the nest's arguments, in order
};
// `arguments` are the kernel's, and must outlive the result; `given` the caller's, where a weight
// may still be unpacked. `known`: sizes that no shape gives, and a check of those that one does.
// Error: arguments that do not fit, named; an output that shares memory with another argument.
BoundBuffers bind_buffers(const LoopNest& nest, const std::map<std::string, JitBuffer>& arguments,
                          const std::map<std::string, JitBuffer>& given, const SizeValues& known);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_BIND_BUFFERS_H_
