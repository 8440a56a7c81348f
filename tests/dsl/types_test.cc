#include "dsl/types.h"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

TEST(Types, EveryNameParsesBack) {
  for (DType type : all_dtypes()) EXPECT_EQ(parse_dtype(to_string(type)), type) << to_string(type);
}

TEST(Types, SizesAreThoseOfTheHost) {
  EXPECT_EQ(size_in_bytes(DType::boolean), 1);
  EXPECT_EQ(size_in_bytes(i8), 1);
  EXPECT_EQ(size_in_bytes(u8), 1);
  EXPECT_EQ(size_in_bytes(i16), 2);
  EXPECT_EQ(size_in_bytes(u16), 2);
  EXPECT_EQ(size_in_bytes(bf16), 2);
  EXPECT_EQ(size_in_bytes(i32), static_cast<int>(sizeof(int32_t)));
  EXPECT_EQ(size_in_bytes(f32), static_cast<int>(sizeof(float)));
  EXPECT_EQ(size_in_bytes(f64), static_cast<int>(sizeof(double)));
}

TEST(Types, EachIsFloatIntegerOrBool) {
  for (DType type : all_dtypes()) {
    EXPECT_EQ(is_float(type) + is_integer(type) + (type == DType::boolean), 1) << to_string(type);
  }
}

TEST(Types, ErrorMessagesListExactlyWhatComputes) {
  for (DType type : all_dtypes()) {
    bool listed = computable_dtypes().find(to_string(type)) != std::string::npos;
    EXPECT_EQ(is_computable(type), listed) << to_string(type);
  }
  EXPECT_EQ(computable_dtypes(), "bool, i8, u8, i16, u16, i32, f32 or f64");
  EXPECT_EQ(numeric_dtypes(), "i8, u8, i16, u16, i32, f32 or f64");
  EXPECT_EQ(integer_dtypes(), "i8, u8, i16, u16 or i32");
}

TEST(Types, RangesAreThoseOfTheCppTypes) {
  for (DType type : all_dtypes()) {
    if (!is_integer(type)) continue;
    visit_element(type, [&](auto value) {
      using T = decltype(value);
      EXPECT_EQ(dtype_of<T>(), type);
      EXPECT_EQ(static_cast<int>(sizeof(T)), size_in_bytes(type));
      if constexpr (std::is_integral_v<T>) {
        EXPECT_EQ(integer_range(type).lowest, std::numeric_limits<T>::min());
        EXPECT_EQ(integer_range(type).highest, std::numeric_limits<T>::max());
        for (int64_t wide :
             {int64_t{0}, int64_t{-1}, int64_t{128}, int64_t{-129}, int64_t{255}, int64_t{256},
              int64_t{65535}, int64_t{65536}, int64_t{-32769}, std::numeric_limits<int64_t>::min(),
              std::numeric_limits<int64_t>::max()}) {
          EXPECT_EQ(wrap_integer(type, wide), static_cast<T>(wide)) << wide;
        }
      }
    });
  }
  EXPECT_EQ(integer_range(bool_).highest, 1);
}

TEST(Types, ATypeWithoutKernelsHasNoElements) {
  EXPECT_THAT([] { visit_element(bf16, [](auto) {}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("got bf16")));
}

TEST(Types, AFloatHasNoIntegerRange) {
  EXPECT_THAT([] { integer_range(f32); },
              ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr("range of f32")));
}

TEST(Types, UnknownNamesAreNoType) {
  for (const char* text :
       {"", "f16", "F32", "float", "f32 ", " f32", "boolean", "i64", "u32", "int8"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
}

TEST(Types, AValueThatIsNoEnumeratorIsOurMistake) {
  DType broken = static_cast<DType>(99);
  EXPECT_THAT([&] { size_in_bytes(broken); },
              ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr("no such type 99")));
  EXPECT_THAT([&] { to_string(broken); },
              ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr("no such type 99")));
}

}  // namespace
}  // namespace emulsion
