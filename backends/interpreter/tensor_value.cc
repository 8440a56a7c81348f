#include "backends/interpreter/tensor_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dsl/count_text.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

int64_t checked_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) {
      fail("tensor of shape {}: expected extents of 0 or greater", shape_text(shape));
    }
  }
  for (int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  for (int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count) ||
        count > std::numeric_limits<int64_t>::max() / 8) {
      fail("tensor of shape {}: too many elements", shape_text(shape));
    }
  }
  return count;
}

template <typename T>
TensorValue make(const std::vector<int64_t>& shape, const std::vector<T>& values) {
  TensorValue result;
  result.dtype = dtype_of<T>();
  result.shape = shape;
  int64_t count = checked_count(shape);
  if (count != static_cast<int64_t>(values.size())) {
    fail("tensor of shape {}: expected {}, got {}", shape_text(shape),
         count_text(count, "value", "values"), values.size());
  }
  result.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

std::string index_text(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return shape_text(index);
}

// SplitMix64: a few lines, good enough for test data, the same everywhere.
uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

int64_t TensorValue::element_count() const { return checked_count(shape); }

uint8_t* TensorValue::checked_data(DType wanted) {
  bool bytes_of_bool = wanted == DType::u8 && dtype == DType::boolean;
  EMULSION_CHECK(wanted == dtype || bytes_of_bool, "a tensor of {} read as {}", to_string(dtype),
                 to_string(wanted));
  return bytes.data();
}

double TensorValue::value(int64_t index) const {
  return visit_element(dtype, [&](auto type) -> double {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      return bytes[static_cast<size_t>(index)] != 0;
    } else {
      return data<T>()[index];
    }
  });
}

void TensorValue::set_value(int64_t index, double value) {
  visit_element(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      bytes[static_cast<size_t>(index)] = value != 0;
    } else if constexpr (std::is_integral_v<T>) {
      data<T>()[index] = static_cast<T>(wrap_integer(dtype, static_cast<int64_t>(value)));
    } else {
      data<T>()[index] = static_cast<T>(value);
    }
  });
}

TensorValue zeros(DType dtype, const std::vector<int64_t>& shape) {
  TensorValue result;
  result.dtype = dtype;
  result.shape = shape;
  result.bytes.resize(static_cast<size_t>(checked_count(shape)) * size_in_bytes(dtype));
  return result;
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<double>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<int32_t>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<int8_t>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<uint8_t>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<int16_t>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<uint16_t>& values) {
  return make(shape, values);
}

TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<bool>& values) {
  TensorValue result = make(shape, std::vector<uint8_t>(values.begin(), values.end()));
  result.dtype = DType::boolean;
  return result;
}

TensorValue random_integers(DType dtype, const std::vector<int64_t>& shape, uint64_t seed, int low,
                            int high) {
  if (is_integer(dtype)) low = std::max(low, static_cast<int>(integer_range(dtype).lowest));
  EMULSION_CHECK(low <= high, "low = {}, high = {}", low, high);
  TensorValue result = zeros(dtype, shape);
  const uint64_t range = static_cast<uint64_t>(static_cast<int64_t>(high) - low + 1);
  uint64_t state = seed;
  for (int64_t i = 0; i < result.element_count(); ++i) {
    result.set_value(i,
                     static_cast<double>(low + static_cast<int64_t>(next_random(&state) % range)));
  }
  return result;
}

void fill_with_poison(DType dtype, std::vector<uint8_t>* bytes) {
  visit_element(dtype, [&](auto type) {
    using T = decltype(type);
    T poison = T(1);
    if constexpr (std::is_floating_point_v<T>) {
      poison = std::numeric_limits<T>::quiet_NaN();
    } else if constexpr (!std::is_same_v<T, bool>) {
      poison = static_cast<T>(0xb669b669);
    }
    for (size_t at = 0; at + sizeof(T) <= bytes->size(); at += sizeof(T)) {
      std::memcpy(bytes->data() + at, &poison, sizeof(T));
    }
  });
}

void fill_with_poison(TensorValue* tensor) { fill_with_poison(tensor->dtype, &tensor->bytes); }

std::optional<std::string> first_difference(const TensorValue& expected, const TensorValue& actual,
                                            double relative, double absolute) {
  if (expected.dtype != actual.dtype) {
    return fmt::format("expected {}, got {}", to_string(expected.dtype), to_string(actual.dtype));
  }
  if (expected.shape != actual.shape) {
    return fmt::format("expected shape {}, got {}", shape_text(expected.shape),
                       shape_text(actual.shape));
  }
  const int64_t count = expected.element_count();
  const bool exactly = relative == 0 && absolute == 0;
  int64_t differences = 0;
  std::string first;
  for (int64_t i = 0; i < count; ++i) {
    double e = expected.value(i);
    double a = actual.value(i);
    const bool signs_differ = exactly && std::signbit(e) != std::signbit(a);
    if ((e == a && !signs_differ) || (std::isnan(e) && std::isnan(a))) continue;
    bool finite = std::isfinite(e) && std::isfinite(a) && !signs_differ;
    if (finite && std::fabs(a - e) <= absolute + relative * std::fabs(e)) continue;
    if (differences++ == 0) {
      first = fmt::format("{}: expected {}, got {}", index_text(expected.shape, i), e, a);
    }
  }
  if (differences == 0) return std::nullopt;
  return fmt::format("{} ({} of {} elements differ)", first, differences, count);
}

}  // namespace emulsion
