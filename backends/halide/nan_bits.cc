#include "backends/halide/nan_bits.h"

#include <cmath>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

bool is_not_a_number(const Halide::Expr& e) {
  const auto* broadcast = e.as<hi::Broadcast>();
  const auto* number = (broadcast != nullptr ? broadcast->value : e).as<hi::FloatImm>();
  return number != nullptr && std::isnan(number->value);
}

// x == x, which NaN is not.
bool is_equal_to_itself(const Halide::Expr& e) {
  const auto* call = e.as<hi::Call>();
  return call != nullptr && call->is_intrinsic(hi::Call::strict_eq) &&
         hi::equal(call->args[0], call->args[1]);
}

class NanBits : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Select* op) override {
    constexpr int kLeastBits = 32;  // shorter floats are computed as these
    const bool chooses_nan = op->type.is_float() && op->type.bits() >= kLeastBits &&
                             is_not_a_number(op->false_value) && is_equal_to_itself(op->condition);
    if (!chooses_nan) return hi::IRMutator::visit(op);
    const Halide::Type bits = op->type.with_code(Halide::Type::UInt);
    const Halide::Expr value = Halide::reinterpret(bits, mutate(op->true_value));
    const Halide::Expr unordered =
        hi::Select::make(mutate(op->condition), hi::make_zero(bits), bits.max());
    return Halide::reinterpret(op->type, value | unordered);
  }
};

}  // namespace

hi::Stmt nan_bits(const hi::Stmt& statement) { return NanBits().mutate(statement); }

}  // namespace emulsion
