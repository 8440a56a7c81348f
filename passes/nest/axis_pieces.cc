#include "passes/nest/axis_pieces.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dsl/affine.h"
#include "dsl/condition_facts.h"
#include "passes/index/index_table.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

const AxisPiece* piece_of(const std::vector<AxisPiece>& pieces, const std::string& axis) {
  const auto found = std::find_if(pieces.begin(), pieces.end(),
                                  [&](const AxisPiece& piece) { return piece.axis == axis; });
  return found == pieces.end() ? nullptr : &*found;
}

// What a body is in some pieces, from above: what is not chosen is not looked at.
class Narrower {
 public:
  Narrower(const Stage& stage, const std::vector<AxisPiece>& pieces,
           const std::function<Shape(const std::string&)>& shape_of)
      : pieces_(pieces), shape_of_(shape_of), domain_(domain_of(stage)) {
    in_pieces_ = domain_;
    for (const AxisPiece& piece : pieces) {
      in_pieces_[piece.axis] = piece.extent;
      steps_[piece.axis] = piece.extent;
    }
  }

  Expr narrow(const Expr& e) {
    if (const auto found = done_.find(&e.node()); found != done_.end()) return found->second;
    const Expr result = narrowed(e);
    done_.emplace(&e.node(), result);
    return result;
  }

 private:
  Expr narrowed(const Expr& e) {
    if (e->op == ExprOp::select && is_index(e->args[0])) {
      if (const auto holds = truth_of(e->args[0])) return narrow(e->args[*holds ? 1 : 2]);
    }
    std::vector<Expr> args;
    for (size_t i = 0; i < e->args.size(); ++i) {
      const Expr& arg = e->args[i];
      const bool is_condition = e->op == ExprOp::select && i == 0;
      args.push_back(e->op == ExprOp::read ? index_of(e.node(), i)
                     : is_condition        ? without_known(arg)
                                           : narrow(arg));
    }
    return with_args(e, std::move(args));
  }

  // Of a && b, where a holds, b.
  Expr without_known(const Expr& condition) {
    const bool both = condition->op == ExprOp::logical_and;
    if (!is_index(condition)) return narrow(condition);
    if (!both && condition->op != ExprOp::logical_or) return condition;
    const Expr &a = condition->args[0], &b = condition->args[1];
    if (truth_of(a) == both) return without_known(b);
    if (truth_of(b) == both) return without_known(a);
    return with_args(condition, {without_known(a), without_known(b)});
  }

  // Index `d` of a read.
  Expr index_of(const ExprNode& read, size_t d) {
    const Expr& index = read.args[d];
    if (!is_index(index)) return narrow(index);
    const Expr here = index_here(index);
    if (here.same_as(index)) return index;
    const Extent extent = shape_of_(read.name)[d];
    const bool is_inside = proves_in_bounds(index, extent, domain_) ||
                           proves_in_bounds(from_start(here), extent, in_pieces_);
    return is_inside ? here : index;
  }

  Expr index_here(const Expr& e) {
    const auto arg = [&](size_t i) { return index_here(e->args[i]); };
    switch (e->op) {
      case ExprOp::select:
        if (const auto holds = truth_of(e->args[0])) return arg(*holds ? 1 : 2);
        break;
      case ExprOp::min:
      case ExprOp::max: {
        const Expr a = arg(0), b = arg(1);
        const bool is_least = e->op == ExprOp::min;
        if (is_at_least(b, a)) return is_least ? a : b;
        if (is_at_least(a, b)) return is_least ? b : a;
        break;
      }
      case ExprOp::abs: {
        Expr a = arg(0);
        const Expr none = int_constant(0);
        if (is_at_least(a, none)) return a;
        if (is_at_least(none, a)) return none - a;
        break;
      }
      case ExprOp::mod: {
        const Expr a = arg(0), by = e->args[1];
        if (is_at_least(a, int_constant(0)) && is_at_least(by, a + int_constant(1))) return a;
        break;
      }
      default:
        break;
    }
    std::vector<Expr> args;
    for (size_t i = 0; i < e->args.size(); ++i) {
      args.push_back(e->op == ExprOp::select && i == 0 ? without_known(e->args[0]) : arg(i));
    }
    return with_args(e, std::move(args));
  }

  // Over steps from the start of each piece.
  Expr from_start(const Expr& e) const {
    return substitute_axes(e, [&](const std::string& axis) {
      const AxisPiece* piece = piece_of(pieces_, axis);
      return piece == nullptr ? Expr() : axis_value(axis) + extent_value(piece->min);
    });
  }

  // The least or the greatest value of an index in the pieces, which may not be known.
  std::optional<Extent> extreme(const Expr& index, bool is_greatest) const {
    if (index.dtype() != DType::i32) return std::nullopt;
    const std::optional<Affine> sum = affine_of(from_start(index));
    if (!sum) return std::nullopt;
    for (const auto& [axis, coefficient] : sum->coefficients) {
      if (steps_.count(axis) == 0) return std::nullopt;
    }
    return is_greatest ? largest_value(*sum, steps_) : least_value(*sum, steps_);
  }

  // Whether a >= b everywhere in the pieces.
  bool is_at_least(const Expr& a, const Expr& b) const {
    if (a.dtype() != DType::i32 || b.dtype() != DType::i32) return false;
    const std::optional<Extent> least = extreme(a - b, false);
    return least && never_negative(*least);
  }

  std::optional<bool> truth_of(const Expr& condition) const {
    const auto& args = condition->args;
    const auto compared = [&](const Expr& low, const Expr& high,
                              bool strictly) -> std::optional<bool> {
      const Expr one = int_constant(1);
      if (low.dtype() != DType::i32) return std::nullopt;
      if (is_at_least(high, strictly ? low + one : low)) return true;
      if (is_at_least(low, strictly ? high : high + one)) return false;
      return std::nullopt;
    };
    switch (condition->op) {
      case ExprOp::logical_not: {
        const std::optional<bool> holds = truth_of(args[0]);
        return holds ? std::optional(!*holds) : std::nullopt;
      }
      case ExprOp::logical_and:
      case ExprOp::logical_or: {
        const bool decides = condition->op == ExprOp::logical_or;
        const auto a = truth_of(args[0]), b = truth_of(args[1]);
        if (a == decides || b == decides) return decides;
        return a && b ? std::optional(!decides) : std::nullopt;
      }
      case ExprOp::lt:
        return compared(args[0], args[1], true);
      case ExprOp::le:
        return compared(args[0], args[1], false);
      case ExprOp::gt:
        return compared(args[1], args[0], true);
      case ExprOp::ge:
        return compared(args[1], args[0], false);
      case ExprOp::eq:
      case ExprOp::ne: {
        const bool differs =
            compared(args[0], args[1], true) == true || compared(args[1], args[0], true) == true;
        const bool is_same =
            compared(args[0], args[1], false) == true && compared(args[1], args[0], false) == true;
        if (!differs && !is_same) return std::nullopt;
        return is_same == (condition->op == ExprOp::eq);
      }
      default:
        return std::nullopt;
    }
  }

  const std::vector<AxisPiece>& pieces_;
  const std::function<Shape(const std::string&)>& shape_of_;
  AxisExtents domain_, in_pieces_;  // of all axes; that in the pieces
  AxisExtents steps_;               // of the axes that the pieces are of
  std::unordered_map<const ExprNode*, Expr> done_;
};

}  // namespace

std::vector<AxisPiece> pieces_of(const Stage& stage, const std::string& axis) {
  std::vector<AxisPiece> pieces;
  Extent start = 0;
  for (const AxisCut& cut : stage.cuts) {
    if (cut.axis != axis) continue;
    pieces.push_back({axis, start, cut.at - start});
    start = cut.at;
  }
  const Extent& end = stage.axes[axis_index(stage.axes, axis).value()].extent();
  pieces.push_back({axis, start, end - start});
  return pieces;
}

std::vector<std::vector<AxisPiece>> combinations_of_pieces(const Stage& stage,
                                                           const std::vector<std::string>& axes) {
  std::vector<std::vector<AxisPiece>> all = {{}};
  for (const std::string& axis : axes) {
    std::vector<std::vector<AxisPiece>> longer;
    for (const std::vector<AxisPiece>& before : all) {
      for (const AxisPiece& piece : pieces_of(stage, axis)) {
        longer.push_back(before);
        longer.back().push_back(piece);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<std::string> cut_axes(const Stage& stage) {
  std::vector<std::string> axes;
  for (const Axis& axis : stage.axes) {
    const bool is_cut = std::any_of(stage.cuts.begin(), stage.cuts.end(),
                                    [&](const AxisCut& cut) { return cut.axis == axis.name(); });
    if (is_cut) axes.push_back(axis.name());
  }
  return axes;
}

std::set<std::string> axes_of_loop(const Stage& stage, const std::string& loop) {
  std::set<std::string> names = {loop};
  for (size_t i = stage.transforms.size(); i-- > 0;) {
    const LoopTransform& t = stage.transforms[i];
    if (t.kind == LoopTransform::Kind::fuse) {
      if (names.erase(t.axis) > 0) names.insert({t.outer, t.inner});
    } else if (names.erase(t.outer) + names.erase(t.inner) > 0) {
      names.insert(t.axis);
    }
  }
  return names;
}

bool is_of_cut_axis(const Stage& stage, const std::string& loop) {
  const std::set<std::string> axes = axes_of_loop(stage, loop);
  return std::any_of(stage.cuts.begin(), stage.cuts.end(),
                     [&](const AxisCut& cut) { return axes.count(cut.axis) > 0; });
}

std::vector<Expr> extents_in_pieces(const Stage& stage, std::vector<Expr> extents,
                                    const std::vector<AxisPiece>& pieces) {
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    const AxisPiece* piece = piece_of(pieces, stage.axes[d].name());
    if (piece != nullptr) extents[d] = extent_value(piece->extent);
  }
  return extents;
}

std::vector<Expr> starts_in_pieces(const Stage& stage, std::vector<Expr> starts,
                                   const std::vector<AxisPiece>& pieces) {
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    const AxisPiece* piece = piece_of(pieces, stage.axes[d].name());
    if (piece != nullptr) starts[d] = simplify_index(starts[d] + extent_value(piece->min));
  }
  return starts;
}

Expr body_in_pieces(const Stage& stage, const Expr& body, const std::vector<AxisPiece>& pieces,
                    const std::function<Shape(const std::string& buffer)>& shape_of) {
  return pieces.empty() ? body : Narrower(stage, pieces, shape_of).narrow(body);
}

}  // namespace emulsion
