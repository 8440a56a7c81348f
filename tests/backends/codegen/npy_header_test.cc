// The grammar by itself; whole files are npy_test.cc's.

#include "backends/codegen/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/error.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void expect_refusal(const std::string& text, const std::string& words) {
  EXPECT_THAT([&] { parse_npy_header("w.npy", text); }, ThrowsMessage<Error>(HasSubstr(words)))
      << text;
}

TEST(NpyHeaderTest, ReadsWhatItWrites) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {3}, {2, 0, 5}, std::vector<int64_t>(kNpyMaxRank, 1)}) {
    const NpyHeader header = parse_npy_header("w.npy", format_npy_header("w.npy", {f64, shape}));
    EXPECT_EQ(header.dtype, f64);
    EXPECT_EQ(header.shape, shape);
  }
}

TEST(NpyHeaderTest, HasADescrForEveryTypeWithKernels) {
  for (DType type : all_dtypes()) {
    if (!is_computable(type)) continue;
    EXPECT_EQ(parse_npy_header("w.npy", format_npy_header("w.npy", {type, {2}})).dtype, type);
  }
  EXPECT_THAT(format_npy_header("w.npy", {u8, {2}}), HasSubstr("'|u1'"));
  EXPECT_THAT(format_npy_header("w.npy", {i16, {2}}), HasSubstr("'<i2'"));
}

TEST(NpyHeaderTest, TakesKeysInAnyOrder) {
  const NpyHeader header =
      parse_npy_header("w.npy", "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}");
  EXPECT_EQ(header.dtype, f32);
  EXPECT_EQ(npy_shape_text(header.shape), "(2, 3)");
}

TEST(NpyHeaderTest, RefusesMissingAndRepeatedKeys) {
  expect_refusal("{'fortran_order': False, 'shape': (2,)}", "'descr', got none");
  expect_refusal("{'descr': '<f4', 'shape': (2,)}", "'fortran_order', got none");
  expect_refusal("{'descr': '<f4', 'fortran_order': False}", "'shape', got none");
  expect_refusal("{'descr': '<f4', 'descr': '<f4'}", "'descr' once");
}

TEST(NpyHeaderTest, RefusesWhatItCannotRepresent) {
  expect_refusal("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "npy dtype");
  expect_refusal("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", "C order");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "negative");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                 "overflow");
}

TEST(NpyHeaderTest, RefusesTextThatIsNoHeader) {
  expect_refusal("", "byte 0");
  expect_refusal("{'descr': '<f4'", "npy header");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "npy header");
}

TEST(NpyHeaderTest, RefusesToWriteWhatTheFormatHasNotGot) {
  EXPECT_THAT(
      [] {
        format_npy_header("w.npy", {bf16, {2}});
      },
      ThrowsMessage<Error>(HasSubstr("bf16")));
  EXPECT_THAT(
      [] {
        format_npy_header("w.npy", {f32, std::vector<int64_t>(kNpyMaxRank + 1, 1)});
      },
      ThrowsMessage<Error>(HasSubstr("rank")));
}

TEST(NpyHeaderTest, QuotesTextFromFilesSafely) {
  EXPECT_EQ(npy_quoted(std::string("a\nb", 3)).find('\n'), std::string::npos);
  EXPECT_LT(npy_quoted(std::string(10000, 'x')).size(), 200);
}

}  // namespace
}  // namespace emulsion
