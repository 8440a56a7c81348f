#include "dsl/types.h"

#include <gtest/gtest.h>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

constexpr DType kAll[] = {DType::boolean, DType::i8,  DType::i32,
                          DType::bf16,    DType::f32, DType::f64};

TEST(Types, EveryNameParsesBack) {
  for (DType type : kAll) EXPECT_EQ(parse_dtype(to_string(type)), type) << to_string(type);
}

TEST(Types, SizesAreThoseOfTheHost) {
  EXPECT_EQ(size_in_bytes(DType::boolean), 1);
  EXPECT_EQ(size_in_bytes(i8), 1);
  EXPECT_EQ(size_in_bytes(bf16), 2);
  EXPECT_EQ(size_in_bytes(i32), static_cast<int>(sizeof(int32_t)));
  EXPECT_EQ(size_in_bytes(f32), static_cast<int>(sizeof(float)));
  EXPECT_EQ(size_in_bytes(f64), static_cast<int>(sizeof(double)));
}

TEST(Types, EachIsFloatIntegerOrBool) {
  for (DType type : kAll) {
    EXPECT_EQ(is_float(type) + is_integer(type) + (type == DType::boolean), 1) << to_string(type);
  }
}

TEST(Types, ErrorMessagesListExactlyWhatComputes) {
  for (DType type : kAll) {
    bool listed = computable_dtypes().find(to_string(type)) != std::string::npos;
    EXPECT_EQ(is_computable(type), listed) << to_string(type);
  }
}

TEST(Types, UnknownNamesAreNoType) {
  for (const char* text : {"", "f16", "F32", "float", "f32 ", " f32", "boolean", "i64"}) {
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
