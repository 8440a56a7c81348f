#ifndef EMULSION_BENCHMARKS_DRAWER_H_
#define EMULSION_BENCHMARKS_DRAWER_H_

// Numbers that are drawn with a seed, the same on every machine, which the distributions of the
// standard library are not.

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace emulsion::benchmarks {

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : engine_(seed) {}

  // Both ends included.
  int64_t between(int64_t low, int64_t high);
  // True once in `count` times.
  bool one_of(int64_t count) { return between(1, count) == 1; }
  // Each power of two as likely.
  int64_t of_any_size(int64_t low, int64_t high);
  // Few, some, or as people choose them.
  int64_t columns();
  template <typename T>
  const T& any(const std::vector<T>& all) {
    return all[static_cast<size_t>(between(0, static_cast<int64_t>(all.size()) - 1))];
  }
  template <typename T>
  std::vector<T> shuffled(std::vector<T> all) {
    for (size_t i = all.size(); i > 1; --i) {
      std::swap(all[i - 1], all[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
    }
    return all;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_DRAWER_H_
