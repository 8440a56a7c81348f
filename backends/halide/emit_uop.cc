#include "backends/halide/emit_uop.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backends/entry/check_cpu_limits.h"
#include "backends/halide/halide_call.h"
#include "backends/halide/scalar_ops.h"
#include "backends/halide/translate_expr.h"
#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/index/index_table.h"
#include "passes/index/simplify_quotients.h"
#include "passes/nest/chosen_places.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// A tile that starts earlier so as not to reach past the end does so in the last step only: Halide
// is to make two loops of it where that pays. Of a loop around others it would have to be told not
// to: where it makes two of that, it leaves those inside the last step as they are, with masks and
// minima in each step of theirs. Over a graph: as a tree nested functions would have no end.
class ShiftMarker : public hi::IRGraphMutator {
 public:
  explicit ShiftMarker(const Halide::Expr& innermost) {
    if (innermost.defined()) innermost_ = innermost.as<hi::Variable>()->name;
  }

 private:
  using hi::IRGraphMutator::visit;

  Halide::Expr visit(const hi::Min* op) override {
    if (!op->type.is_int() || !hi::expr_uses_var(op->a, innermost_)) {
      return hi::IRGraphMutator::visit(op);
    }
    return hi::Min::make(Halide::likely_if_innermost(op->a), op->b);
  }

  std::string innermost_;
};

// Whether some steps combine nothing, by their place: as the last ones of lanes that go past the
// end of an axis (rfactor). Where data decide, Halide's partition of loops would take a comparison
// with NaN for one of numbers. Of min(k, n) == m it takes k == m alone, where n may be m.
bool has_idle_steps(const Stage& stage, const Expr& body) {
  return body->op == ExprOp::select && is_index(body->args[0]) &&
         !any_part(body->args[0],
                   [](const Expr& e) { return e->op == ExprOp::eq || e->op == ExprOp::ne; }) &&
         equal(body->args[2], identity_of(stage.combiner, stage.dtype));
}

class UopEmitter {
 public:
  UopEmitter(const UopNode& uop, const std::vector<EmittedGuard>& masks, const UopContext& context)
      : uop_(uop), context_(context), stage_(context.stage), scope_(context.scope) {
    load_mask_ = store_mask_ = hi::const_true();
    for (const EmittedGuard& mask : masks) {
      const Halide::Expr condition = Halide::likely(mask.condition);
      Halide::Expr* masked = mask.mask == GuardMask::loads ? &load_mask_ : &store_mask_;
      *masked = both(*masked, condition);
    }
  }

  Stmt emit() {
    const Place& target = scope_.place(stage_.name);
    point_ = scope_.indices(uop_.point);
    const auto reductions = point_.begin() + static_cast<std::ptrdiff_t>(stage_.axes.size());
    ShiftMarker marker(context_.innermost);
    for (auto index = point_.begin(); index != reductions; ++index) {
      if (shifts_inwards(stage_)) *index = marker.mutate(*index);
    }
    const std::vector<Halide::Expr> element(point_.begin(), reductions);
    const Halide::Expr offset = target.offset(element);
    check(target, element, store_mask_);
    Stmt result = target.store(value(target, offset), offset, store_mask_);
    // No mutex: every combiner is one that Halide makes an atomic instruction or loop of.
    if (uop_.atomic) result = hi::Atomic::make(target.memory, "", result);
    if (!checks_.empty()) result = hi::Block::make(hi::Block::make(checks_), result);
    return result;
  }

 private:
  static Halide::Expr both(const Halide::Expr& a, const Halide::Expr& b) {
    return hi::is_const_one(a) ? b : a && b;
  }

  Halide::Expr value(const Place& target, const Halide::Expr& offset) {
    const Expr& own = body_of(stage_, uop_);
    if (uop_.part == Part::pure) return body(own);
    if (uop_.part == Part::init) {
      return translate_expr(identity_of(stage_.combiner, stage_.dtype), HalideScope{});
    }
    const Halide::Expr before = target.load(offset, load_mask_);
    if (context_.fused_multiply_add) {
      // The factors apart, so that their product is not rounded.
      return fused_multiply_add(body(own->args[0]), body(own->args[1]), before);
    }
    // Of most elements nothing changes: loops over all of them need no more than one step
    // (one_step_loops.h). Atomic updates are found by their form.
    const std::optional<ChosenTerm> chosen = chosen_term(own, stage_.combiner);
    if (chosen && !uop_.atomic && !chosen_places(own, stage_.combiner, stage_.axes).empty()) {
      return halide_select(body(chosen->condition), combined(before, body(chosen->value)), before);
    }
    return combined(before, has_idle_steps(stage_, own) ? without_idle_steps(own) : body(own));
  }

  Halide::Expr combined(const Halide::Expr& before, const Halide::Expr& value) const {
    // In this order each is one instruction, which gives the second where one is NaN.
    if (stage_.combiner == Combiner::max_number) {
      return halide_select(halide_binary(ExprOp::lt, before, value), value, before);
    }
    if (stage_.combiner == Combiner::min_number) {
      return halide_select(halide_binary(ExprOp::lt, value, before), value, before);
    }
    const ExprOp op = combine(stage_.combiner, axis_value("before"), axis_value("value"))->op;
    // Of an atomic Halide knows the instruction by its plain form.
    const bool may_wrap = stage_.dtype == i32 && (op == ExprOp::add || op == ExprOp::mul);
    return may_wrap && !uop_.atomic ? halide_wrapping(op, before, value)
                                    : halide_binary(op, before, value);
  }

  // Halide is to make two loops of it: one without the condition, and the steps at the edge.
  Halide::Expr without_idle_steps(const Expr& own) {
    const Halide::Expr inside = ShiftMarker(context_.innermost).mutate(body(own->args[1]));
    return hi::Select::make(body(own->args[0]), Halide::likely(inside), body(own->args[2]));
  }

  Halide::Expr body(const Expr& expr) {
    HalideScope scope = scope_.body_at(stage_, point_);
    const AxisExtents extents = domain_of(stage_);
    scope.extents = &extents;
    scope.has_fma = context_.has_fma;
    scope.read = [this](const ExprNode& node, const std::vector<Halide::Expr>& indices) {
      return read(node, indices);
    };
    return translate_expr(expr, scope);
  }

  Halide::Expr read(const ExprNode& node, const std::vector<Halide::Expr>& indices) {
    const Buffer& buffer = context_.nest.buffer(node.name);
    // What has no values is read by no step that runs, or by one whose select leaves it out.
    if (buffer.role == BufferRole::constant && buffer.data && buffer.data->empty()) {
      return hi::make_zero(halide_type(buffer.dtype));
    }
    const Place& place = scope_.place(node.name);
    const std::vector<Halide::Expr> safe =
        safe_indices(node, with_digits_joined(node, indices), place);
    check(place, safe, load_mask_);
    return place.load(place.offset(safe), load_mask_);
  }

  // Where axes are quotients and remainders of one loop, i = f / 6 and j = f % 6, an index i * 6 +
  // j is that loop: Halide would not see it through the place that storage begins at, and gather.
  std::vector<Halide::Expr> with_digits_joined(const ExprNode& read,
                                               const std::vector<Halide::Expr>& indices) const {
    std::vector<Halide::Expr> result = indices;
    for (size_t d = 0; d < read.args.size(); ++d) {
      const Expr& own = read.args[d];
      if (own->op != ExprOp::add || !is_index(own)) continue;
      const Expr at = substitute_axes(own, [&](const std::string& axis) { return at_point(axis); });
      const size_t divisions = divisions_in(at);
      if (divisions == 0) continue;
      const Expr joined = simplify_quotients(at, {});
      if (divisions_in(joined) == divisions) continue;
      result[d] = shifts_inwards(stage_)
                      ? ShiftMarker(context_.innermost).mutate(scope_.index(joined))
                      : scope_.index(joined);
    }
    return result;
  }

  Expr at_point(const std::string& axis) const {
    for (size_t d = 0; d < point_.size(); ++d) {
      if (axis_at(stage_, d).name() == axis) return uop_.point[d];
    }
    return Expr();
  }

  static size_t divisions_in(const Expr& index) {
    size_t count = 0;
    visit(index, [&](const Expr& e) {
      if (e->op == ExprOp::div || e->op == ExprOp::mod) ++count;
    });
    return count;
  }

  // The indices of a read, with those brought inside the buffer that are not proved to be: a read
  // is of memory, whatever the select around it says, and its value is then not used.
  std::vector<Halide::Expr> safe_indices(const ExprNode& read,
                                         const std::vector<Halide::Expr>& indices,
                                         const Place& place) const {
    const AxisExtents domain = domain_of(stage_);
    std::vector<Halide::Expr> result = indices;
    bool proved = true;
    Halide::Expr has_elements = hi::const_true();
    for (size_t d = 0; d < indices.size(); ++d) {
      const Extent& shape = place.shape[d];
      if (!proves_in_bounds(int_constant(0), shape, domain)) {
        has_elements = both(has_elements, scope_.extent(shape) > 0);
      }
      if (proves_in_bounds(read.args[d], shape, domain)) continue;
      const bool proved_by_pass = uop_.body.defined() && !is_own_index(context_.own_reads, read, d);
      if (proved_by_pass) continue;
      proved = false;
      // Of storage only the region is there.
      const Halide::Expr low = place.lowest(d);
      const Halide::Expr length = place.fold(d) > 0 ? scope_.extent(shape) : place.extents[d];
      result[d] = Halide::max(Halide::min(indices[d], low + length - 1), low);
    }
    if (proved || hi::is_const_one(has_elements)) return result;
    // One element is there even of an empty buffer. Vectors are masked instead: clamped_vectors.h.
    for (size_t d = 0; d < result.size(); ++d) {
      result[d] = Halide::select(has_elements, result[d], place.mins[d]);
    }
    return result;
  }

  static Halide::Expr text_of(const std::vector<Halide::Expr>& parts) {
    return hi::Call::make(Halide::type_of<const char*>(), hi::Call::stringify, parts,
                          hi::Call::PureIntrinsic);
  }

  // In checked code: that the offset is inside the memory of the place.
  void check(const Place& place, const std::vector<Halide::Expr>& indices,
             const Halide::Expr& mask) {
    if (!context_.checked) return;
    const std::vector<Halide::Expr> relative = place.relative(indices);
    for (size_t d = 0; d < relative.size(); ++d) {
      Halide::Expr inside = relative[d] >= 0 && relative[d] < Halide::max(place.extents[d], 1);
      if (!hi::is_const_one(mask)) inside = inside || !mask;
      const std::string where =
          "stage " + stage_.name + ", axis " + std::to_string(d) + " of " + place.buffer;
      // What the runtime puts in front: of the condition itself, passes leave "false".
      const Halide::Expr what = text_of({Halide::Expr(kIndexCheck)});
      const Halide::Expr message = text_of(
          {Halide::Expr(where + ": expected an index from 0 to less than "), place.extents[d],
           Halide::Expr(", counted from "), place.mins[d], Halide::Expr(", got "), relative[d]});
      const Halide::Expr fail = hi::Call::make(Halide::Int(32), "halide_error_requirement_failed",
                                               {what, message}, hi::Call::Extern);
      checks_.push_back(hi::AssertStmt::make(inside, fail));
    }
  }

  const UopNode& uop_;
  const UopContext& context_;
  const Stage& stage_;
  const EmitScope& scope_;
  Halide::Expr load_mask_, store_mask_;
  std::vector<Halide::Expr> point_;  // with that of the reduction axes
  std::vector<Stmt> checks_;
};

template <typename Known>
const auto& find_known(const Known& known, const std::string& name) {
  auto found = known.find(name);
  EMULSION_CHECK(found != known.end(), "nothing is known of {} here", name);
  return found->second;
}

// How large an index may be, as far as it is a number to Halide: unrolled loops go past the end.
std::optional<int64_t> most_of_axis(const Stage& stage, const std::string& name) {
  for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduction_axes}) {
    const std::optional<size_t> at = axis_index(*axes, name);
    if (!at || !(*axes)[*at].extent().is_constant()) continue;
    return (*axes)[*at].extent().constant_term() + CodeLimits().copies;
  }
  return std::nullopt;
}

}  // namespace

Halide::Expr EmitScope::index(const Expr& expr) const {
  HalideScope scope;
  scope.axis = scope.size = [this](const auto& name) { return find_known(variables, name); };
  return translate_expr(expr, scope);
}

std::vector<Halide::Expr> EmitScope::indices(const std::vector<Expr>& exprs) const {
  std::vector<Halide::Expr> result;
  result.reserve(exprs.size());
  for (const Expr& expr : exprs) result.push_back(index(expr));
  return result;
}

HalideScope EmitScope::body_at(const Stage& stage, const std::vector<Halide::Expr>& point) const {
  std::map<std::string, Halide::Expr> axes;
  for (size_t d = 0; d < point.size(); ++d) axes.emplace(axis_at(stage, d).name(), point[d]);
  HalideScope body;
  body.axis = [axes](const std::string& name) { return find_known(axes, name); };
  body.size = [this](const std::string& name) { return find_known(variables, name); };
  body.most_of_axis = [&stage](const std::string& name) { return most_of_axis(stage, name); };
  return body;
}

Halide::Expr EmitScope::extent(const Extent& extent) const {
  return hi::simplify(index(extent_value(extent)));
}

const Place& EmitScope::place(const std::string& buffer) const {
  return find_known(places, buffer);
}

Stmt emit_uop(const UopNode& uop, const std::vector<EmittedGuard>& masks,
              const UopContext& context) {
  return UopEmitter(uop, masks, context).emit();
}

}  // namespace emulsion
