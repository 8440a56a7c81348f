#ifndef EMULSION_TESTS_RANDOM_COMPREHENSION_TYPES_H_
#define EMULSION_TESTS_RANDOM_COMPREHENSION_TYPES_H_

// The types of random comprehensions, how large their values may be, and large extents.

#include <cstdint>
#include <utility>
#include <vector>

#include "dsl/types.h"

namespace emulsion {

// What is computed with.
inline const std::vector<DType>& value_types() {
  static const std::vector<DType> types = {DType::u8,  DType::i8,  DType::u16, DType::i16,
                                           DType::i32, DType::f32, DType::f32, DType::f64};
  return types;
}

inline bool is_narrow(DType dtype) { return !is_float(dtype) && dtype != DType::i32; }

inline bool is_signed(DType dtype) {
  return dtype != DType::u8 && dtype != DType::u16 && dtype != DType::boolean;
}

// How large a value of the type may be: sums of whole numbers below it are exact in any order, and
// narrow integers wrap around.
inline double limit_of(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return 1 << 24;  // times what narrow types are computed from
    case DType::f32:
      return 1 << 20;
    case DType::f64:
      return 1LL << 40;
    default:
      return 1 << 16;
  }
}

// Of any value of a narrow type.
inline double bound_of(DType dtype) {
  if (dtype == DType::boolean) return 1;
  if (dtype == DType::u8) return 255;
  return dtype == DType::i8 ? 128 : 1 << 16;
}

// The least and the greatest value of an argument: of narrow types any, of the others small ones.
inline std::pair<int, int> range_of_arguments(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return {0, 1};
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::i16:
      return {-32768, 32767};
    case DType::u16:
      return {0, 32767};
    default:
      return {-8, 8};
  }
}

// At which threads share the work: of graphs that are lowered and not run.
inline const std::vector<int>& large_extents() {
  static const std::vector<int> extents = {1,  2,  3,  4,   7,   8,   12,  16,   20,
                                           28, 31, 64, 100, 224, 400, 513, 1000, 3000};
  return extents;
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_COMPREHENSION_TYPES_H_
