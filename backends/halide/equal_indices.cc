#include "backends/halide/equal_indices.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// A sum of multiples of what is no sum itself.
class Multiples {
 public:
  void add(const Halide::Expr& e, int64_t factor) {
    if (--parts_left_ < 0 || !is_small(factor)) {
      is_known_ = false;
      return;
    }
    if (const auto number = hi::as_const_int(e)) return add_number(*number, factor);
    if (const auto* sum = e.as<hi::Add>()) {
      add(sum->a, factor);
      return add(sum->b, factor);
    }
    if (const auto* difference = e.as<hi::Sub>()) {
      add(difference->a, factor);
      return add(difference->b, -factor);
    }
    if (const auto* product = e.as<hi::Mul>()) {
      if (const auto times = number_in(product->b)) return add(product->a, factor * *times);
      if (const auto times = number_in(product->a)) return add(product->b, factor * *times);
    }
    if (const auto* remainder = e.as<hi::Mod>()) {
      const auto by = number_in(remainder->b);
      if (by && *by > 0) {
        add(remainder->a, factor);
        return add(hi::simplify(remainder->a / remainder->b), -factor * *by);
      }
    }
    multiples_[e] += factor;
  }

  bool is_zero() const {
    return is_known_ && number_ == 0 &&
           std::all_of(multiples_.begin(), multiples_.end(),
                       [](const auto& term) { return term.second == 0; });
  }

 private:
  // Products of such numbers fit.
  static bool is_small(int64_t number) {
    constexpr int64_t kMost = int64_t{1} << 31;
    return -kMost <= number && number <= kMost;
  }
  static std::optional<int64_t> number_in(const Halide::Expr& e) {
    const auto number = hi::as_const_int(e);
    return number && is_small(*number) ? number : std::nullopt;
  }
  void add_number(int64_t number, int64_t factor) {
    is_known_ = is_known_ && is_small(number);
    if (!is_known_) return;
    number_ += number * factor;
    is_known_ = is_small(number_);
  }

  std::map<Halide::Expr, int64_t, hi::IRDeepCompare> multiples_;
  int64_t number_ = 0;
  int parts_left_ = 256;  // what is shared in an expression may be there many times
  bool is_known_ = true;
};

}  // namespace

bool are_equal_indices(const Halide::Expr& a, const Halide::Expr& b) {
  Multiples difference;
  difference.add(a, 1);
  difference.add(b, -1);
  return difference.is_zero();
}

}  // namespace emulsion
