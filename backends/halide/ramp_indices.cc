#include "backends/halide/ramp_indices.h"

#include <cstdint>
#include <optional>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

Halide::Expr modular(const Halide::Expr& e) { return Halide::cast(Halide::UInt(32), e); }

bool has_32_bits(const Halide::Type& type) { return type.is_int_or_uint() && type.bits() == 32; }

std::optional<uint32_t> number_of(const Halide::Expr& e) {
  if (const auto value = hi::as_const_int(e)) return static_cast<uint32_t>(*value);
  if (const auto value = hi::as_const_uint(e)) return static_cast<uint32_t>(*value);
  return std::nullopt;
}

std::optional<LaneSteps> steps_of(const Halide::Expr& e);

template <typename T, typename Made>
std::optional<LaneSteps> steps_of_both(const T& op, const Made& made) {
  const std::optional<LaneSteps> a = steps_of(op.a), b = steps_of(op.b);
  return a && b ? made(*a, *b) : std::nullopt;
}

// Of a vector of integers of 32 bits; nothing of what is otherwise in each lane.
std::optional<LaneSteps> steps_of(const Halide::Expr& e) {
  if (!has_32_bits(e.type())) return std::nullopt;
  if (const auto* op = e.as<hi::Cast>()) return steps_of(op->value);
  if (const auto* op = e.as<hi::Reinterpret>()) return steps_of(op->value);
  if (const auto* op = e.as<hi::Add>()) return steps_of_both(*op, sum_of_steps);
  if (const auto* op = e.as<hi::Sub>()) return steps_of_both(*op, difference_of_steps);
  if (const auto* op = e.as<hi::Mul>()) return steps_of_both(*op, product_of_steps);
  return steps_of_ramp(e);
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
    const std::optional<LaneSteps> steps = modular_steps(index);
    if (!steps && index.same_as(op->index)) return hi::IRMutator::visit(op);
    return hi::Load::make(op->type, op->name, steps ? ramp(*steps, index.type()) : index, op->image,
                          op->param, mutate(op->predicate), op->alignment);
  }

  static std::optional<LaneSteps> modular_steps(const Halide::Expr& index) {
    if (index.type().is_scalar() || index.type().element_of() != Halide::Int(32)) {
      return std::nullopt;
    }
    FindsModular finds;
    index.accept(&finds);
    return finds.found ? steps_of(index) : std::nullopt;
  }

  static Halide::Expr ramp(const LaneSteps& steps, const Halide::Type& type) {
    const Halide::Expr base = hi::simplify(Halide::reinterpret(Halide::Int(32), steps.base));
    const auto stride = static_cast<int32_t>(steps.stride);
    if (stride == 0) return hi::Broadcast::make(base, type.lanes());
    return hi::Ramp::make(base, stride, type.lanes());
  }
};

}  // namespace

std::optional<LaneSteps> sum_of_steps(const LaneSteps& a, const LaneSteps& b) {
  return LaneSteps{a.base + b.base, a.stride + b.stride};
}

std::optional<LaneSteps> difference_of_steps(const LaneSteps& a, const LaneSteps& b) {
  return LaneSteps{a.base - b.base, a.stride - b.stride};
}

std::optional<LaneSteps> product_of_steps(const LaneSteps& a, const LaneSteps& b) {
  if (a.stride != 0 && b.stride != 0) return std::nullopt;
  const LaneSteps& factor = a.stride == 0 ? a : b;
  const LaneSteps& other = a.stride == 0 ? b : a;
  if (other.stride == 0) return LaneSteps{a.base * b.base, 0};
  const std::optional<uint32_t> times = number_of(hi::simplify(factor.base));
  if (!times) return std::nullopt;
  return LaneSteps{other.base * factor.base, other.stride * *times};
}

std::optional<LaneSteps> steps_of_ramp(const Halide::Expr& vector) {
  if (!has_32_bits(vector.type())) return std::nullopt;
  if (const auto* op = vector.as<hi::Broadcast>()) {
    if (op->value.type().is_vector()) return std::nullopt;
    return LaneSteps{modular(op->value), 0};
  }
  const auto* op = vector.as<hi::Ramp>();
  if (op == nullptr || op->base.type().is_vector()) return std::nullopt;
  const std::optional<uint32_t> stride = number_of(op->stride);
  return stride ? std::optional(LaneSteps{modular(op->base), *stride}) : std::nullopt;
}

hi::Stmt ramp_indices(const hi::Stmt& statement) { return RampIndices().mutate(statement); }

}  // namespace emulsion
