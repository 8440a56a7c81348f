#include "backends/interpreter/bind_arguments.h"

#include <fmt/format.h>

#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "passes/index/bind_sizes.h"

namespace emulsion {
namespace {

void check_argument(const DeclaredTensor& declared, const TensorValue& value) {
  if (!is_computable(declared.dtype)) {
    fail("argument {}: expected a type with kernels ({}), got {}", declared.name,
         computable_dtypes(), to_string(declared.dtype));
  }
  if (value.dtype != declared.dtype) {
    fail("argument {}: expected {}, got {}", declared.name, to_string(declared.dtype),
         to_string(value.dtype));
  }
  uint64_t expected = static_cast<uint64_t>(value.element_count()) * size_in_bytes(value.dtype);
  if (value.bytes.size() != expected) {
    fail("argument {}: expected {} for shape [{}], got {}", declared.name,
         count_text(expected, "byte", "bytes"), fmt::join(value.shape, ", "), value.bytes.size());
  }
}

std::string names_of(const std::vector<DeclaredTensor>& declared) {
  std::string names;
  for (const DeclaredTensor& tensor : declared) {
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

SizeValues bind_arguments(const std::vector<DeclaredTensor>& declared, const TensorValues& actual,
                          const SizeValues& known) {
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<std::vector<int64_t>> actual_shapes;
  for (const DeclaredTensor& tensor : declared) {
    auto found = actual.find(tensor.name);
    if (found == actual.end()) {
      fail("argument {}: expected a tensor {}{}, got none", tensor.name, to_string(tensor.dtype),
           to_string(tensor.shape));
    }
    check_argument(tensor, found->second);
    shapes.emplace_back(tensor.name, tensor.shape);
    actual_shapes.push_back(found->second.shape);
  }
  for (const auto& [name, value] : actual) {
    bool expected = false;
    for (const DeclaredTensor& tensor : declared) expected = expected || tensor.name == name;
    if (!expected) fail("argument {}: expected one of {}", name, names_of(declared));
  }
  return bind_sizes(shapes, actual_shapes, known);
}

std::vector<int64_t> evaluate_shape(const std::string& name, const Shape& shape,
                                    const SizeValues& sizes) {
  std::vector<int64_t> result;
  for (size_t d = 0; d < shape.size(); ++d) {
    result.push_back(shape[d].evaluate(sizes));
    if (result.back() < 0) {
      fail("{}, axis {}: expected sizes for which {} is 0 or greater, got {}", name, d,
           shape[d].to_string(), result.back());
    }
  }
  return result;
}

}  // namespace emulsion
