#include "backends/halide/emit_prefetch.h"

#include <vector>

#include "backends/halide/scalar_ops.h"
#include "backends/halide/translate_expr.h"
#include "dsl/error.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Interval;

// The box that one prefetch brings, found by walking the loops inside the one that it is at.
class PrefetchBox : public NestVisitor {
 public:
  PrefetchBox(const LoopNest& nest, const Loop& loop, const Prefetch& prefetch,
              const EmitScope& scope)
      : nest_(nest), loop_(loop), prefetch_(prefetch), scope_(scope) {
    const std::string variable = loop.variable();
    scope_.variables[variable] =
        scope.variables.at(variable) + static_cast<int32_t>(prefetch.distance);
  }

  // By axis; empty: nothing is read.
  std::vector<Interval> find() {
    walk(*loop_.body);
    return box_;
  }

 private:
  void visit_loop(const Loop& loop) override {
    const std::string name = loop.variable();
    const Halide::Expr first = scope_.index(loop.min);
    inner_.emplace_back(halide_name(name), Interval(first, first + scope_.index(loop.extent) - 1));
    scope_.variables[name] = hi::Variable::make(Halide::Int(32), halide_name(name));
    walk(*loop.body);
    inner_.pop_back();
    scope_.variables.erase(name);
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.stage != loop_.stage || uop.part != loop_.part) return;
    const Stage& stage = nest_.stage(uop.stage);
    HalideScope body = scope_.body_at(stage, scope_.indices(uop.point));
    body.read = [](const ExprNode& read, const std::vector<Halide::Expr>&) {
      // An index that is read itself: nothing is known of it.
      return hi::Variable::make(halide_type(read.dtype), "prefetch_unknown");
    };
    visit(stage.body, [&](const Expr& e) {
      if (e->op != ExprOp::read || e->name != prefetch_.buffer) return;
      std::vector<Interval> touched;
      for (const Expr& index : e->args) touched.push_back(range_of(translate_expr(index, body)));
      if (box_.empty()) box_ = touched;
      for (size_t d = 0; d < box_.size(); ++d) box_[d].include(touched[d]);
    });
  }

  // Over all steps of the loops inside.
  Interval range_of(const Halide::Expr& index) const {
    Interval range = Interval::single_point(index);
    for (size_t i = inner_.size(); i-- > 0;) {
      hi::Scope<Interval> one;
      one.push(inner_[i].first, inner_[i].second);
      if (range.has_lower_bound()) range.min = hi::bounds_of_expr_in_scope(range.min, one).min;
      if (range.has_upper_bound()) range.max = hi::bounds_of_expr_in_scope(range.max, one).max;
    }
    const auto unknown = [](const Halide::Expr& e) {
      return hi::expr_uses_var(e, "prefetch_unknown");
    };
    if (range.has_lower_bound() && unknown(range.min)) range.min = Interval::neg_inf();
    if (range.has_upper_bound() && unknown(range.max)) range.max = Interval::pos_inf();
    return range;
  }

  const LoopNest& nest_;
  const Loop& loop_;
  const Prefetch& prefetch_;
  EmitScope scope_;
  std::vector<std::pair<std::string, Interval>> inner_;  // outermost first
  std::vector<Interval> box_;
};

// Asks memory for a box, one cache line at a time.
hi::Stmt touch(const Place& place, const std::vector<Halide::Expr>& mins,
               const std::vector<Halide::Expr>& extents, const std::string& name) {
  constexpr int kLineBytes = 64;
  const Halide::Type type = type_in_memory(place.type);
  Halide::Expr offset = place.offset(mins);
  std::vector<std::pair<std::string, Halide::Expr>> loops;
  for (size_t d = 0; d < extents.size(); ++d) {
    const int step = hi::is_const_one(place.strides[d]) ? kLineBytes / type.bytes() : 1;
    const Halide::Expr steps = hi::simplify((extents[d] + (step - 1)) / step);
    if (hi::is_const_one(steps)) continue;
    loops.emplace_back(name + "." + std::to_string(d), steps);
    const Halide::Expr variable = hi::Variable::make(Halide::Int(32), loops.back().first);
    offset += variable * step * place.strides[d];
  }
  hi::Stmt result = hi::Evaluate::make(hi::Call::make(
      type, hi::Call::prefetch,
      {hi::Variable::make(Halide::Handle(), place.memory), hi::simplify(offset), 1, 1},
      hi::Call::Intrinsic));
  for (size_t i = loops.size(); i-- > 0;) {
    result = hi::For::make(loops[i].first, 0, loops[i].second, hi::ForType::Serial,
                           Halide::Partition::Auto, Halide::DeviceAPI::None, result);
  }
  return result;
}

}  // namespace

hi::Stmt emit_prefetch(const LoopNest& nest, const Loop& loop, const Prefetch& prefetch,
                       const Halide::Expr& end, const EmitScope& scope) {
  // A constant without values has no memory.
  if (scope.places.count(prefetch.buffer) == 0) return hi::Stmt();
  const Place& place = scope.place(prefetch.buffer);
  const std::vector<Interval> box = PrefetchBox(nest, loop, prefetch, scope).find();
  if (box.size() != place.mins.size() || box.empty()) return hi::Stmt();
  std::vector<Halide::Expr> mins, extents;
  for (size_t d = 0; d < box.size(); ++d) {
    const bool folded = place.fold(d) > 0;
    const Halide::Expr low = folded ? Halide::Expr(0) : place.mins[d];
    const Halide::Expr high = low + place.extents[d] - 1;
    const bool bounded = !folded && box[d].is_bounded();
    const Halide::Expr first = bounded ? Halide::clamp(box[d].min, low, high) : low;
    const Halide::Expr last = bounded ? Halide::clamp(box[d].max, low, high) : high;
    mins.push_back(hi::simplify(first));
    extents.push_back(hi::simplify(last - first + 1));
  }
  const hi::Stmt result = touch(place, mins, extents, "prefetch_" + halide_name(loop.axis));
  const Halide::Expr variable = scope.variables.at(loop.variable());
  return hi::IfThenElse::make(variable + static_cast<int32_t>(prefetch.distance) < end, result);
}

}  // namespace emulsion
