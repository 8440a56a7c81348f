#ifndef EMULSION_DSL_EXTENT_H_
#define EMULSION_DSL_EXTENT_H_

// How long an axis is: a number, or an affine expression in named run-time sizes (2*B + 1). One
// kernel serves every value of its sizes from 0 up, so arithmetic here is exact and checked: a
// result that no 64-bit number holds, or that is not affine, is an Error, never a wrapped number.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace emulsion {

// The value of every named size, for one call of a kernel.
using SizeValues = std::map<std::string, int64_t>;

class Extent {
 public:
  Extent(int64_t constant = 0) : constant_(constant) {}  // NOLINT: {128, 256} is a shape
  // A named run-time size, 0 or greater: Extent batch = Extent::size("B").
  static Extent size(const std::string& name);

  bool is_constant() const { return coefficients_.empty(); }
  // The number that this extent is, when no size occurs in it.
  std::optional<int64_t> as_constant() const {
    return is_constant() ? std::optional<int64_t>(constant_) : std::nullopt;
  }
  // What stands beside the sizes: 1 of 2*B + 1; the whole value when is_constant().
  int64_t constant_term() const { return constant_; }
  // Name -> coefficient, never 0.
  const std::map<std::string, int64_t>& coefficients() const { return coefficients_; }

  // A number on either side: 2 * B + 1.
  friend Extent operator+(const Extent& a, const Extent& b);
  friend Extent operator-(const Extent& a, const Extent& b);
  // Error when both sides depend on a run-time size: the product is not affine.
  friend Extent operator*(const Extent& a, const Extent& b);
  friend bool operator==(const Extent& a, const Extent& b) {
    return a.constant_ == b.constant_ && a.coefficients_ == b.coefficients_;
  }
  friend bool operator!=(const Extent& a, const Extent& b) { return !(a == b); }

  // This extent over `divisor`, when that is exact whatever the sizes are.
  std::optional<Extent> exact_quotient(int64_t divisor) const;
  // The smallest value over all sizes >= 0; nothing when there is none (a negative coefficient).
  std::optional<int64_t> lower_bound() const;
  // Error when a size has no value, is negative, or the result overflows.
  int64_t evaluate(const SizeValues& sizes) const;
  // "256", "B", "2*B + 1", "B - 1": parses back (see graph_text.h).
  std::string to_string() const;

 private:
  int64_t constant_;
  std::map<std::string, int64_t> coefficients_;
};

using Shape = std::vector<Extent>;  // row-major: the last axis is contiguous

// Whether it is never negative, whatever the sizes are.
bool never_negative(const Extent& extent);
std::string to_string(const Shape& shape);  // "[B, 256]"
// The number of elements when every extent is constant; Error on overflow.
std::optional<int64_t> element_count(const Shape& shape);
// Throws Error when a run-time name is not a C identifier, or is one that no generated code may
// hold.
void check_identifier(const std::string& what, const std::string& name);

}  // namespace emulsion

#endif  // EMULSION_DSL_EXTENT_H_
