#ifndef EMULSION_TESTS_BACKENDS_HALIDE_EMITTED_POINTS_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_EMITTED_POINTS_H_

// A nest in numbers, at some iterations of its loops for some run-time sizes: what is compared with
// Halide's expressions. Reads the nest and its StorageLayouts; shares nothing with the emitter.

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"
#include "tests/backends/halide/emitted_items.h"

namespace emulsion {

// Throws std::runtime_error, the text with its arguments, unless it holds.
template <typename... Arguments>
void expect(bool holds, const char* text, const Arguments&... arguments) {
  if (!holds) throw std::runtime_error(fmt::format(fmt::runtime(text), arguments...));
}

// What is compared: the two lists, of equal items.
struct EmittedPair {
  const LoopNest& nest;
  const std::vector<NestItem>& wanted;
  const std::vector<StatementItem>& found;
};

// The same sizes and iterations under the names of both sides.
struct EmittedPoint {
  std::map<std::string, int64_t> nest, halide;
};
// "at B = 3, y.mo = 1".
std::string to_string(const EmittedPoint& point);

// Of the loops around an item: the first step of all, the second, the last, and mixtures with those
// in the middle, for each of a few sizes; without those that do not reach it.
std::vector<EmittedPoint> points_of(const EmittedPair& pair, const NestItem& item);

// Where the elements of a buffer are.
struct Region {
  std::string memory;  // Halide's name
  std::vector<int64_t> shape, mins, extents, strides, folds;
  int64_t elements = 0;  // in memory

  bool folded(size_t axis) const { return !folds.empty() && folds[axis] > 0; }
  // Whether the element has a place: any has along a folded axis.
  bool holds(const std::vector<int64_t>& index) const;
  // Whether it is of the buffer besides, along the folded axes.
  bool is_of_buffer(const std::vector<int64_t>& index) const;
  int64_t offset(const std::vector<int64_t>& index) const;
};
Region region_of(const EmittedPair& pair, const NestItem& item, const std::string& buffer,
                 const EmittedPoint& point);
// The elements that storage of this layout takes.
int64_t elements_of(const StorageLayout& layout, const std::vector<int64_t>& extents);

// Each expression's value; an extent below 0 is none.
std::vector<int64_t> values_of(const std::vector<Expr>& exprs,
                               const std::map<std::string, int64_t>& variables);

// What the axes of the uOp's stage are, and the run-time sizes.
std::map<std::string, int64_t> axis_values(const LoopNest& nest, const UopNode& uop,
                                           const std::map<std::string, int64_t>& variables);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_EMITTED_POINTS_H_
