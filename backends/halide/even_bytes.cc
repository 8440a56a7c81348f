#include "backends/halide/even_bytes.h"

#include <cstdint>
#include <optional>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

constexpr int kLeastLanes = 64;

// A number that all lanes have.
std::optional<int64_t> number_in_all_lanes(const Halide::Expr& e) {
  const auto* broadcast = e.as<hi::Broadcast>();
  if (broadcast == nullptr) return std::nullopt;
  if (const auto number = hi::as_const_int(broadcast->value)) return number;
  const auto number = hi::as_const_uint(broadcast->value);
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

class EvenBytes : public hi::IRMutator {
  using hi::IRMutator::visit;

  static bool are_many_bytes(Halide::Type type) {
    return type.bits() == 8 && type.lanes() >= kLeastLanes && type.lanes() % 2 == 0;
  }

  Halide::Expr visit(const hi::Mul* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    const auto* product = made.as<hi::Mul>();
    if (product == nullptr || !are_many_bytes(op->type)) return made;
    const std::optional<int64_t> factor = number_in_all_lanes(product->b);
    if (!factor || *factor % 4 == 0 || *factor % 2 != 0) return made;
    if (*factor == 2) return twice(product->a);
    return twice(product->a * hi::make_const(op->type, *factor / 2));
  }

  Halide::Expr visit(const hi::Add* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    const auto* sum = made.as<hi::Add>();
    const bool is_twice =
        sum != nullptr && are_many_bytes(op->type) && hi::graph_equal(sum->a, sum->b);
    return is_twice ? twice(sum->a) : made;
  }

  static Halide::Expr twice(const Halide::Expr& e) {
    const Halide::Type pairs = Halide::UInt(16, e.type().lanes() / 2);
    const Halide::Expr shifted = Halide::reinterpret(pairs, e) << hi::make_const(pairs, 1);
    return Halide::reinterpret(e.type(), shifted & hi::make_const(pairs, 0xfefe));
  }
};

}  // namespace

hi::Stmt double_bytes_in_pairs(const hi::Stmt& statement) { return EvenBytes().mutate(statement); }

}  // namespace emulsion
