#ifndef EMULSION_TESTS_RANDOM_RANDOM_NUMBERS_H_
#define EMULSION_TESTS_RANDOM_RANDOM_NUMBERS_H_

// The same numbers from the same seed on every machine and with every library, which <random>'s
// distributions do not promise: a seed in a report must give the same graph anywhere.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulsion {

class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : state_(seed) {}

  uint64_t next() {  // SplitMix64 (Steele, Lea and Flood, 2014)
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  int below(int count) { return static_cast<int>(next() % static_cast<uint64_t>(count)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(double probability) { return real(0, 1) < probability; }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int>(values.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RANDOM_NUMBERS_H_
