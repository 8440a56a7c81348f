#include "backends/halide/emit_uop.h"

#include <algorithm>
#include <utility>

#include "backends/halide/scalar_ops.h"
#include "backends/halide/translate_expr.h"
#include "dsl/affine.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

ExprOp combining_op(Combiner combiner) {
  switch (combiner) {
    case Combiner::sum:
      return ExprOp::add;
    case Combiner::product:
      return ExprOp::mul;
    case Combiner::min:
      return ExprOp::min;
    case Combiner::max:
      return ExprOp::max;
    case Combiner::none:
      break;
  }
  EMULSION_CHECK(false, "an update without a combiner");
  return ExprOp::add;
}

// A tile that starts earlier so as not to reach past the end does so in the last step only: Halide
// is to make two loops of it where that pays.
class ShiftMarker : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Min* op) override {
    return hi::Min::make(Halide::likely_if_innermost(op->a), op->b);
  }
};

bool shifts_inwards(const Stage& stage) {
  return std::any_of(stage.transforms.begin(), stage.transforms.end(),
                     [](const LoopTransform& t) { return t.tail == Tail::shift_inwards; });
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
    for (size_t d = 0; d < stage_.axes.size(); ++d) {
      point_.push_back(scope_.index(uop_.point[d]));
      if (shifts_inwards(stage_)) point_.back() = ShiftMarker().mutate(point_.back());
      axes_.emplace(stage_.axes[d].name(), point_.back());
    }
    for (size_t d = stage_.axes.size(); d < uop_.point.size(); ++d) {
      axes_.emplace(stage_.reduction_axes[d - stage_.axes.size()].name(),
                    scope_.index(uop_.point[d]));
    }
    const Halide::Expr offset = target.offset(point_);
    check(target, point_, store_mask_);
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
    return halide_binary(combining_op(stage_.combiner), before, body(own));
  }

  Halide::Expr body(const Expr& expr) {
    HalideScope scope;
    scope.axis = [this](const std::string& name) {
      auto found = axes_.find(name);
      EMULSION_CHECK(found != axes_.end(), "stage {}: no value for {}", stage_.name, name);
      return found->second;
    };
    scope.size = [this](const std::string& name) { return scope_.variables.at(name); };
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
    std::vector<bool> known;
    for (size_t d = 0; d < indices.size(); ++d) known.push_back(is_own_index(node, d));
    const std::vector<Halide::Expr> safe =
        safe_indices(node, indices, known, place, stage_, scope_);
    check(place, safe, load_mask_);
    return place.load(place.offset(safe), load_mask_);
  }

  // Whether the index is not one of the body of the stage: the pass that made it proved that it
  // stays inside the buffer (partition_loops).
  bool is_own_index(const ExprNode& node, size_t d) const {
    bool own = uop_.body.defined();
    visit(stage_.body, [&](const Expr& e) {
      const bool same_buffer = e->op == ExprOp::read && e->name == node.name;
      own = own && !(same_buffer && equal(e->args[d], node.args[d]));
    });
    return own;
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
      const Halide::Expr what = text_of({Halide::Expr("an index inside its memory")});
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
  std::vector<Halide::Expr> point_;
  std::map<std::string, Halide::Expr> axes_;
  std::vector<Stmt> checks_;
};

}  // namespace

Halide::Expr EmitScope::index(const Expr& expr) const {
  HalideScope scope;
  scope.axis = scope.size = [this](const std::string& name) {
    auto found = variables.find(name);
    EMULSION_CHECK(found != variables.end(), "no value for {}", name);
    return found->second;
  };
  return translate_expr(expr, scope);
}

Halide::Expr EmitScope::extent(const Extent& extent) const {
  return hi::simplify(index(extent_value(extent)));
}

const Place& EmitScope::place(const std::string& buffer) const {
  auto found = places.find(buffer);
  EMULSION_CHECK(found != places.end(), "{} has no memory here", buffer);
  return found->second;
}

std::vector<Halide::Expr> safe_indices(const ExprNode& read,
                                       const std::vector<Halide::Expr>& indices,
                                       const std::vector<bool>& known, const Place& place,
                                       const Stage& stage, const EmitScope& scope) {
  AxisExtents domain;
  for (const Axis& axis : stage.axes) domain.emplace(axis.name(), axis.extent());
  for (const Axis& axis : stage.reduction_axes) domain.emplace(axis.name(), axis.extent());
  std::vector<Halide::Expr> result = indices;
  bool proved = true;
  Halide::Expr has_elements;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!proves_in_bounds(int_constant(0), place.shape[d], domain)) {
      const Halide::Expr some = scope.extent(place.shape[d]) > 0;
      has_elements = has_elements.defined() ? has_elements && some : some;
    }
    if (known[d] || proves_in_bounds(read.args[d], place.shape[d], domain)) continue;
    proved = false;
    // Of storage only the region is there.
    const Halide::Expr low = place.fold(d) > 0 ? Halide::Expr(0) : place.mins[d];
    const Halide::Expr length = place.fold(d) > 0 ? scope.extent(place.shape[d]) : place.extents[d];
    result[d] = Halide::max(Halide::min(indices[d], low + length - 1), low);
  }
  if (proved || !has_elements.defined()) return result;
  // One element is there even of an empty buffer.
  for (size_t d = 0; d < result.size(); ++d) {
    result[d] = Halide::select(has_elements, result[d], place.mins[d]);
  }
  return result;
}

Stmt emit_uop(const UopNode& uop, const std::vector<EmittedGuard>& masks,
              const UopContext& context) {
  return UopEmitter(uop, masks, context).emit();
}

}  // namespace emulsion
