#include "backends/halide/even_bytes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

constexpr int kLeastLanes = 64;
constexpr int64_t kBytes = 256;  // different ones

bool are_many_bytes(Halide::Type type) {
  return type.bits() == 8 && type.lanes() >= kLeastLanes && type.lanes() % 2 == 0;
}

// A number that all lanes have.
std::optional<int64_t> number_in_all_lanes(const Halide::Expr& e) {
  const auto* broadcast = e.as<hi::Broadcast>();
  if (broadcast == nullptr) return std::nullopt;
  if (const auto number = hi::as_const_int(broadcast->value)) return number;
  const auto number = hi::as_const_uint(broadcast->value);
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

struct Less {
  bool operator()(const Halide::Expr& a, const Halide::Expr& b) const {
    return hi::graph_less_than(a, b);
  }
};

// A sum of bytes as its different terms, each with the number that it is multiplied by. Bytes with
// a sign and without are the same bits.
class Terms {
 public:
  // Adds to `sums` the additions and subtractions that the sum is made of.
  Terms(const Halide::Expr& sum, std::set<const hi::IRNode*>* sums) : sums_(sums) { add(sum, 1); }

  bool has_equal() const { return has_equal_; }
  const std::vector<Halide::Expr>& terms() const { return terms_; }
  // Modulo 256.
  int64_t factor(size_t i) const { return factors_[i] & (kBytes - 1); }

 private:
  void add(const Halide::Expr& e, int64_t factor) {
    if (const auto* sum = e.as<hi::Add>()) {
      sums_->insert(sum);
      add(sum->a, factor);
      add(sum->b, factor);
    } else if (const auto* difference = e.as<hi::Sub>()) {
      sums_->insert(difference);
      add(difference->a, factor);
      add(difference->b, -factor);
    } else if (const auto* cast = e.as<hi::Cast>(); cast && cast->value.type().bits() == 8) {
      add(cast->value, factor);
    } else if (const auto* bits = e.as<hi::Reinterpret>(); bits && bits->value.type().bits() == 8) {
      add(bits->value, factor);
    } else {
      add_term(e, factor);
    }
  }

  void add_term(const Halide::Expr& e, int64_t factor) {
    const auto* product = e.as<hi::Mul>();
    const auto number = product ? number_in_all_lanes(product->b) : std::nullopt;
    if (number) return add_term(product->a, factor * *number % kBytes);
    const auto [known, is_new] = index_.emplace(e, terms_.size());
    if (is_new) {
      terms_.push_back(e);
      factors_.push_back(factor);
    } else {
      factors_[known->second] += factor;
      has_equal_ = true;
    }
  }

  std::set<const hi::IRNode*>* sums_;
  std::map<Halide::Expr, size_t, Less> index_;
  std::vector<Halide::Expr> terms_;
  std::vector<int64_t> factors_;
  bool has_equal_ = false;
};

class EvenBytes : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Mul* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    const auto* product = made.as<hi::Mul>();
    if (product == nullptr || !are_many_bytes(op->type)) return made;
    const std::optional<int64_t> factor = number_in_all_lanes(product->b);
    return factor && is_doubled(*factor) ? times(product->a, *factor) : made;
  }

  Halide::Expr visit(const hi::Add* op) override { return visit_sum(op); }
  Halide::Expr visit(const hi::Sub* op) override { return visit_sum(op); }

  template <typename Sum>
  Halide::Expr visit_sum(const Sum* op) {
    if (!are_many_bytes(op->type) || known_.count(op) > 0) return hi::IRMutator::visit(op);
    const Terms sum(op, &known_);
    if (!sum.has_equal()) return hi::IRMutator::visit(op);
    Halide::Expr result;
    for (size_t i = 0; i < sum.terms().size(); ++i) {
      if (sum.factor(i) == 0) continue;
      const Halide::Expr term = of_type(mutate(sum.terms()[i]), op->type);
      if (!result.defined()) {
        result = times(term, sum.factor(i));
      } else if (sum.factor(i) == kBytes - 1) {
        result = result - term;
      } else {
        result = result + times(term, sum.factor(i));
      }
    }
    return result.defined() ? result : hi::make_zero(op->type);
  }

  static Halide::Expr of_type(const Halide::Expr& e, Halide::Type type) {
    return e.type() == type ? e : Halide::reinterpret(type, e);
  }

  static bool is_doubled(int64_t factor) { return factor % 2 == 0 && factor % 4 != 0; }

  static Halide::Expr times(const Halide::Expr& e, int64_t factor) {
    if (factor == 1) return e;
    if (!is_doubled(factor)) return e * hi::make_const(e.type(), wrapped(e, factor));
    if (factor == 2) return twice(e);
    return twice(e * hi::make_const(e.type(), wrapped(e, factor / 2)));
  }

  // As a number of the type of `e`.
  static int64_t wrapped(const Halide::Expr& e, int64_t factor) {
    const int64_t byte = factor & (kBytes - 1);
    return e.type().is_int() && byte >= kBytes / 2 ? byte - kBytes : byte;
  }

  static Halide::Expr twice(const Halide::Expr& e) {
    const Halide::Type pairs = Halide::UInt(16, e.type().lanes() / 2);
    const Halide::Expr shifted = Halide::reinterpret(pairs, e) << hi::make_const(pairs, 1);
    return Halide::reinterpret(e.type(), shifted & hi::make_const(pairs, 0xfefe));
  }

  std::set<const hi::IRNode*> known_;  // sums that are part of one whose terms all differ
};

}  // namespace

hi::Stmt double_bytes_in_pairs(const hi::Stmt& statement) { return EvenBytes().mutate(statement); }

}  // namespace emulsion
