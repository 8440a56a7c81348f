#include "passes/derive/read_through.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/expr.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"
#include "passes/index/simplify_quotients.h"

namespace emulsion {
namespace {

// Whether each element is one of what it reads, at a place that no data choose.
bool is_move(const Op& op) {
  if (op.kind != OpKind::compute || op.combiner != Combiner::none) return false;
  return op.body->op == ExprOp::read && operands(op).size() == 1 && !op.axes.empty() &&
         std::find(op.shape.begin(), op.shape.end(), Extent(0)) == op.shape.end();
}

AxisExtents extents_of(const Op& op) {
  AxisExtents extents;
  for (const std::vector<Axis>* axes : {&op.axes, &op.reduction_axes}) {
    for (const Axis& axis : *axes) extents.emplace(axis.name(), axis.extent());
  }
  return extents;
}

bool is_affine(const Expr& read) {
  return std::all_of(read->args.begin(), read->args.end(),
                     [](const Expr& index) { return affine_of(index).has_value(); });
}

// Whether an index grows by one with the axis, whatever else it is a sum of.
bool counts(const Expr& index, const std::string& axis) {
  if (index->op == ExprOp::axis) return index->name == axis;
  if (index->op != ExprOp::add && index->op != ExprOp::sub) return false;
  const bool first = mentions(index->args[0], axis), second = mentions(index->args[1], axis);
  if (first) return !second && counts(index->args[0], axis);
  return second && index->op == ExprOp::add && counts(index->args[1], axis);
}

// The same inside of blocks of `lanes` along the axis, whatever is between these.
Step step_in_blocks(const Expr& read, const std::string& axis, int64_t lanes, AxisExtents extents) {
  const std::string block = axis + ".block", lane = axis + ".lane";
  extents.emplace(lane, lanes);
  const Expr place = axis_value(block) * int_constant(lanes) + axis_value(lane);
  std::vector<Expr> indices;
  for (const Expr& index : read->args) {
    const Expr in_blocks = substitute_axes(
        index, [&](const std::string& name) { return name == axis ? place : Expr(); });
    indices.push_back(simplify_quotients(in_blocks, extents));
  }
  return step_of(read_op(read->tensor, std::move(indices)), lane);
}

// The read of what a move reads that a read of the move is.
Expr composed(const Expr& read, const Op& move, const AxisExtents& extents) {
  std::vector<Expr> indices;
  for (const Expr& index : move.body->args) {
    const Expr there = substitute_axes(index, [&](const std::string& axis) -> Expr {
      const std::optional<size_t> i = axis_index(move.axes, axis);
      return i ? read->args[*i] : Expr();
    });
    indices.push_back(simplify_quotients(there, extents));
  }
  return read_op(move.body->tensor, std::move(indices));
}

Expr with_composed_reads(const Expr& body, const Op& move, const AxisExtents& extents) {
  return transform(body, [&](const Expr& e) {
    return e->op == ExprOp::read && e->tensor.get() == &move ? composed(e, move, extents) : Expr();
  });
}

std::vector<Expr> reads_of_move(const Expr& body, const Op& move) {
  std::vector<Expr> reads;
  visit(body, [&](const Expr& e) {
    if (e->op == ExprOp::read && e->tensor.get() == &move) reads.push_back(e);
  });
  return reads;
}

// A comprehension, and what it reads through all that is read through so far.
struct Reader {
  const Op* op = nullptr;
  AxisExtents extents;
  bool reads_many = false;           // so that each move would go through a long body again
  bool beside_sums = false;          // in a group with a reduction: vectors are the tile's
  Expr body;                         // of a contraction with register tiles: as written
  std::optional<Contraction> tiles;  // its operands, of such a contraction
  bool has_dots = false;             // whose columns' operand lies along the reduction
};

bool reads(const Expr& read, const Op& move) { return read->tensor.get() == &move; }

class Finder {
 public:
  Finder(const Graph& grouped, const Target& target, const std::function<bool(const Op&)>& wanted)
      : grouped_(grouped), target_(target), wanted_(wanted) {
    for (const OpPtr& op : grouped.ops()) {
      const bool has_sums =
          std::any_of(op->members.begin(), op->members.end(),
                      [](const OpPtr& member) { return member->combiner != Combiner::none; });
      if (op->kind == OpKind::compute) add_reader(*op, false);
      for (const OpPtr& member : op->members) add_reader(*member, has_sums);
    }
    for (const OpPtr& output : grouped.outputs()) outputs_.insert(output.get());
  }

  ReadThrough find() {
    // What reads a move comes behind it and is decided by then.
    for (size_t i = grouped_.ops().size(); i-- > 0;) {
      const Op& op = *grouped_.ops()[i];
      if (is_move(op) && outputs_.count(&op) == 0) consider(op);
    }
    if (moves_.empty()) return {grouped_, {}};
    return {rewritten(), std::move(moves_)};
  }

 private:
  void add_reader(const Op& op, bool beside_sums) {
    constexpr size_t kMany = 64;
    Reader reader;
    reader.op = &op;
    reader.extents = extents_of(op);
    reader.reads_many = operands(op).size() > kMany;
    reader.beside_sums = beside_sums;
    reader.body = op.body;
    if (op.combiner != Combiner::none && has_register_tiles(op)) {
      reader.tiles = match_contraction(op);  // none where the body reads more
    }
    for (const OpPtr& operand : operands(op)) readers_[operand.get()].push_back(all_.size());
    position_[&op] = all_.size();
    all_.push_back(std::move(reader));
  }

  void consider(const Op& move) {
    constexpr int kMostInARow = 8;           // each goes through the indices of all behind it
    constexpr int64_t kMostOperations = 40;  // of an index that is computed for every element
    int in_a_row = 1;
    for (size_t at : readers_[&move]) {
      const Reader& reader = all_[at];
      if (inlined_.count(reader.op) > 0) {
        in_a_row = std::max(in_a_row, in_a_row_[reader.op] + 1);
        continue;  // those who read that are among the readers
      }
      if (reader.reads_many || !suits(reader, move)) return;
      for (const Expr& read : reads_of_move(reader.body, move)) {
        if (size_of(composed(read, move, reader.extents)).nodes > kMostOperations) return;
      }
    }
    if (in_a_row > kMostInARow || (wanted_ && !wanted_(move))) return;
    in_a_row_[&move] = in_a_row;
    inlined_.insert(&move);
    moves_.insert(move.name);
    const std::vector<size_t> readers = readers_[&move];
    std::vector<size_t>& of_source = readers_[move.body->tensor.get()];
    for (size_t at : readers) {
      compose(move, &all_[at]);
      if (std::count(of_source.begin(), of_source.end(), at) == 0) of_source.push_back(at);
    }
  }

  void compose(const Op& move, Reader* reader) const {
    if (!reader->tiles) {
      reader->body = with_composed_reads(reader->body, move, reader->extents);
      return;
    }
    Contraction& c = *reader->tiles;
    c.a = with_composed_reads(c.a, move, reader->extents);
    c.b = with_composed_reads(c.b, move, reader->extents);
    const Op& op = *reader->op;
    reader->has_dots = step_of(c.b, op.axes.back().name()) == Step::elsewhere && !can_copy(op, c);
  }

  bool suits(const Reader& reader, const Op& move) const {
    if (reader.tiles) {
      const Contraction& c = *reader.tiles;
      return (!reads(c.a, move) || suits_rows(reader, composed(c.a, move, reader.extents))) &&
             (!reads(c.b, move) || suits_columns(reader, composed(c.b, move, reader.extents)));
    }
    const std::vector<Expr> all = reads_of_move(reader.body, move);
    return std::all_of(all.begin(), all.end(), [&](const Expr& read) {
      const Expr through = composed(read, move, reader.extents);
      if (!is_affine(through)) return suits_in_blocks(reader, through);
      return keeps_neighbours(reader, read, through) ||
             (all.size() == 1 && suits_across(reader, move, read, through));
    });
  }

  // The rows' operand of a tile is read element by element, one behind the other.
  bool suits_rows(const Reader& reader, const Expr& through) const {
    const Op& op = *reader.op;
    const bool dots = match_dots(op, *reader.tiles, false, target_).has_value();
    const int64_t block = dots ? target_.vector_lanes(op.dtype) : 2;
    return step_in_blocks(through, op.reduction_axes.back().name(), block, reader.extents) !=
           Step::elsewhere;
  }

  // Whether enough rows read each column that panels are copied.
  static bool can_copy(const Op& op, const Contraction& c) {
    if (c.row_axes.empty()) return false;
    const Extent& rows = op.axes[*axis_index(op.axes, c.row_axes.back())].extent();
    return rows.as_constant().value_or(kRowsForTurned) >= kRowsForTurned;
  }

  bool suits_columns(const Reader& reader, const Expr& through) const {
    constexpr int64_t kLongSum = 64;
    const Op& op = *reader.op;
    const OpKind source = through->tensor->kind;
    if (source == OpKind::weight || source == OpKind::constant) return false;  // to be packed
    const Axis& column = op.axes.back();
    if (!is_affine(through)) return false;
    if (step_of(through, column.name()) != Step::elsewhere) return true;
    if (can_copy(op, *reader.tiles)) return true;
    const Axis& last = op.reduction_axes.back();
    return step_of(through, last.name()) == Step::neighbour &&
           last.extent().as_constant().value_or(0) >= kLongSum;
  }

  // No vector that was of neighbours is of others.
  static bool keeps_neighbours(const Reader& reader, const Expr& read, const Expr& through) {
    return std::all_of(reader.extents.begin(), reader.extents.end(), [&](const auto& axis) {
      return step_of(read, axis.first) != Step::neighbour ||
             step_of(through, axis.first) != Step::elsewhere;
    });
  }

  // A transpose: whoever makes vectors of rows takes columns, the move or its reader.
  bool suits_across(const Reader& reader, const Op& move, const Expr& read,
                    const Expr& through) const {
    const Op& op = *reader.op;
    if (reader.beside_sums || readers_.at(&move).size() != 1 || keeps_rows(move)) return false;
    std::set<std::string> axes;
    for (const Expr& index : read->args) {
      if (index->op == ExprOp::axis) axes.insert(index->name);
    }
    if (axes.size() != reader.extents.size() || read->args.size() != axes.size()) return false;
    const Expr& last = through->args.back();
    if (last->op != ExprOp::axis) return false;
    const auto is_last_of = [&](const std::vector<Axis>& of) {
      return !of.empty() && last->name == of.back().name();
    };
    return op.combiner == Combiner::none || is_last_of(op.axes) || is_last_of(op.reduction_axes);
  }

  // A reshape to rows of another length: vectors that lie in one row here and there.
  bool suits_in_blocks(const Reader& reader, const Expr& through) const {
    const Op& op = *reader.op;
    if (op.combiner != Combiner::none || reader.beside_sums || op.axes.empty()) return false;
    const Axis& along = op.axes[vector_axis(op, target_)];
    const int64_t lanes = value_lanes(op, target_);
    return along.extent().exact_quotient(lanes) &&
           step_in_blocks(through, along.name(), lanes, reader.extents) != Step::elsewhere;
  }

  // As written, but for what is read through; a contraction reads moves by their names, unless it
  // is computed along the reduction.
  Expr final_body(const Reader& reader) const {
    if (!reader.tiles) return reader.body;
    if (!reader.has_dots) return reader.op->body;
    const Expr columns = match_contraction(*reader.op)->b;
    return transform(reader.op->body,
                     [&](const Expr& e) { return equal(e, columns) ? reader.tiles->b : Expr(); });
  }

  OpPtr rewritten(const OpPtr& op, std::unordered_map<const Op*, OpPtr>* replaced) const {
    auto made = std::make_shared<Op>(*op);
    for (OpPtr& member : made->members) member = rewritten(member, replaced);
    if (op->kind == OpKind::compute) {
      made->body = transform(final_body(all_[position_.at(op.get())]), [&](const Expr& e) {
        return e->op == ExprOp::read ? read_op(replaced->at(e->tensor.get()), e->args) : Expr();
      });
    }
    return (*replaced)[op.get()] = std::move(made);
  }

  Graph rewritten() const {
    std::unordered_map<const Op*, OpPtr> replaced;
    std::vector<OpPtr> ops, outputs, live;
    for (const OpPtr& op : grouped_.ops()) ops.push_back(rewritten(op, &replaced));
    for (const OpPtr& output : grouped_.outputs()) outputs.push_back(replaced.at(output.get()));
    std::unordered_set<const Op*> read(ops.size());
    for (size_t i = ops.size(); i-- > 0;) {
      if (moves_.count(ops[i]->name) > 0 && read.count(ops[i].get()) == 0) continue;
      for (const OpPtr& operand : operands(*ops[i])) read.insert(operand.get());
      live.push_back(std::move(ops[i]));
    }
    std::reverse(live.begin(), live.end());
    return Graph(std::move(live), std::move(outputs));
  }

  const Graph& grouped_;
  const Target& target_;
  const std::function<bool(const Op&)>& wanted_;
  std::vector<Reader> all_;
  std::unordered_map<const Op*, size_t> position_;
  std::unordered_map<const Op*, std::vector<size_t>> readers_;
  std::unordered_set<const Op*> outputs_;
  std::unordered_set<const Op*> inlined_;
  std::unordered_map<const Op*, int> in_a_row_;
  std::set<std::string> moves_;
};

}  // namespace

Step step_of(const Expr& read, const std::string& axis) {
  size_t last = read->args.size();
  while (last > 0 && read->tensor->shape[last - 1] == Extent(1)) --last;
  Step step = Step::none;
  for (size_t i = 0; i < read->args.size(); ++i) {
    if (!mentions(read->args[i], axis)) continue;
    if (i + 1 != last || !counts(read->args[i], axis)) return Step::elsewhere;
    step = Step::neighbour;
  }
  return step;
}

bool keeps_rows(const Op& move) {
  return step_of(move.body, move.axes.back().name()) != Step::elsewhere;
}

ReadThrough read_through(const Graph& grouped, const Target& target,
                         const std::function<bool(const Op&)>& wanted) {
  return Finder(grouped, target, wanted).find();
}

}  // namespace emulsion
