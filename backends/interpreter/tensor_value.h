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

struct TensorValue {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t element_count() const;
  // The elements as T; InternalError when T is not the dtype. Those of bool, a byte each, may be
  // had as uint8_t too.
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(checked_data(dtype_of<T>()));
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
  // A whole number that an integer type does not hold wraps around.
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
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<int8_t>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<uint8_t>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<int16_t>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<uint16_t>& values);
TensorValue make_tensor(const std::vector<int64_t>& shape, const std::vector<bool>& values);

// Whole numbers from low to high (from 0, when the type has nothing below it), the same on every
// machine for one seed. Sums of products of small
// whole numbers are exact in f32, so results can be compared bit for bit whatever the order of the
// summation.
TensorValue random_integers(DType dtype, const std::vector<int64_t>& shape, uint64_t seed,
                            int low = -4, int high = 4);

// A poison that a test notices, in every element: NaN, true, and for integers a number that no
// small test produces (its bytes 0xb6 and 0x69 in turn).
void fill_with_poison(DType dtype, std::vector<uint8_t>* bytes);
void fill_with_poison(TensorValue* tensor);

// Nothing when the tensors agree, else what the first difference is: "[3, 1]: expected 2, got 2.5".
// NaN agrees with NaN, infinities with themselves; |actual - expected| <= absolute + relative *
// |expected|. Without a tolerance the sign of a zero counts, too.
std::optional<std::string> first_difference(const TensorValue& expected, const TensorValue& actual,
                                            double relative = 0, double absolute = 0);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_TENSOR_VALUE_H_
