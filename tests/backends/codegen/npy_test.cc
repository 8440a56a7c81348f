#include "backends/codegen/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace emulsion {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The message of the Error that `call` throws; another exception ends the test.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

class NpyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/npy_" + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/a.npy";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& bytes) const {
    std::ofstream stream(path_, std::ios::binary);
    stream << bytes;
    ASSERT_TRUE(stream.flush());
  }

  NpyArray read(const std::string& bytes) const {
    put(bytes);
    return read_npy(path_);
  }

  // Why `bytes` are refused: every refusal names the file.
  std::string refusal(const std::string& bytes) const {
    put(bytes);
    const std::string message = error_of([&] { read_npy(path_); });
    EXPECT_THAT(message, StartsWith(path_));
    return message;
  }

  std::string folder_;
  std::string path_;
};

// A version 1.0 file by hand: the header is not padded, which the format allows.
std::string file_with(const std::string& header, const std::string& data = "") {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The four files below are the bytes that numpy.save and numpy.lib.format.write_array write.
TEST_F(NpyTest, ReadsF32WrittenByNumpy) {
  const std::string bytes =
      std::string("\x93NUMPY\x01\x00v\x00", 10) +
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" + std::string(58, ' ') + "\n" +
      std::string("\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00P@", 16);
  const NpyArray array = read(bytes);
  EXPECT_THAT(array.shape, ElementsAre(2, 2));
  EXPECT_THAT(npy_values<float>(array), ElementsAre(1.5f, -2.0f, 0.0f, 3.25f));
}

TEST_F(NpyTest, ReadsAScalarWrittenByNumpy) {
  const std::string bytes = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                            "{'descr': '<i4', 'fortran_order': False, 'shape': (), }" +
                            std::string(62, ' ') + "\n" + std::string("\x07\x00\x00\x00", 4);
  const NpyArray array = read(bytes);
  EXPECT_THAT(array.shape, IsEmpty());
  EXPECT_THAT(npy_values<int32_t>(array), ElementsAre(7));
}

TEST_F(NpyTest, ReadsBoolsWrittenByNumpy) {
  const std::string bytes = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                            "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }" +
                            std::string(60, ' ') + "\n" + std::string("\x01\x00\x01", 3);
  EXPECT_THAT(npy_values<bool>(read(bytes)), ElementsAre(true, false, true));
}

TEST_F(NpyTest, ReadsVersion2WrittenByNumpy) {
  const std::string bytes = std::string("\x93NUMPY\x02\x00t\x00\x00\x00", 12) +
                            "{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }" +
                            std::string(58, ' ') + "\n" + std::string("\xff\x7f", 2);
  EXPECT_THAT(npy_values<int8_t>(read(bytes)), ElementsAre(-1, 127));
}

TEST_F(NpyTest, ReadsKeysInAnyOrderAndEitherQuote) {
  const NpyArray array =
      read(file_with("{\"shape\":(1,0,3),\"fortran_order\":False,\"descr\":\"<f8\"}"));
  EXPECT_EQ(array.dtype, DType::f64);
  EXPECT_THAT(array.shape, ElementsAre(1, 0, 3));
}

template <typename T>
void expect_round_trip(const std::string& path, const std::vector<int64_t>& shape,
                       const std::vector<T>& values) {
  write_npy(path, make_npy(shape, values));
  const NpyArray array = read_npy(path);
  EXPECT_EQ(array.dtype, dtype_of<T>());
  EXPECT_EQ(array.shape, shape);
  EXPECT_EQ(npy_values<T>(array), values);
}

TEST_F(NpyTest, RoundTripsEveryType) {
  expect_round_trip<bool>(path_, {2, 2}, {true, false, false, true});
  expect_round_trip<int8_t>(path_, {3}, {-128, 0, 127});
  expect_round_trip<uint8_t>(path_, {3}, {0, 128, 255});
  expect_round_trip<int16_t>(path_, {2}, {-32768, 32767});
  expect_round_trip<uint16_t>(path_, {2}, {0, 65535});
  expect_round_trip<int32_t>(path_, {1, 2}, {std::numeric_limits<int32_t>::min(), 5});
  expect_round_trip<float>(path_, {2, 1, 2}, {1.0f, -0.0f, 1e-45f, INFINITY});
  expect_round_trip<double>(path_, {2}, {1e308, -INFINITY});
}

TEST_F(NpyTest, RoundTripsAScalar) { expect_round_trip<float>(path_, {}, {2.5f}); }

TEST_F(NpyTest, RoundTripsZeroSizes) {
  expect_round_trip<float>(path_, {0}, {});
  expect_round_trip<double>(path_, {4, 0, 2}, {});
}

TEST_F(NpyTest, RoundTripsTheHighestRank) {
  expect_round_trip<int8_t>(path_, std::vector<int64_t>(32, 1), {3});
}

TEST_F(NpyTest, RoundTripsTheBitsOfNan) {
  NpyArray array{DType::f32, {1}, {0x01, 0x00, 0xa0, 0x7f}};  // signalling, with a payload
  write_npy(path_, array);
  EXPECT_EQ(read_npy(path_).bytes, array.bytes);
}

TEST_F(NpyTest, AlignsTheDataAndLeavesNoTemporaryFile) {
  for (int64_t extent = 1; extent < 1000000; extent *= 10) {
    write_npy(path_, make_npy<int8_t>({extent, 0}, {}));
    EXPECT_EQ(contents(path_).size() % 64, 0u) << extent;
  }
  const std::filesystem::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(NpyTest, RefusesAMissingFile) {
  EXPECT_THAT(error_of([&] { read_npy(path_); }),
              AllOf(StartsWith(path_), HasSubstr("No such file")));
}

TEST_F(NpyTest, RefusesADirectory) {
  EXPECT_THAT(error_of([&] { read_npy(folder_); }),
              AllOf(StartsWith(folder_), HasSubstr("got a directory")));
}

TEST_F(NpyTest, RefusesADevice) {
  EXPECT_THAT(error_of([&] { read_npy("/dev/null"); }), HasSubstr("not a regular file"));
}

TEST_F(NpyTest, RefusesAnEmptyFile) {
  EXPECT_THAT(refusal(""), HasSubstr("npy magic: truncated: expected 6 bytes, got 0"));
}

TEST_F(NpyTest, RefusesAWrongMagic) {
  EXPECT_THAT(refusal("PK\x03\x04 a zip archive"),
              HasSubstr(R"(npy magic: expected "\x93NUMPY", got "PK\x03\x04 a")"));
}

TEST_F(NpyTest, RefusesAWrongVersion) {
  std::string bytes = file_with(dict("|i1", "(0,)"));
  bytes[6] = 3;
  EXPECT_THAT(refusal(bytes), HasSubstr("npy version: expected 1.0 or 2.0, got 3.0"));
  bytes[6] = 1;
  bytes[7] = 9;
  EXPECT_THAT(refusal(bytes), HasSubstr("npy version: expected 1.0 or 2.0, got 1.9"));
}

TEST_F(NpyTest, RefusesEveryTruncation) {
  const std::string whole = file_with(dict("<f4", "(2,)"), std::string(8, 'x'));
  ASSERT_THAT(error_of([&] { read(whole); }), HasSubstr("(no error)"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("truncated")) << size;
  }
}

TEST_F(NpyTest, NamesBothSizesOfTruncatedData) {
  EXPECT_THAT(refusal(file_with(dict("<f4", "(2, 3)"), std::string(23, 'x'))),
              HasSubstr("npy data: truncated: expected 24 bytes for shape (2, 3) of f32, got 23"));
}

TEST_F(NpyTest, RefusesTrailingBytes) {
  EXPECT_THAT(refusal(file_with(dict("<f4", "()"), std::string(5, 'x'))),
              HasSubstr("npy data: trailing bytes: expected 4 bytes for shape () of f32, got 5"));
}

TEST_F(NpyTest, RefusesFortranOrder) {
  EXPECT_THAT(refusal(file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 2), }\n")),
              HasSubstr("expected C order"));
}

TEST_F(NpyTest, RefusesBigEndian) {
  EXPECT_THAT(refusal(file_with(dict(">f4", "(0,)"))),
              AllOf(HasSubstr("'<f4'"), HasSubstr("got \">f4\", which is big-endian")));
}

TEST_F(NpyTest, RefusesOtherTypes) {
  for (const char* descr :
       {"<f2", "<i8", "<u4", "|u2", "<c8", "|O", "<U3", "|S1", "=f4", "f4", ""}) {
    EXPECT_THAT(
        refusal(file_with(dict(descr, "(0,)"))),
        HasSubstr(
            "npy dtype: expected '|b1', '|i1', '|u1', '<i2', '<u2', '<i4', '<f4' or '<f8', got"))
        << descr;
  }
}

TEST_F(NpyTest, RefusesAStructuredType) {
  EXPECT_THAT(
      refusal(file_with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,)}")),
      HasSubstr("expected a quoted dtype, not a structured one"));
}

TEST_F(NpyTest, RefusesANegativeExtent) {
  EXPECT_THAT(refusal(file_with(dict("<f4", "(2, -3)"))), HasSubstr("got a negative one: -3"));
}

TEST_F(NpyTest, RefusesAnExtentOutOfRange) {
  EXPECT_THAT(refusal(file_with(dict("<f4", "(9223372036854775808,)"))),
              HasSubstr("expected extents below 2^63, got an overflow: \"9223372036854775808\""));
}

TEST_F(NpyTest, RefusesAnOverflowOfTheElementCount) {
  EXPECT_THAT(refusal(file_with(dict("|i1", "(4294967296, 4294967296)"))),
              HasSubstr("expected fewer than 2^63 elements, got an overflow"));
  EXPECT_THAT(refusal(file_with(dict("|i1", "(0, 4294967296, 4294967296)"))),
              HasSubstr("expected fewer than 2^63 elements, got an overflow"));
}

TEST_F(NpyTest, RefusesAnOverflowOfTheByteCount) {
  EXPECT_THAT(refusal(file_with(dict("<f8", "(4611686018427387904,)"))),
              HasSubstr("expected fewer than 2^63 bytes, got an overflow"));
}

TEST_F(NpyTest, RefusesAHugeShapeWithoutAllocatingIt) {
  EXPECT_THAT(refusal(file_with(dict("|i1", "(1152921504606846976,)"), "x")),
              HasSubstr("truncated: expected 1152921504606846976 bytes"));
}

TEST_F(NpyTest, RefusesARankAboveTheLimit) {
  std::string shape = "(";
  for (int i = 0; i < 33; ++i) shape += "1, ";
  EXPECT_THAT(refusal(file_with(dict("|i1", shape + ")"), "x")),
              HasSubstr("npy shape: expected a rank of at most 32"));
}

TEST_F(NpyTest, RefusesAHeaderWithoutItsClosingBrace) {
  EXPECT_THAT(refusal(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)")),
              HasSubstr("expected a comma or the closing brace, got the end of the header"));
  EXPECT_THAT(refusal(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), ")),
              HasSubstr("or the closing brace, got the end of the header"));
}

TEST_F(NpyTest, RefusesAHeaderAboveTheLimit) {
  const std::string header = dict("|i1", "(0,)") + std::string(70000, ' ');
  std::string bytes("\x93NUMPY\x02\x00", 8);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  EXPECT_THAT(refusal(bytes + header), HasSubstr("npy header: expected at most 65536 bytes"));
  bytes.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(refusal(bytes), HasSubstr("got 4294967295"));
}

TEST_F(NpyTest, RefusesAHeaderThatIsNotTheDict) {
  const std::string order = "'fortran_order': False, ";
  const struct {
    const char* what;
    std::string header;
    const char* cause;
  } cases[] = {
      {"no dict", "hello", "expected an opening brace, got \"hello\""},
      {"empty", "", "expected an opening brace, got the end of the header"},
      {"no descr", "{" + order + "'shape': (0,)}", "expected the key 'descr'"},
      {"no order", "{'descr': '<f4', 'shape': (0,)}", "expected the key 'fortran_order'"},
      {"no shape", "{'descr': '<f4', " + order + "}", "expected the key 'shape'"},
      {"twice", "{" + order + order + "}", "expected the key 'fortran_order' once"},
      {"two types", "{'descr': '<f4', 'descr': '<f8'}", "expected the key 'descr' once"},
      {"two shapes", "{'shape': (1,), 'shape': (2,)}", "expected the key 'shape' once"},
      {"another key", "{'evil': 1}", "got \"evil\""},
      {"open string", "{'descr", "expected a string with its closing quote"},
      {"no colon", "{'descr' '<f4'}", "expected a colon"},
      {"order 0", "{'fortran_order': 0}", "expected False or True"},
      {"Falsey", "{'fortran_order': Falsey}", "expected a comma or the closing brace"},
      {"shape list", "{'shape': [1]}", "expected a shape in parentheses"},
      {"shape of one int", "{'shape': (1)}", "expected a comma after the only extent"},
      {"shape of text", "{'shape': ('a',)}", "expected an extent in decimal digits"},
      {"fraction", "{'shape': (1.5,)}", "expected a comma"},
      {"two commas", "{'shape': (1,,)}", "expected an extent in decimal digits"},
      {"open shape", "{'shape': (1, 2", "expected a comma or the closing parenthesis"},
      {"after the brace", dict("|i1", "(0,)") + "import os", "only spaces after the closing brace"},
      {"a NUL", dict("|i1", "(0,)") + std::string(1, '\0'), "got \"\\x00\""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(refusal(file_with(c.header)), HasSubstr(c.cause)) << c.what;
  }
}

TEST_F(NpyTest, QuotesLittleOfAHostileHeader) {
  EXPECT_LT(refusal(file_with(std::string(60000, '\x1b'))).size(), path_.size() + 300);
}

TEST_F(NpyTest, RefusesABoolThatIsNeither0Nor1) {
  EXPECT_THAT(refusal(file_with(dict("|b1", "(2,)"), "\x01\x02")),
              HasSubstr("expected a bool of 0 or 1 at element 1, got 2"));
}

TEST_F(NpyTest, RefusesAnotherShapeThanAskedFor) {
  write_npy(path_, make_npy<float>({2, 3}, std::vector<float>(6)));
  EXPECT_EQ(read_npy_f32(path_, {2, 3}).size(), 6u);
  EXPECT_THAT(error_of([&] {
                read_npy_f32(path_, {3, 2});
              }),
              HasSubstr("npy shape: expected (3, 2), got (2, 3)"));
  EXPECT_THAT(error_of([&] { read_npy_f32(path_, {6}); }), HasSubstr("expected (6,)"));
}

TEST_F(NpyTest, RefusesAnotherTypeThanAskedFor) {
  write_npy(path_, make_npy<double>({1}, {1.0}));
  EXPECT_THAT(error_of([&] { read_npy_f32(path_, {1}); }),
              HasSubstr("npy dtype: expected f32, got f64"));
  EXPECT_THAT(error_of([&] { npy_values<int32_t>(read_npy(path_)); }),
              HasSubstr("expected an array of i32, got f64"));
}

TEST_F(NpyTest, DoesNotMakeAnInconsistentArray) {
  EXPECT_THAT(error_of([] {
                make_npy<float>({2, 2}, {1.0f});
              }),
              HasSubstr("expected 4 values for shape (2, 2), got 1"));
  EXPECT_THAT(error_of([] { make_npy<float>({-1}, {}); }), HasSubstr("got a negative one"));
}

TEST_F(NpyTest, DoesNotWriteAnInconsistentArray) {
  EXPECT_THAT(error_of([&] {
                write_npy(path_, {DType::f32, {2}, {0, 0, 0}});
              }),
              HasSubstr("expected 8 bytes for shape (2,) of f32, got 3"));
  EXPECT_THAT(error_of([&] {
                write_npy(path_, {DType::bf16, {0}, {}});
              }),
              HasSubstr("expected " + computable_dtypes() + ", got bf16"));
  EXPECT_THAT(error_of([&] {
                write_npy(path_, {DType::boolean, {1}, {7}});
              }),
              HasSubstr("expected a bool of 0 or 1"));
  EXPECT_THAT(error_of([&] {
                write_npy(path_, {DType::i8, std::vector<int64_t>(33, 1), {0}});
              }),
              HasSubstr("expected a rank of at most 32, got 33"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(NpyTest, RefusesAPlaceWhereItCannotWrite) {
  const NpyArray array = make_npy<float>({1}, {1.0f});
  EXPECT_THAT(error_of([&] { write_npy(folder_ + "/none/a.npy", array); }),
              "cannot write npy " + folder_ + "/none/a.npy: No such file or directory");
  EXPECT_THAT(error_of([&] { write_npy(folder_, array); }), HasSubstr("directory"));
}

TEST_F(NpyTest, AFailedWriteKeepsTheOldFile) {
  write_npy(path_, make_npy<float>({1}, {1.0f}));
  const std::string before = contents(path_);
  EXPECT_THAT(error_of([&] { write_npy(path_, {DType::f32, {2}, {}}); }), HasSubstr("8 bytes"));
  EXPECT_EQ(contents(path_), before);
}

}  // namespace
}  // namespace emulsion
