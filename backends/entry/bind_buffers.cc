#include "backends/entry/bind_buffers.h"

#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "passes/index/bind_sizes.h"

namespace emulsion {
namespace {

// Error: 2^31 bytes or more. `name` is for its message. No extent is negative: bind_sizes.
int64_t bytes_of(const std::string& name, const JitBuffer& buffer) {
  int64_t bytes = size_in_bytes(buffer.dtype);
  const bool empty = std::count(buffer.shape.begin(), buffer.shape.end(), 0) > 0;
  if (empty) return 0;
  for (int64_t extent : buffer.shape) {
    if (extent > INT32_MAX / bytes) {
      fail("argument {}: expected fewer than 2^31 bytes, got an extent of {}", name, extent);
    }
    bytes *= extent;
  }
  return bytes;
}

void check_data(const LoopNest& nest, const std::vector<JitBuffer>& buffers,
                const std::map<std::string, JitBuffer>& given) {
  const std::vector<const Buffer*> arguments = nest.arguments();
  const auto first = [](const JitBuffer& b) { return reinterpret_cast<uintptr_t>(b.data); };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i]->name;
    const JitBuffer& buffer = buffers[i];
    const int64_t bytes = bytes_of(name, buffer);
    if (bytes > 0 && buffer.data == nullptr) {
      fail("argument {}: expected data, got a null pointer", name);
    }
    const auto aligned = static_cast<uintptr_t>(size_in_bytes(buffer.dtype));
    if (bytes > 0 && first(buffer) % aligned != 0) {
      fail(
          "argument {}: expected data aligned to {} bytes, got a pointer {} past a multiple of "
          "that",
          name, aligned, first(buffer) % aligned);
    }
    if (arguments[i]->role != BufferRole::output || bytes == 0) continue;
    for (const auto& [other, shared] : given) {
      const int64_t length = bytes_of(other, shared);
      if (other == name || length == 0) continue;
      if (first(buffer) < first(shared) + static_cast<uintptr_t>(length) &&
          first(shared) < first(buffer) + static_cast<uintptr_t>(bytes)) {
        fail("argument {}: expected memory of its own, got memory that {} has too", name, other);
      }
    }
  }
}

// "; legal: w, which is packed here" for what a weight is packed to.
std::string packing(const LoopNest& nest, const Buffer& declared) {
  const Pack* pack = nest.find_pack(declared.name);
  if (!pack) return "";
  return fmt::format("; legal: {}, which is packed on each call, or {} as its pack makes it",
                     pack->weight, pack->packed);
}

// Before anything is said to be missing: a name that is written wrongly is both.
void check_names(const LoopNest& nest, const std::map<std::string, JitBuffer>& given) {
  std::vector<std::string> legal;
  for (const Buffer* declared : nest.arguments()) {
    const Pack* pack = nest.find_pack(declared->name);
    if (pack) legal.push_back(pack->weight);
    if (!pack || given.count(declared->name)) legal.push_back(declared->name);
  }
  std::sort(legal.begin(), legal.end());
  for (const auto& [name, buffer] : given) {
    if (std::binary_search(legal.begin(), legal.end(), name)) continue;
    fail("argument {}: {}", name, expected_name("an argument of " + nest.name, legal, name));
  }
}

// Packs the weights that are given unpacked. `arguments` have what they are packed to in their
// place, in the memory that is returned.
std::vector<std::vector<uint64_t>> pack_weights(
    const LoopNest& nest, const SizeValues& sizes, std::map<std::string, JitBuffer>* arguments,
    const std::function<void(const Pack& pack, const std::map<std::string, JitBuffer>& of_pack)>&
        run) {
  std::vector<std::vector<uint64_t>> memory;
  for (const Pack& pack : nest.packs) {
    const auto unpacked = arguments->find(pack.weight);
    if (unpacked == arguments->end()) continue;
    if (arguments->count(pack.packed)) {
      fail("argument {}: expected it or {}, which is made of it, got both", pack.weight,
           pack.packed);
    }
    const Buffer& declared = nest.buffer(pack.packed);
    JitBuffer packed{declared.dtype, {}, nullptr};
    for (const Extent& extent : declared.shape) packed.shape.push_back(extent.evaluate(sizes));
    memory.emplace_back(static_cast<size_t>(bytes_of(declared.name, packed) / 8 + 1));
    packed.data = memory.back().data();
    run(pack, {{pack.weight, unpacked->second}, {pack.packed, packed}});
    arguments->erase(unpacked);
    arguments->emplace(pack.packed, packed);
  }
  return memory;
}

}  // namespace

BoundBuffers bind_buffers(
    const LoopNest& nest, const std::map<std::string, JitBuffer>& given, const SizeValues& known,
    const std::function<void(const Pack& pack, const std::map<std::string, JitBuffer>& of_pack)>&
        pack) {
  check_names(nest, given);
  BoundBuffers bound;
  std::map<std::string, JitBuffer> arguments = given;
  bound.packed = pack_weights(nest, known, &arguments, pack);
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<std::vector<int64_t>> actual;
  for (const Buffer* declared : nest.arguments()) {
    auto found = arguments.find(declared->name);
    if (found == arguments.end()) {
      fail("argument {}: expected one, got none{}", declared->name, packing(nest, *declared));
    }
    if (found->second.dtype != declared->dtype) {
      fail("argument {}: expected {}, got {}", declared->name, to_string(declared->dtype),
           to_string(found->second.dtype));
    }
    const std::string packed = packing(nest, *declared);
    if (!packed.empty() && found->second.shape.size() != declared->shape.size()) {
      fail("argument {}: expected rank {}, got {}{}", declared->name, declared->shape.size(),
           found->second.shape.size(), packed);
    }
    shapes.emplace_back(declared->name, declared->shape);
    actual.push_back(found->second.shape);
    bound.buffers.push_back(found->second);
  }
  bound.sizes = bind_sizes(shapes, actual, known);
  check_data(nest, bound.buffers, given);
  for (const std::string& size : nest.sizes) {
    const int64_t value = Extent::size(size).evaluate(bound.sizes);
    if (value > INT32_MAX) {  // of an argument without elements, or one that the caller gives
      fail("run-time size {}: expected at most {}, got {}", size, INT32_MAX, value);
    }
    bound.size_values.push_back(static_cast<int32_t>(value));
  }
  return bound;
}

}  // namespace emulsion
