#include "examples/digits/digits_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "dsl/error.h"

namespace emulsion {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// scikit-learn's file; the BUILD file says where it is.
Digits shipped_digits() {
  const char* path = std::getenv("EMULSION_DIGITS_CSV");
  if (path == nullptr) throw Error("expected EMULSION_DIGITS_CSV to name digits.csv");
  return read_digits(path);
}

class DigitsDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "/digits_" + info->name() + ".csv";
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void put(const std::string& text) const {
    std::ofstream stream(path_, std::ios::binary);
    stream << text;
    ASSERT_TRUE(stream.flush());
  }

  // Why `text` is refused: every refusal names the file.
  std::string refusal(const std::string& text) const {
    put(text);
    try {
      read_digits(path_);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), StartsWith(path_));
      return error.what();
    }
    return "(no error)";
  }

  std::string path_;
};

// A line of 64 equal pixels and a label.
std::string line_of(const std::string& pixel, const std::string& label) {
  std::string text;
  for (int64_t i = 0; i < kDigitPixels; ++i) text += pixel + ",";
  return text + label + "\n";
}

TEST_F(DigitsDataTest, ReadsTheShippedImages) {
  const Digits digits = shipped_digits();
  EXPECT_EQ(digits.size(), 1797);
  EXPECT_EQ(digits.images.size(), 1797u * 64);
  EXPECT_EQ(*std::min_element(digits.images.begin(), digits.images.end()), 0.0f);
  EXPECT_EQ(*std::max_element(digits.images.begin(), digits.images.end()), 1.0f);
  for (int32_t digit = 0; digit < kDigitClasses; ++digit) {
    EXPECT_GT(std::count(digits.labels.begin(), digits.labels.end(), digit), 0) << digit;
  }
}

TEST_F(DigitsDataTest, SplitsTheShippedImages) {
  const DigitsSplit split = split_digits(shipped_digits());
  EXPECT_EQ(split.train.size(), 1347);
  EXPECT_EQ(split.train.images.size(), 1347u * 64);
  EXPECT_EQ(split.held_out.size(), 450);
  EXPECT_EQ(split.held_out.images.size(), 450u * 64);
}

TEST_F(DigitsDataTest, HoldsOutEveryFourthImageFromTheFirst) {
  std::string text;
  for (int i = 0; i < 9; ++i) text += line_of(std::to_string(i), std::to_string(i));
  put(text);
  const DigitsSplit split = split_digits(read_digits(path_));
  EXPECT_THAT(split.held_out.labels, ElementsAre(0, 4, 8));
  EXPECT_THAT(split.train.labels, ElementsAre(1, 2, 3, 5, 6, 7));
  for (const Digits& part : {split.held_out, split.train}) {
    for (int64_t i = 0; i < part.size() * kDigitPixels; ++i) {
      ASSERT_EQ(part.images[i], static_cast<float>(part.labels[i / kDigitPixels]) / 16) << i;
    }
  }
}

TEST_F(DigitsDataTest, KeepsTheOrderOfThePixels) {
  std::string text;
  for (int64_t i = 0; i < kDigitPixels; ++i) text += std::to_string(i % 17) + ",";
  put(text + "3");  // no end of line: the last line may do without
  const Digits digits = read_digits(path_);
  EXPECT_THAT(digits.labels, ElementsAre(3));
  for (int64_t i = 0; i < kDigitPixels; ++i) {
    EXPECT_EQ(digits.images[i], static_cast<float>(i % 17) / 16) << i;
  }
}

TEST_F(DigitsDataTest, SplitsNothingIntoNothing) {
  const DigitsSplit split = split_digits(Digits{});
  EXPECT_EQ(split.train.size(), 0);
  EXPECT_EQ(split.held_out.size(), 0);
}

TEST_F(DigitsDataTest, RefusesAMissingFile) {
  EXPECT_THAT([&] { read_digits(path_); },
              ::testing::ThrowsMessage<Error>(AllOf(StartsWith(path_), HasSubstr("No such file"))));
}

TEST_F(DigitsDataTest, RefusesADirectory) {
  EXPECT_THAT([] { read_digits(::testing::TempDir()); },
              ::testing::ThrowsMessage<Error>(HasSubstr("got a directory")));
}

TEST_F(DigitsDataTest, RefusesAnEmptyFile) {
  EXPECT_THAT(refusal(""), HasSubstr("expected at least one image, got an empty file"));
}

TEST_F(DigitsDataTest, RefusesAnEmptyLine) {
  EXPECT_THAT(refusal(line_of("1", "2") + "\n" + line_of("1", "2")),
              HasSubstr(":2: expected 65 columns, got 0"));
}

TEST_F(DigitsDataTest, RefusesAShortRow) {
  EXPECT_THAT(refusal(line_of("1", "2") + "1,2,3\n"), HasSubstr(":2: expected 65 columns, got 3"));
}

TEST_F(DigitsDataTest, RefusesALongRow) {
  EXPECT_THAT(refusal("0," + line_of("1", "2")), HasSubstr(":1: expected 65 columns, got 66"));
}

TEST_F(DigitsDataTest, RefusesWhatIsNotAWholeNumber) {
  for (const char* cell : {"x", "", " 1", "1 ", "1.0", "0x1", "+1", "-", "1e0", "nan"}) {
    EXPECT_THAT(refusal(line_of("1", "2") + line_of(cell, "2")),
                HasSubstr(":2: column 1: expected a whole number, got \"" + std::string(cell)))
        << cell;
  }
}

TEST_F(DigitsDataTest, RefusesTheLineEndsOfWindows) {
  EXPECT_THAT(refusal(line_of("1", "2\r")),
              HasSubstr(":1: column 65: expected a whole number, got \"2\\x0d\""));
}

TEST_F(DigitsDataTest, RefusesAPixelOutOfRange) {
  for (const char* pixel : {"17", "-1", "2147483648", "-99999999999999999999"}) {
    EXPECT_THAT(refusal(line_of(pixel, "2")),
                HasSubstr(":1: column 1: expected a pixel from 0 to 16"))
        << pixel;
  }
}

TEST_F(DigitsDataTest, RefusesALabelOutOfRange) {
  for (const char* label : {"10", "-1"}) {
    EXPECT_THAT(
        refusal(line_of("1", label)),
        HasSubstr(":1: column 65: expected a label from 0 to 9, got " + std::string(label)));
  }
}

TEST_F(DigitsDataTest, RefusesABinaryFile) {
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x01\x00", 8)), HasSubstr(":1: expected 65 columns"));
}

}  // namespace
}  // namespace emulsion
