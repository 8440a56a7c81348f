#include "backends/halide/emit_places.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
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

// A part of an offset: what it counts, and how many elements each is.
struct Part {
  Halide::Expr count;
  int64_t elements;
};

void add_parts(const Halide::Expr& index, int64_t elements, std::vector<Part>* parts) {
  if (const hi::Add* sum = index.as<hi::Add>()) {
    add_parts(sum->a, elements, parts);
    return add_parts(sum->b, elements, parts);
  }
  const hi::Mul* product = index.as<hi::Mul>();
  const auto factor = product != nullptr ? hi::as_const_int(product->b) : std::nullopt;
  if (factor) return add_parts(product->a, elements * *factor, parts);
  parts->push_back({index, elements});
}

// x % m and m times x / m are x; with x / m % n they are x % (m * n). Undefined for others.
Halide::Expr joined(const Part& low, const Part& high) {
  const hi::Mod* rest = low.count.as<hi::Mod>();
  const auto m = rest != nullptr ? hi::as_const_int(rest->b) : std::nullopt;
  if (!m || *m < 1 || high.elements != low.elements * *m) return {};
  const hi::Mod* next = high.count.as<hi::Mod>();
  const hi::Div* quotient = (next != nullptr ? next->a : high.count).as<hi::Div>();
  if (quotient == nullptr || !hi::equal(quotient->a, rest->a)) return {};
  if (hi::as_const_int(quotient->b) != m) return {};
  if (next == nullptr) return rest->a;
  const auto n = hi::as_const_int(next->b);
  const bool fits = n && *n > 0 && *n <= std::numeric_limits<int32_t>::max() / *m;
  return fits ? rest->a % static_cast<int32_t>(*m * *n) : Halide::Expr();
}

// What is left of a sum without one of its terms, wherever a loop is likely to be; undefined where
// it has none such. Halide would leave both in, and then not see that a vector goes through rows.
Halide::Expr without(const Halide::Expr& sum, const Halide::Expr& term) {
  // Both simplified: R - 32 and R + -32 are written either way.
  const auto is_term = [&](const Halide::Expr& e) {
    const Halide::Expr one = hi::remove_likelies(e);
    return hi::equal(one, term) || hi::equal(hi::simplify(one), term);
  };
  if (is_term(sum)) return 0;
  const hi::Add* add = sum.as<hi::Add>();
  if (add == nullptr) return {};
  if (is_term(add->b)) return add->a;
  const Halide::Expr rest = without(add->a, term);
  if (!rest.defined()) return {};
  return hi::is_const_zero(rest) ? add->b : rest + add->b;
}

// The sum of the steps, each so many elements; of a reshape's, x[i / 784, i / 28 % 28, i % 28],
// what they are quotients and remainders of. Halide knows that of two steps: it would gather the
// elements of three. Undefined where nothing is to be joined.
Halide::Expr sum_of_quotients(const std::vector<Halide::Expr>& steps,
                              const std::vector<Halide::Expr>& strides) {
  std::vector<Part> parts;
  Halide::Expr offset = 0;
  for (size_t d = 0; d < steps.size(); ++d) {
    const auto stride = hi::as_const_int(strides[d]);
    if (stride) {
      add_parts(steps[d], *stride, &parts);
    } else {
      offset += steps[d] * strides[d];
    }
  }
  bool is_joined = false;
  for (size_t low = 0; low < parts.size(); ++low) {
    for (size_t high = 0; high < parts.size();) {
      const Halide::Expr both = high == low ? Halide::Expr() : joined(parts[low], parts[high]);
      if (!both.defined()) {
        ++high;
        continue;
      }
      is_joined = true;
      parts[low].count = both;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(high));
      if (high < low) --low;
      high = 0;
    }
  }
  if (!is_joined) return {};
  for (const Part& part : parts) offset += part.count * static_cast<int32_t>(part.elements);
  return offset;
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

Halide::Expr host_pointer(const std::string& argument) {
  return hi::Call::make(Halide::type_of<void*>(), hi::Call::buffer_get_host,
                        {buffer_handle(argument)}, hi::Call::Extern);
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
    if (n > 0) {
      result.push_back(indices[d] % n);
      continue;
    }
    const Halide::Expr rest = hi::is_const_zero(mins[d])
                                  ? indices[d]
                                  : without(indices[d], hi::simplify(hi::remove_likelies(mins[d])));
    result.push_back(rest.defined() ? rest : indices[d] - mins[d]);
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
  const Halide::Expr of_quotients = sum_of_quotients(steps, strides);
  if (of_quotients.defined()) return of_quotients + shift;
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
