#ifndef EMULSION_EXAMPLES_DIGITS_DIGITS_DATA_H_
#define EMULSION_EXAMPLES_DIGITS_DIGITS_DATA_H_

// The images that the digits example classifies: scikit-learn's digits.csv, one image of 8x8 pixels
// a line, each from 0 to 16, and the digit it shows last. The rule for what is held out lives here
// and in train.py and must stay the same in both, or the accuracy would be measured on images that
// trained.

#include <cstdint>
#include <string>
#include <vector>

namespace emulsion {

inline constexpr int64_t kDigitPixels = 64;
inline constexpr int64_t kDigitClasses = 10;

struct Digits {
  std::vector<float> images;    // [size(), kDigitPixels], row-major, from 0 to 1
  std::vector<int32_t> labels;  // [size()], from 0 to kDigitClasses - 1

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

struct DigitsSplit {
  Digits train;
  Digits held_out;
};

// Throws Error, naming file, line and column, for anything but at least one such line.
Digits read_digits(const std::string& path);

// `image` counts from 0 in the order of the file.
inline bool is_held_out(int64_t image) { return image % 4 == 0; }

// Each part keeps the order of the file.
DigitsSplit split_digits(const Digits& digits);

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_DIGITS_DIGITS_DATA_H_
