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

// What a kernel is called with.
struct BoundBuffers {
  SizeValues sizes;
  std::vector<int32_t> size_values;           // of the nest's sizes, in order
  std::vector<JitBuffer> buffers;             // of the nest's arguments, in order
  std::vector<std::vector<uint64_t>> packed;  // memory of weights that were packed here
};
// `arguments` holds every input, weight and output by name. A weight that the nest packs may be
// given unpacked; then `pack` calls the kernel of its pack. `known`: sizes that no shape gives, and
// a check of those that one does; a size that the nest does not have is not looked at.
// Error: names of arguments that the nest does not have; arguments that do not fit, named; an
// output that shares memory with another argument; a size that i32 does not hold.
BoundBuffers bind_buffers(
    const LoopNest& nest, const std::map<std::string, JitBuffer>& arguments,
    const SizeValues& known,
    const std::function<void(const Pack& pack, const std::map<std::string, JitBuffer>& of_pack)>&
        pack);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_BIND_BUFFERS_H_
