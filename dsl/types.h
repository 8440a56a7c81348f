#ifndef EMULSION_DSL_TYPES_H_
#define EMULSION_DSL_TYPES_H_

// Element types. Every switch over DType in the project goes through these functions or lists all
// enumerators, so that a new type is a compile-time to-do list.

#include <cstdint>
#include <optional>
#include <string>

namespace emulsion {

enum class DType : uint8_t {
  boolean,  // one byte, 0 or 1; prints as "bool"
  i8,       // has its place; no operator computes in it yet
  i32,      // also the type of an axis used as a value
  bf16,     // has its place; no operator computes in it yet
  f32,
  f64,
};

// Short names for the user: input("x", f32, {128, 256}).
inline constexpr DType bool_ = DType::boolean;
inline constexpr DType i32 = DType::i32;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType i8 = DType::i8;
inline constexpr DType bf16 = DType::bf16;

int size_in_bytes(DType type);
bool is_float(DType type);
bool is_integer(DType type);  // i8, i32; not bool
// False for the types that have a place in the enum but no kernels yet (i8, bf16).
bool is_computable(DType type);
std::string to_string(DType type);
std::optional<DType> parse_dtype(const std::string& text);
// "bool, i32, f32 or f64": for error messages.
std::string computable_dtypes();

}  // namespace emulsion

#endif  // EMULSION_DSL_TYPES_H_
