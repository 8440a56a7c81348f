#include "passes/derive/choice_turns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dsl/affine.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

class TurnFinder {
 public:
  explicit TurnFinder(const Axis& axis) : axis_(axis) {}

  std::optional<std::vector<Extent>> find(const Expr& body) {
    visit(body, [&](const Expr& e) {
      if (e->op == ExprOp::select && mentions(e->args[0], axis_.name())) {
        if (reads_data(e->args[0])) return;
        visit(e->args[0], [&](const Expr& part) { add_comparison(part); });
      } else if (e->op == ExprOp::mod && e.dtype() == DType::i32 && mentions(e, axis_.name())) {
        add_remainder(e);
      }
    });
    return is_known_ ? std::optional(turns_) : std::nullopt;
  }

 private:
  void add_comparison(const Expr& e) {
    if (!mentions(e, axis_.name())) return;
    switch (e->op) {
      case ExprOp::lt:
        return add_order(e->args[0], e->args[1], 1);
      case ExprOp::le:
        return add_order(e->args[0], e->args[1], 0);
      case ExprOp::gt:
        return add_order(e->args[1], e->args[0], 1);
      case ExprOp::ge:
        return add_order(e->args[1], e->args[0], 0);
      case ExprOp::eq:
      case ExprOp::ne:
        add_order(e->args[0], e->args[1], 0);
        return add_order(e->args[1], e->args[0], 0);
      default:
        return;
    }
  }

  // Of b - a >= more.
  void add_order(const Expr& a, const Expr& b, int64_t more) {
    const std::optional<Affine> spare = along(b - a);
    if (!spare) return;
    const Extent rest = spare->offset - Extent(more);
    const int64_t factor = spare->coefficients.at(axis_.name());
    add(factor > 0 ? Extent(0) - rest : rest + Extent(1));
  }

  // By a run-time size: of a number there may be many turns.
  void add_remainder(const Expr& e) {
    const std::optional<Extent> by = as_extent(e->args[1]);
    const std::optional<Affine> sum = along(e->args[0]);
    if (!by || by->is_constant()) is_known_ = false;
    if (!by || !sum || !is_known_) return;
    if (sum->coefficients.at(axis_.name()) != 1) {
      is_known_ = false;
      return;
    }
    for (int64_t quotient = 0; quotient <= 1; ++quotient) {
      add(*by * Extent(quotient) - sum->offset);
    }
  }

  // An index over the axis and run-time sizes, of which a step moves it by one.
  std::optional<Affine> along(const Expr& index) {
    std::optional<Affine> sum = affine_of(index);
    const bool is_along = sum && sum->coefficients.size() == 1 &&
                          sum->coefficients.count(axis_.name()) > 0 &&
                          std::abs(sum->coefficients.at(axis_.name())) == 1;
    if (is_along) return sum;
    is_known_ = false;
    return std::nullopt;
  }

  void add(const Extent& turn) {
    const Extent& extent = axis_.extent();
    if (never_negative(Extent(0) - turn) || never_negative(turn - extent)) return;
    if (!never_negative(turn) || !never_negative(extent - turn)) is_known_ = false;
    size_t place = 0;
    for (; is_known_ && place < turns_.size(); ++place) {
      if (turns_[place] == turn) return;
      if (never_negative(turns_[place] - turn)) break;
      if (!never_negative(turn - turns_[place])) is_known_ = false;
    }
    if (is_known_) turns_.insert(turns_.begin() + static_cast<std::ptrdiff_t>(place), turn);
  }

  const Axis& axis_;
  std::vector<Extent> turns_;
  bool is_known_ = true;
};

// How long the pieces between turns are.
std::vector<Extent> pieces_between(const std::vector<Extent>& turns, const Axis& axis) {
  std::vector<Extent> pieces;
  Extent start = 0;
  for (const Extent& turn : turns) {
    pieces.push_back(turn - start);
    start = turn;
  }
  pieces.push_back(axis.extent() - start);
  return pieces;
}

// Whether all that is read along the axis lies side by side between two turns.
bool reads_neighbours(const Op& op, const Axis& axis) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
    for (size_t d = 0; d < read->args.size(); ++d) {
      if (!mentions(read->args[d], axis.name())) continue;
      const Expr index = transform(without_clamps(read->args[d]), [](const Expr& e) {
        return e->op == ExprOp::mod ? e->args[0] : Expr();
      });
      const std::optional<Affine> sum = affine_of(index);
      if (d + 1 < read->args.size() || !sum) return false;
      const auto step = sum->coefficients.find(axis.name());
      if (step == sum->coefficients.end() || step->second != 1) return false;
    }
    return true;
  });
}

}  // namespace

std::optional<std::vector<Extent>> turns_along(const Op& op, const Axis& axis) {
  return TurnFinder(axis).find(op.body);
}

std::vector<Extent> turns_to_cut_at(const Op& op, const Target& target) {
  const Axis& along = op.axes.back();
  const bool is_last = vector_axis(op, target) + 1 == op.axes.size();
  if (!is_last || along.extent().is_constant() || crosses(op, target)) return {};
  const std::optional<std::vector<Extent>> turns = turns_along(op, along);
  constexpr size_t kMostTurns = 15;  // each piece has loops of its own, in every case
  if (!turns || turns->empty() || turns->size() > kMostTurns || !reads_neighbours(op, along)) {
    return {};
  }
  if (!lacks_masks(op, target)) return *turns;
  const int64_t lanes = lanes_without_masks(op, target);
  for (const Extent& piece : pieces_between(*turns, along)) {
    const bool reaches = piece.is_constant()
                             ? piece.constant_term() >= lanes
                             : is_sum_of_sizes(piece) || is_what_is_left_of_a_size(piece);
    if (!reaches) return {};
  }
  return *turns;
}

void vectorize_pieces(const Op& op, const std::vector<Extent>& turns, const Target& target,
                      StageSchedule* stage) {
  const Axis& along = op.axes.back();
  for (const Extent& turn : turns) stage->cut(along, turn);
  stage->vectorize(along, lanes_without_masks(op, target),
                   lacks_masks(op, target) ? Tail::shift_inwards : Tail::predicate);
}

Expr pieces_reach(const std::vector<Extent>& turns, const Axis& axis, int64_t steps) {
  Expr all;
  std::vector<Extent> done;
  for (const Extent& piece : pieces_between(turns, axis)) {
    if (piece.is_constant() || std::count(done.begin(), done.end(), piece) > 0) continue;
    done.push_back(piece);
    const Expr reaches = extent_value(piece) >= int_constant(steps);
    all = all.defined() ? all && reaches : reaches;
  }
  return all;
}

}  // namespace emulsion
