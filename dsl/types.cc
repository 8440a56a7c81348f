#include "dsl/types.h"

#include "dsl/error.h"

namespace emulsion {

int size_in_bytes(DType type) {
  switch (type) {
    case DType::boolean:
    case DType::i8:
      return 1;
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
  }
  EMULSION_CHECK(false, "no such type {}", static_cast<int>(type));
  return 0;
}

bool is_float(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::bf16;
}

bool is_integer(DType type) { return type == DType::i32 || type == DType::i8; }

bool is_computable(DType type) { return type != DType::i8 && type != DType::bf16; }

std::string to_string(DType type) {
  switch (type) {
    case DType::boolean:
      return "bool";
    case DType::i8:
      return "i8";
    case DType::i32:
      return "i32";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
  }
  EMULSION_CHECK(false, "no such type {}", static_cast<int>(type));
  return "";
}

std::optional<DType> parse_dtype(const std::string& text) {
  for (DType type : {DType::boolean, DType::i8, DType::i32, DType::bf16, DType::f32, DType::f64}) {
    if (to_string(type) == text) return type;
  }
  return std::nullopt;
}

std::string computable_dtypes() { return "bool, i32, f32 or f64"; }

}  // namespace emulsion
