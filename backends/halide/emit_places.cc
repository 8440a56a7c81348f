#include "backends/halide/emit_places.h"

#include <cstring>
#include <utility>

#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

Halide::Buffer<> constant_image(const Buffer& buffer, const std::string& name) {
  std::vector<int> extents;
  for (size_t d = buffer.shape.size(); d-- > 0;) {
    extents.push_back(static_cast<int>(buffer.shape[d].constant_term()));
  }
  Halide::Buffer<> result(halide_type(buffer.dtype), extents, name);
  EMULSION_CHECK(buffer.data && buffer.data->size() == result.size_in_bytes(),
                 "constant {}: {} bytes", buffer.name, buffer.data ? buffer.data->size() : 0);
  std::memcpy(result.data(), buffer.data->data(), buffer.data->size());
  return result;
}

}  // namespace

std::vector<Halide::Expr> storage_strides(const StorageLayout& layout,
                                          const std::vector<Halide::Expr>& extents,
                                          Halide::Expr* elements) {
  std::vector<Halide::Expr> strides(extents.size());
  Halide::Expr stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    const size_t axis = layout.order.empty() ? i : layout.order[i];
    strides[axis] = stride;
    Halide::Expr extent = extents[axis];
    const int64_t multiple = layout.alignments.empty() ? 1 : layout.alignments[axis];
    if (multiple > 1) {
      const int32_t m = static_cast<int32_t>(multiple);
      extent = (extent + (m - 1)) / m * m;
    }
    if (layout.room(axis) > 0) extent = static_cast<int32_t>(layout.room(axis));
    stride = hi::simplify(stride * Halide::max(extent, 1));
  }
  if (elements != nullptr) *elements = hi::simplify(Halide::max(stride, 2));
  return strides;
}

Place dense_place(const Buffer& buffer, const std::vector<Halide::Expr>& extents) {
  Place place;
  place.buffer = buffer.name;
  place.memory = halide_name(buffer.name);
  place.type = halide_type(buffer.dtype);
  place.role = buffer.role;
  place.shape = buffer.shape;
  place.extents = extents;
  place.mins.assign(extents.size(), Halide::Expr(0));
  place.strides.resize(extents.size());
  Halide::Expr stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    place.strides[d] = stride;
    stride = hi::simplify(stride * extents[d]);
    if (hi::is_const(extents[d])) continue;
    Halide::Expr some = extents[d] > 0;
    place.has_elements = place.has_elements.defined() ? place.has_elements && some : some;
  }
  // Its alignment is that of one element: of an argument nothing more is known, and a constant lies
  // in the object file, where Halide aligns it to less than its widest vector.
  place.parameter =
      Halide::Parameter(place.type, true, static_cast<int>(extents.size()), place.memory);
  if (buffer.role == BufferRole::constant) place.image = constant_image(buffer, place.memory);
  return place;
}

Halide::Expr buffer_handle(const std::string& argument) {
  return hi::Variable::make(Halide::type_of<halide_buffer_t*>(), argument + ".buffer");
}

hi::LoweredArgument buffer_argument(const Buffer& buffer, const std::string& name) {
  const auto kind = buffer.role == BufferRole::output ? Halide::Argument::OutputBuffer
                                                      : Halide::Argument::InputBuffer;
  return {name, kind, halide_type(buffer.dtype), static_cast<uint8_t>(buffer.shape.size()),
          Halide::ArgumentEstimates{}};
}

Halide::Type type_in_memory(const Halide::Type& type) {
  return type.with_bits((type.bits() + 7) / 8 * 8);
}

std::vector<Halide::Expr> Place::relative(const std::vector<Halide::Expr>& indices) const {
  EMULSION_CHECK(indices.size() == mins.size(), "{}: {} indices for {} axes", buffer,
                 indices.size(), mins.size());
  std::vector<Halide::Expr> result;
  for (size_t d = 0; d < indices.size(); ++d) {
    const auto n = static_cast<int32_t>(fold(d));
    const Halide::Expr from_min = hi::is_const_zero(mins[d]) ? indices[d] : indices[d] - mins[d];
    result.push_back(n > 0 ? indices[d] % n : from_min);
  }
  return result;
}

Halide::Expr Place::offset(const std::vector<Halide::Expr>& indices) const {
  // Constants apart, so that neighbouring elements share the address that they are counted from.
  Halide::Expr shift = 0;
  std::vector<Halide::Expr> rest = indices;
  for (size_t d = 0; d < rest.size(); ++d) {
    const hi::Add* sum = rest[d].as<hi::Add>();
    if (sum == nullptr || fold(d) > 0 || !hi::is_const(sum->b)) continue;
    shift += sum->b * strides[d];
    rest[d] = sum->a;
  }
  const std::vector<Halide::Expr> steps = relative(rest);
  Halide::Expr offset = 0;
  for (size_t d = 0; d < steps.size(); ++d) offset += steps[d] * strides[d];
  return offset + shift;
}

Halide::Expr Place::load(const Halide::Expr& at_offset, const Halide::Expr& predicate) const {
  // What has a Parameter never changes, Halide thinks: an output has its own when passes are done.
  const Halide::Parameter read = role == BufferRole::output ? Halide::Parameter() : parameter;
  Halide::Expr value = hi::Load::make(type_in_memory(type), memory, at_offset, image, read,
                                      predicate, hi::ModulusRemainder());
  return value.type() == type ? value : hi::Cast::make(type, value);
}

hi::Stmt Place::store(const Halide::Expr& value, const Halide::Expr& at_offset,
                      const Halide::Expr& predicate) const {
  EMULSION_CHECK(value.type() == type, "a store of another type to {}", buffer);
  const Halide::Type stored_type = type_in_memory(type);
  Halide::Expr stored = type == stored_type ? value : hi::Cast::make(stored_type, value);
  return hi::Store::make(memory, stored, at_offset, parameter, predicate, hi::ModulusRemainder());
}

}  // namespace emulsion
