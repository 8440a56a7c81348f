#include "backends/halide/ramp_indices.h"

#include <cstdint>
#include <optional>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// base, base + stride, base + 2 stride, ..: both of 32 bits without a sign, modulo 2^32.
struct Steps {
  Halide::Expr base;
  uint32_t stride;
};

Halide::Expr modular(const Halide::Expr& e) { return Halide::cast(Halide::UInt(32), e); }

bool has_32_bits(const Halide::Type& type) { return type.is_int_or_uint() && type.bits() == 32; }

std::optional<uint32_t> number_of(const Halide::Expr& e) {
  if (const auto value = hi::as_const_int(e)) return static_cast<uint32_t>(*value);
  if (const auto value = hi::as_const_uint(e)) return static_cast<uint32_t>(*value);
  return std::nullopt;
}

std::optional<Steps> steps_of(const Halide::Expr& e);

template <typename T>
std::optional<Steps> steps_of_sum(const T& op, uint32_t sign) {
  const std::optional<Steps> a = steps_of(op.a), b = steps_of(op.b);
  if (!a || !b) return std::nullopt;
  const Halide::Expr base = sign == 1 ? a->base + b->base : a->base - b->base;
  return Steps{base, a->stride + sign * b->stride};
}

std::optional<Steps> steps_of_product(const hi::Mul& op) {
  const std::optional<Steps> a = steps_of(op.a), b = steps_of(op.b);
  if (!a || !b || (a->stride != 0 && b->stride != 0)) return std::nullopt;
  const Steps& factor = a->stride == 0 ? *a : *b;
  const Steps& other = a->stride == 0 ? *b : *a;
  if (other.stride == 0) return Steps{a->base * b->base, 0};
  const std::optional<uint32_t> times = number_of(hi::simplify(factor.base));
  if (!times) return std::nullopt;
  return Steps{other.base * factor.base, other.stride * *times};
}

// Of a vector of integers of 32 bits; nothing of what is otherwise in each lane.
std::optional<Steps> steps_of(const Halide::Expr& e) {
  if (!has_32_bits(e.type())) return std::nullopt;
  if (const auto* op = e.as<hi::Broadcast>()) {
    if (op->value.type().is_vector()) return std::nullopt;
    return Steps{modular(op->value), 0};
  }
  if (const auto* op = e.as<hi::Ramp>()) {
    const std::optional<uint32_t> stride = number_of(op->stride);
    if (!stride || op->base.type().is_vector()) return std::nullopt;
    return Steps{modular(op->base), *stride};
  }
  if (const auto* op = e.as<hi::Cast>()) return steps_of(op->value);
  if (const auto* op = e.as<hi::Reinterpret>()) return steps_of(op->value);
  if (const auto* op = e.as<hi::Add>()) return steps_of_sum(*op, 1);
  if (const auto* op = e.as<hi::Sub>()) return steps_of_sum(*op, static_cast<uint32_t>(-1));
  if (const auto* op = e.as<hi::Mul>()) return steps_of_product(*op);
  return std::nullopt;
}

// Whether it is added up modulo 2^32: others are ramps where they can be.
class FindsModular : public hi::IRGraphVisitor {
 public:
  bool found = false;

 private:
  using hi::IRGraphVisitor::visit;

  void visit(const hi::Cast* op) override {
    found = found || (op->type.is_vector() && op->type.is_int() && op->value.type().is_uint());
    hi::IRGraphVisitor::visit(op);
  }
  void visit(const hi::Reinterpret* op) override {
    found = found || (op->type.is_vector() && op->type.is_int() && op->value.type().is_uint());
    hi::IRGraphVisitor::visit(op);
  }
};

class RampIndices : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Load* op) override {
    const Halide::Expr index = mutate(op->index);
    const std::optional<Steps> steps = modular_steps(index);
    if (!steps && index.same_as(op->index)) return hi::IRMutator::visit(op);
    return hi::Load::make(op->type, op->name, steps ? ramp(*steps, index.type()) : index, op->image,
                          op->param, mutate(op->predicate), op->alignment);
  }

  static std::optional<Steps> modular_steps(const Halide::Expr& index) {
    if (index.type().is_scalar() || index.type().element_of() != Halide::Int(32)) {
      return std::nullopt;
    }
    FindsModular finds;
    index.accept(&finds);
    return finds.found ? steps_of(index) : std::nullopt;
  }

  static Halide::Expr ramp(const Steps& steps, const Halide::Type& type) {
    const Halide::Expr base = hi::simplify(Halide::reinterpret(Halide::Int(32), steps.base));
    const auto stride = static_cast<int32_t>(steps.stride);
    if (stride == 0) return hi::Broadcast::make(base, type.lanes());
    return hi::Ramp::make(base, stride, type.lanes());
  }
};

}  // namespace

hi::Stmt ramp_indices(const hi::Stmt& statement) { return RampIndices().mutate(statement); }

}  // namespace emulsion
