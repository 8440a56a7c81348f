#include "examples/digits/digits_data.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "backends/codegen/npy_header.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr int kMaxPixel = 16;
constexpr int64_t kColumns = kDigitPixels + 1;

// One line of the file, and where it is for the messages.
struct Line {
  const std::string& path;
  int64_t number;
  std::string_view text;
};

int parse_cell(const Line& line, int64_t column, std::string_view cell, int max,
               std::string_view what) {
  int value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  if ((error != std::errc() && error != std::errc::result_out_of_range) || stop != end) {
    fail("{}:{}: column {}: expected a whole number, got {}", line.path, line.number, column,
         npy_quoted(cell));
  }
  if (error == std::errc::result_out_of_range || value < 0 || value > max) {
    fail("{}:{}: column {}: expected {} from 0 to {}, got {}", line.path, line.number, column, what,
         max, cell.substr(0, 20));
  }
  return value;
}

void append_line(const Line& line, Digits& digits) {
  const auto commas = std::count(line.text.begin(), line.text.end(), ',');
  const int64_t found = line.text.empty() ? 0 : commas + 1;
  if (found != kColumns) {
    fail("{}:{}: expected {} columns, got {}", line.path, line.number, kColumns, found);
  }
  std::string_view rest = line.text;
  for (int64_t column = 1; column <= kColumns; ++column) {
    const std::string_view cell = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), cell.size() + 1));
    if (column == kColumns) {
      digits.labels.push_back(parse_cell(line, column, cell, kDigitClasses - 1, "a label"));
    } else {
      const int pixel = parse_cell(line, column, cell, kMaxPixel, "a pixel");
      digits.images.push_back(static_cast<float>(pixel) / kMaxPixel);
    }
  }
}

}  // namespace

Digits read_digits(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    fail("{}: expected the digits as CSV, got: {}", path,
         error ? error.message() : "No such file or directory");
  }
  if (std::filesystem::is_directory(status)) {
    fail("{}: expected the digits as CSV, got a directory", path);
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: expected a readable file, got one that cannot be opened", path);

  Digits digits;
  std::string text;
  for (int64_t number = 1; std::getline(stream, text); ++number) {
    append_line(Line{path, number, text}, digits);
  }
  if (stream.bad()) fail("{}: expected a readable file, got an error while reading", path);
  if (digits.size() == 0) fail("{}: expected at least one image, got an empty file", path);
  return digits;
}

DigitsSplit split_digits(const Digits& digits) {
  DigitsSplit split;
  for (int64_t i = 0; i < digits.size(); ++i) {
    Digits& part = is_held_out(i) ? split.held_out : split.train;
    const auto image = digits.images.begin() + i * kDigitPixels;
    part.images.insert(part.images.end(), image, image + kDigitPixels);
    part.labels.push_back(digits.labels[static_cast<size_t>(i)]);
  }
  return split;
}

}  // namespace emulsion
