#include "backends/halide/one_lane.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

class OneLane : public hi::IRMutator {
 public:
  explicit OneLane(int lane) : lane_(lane) {}

  Halide::Expr of(const Halide::Expr& e) {
    const Halide::Expr made = mutate(e);
    return fits_ ? hi::simplify(made) : Halide::Expr();
  }

  Halide::Expr mutate(const Halide::Expr& e) override {
    return e.type().is_scalar() ? e : hi::IRMutator::mutate(e);
  }

 private:
  using hi::IRMutator::mutate;
  using hi::IRMutator::visit;

  template <typename T>
  Halide::Expr no(const T* op) {
    fits_ = false;
    return hi::make_zero(op->type.element_of());
  }

  Halide::Expr visit(const hi::Ramp* op) override {
    if (!op->base.type().is_scalar()) return no(op);
    return op->base + hi::make_const(op->base.type(), lane_) * op->stride;
  }
  Halide::Expr visit(const hi::Broadcast* op) override {
    return op->value.type().is_scalar() ? op->value : no(op);
  }
  Halide::Expr visit(const hi::Cast* op) override { return no(op); }
  Halide::Expr visit(const hi::Reinterpret* op) override { return no(op); }
  Halide::Expr visit(const hi::Load* op) override { return no(op); }
  Halide::Expr visit(const hi::Variable* op) override { return no(op); }
  Halide::Expr visit(const hi::Call* op) override { return no(op); }
  Halide::Expr visit(const hi::Let* op) override { return no(op); }
  Halide::Expr visit(const hi::Shuffle* op) override { return no(op); }
  Halide::Expr visit(const hi::VectorReduce* op) override { return no(op); }

  const int lane_;
  bool fits_ = true;
};

}  // namespace

Halide::Expr one_lane(const Halide::Expr& vector, int lane) { return OneLane(lane).of(vector); }

Halide::Expr ramp_of_neighbours(const Halide::Expr& vector) {
  const Halide::Expr first = one_lane(vector, 0);
  if (!first.defined()) return {};
  const int lanes = vector.type().lanes();
  for (int lane = 1; lane < lanes; ++lane) {
    const auto step = hi::as_const_int(hi::simplify(one_lane(vector, lane) - first));
    if (!step || *step != lane) return {};
  }
  return hi::Ramp::make(first, 1, lanes);
}

}  // namespace emulsion
