#ifndef EMULSION_BACKENDS_INTERPRETER_TENSOR_VALUE_H_
#define EMULSION_BACKENDS_INTERPRETER_TENSOR_VALUE_H_

// A dense row-major tensor that owns its bytes: what goes into the interpreters and comes out of
// them, and what tests fill and compare. Nothing here is fast or clever; the oracle should be easy
// to believe.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/types.h"

namespace emulsion {

// The dtype of a C++ element type.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::boolean;
};

struct TensorValue {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t element_count() const;
  // The elements as T; InternalError when T is not the dtype (bool elements are uint8_t).
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(checked_data(DTypeOf<T>::value));
  }
  template <typename T>
  const T* data() const {
    return const_cast<TensorValue*>(this)->data<T>();
  }
  template <typename T>
  std::vector<T> to_vector() const {
    return std::vector<T>(data<T>(), data<T>() + element_count());
  }
  // Element `index` (row-major) as a double, whatever the dtype; exact for every computable one.
  double value(int64_t index) const;
  void set_value(int64_t index, double value);

 private:
  uint8_t* checked_data(DType wanted);
};

// By argument name.
using TensorValues = std::map<std::string, TensorValue>;

// Error: a negative extent, an overflowing shape, or as many values as the shape does not have.
TensorValue zeros(DType dtype, const std::vector<int64_t>& shape);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<float>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<double>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<int32_t>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<bool>& values);

// Whole numbers from low to high, the same on every machine for one seed. Sums of products of small
// whole numbers are exact in f32, so results can be compared bit for bit whatever the order of the
// summation.
TensorValue random_integers(DType dtype, const std::vector<int64_t>& shape, uint64_t seed,
                            int low = -4, int high = 4);

// A poison that a test notices: NaN, a huge negative i32, true.
void fill_with_poison(TensorValue* tensor);

// Nothing when the tensors agree, else what the first difference is: "[3, 1]: expected 2, got 2.5".
// NaN agrees with NaN, infinities with themselves; |actual - expected| <= absolute + relative *
// |expected|.
std::optional<std::string> first_difference(const TensorValue& expected, const TensorValue& actual,
                                            double relative = 0, double absolute = 0);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_TENSOR_VALUE_H_
