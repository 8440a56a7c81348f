#ifndef EMULSION_TESTS_BACKENDS_HALIDE_CLAMPED_TERMS_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_CLAMPED_TERMS_H_

// Loads whose index is clamped, in Halide's own terms, and what each of their lanes is.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "Halide.h"

namespace emulsion::clamped_terms {

using Halide::Expr;

constexpr int kLanes = 4;
constexpr int64_t kElement = 1000, kNothing = -1;  // x[i] is 1000 + i

// Variables.
extern const Expr kBase, kCount;

struct Point {
  int base, count;
};

// One lane of a vector, and which elements it loads.
class Lane {
 public:
  Lane(Point at, int lane, std::set<int64_t>* loaded) : at_(at), lane_(lane), loaded_(loaded) {}

  int64_t value(const Expr& e) const;

 private:
  Lane first() const { return {at_, 0, loaded_}; }
  int64_t load(const Halide::Internal::Load& op) const;
  int64_t shuffled(const Halide::Internal::Shuffle& op) const;

  const Point at_;
  const int lane_;
  std::set<int64_t>* loaded_;
};

Expr all(const Expr& value);  // in all lanes
Expr neighbours();            // kBase, kBase + 1, ..
Expr zeros();
Expr load(const Expr& index, const std::optional<Expr>& mask = std::nullopt);  // of x

// Clamps of both orders, of one end and of both, the ends in the wrong order too; and of what is
// clamped already and moved then, as a tail does it with the middle of a window.
std::vector<Expr> clamps();
// Conditions that hold for the lanes in front of x[kCount].
std::vector<Expr> in_front();

// Rows of three, from some element of the first one on.
struct Rows {
  Expr row, column;

  explicit Rows(int from);
  // Conditions that hold for the lanes in front of row kCount.
  std::vector<Expr> in_front() const;
  Expr clamped_at(const Expr& most) const;
};

// How many of the loads in a value are such ones; and of single elements.
int count_loads(const Expr& value,
                const std::function<bool(const Halide::Internal::Load& op)>& is_such);
int edges(const Expr& value);

}  // namespace emulsion::clamped_terms

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_CLAMPED_TERMS_H_
