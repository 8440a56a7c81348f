#include "dsl/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "dsl/error.h"

namespace emulsion {
namespace {

enum class Kind : uint8_t { boolean, signed_integer, unsigned_integer, floating };

struct TypeRow {
  DType type;
  const char* name;
  int bytes;
  Kind kind;
  bool computable;
};

constexpr TypeRow kTypes[] = {
    {DType::boolean, "bool", 1, Kind::boolean, true},
    {DType::i8, "i8", 1, Kind::signed_integer, true},
    {DType::u8, "u8", 1, Kind::unsigned_integer, true},
    {DType::i16, "i16", 2, Kind::signed_integer, true},
    {DType::u16, "u16", 2, Kind::unsigned_integer, true},
    {DType::i32, "i32", 4, Kind::signed_integer, true},
    {DType::bf16, "bf16", 2, Kind::floating, false},
    {DType::f32, "f32", 4, Kind::floating, true},
    {DType::f64, "f64", 8, Kind::floating, true},
};

constexpr bool in_order_of_the_enum() {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].type != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(in_order_of_the_enum());

const TypeRow& row_of(DType type) {
  auto row = static_cast<size_t>(type);
  EMULSION_CHECK(row < std::size(kTypes), "no such type {}", row);
  return kTypes[row];
}

// "a, b or c"
template <typename Wanted>
std::string list_types(const Wanted& wanted) {
  std::vector<std::string> names;
  for (const TypeRow& row : kTypes) {
    if (row.computable && wanted(row)) names.emplace_back(row.name);
  }
  std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

const std::vector<DType>& all_dtypes() {
  static const auto* const types = [] {
    auto* result = new std::vector<DType>();
    for (const TypeRow& row : kTypes) result->push_back(row.type);
    return result;
  }();
  return *types;
}

int size_in_bytes(DType type) { return row_of(type).bytes; }

bool is_float(DType type) { return row_of(type).kind == Kind::floating; }

bool is_integer(DType type) {
  Kind kind = row_of(type).kind;
  return kind == Kind::signed_integer || kind == Kind::unsigned_integer;
}

bool is_computable(DType type) { return row_of(type).computable; }

std::string to_string(DType type) { return row_of(type).name; }

std::optional<DType> parse_dtype(const std::string& text) {
  for (const TypeRow& row : kTypes) {
    if (text == row.name) return row.type;
  }
  return std::nullopt;
}

std::string computable_dtypes() {
  return list_types([](const TypeRow&) { return true; });
}

std::string numeric_dtypes() {
  return list_types([](const TypeRow& row) { return row.kind != Kind::boolean; });
}

std::string integer_dtypes() {
  return list_types([](const TypeRow& row) { return is_integer(row.type); });
}

IntegerRange integer_range(DType type) {
  const TypeRow& row = row_of(type);
  int64_t power = int64_t{1} << (8 * row.bytes - 1);
  switch (row.kind) {
    case Kind::boolean:
      return {0, 1};
    case Kind::signed_integer:
      return {-power, power - 1};
    case Kind::unsigned_integer:
      return {0, 2 * power - 1};
    case Kind::floating:
      break;
  }
  EMULSION_CHECK(false, "the integer range of {}", row.name);
  return {};
}

int64_t wrap_integer(DType type, int64_t value) {
  IntegerRange range = integer_range(type);
  const auto modulus = static_cast<uint64_t>(range.highest - range.lowest) + 1;  // a power of two
  uint64_t above = (static_cast<uint64_t>(value) - static_cast<uint64_t>(range.lowest)) % modulus;
  return range.lowest + static_cast<int64_t>(above);
}

std::optional<DType> wider_type(DType a, DType b) {
  const DType more = std::max(a, b), less = std::min(a, b);
  if (is_float(more)) return more;
  if (integer_range(more).contains(integer_range(less))) return more;
  return std::nullopt;
}

void fail_not_computable(DType type) {
  fail("expected a type with kernels ({}), got {}", computable_dtypes(), to_string(type));
}

}  // namespace emulsion
