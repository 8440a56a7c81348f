#include "passes/derive/choice_turns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "dsl/affine.h"
#include "dsl/condition_facts.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// `with_ends`: also where clamps and reflections of indices begin and end, and of remainders by
// numbers.
class TurnFinder {
 public:
  TurnFinder(const Axis& axis, bool with_ends) : axis_(axis), with_ends_(with_ends) {}

  // In no order, also outside of the axis.
  std::optional<std::vector<Extent>> find(const Expr& body) {
    visit(body, [&](const Expr& e) {
      if (!mentions(e, axis_.name())) return;
      if (e->op == ExprOp::select && mentions(e->args[0], axis_.name())) {
        if (reads_data(e->args[0])) return;
        visit(e->args[0], [&](const Expr& part) { add_comparison(part); });
      } else if (e->op == ExprOp::mod && e.dtype() == DType::i32) {
        add_remainder(e);
      } else if (with_ends_ && e.dtype() == DType::i32 && !reads_data(e)) {
        add_end(e);
      }
    });
    return is_known_ ? std::optional(turns_) : std::nullopt;
  }

 private:
  // From where on a clamp does not hold the index, or an abs does not reflect it, or does.
  void add_end(const Expr& e) {
    if (e->op == ExprOp::abs) return add_order(int_constant(0), without_clamps(e->args[0]), 0);
    if (e->op != ExprOp::min && e->op != ExprOp::max) return;
    const bool is_first = mentions(e->args[0], axis_.name());
    Expr index = without_clamps(e->args[is_first ? 0 : 1]);
    if (index->op == ExprOp::abs) index = without_clamps(index->args[0]);
    const Expr& end = e->args[is_first ? 1 : 0];
    if (index->op == ExprOp::mod || index->op == ExprOp::select) return;  // has turns of its own
    e->op == ExprOp::max ? add_order(end, index, 0) : add_order(index, end, 0);
  }

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
    turns_.push_back(factor > 0 ? Extent(0) - rest : rest + Extent(1));
  }

  // By a run-time size: of a number there may be many turns, but for those at the ends.
  void add_remainder(const Expr& e) {
    constexpr int64_t kMostQuotient = 2;  // (j + 1 + n) % n
    const std::optional<Extent> by = as_extent(e->args[1]);
    const std::optional<Affine> sum = along(e->args[0]);
    if (!by || (by->is_constant() && !with_ends_)) is_known_ = false;
    if (!by || !sum || !is_known_) return;
    if (sum->coefficients.at(axis_.name()) != 1) {
      is_known_ = false;
      return;
    }
    for (int64_t quotient = 0; quotient <= kMostQuotient; ++quotient) {
      turns_.push_back(*by * Extent(quotient) - sum->offset);
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

  const Axis& axis_;
  bool with_ends_;
  std::vector<Extent> turns_;
  bool is_known_ = true;
};

// What run-time sizes are known to be wherever the axis matters, as a condition: of
// select(C > 0, x[(j + C - 1) % C], 0) that C is at least 1. Undefined where nothing is.
Expr sizes_that_matter(const Expr& body, const Axis& axis) {
  Expr all;
  visit(body, [&](const Expr& e) {
    if (e->op != ExprOp::select || depends_on_loops(e->args[0]) || reads_data(e->args[0])) return;
    const bool is_first = mentions(e->args[1], axis.name());
    if (is_first == mentions(e->args[2], axis.name())) return;
    for_each_fact(e->args[0], is_first, {}, [&](const Expr& fact) {
      const Expr holds = fact >= int_constant(0);
      all = all.defined() ? all && holds : holds;
    });
  });
  return all;
}

// Those inside of the axis, in order; nothing where that is not known. `facts` say which are
// outside: where they do not hold these do not matter.
std::optional<std::vector<Extent>> in_order(const std::vector<Extent>& all, const Extent& extent,
                                            const SizeFacts& facts) {
  const auto is_never_negative = [&](const Extent& one) {
    return facts.lower_bound(one).value_or(-1) >= 0;
  };
  std::vector<Extent> turns;
  for (const Extent& turn : all) {
    if (is_never_negative(Extent(0) - turn) || is_never_negative(turn - extent)) continue;
    if (!never_negative(turn) || !never_negative(extent - turn)) return std::nullopt;
    size_t place = 0;
    for (; place < turns.size() && !never_negative(turns[place] - turn); ++place) {
      if (!never_negative(turn - turns[place])) return std::nullopt;
    }
    if (place == turns.size() || turns[place] != turn) {
      turns.insert(turns.begin() + static_cast<std::ptrdiff_t>(place), turn);
    }
  }
  return turns;
}

// How many first and last steps of an axis are computed otherwise than those between.
struct EndSteps {
  int64_t first = 0, last = 0;
};

// Where all turns are so close to the ends.
std::optional<EndSteps> steps_at_ends(const std::vector<Extent>& turns, const Extent& extent,
                                      const SizeFacts& facts) {
  constexpr int64_t kMost = 8;
  EndSteps ends;
  for (const Extent& turn : turns) {
    const Extent rest = extent - turn;
    const auto never_negative_here = [&](const Extent& one) {
      return facts.lower_bound(one).value_or(-1) >= 0;
    };
    if (never_negative_here(Extent(0) - turn) || never_negative_here(Extent(0) - rest)) continue;
    if (turn.is_constant() && turn.constant_term() <= kMost) {
      ends.first = std::max(ends.first, turn.constant_term());
    } else if (rest.is_constant() && rest.constant_term() <= kMost) {
      ends.last = std::max(ends.last, rest.constant_term());
    } else {
      return std::nullopt;
    }
  }
  return ends;
}

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

// Whether all that is read along the axis lies side by side between two turns; `between`: an index
// there.
template <typename Between>
bool reads_neighbours(const Op& op, const Axis& axis, const Between& between) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
    for (size_t d = 0; d < read->args.size(); ++d) {
      if (!mentions(read->args[d], axis.name())) continue;
      const std::optional<Affine> sum = affine_of(between(read->args[d]));
      if (d + 1 < read->args.size() || !sum) return false;
      const auto step = sum->coefficients.find(axis.name());
      if (step == sum->coefficients.end() || step->second != 1) return false;
    }
    return true;
  });
}

// Whether the vectors of an operation lie along its last axis, and read along it.
bool has_vectors_of_rows(const Op& op, const Target& target) {
  return vector_axis(op, target) + 1 == op.axes.size() && !crosses(op, target);
}

}  // namespace

std::optional<std::vector<Extent>> turns_along(const Op& op, const Axis& axis) {
  const std::optional<std::vector<Extent>> all = TurnFinder(axis, false).find(op.body);
  if (!all) return std::nullopt;
  return in_order(*all, axis.extent(), facts_of(sizes_that_matter(op.body, axis)));
}

std::vector<Extent> turns_to_cut_at(const Op& op, const Target& target) {
  const Axis& along = op.axes.back();
  if (along.extent().is_constant() || !has_vectors_of_rows(op, target)) return {};
  const std::optional<std::vector<Extent>> turns = turns_along(op, along);
  constexpr size_t kMostTurns = 15;  // each piece has loops of its own, in every case
  if (!turns || turns->empty() || turns->size() > kMostTurns) return {};
  const auto between_turns = [](const Expr& index) {
    return transform(without_clamps(index),
                     [](const Expr& e) { return e->op == ExprOp::mod ? e->args[0] : Expr(); });
  };
  if (!reads_neighbours(op, along, between_turns)) return {};
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

std::vector<Extent> ends_to_cut_at(const Op& op, int64_t least, const Target& target) {
  const Axis& along = op.axes.back();
  const Extent& extent = along.extent();
  if (!has_vectors_of_rows(op, target) || lacks_masks(op, target)) return {};
  const auto between = [&](const Expr& index) { return between_ends(index, op, along.name()); };
  const std::optional<std::vector<Extent>> turns = TurnFinder(along, true).find(op.body);
  if (!turns || !reads_neighbours(op, along, between)) return {};
  const SizeFacts facts = facts_of(extent_value(extent) >= int_constant(least));
  const std::optional<EndSteps> ends = steps_at_ends(*turns, extent, facts);
  if (!ends || facts.lower_bound(extent).value_or(0) < ends->first + ends->last) return {};
  constexpr int64_t kMostLanes = 16;  // a mask for each of more takes long to compile
  const int64_t lanes = lanes_without_masks(op, target);
  if (lanes > kMostLanes ||
      extent.as_constant().value_or(2 * lanes) < ends->first + ends->last + lanes)
    return {};
  std::vector<Extent> cuts;
  if (ends->first > 0) cuts.emplace_back(ends->first);
  if (ends->last > 0) cuts.push_back(extent - Extent(ends->last));
  return cuts;
}

bool has_steps_without_reads_at_ends(const Op& op, const Target& target) {
  const std::vector<Extent> turns = turns_to_cut_at(op, target);
  if (turns.empty() || lacks_masks(op, target) || takes_series(op)) return false;
  const Axis& along = op.axes.back();
  const int64_t lanes = lanes_without_masks(op, target);
  const std::vector<Extent> pieces = pieces_between(turns, along);
  const auto is_short = [&](const Extent& piece) {
    return piece.as_constant().value_or(lanes) < lanes;
  };
  if (!is_short(pieces.front()) || !is_short(pieces.back())) return false;
  std::set<std::string> held;  // places that only a choice keeps inside
  for (const Expr& read : reads_in(op.body)) {
    for (const Expr& index : read->args) {
      if (mentions(index, along.name()) && !affine_of(index)) held.insert(to_string(index));
    }
  }
  return held.size() <= 1;
}

bool has_other_rows_at_ends(const Op& op, const Target& target) {
  constexpr int64_t kLeast = 16;  // rows, of which those at the ends are a part
  constexpr int64_t kFewVectors = 16;
  const size_t along = vector_axis(op, target);
  if (along == 0) return false;
  const int64_t few = kFewVectors * value_lanes(op, target);
  if (op.axes[along].extent().as_constant().value_or(few) > few) return false;
  const Axis& rows = op.axes[along - 1];
  if (rows.extent().as_constant().value_or(kLeast) < kLeast) return false;
  const std::optional<std::vector<Extent>> turns = TurnFinder(rows, true).find(op.body);
  if (!turns || borders_by_axis(op).count(rows.name()) > 0) return false;
  const std::vector<Expr> reads = reads_in(op.body);
  const bool moves_along = std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
    return std::all_of(read->args.begin(), read->args.end(), [&](const Expr& index) {
      return !mentions(index, rows.name()) || affine_of(between_ends(index, op, rows.name()));
    });
  });
  if (!moves_along) return false;
  const SizeFacts facts = facts_of(extent_value(rows.extent()) >= int_constant(kLeast));
  const std::optional<EndSteps> ends = steps_at_ends(*turns, rows.extent(), facts);
  return ends && ends->first + ends->last > 0;
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
