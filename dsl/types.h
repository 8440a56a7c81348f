#ifndef EMULSION_DSL_TYPES_H_
#define EMULSION_DSL_TYPES_H_

// Element types. What a type is stands in one table (types.cc); code that needs the C++ type of an
// element asks visit_element. Nothing else lists the types one by one, except where another library
// has types of its own (Halide's, NumPy's).

#if __cplusplus < 201703L
#error \
    "Emulsion needs C++17 or later; with Bazel: build --cxxopt=-std=c++17 --host_cxxopt=-std=c++17"
#endif

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emulsion {

enum class DType : uint8_t {
  boolean,  // one byte, 0 or 1; prints as "bool"
  i8,       // the 8- and 16-bit integers wrap around, modulo 2^8 and 2^16
  u8,
  i16,
  u16,
  i32,   // also the type of an axis used as a value
  bf16,  // has its place; no operator computes in it yet
  f32,
  f64,
};

// Short names for the user: input("x", f32, {128, 256}).
inline constexpr DType bool_ = DType::boolean;
inline constexpr DType i8 = DType::i8;
inline constexpr DType u8 = DType::u8;
inline constexpr DType i16 = DType::i16;
inline constexpr DType u16 = DType::u16;
inline constexpr DType i32 = DType::i32;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;

const std::vector<DType>& all_dtypes();
int size_in_bytes(DType type);
bool is_float(DType type);
bool is_integer(DType type);  // signed or not; not bool
// False for the types that have a place in the enum but no kernels yet (bf16).
bool is_computable(DType type);
std::string to_string(DType type);
std::optional<DType> parse_dtype(const std::string& text);

// For error messages: "bool, i8, ..., f32 or f64"; the same without bool; the integers alone.
std::string computable_dtypes();
std::string numeric_dtypes();
std::string integer_dtypes();

// All whole numbers from the lowest to the highest, both included.
struct IntegerRange {
  int64_t lowest = 0, highest = 0;
  bool contains(int64_t value) const { return lowest <= value && value <= highest; }
  bool contains(const IntegerRange& other) const {
    return lowest <= other.lowest && other.highest <= highest;
  }
  bool is_point() const { return lowest == highest; }
};
// What an integer type (or bool: 0 to 1) holds.
IntegerRange integer_range(DType type);
// The number of this integer type that is `value` modulo 2^bits: 200 is -56 as i8.
int64_t wrap_integer(DType type, int64_t value);

// Which of two types has a value for each one of the other, for messages; a float type for each
// number of integers, to its precision. Nothing of i8 and u8, say.
std::optional<DType> wider_type(DType a, DType b);

// Throws Error: a type without kernels, which has no C++ type here.
[[noreturn]] void fail_not_computable(DType type);

// visit(T()) with the C++ type of one element: bool, int8_t, ..., double.
template <typename Visitor>
decltype(auto) visit_element(DType type, Visitor&& visit) {
  switch (type) {
    case DType::boolean:  // NOLINT(bugprone-branch-clone): each visits another type
      return std::invoke(std::forward<Visitor>(visit), bool());
    case DType::i8:
      return std::invoke(std::forward<Visitor>(visit), int8_t());
    case DType::u8:
      return std::invoke(std::forward<Visitor>(visit), uint8_t());
    case DType::i16:
      return std::invoke(std::forward<Visitor>(visit), int16_t());
    case DType::u16:
      return std::invoke(std::forward<Visitor>(visit), uint16_t());
    case DType::i32:
      return std::invoke(std::forward<Visitor>(visit), int32_t());
    case DType::f32:
      return std::invoke(std::forward<Visitor>(visit), float());
    case DType::f64:
      return std::invoke(std::forward<Visitor>(visit), double());
    case DType::bf16:
      break;
  }
  fail_not_computable(type);
}

// The dtype of a C++ element type: dtype_of<uint8_t>() is u8.
template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}

}  // namespace emulsion

#endif  // EMULSION_DSL_TYPES_H_
