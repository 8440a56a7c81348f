#include "passes/derive/read_through.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "passes/derive/choices.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/read_sources.h"
#include "passes/derive/values_in_points.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

// A comprehension, and what it reads through all that is read through so far.
struct Reader {
  const Op* op = nullptr;
  bool is_member = false;  // of a group
  AxisExtents extents;
  bool reads_many = false;           // so that each move would go through a long body again
  bool beside_sums = false;          // in a group with a reduction: vectors are the tile's
  Expr body;                         // of a contraction with register tiles: as written
  std::optional<Contraction> tiles;  // its operands, of such a contraction
  bool has_dots = false;             // whose columns' operand lies along the reduction
};

bool reads(const Expr& read, const Op& move) { return read->tensor.get() == &move; }

class SourceFinder {
 public:
  SourceFinder(const Graph& grouped, const Target& target,
               const std::function<bool(const Op&)>& wanted)
      : grouped_(grouped), target_(target), wanted_(wanted) {
    for (const OpPtr& op : grouped.ops()) {
      const bool has_sums =
          std::any_of(op->members.begin(), op->members.end(),
                      [](const OpPtr& member) { return member->combiner != Combiner::none; });
      if (op->kind == OpKind::compute) add_reader(*op, false);
      for (const OpPtr& member : op->members) {
        add_reader(*member, has_sums);
        all_.back().is_member = true;
      }
    }
    for (const OpPtr& output : grouped.outputs()) outputs_.insert(output.get());
    for (const OpPtr& op : grouped.ops()) {
      if (is_apart(op)) apart_.insert(op.get());
    }
  }

  ReadThrough find() {
    // What reads a move comes behind it and is decided by then.
    for (size_t i = grouped_.ops().size(); i-- > 0;) {
      const OpPtr& op = grouped_.ops()[i];
      if (outputs_.count(op.get()) > 0) continue;
      if (is_move(*op)) {
        consider({op.get(), op});
      } else if (is_value(op)) {
        consider_value({op.get(), written_out(*op, {})}, is_elementwise(op));
      }
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

  void consider(const Source& move) {
    constexpr int64_t kMostOperations = 40;  // of an index that is computed for every element
    int in_a_row = 1;
    for (size_t at : readers_[move.op]) {
      const Reader& reader = all_[at];
      if (inlined_.count(reader.op) > 0) {
        in_a_row = std::max(in_a_row, in_a_row_[reader.op] + 1);
        continue;  // those who read that are among the readers
      }
      if (reader.reads_many) return;
      if (!suits(reader, move)) return consider_view(move);
      for (const Expr& read : reads_in(reader.body, move.op)) {
        if (size_of(composed(read, move, reader.extents)).nodes > kMostOperations) return;
      }
    }
    take(move, in_a_row);
  }

  // A reshape of an argument is an argument to all that read it, which lies in the same memory:
  // their loops are what they would be, were it stored.
  void consider_view(const Source& move) {
    const OpPtr& operand = move.op->body->tensor;
    if (operand->kind != OpKind::input || !is_view(*move.op)) return;
    for (const size_t at : readers_[move.op]) {
      if (all_[at].tiles || inlined_.count(all_[at].op) > 0) return;
    }
    if (wanted_ && !wanted_(*move.op)) return;
    views_.insert(move.op);
    inlined_.insert(move.op);
    moves_.insert(move.op->name);
  }

  void take(const Source& source, int in_a_row) {
    constexpr int kMostInARow = 8;  // each goes through the indices of all behind it
    if (in_a_row > kMostInARow || (wanted_ && !wanted_(*source.op))) return;
    in_a_row_[source.op] = in_a_row;
    inlined_.insert(source.op);
    moves_.insert(source.op->name);
    const std::vector<size_t> readers = readers_[source.op];
    for (size_t at : readers) compose(source, &all_[at]);
    for (const OpPtr& operand : operands(*source.op)) {
      std::vector<size_t>& of_operand = readers_[operand.get()];
      for (size_t at : readers) {
        if (std::count(of_operand.begin(), of_operand.end(), at) == 0) of_operand.push_back(at);
      }
    }
  }

  // Whether it combines nothing, and what it reads is apart.
  bool is_value(const OpPtr& op) const {
    const std::vector<OpPtr> read = operands(*op);
    return is_pointwise(op) && std::all_of(read.begin(), read.end(), [&](const OpPtr& operand) {
             return apart_.count(operand.get()) > 0;
           });
  }

  // Whether an operation is what a value may read: an argument, one element, a product, or a move
  // or an elementwise operation of these that no sum reads. With anything else a value could share
  // loops.
  bool is_apart(const OpPtr& op) const {
    if (!is_computed(*op) || element_count(op->shape) == 1) return true;
    if (const Op* const sums = sums_of(*op)) return has_register_tiles(*sums);
    if (is_move(*op)) return apart_.count(op->body->tensor.get()) > 0;
    const auto readers = readers_.find(op.get());
    return is_value(op) && is_elementwise(op) &&
           (readers == readers_.end() || std::all_of(readers->second.begin(), readers->second.end(),
                                                     [&](size_t at) { return !is_sum(all_[at]); }));
  }

  static bool is_sum(const Reader& reader) {
    return reader.op->combiner != Combiner::none && !has_register_tiles(*reader.op);
  }

  // A value is computed where it is read: by one operation, once, elsewhere than at its own axes
  // (or fuse_epilogues() would have taken it) or by a sum of all, and for no more elements than it
  // has.
  void consider_value(const Source& value, bool is_elementwise) {
    constexpr int64_t kMostOperations = 100;
    const Reader* only = nullptr;
    int in_a_row = 1;
    for (const size_t at : readers_[value.op]) {
      const Reader& reader = all_[at];
      if (inlined_.count(reader.op) > 0) {
        in_a_row = std::max(in_a_row, in_a_row_[reader.op] + 1);
      } else if (only != nullptr) {
        return;
      } else {
        only = &reader;
      }
    }
    if (only == nullptr || size_of(value.written->body).nodes > kMostOperations) return;
    const bool suits = only->op->combiner != Combiner::none
                           ? is_elementwise && suits_sum(*only, value)
                           : !only->beside_sums && !only->reads_many &&
                                 suits_value(points_of(*only), value, is_elementwise, target_);
    if (suits) take(value, in_a_row);
  }

  // A sum of all elements, a maximum and the like may read what a value reads, as if somebody had
  // written both as one comprehension: where each element is read once, by vectors of neighbours.
  // Of several sums each may have loops that it shares with the value (row_groups.h).
  static bool suits_sum(const Reader& reader, const Source& value) {
    if (reader.is_member || reader.reads_many || element_count(reader.op->shape) != 1) return false;
    if (reader.tiles) return false;  // of reads, and of nothing else
    const std::vector<Expr> reads = reads_in(reader.body, value.op);
    if (reads.size() != 1 || !is_affine(reads[0])) return false;
    if (!has_no_more_steps(reader.extents, value.op->shape)) return false;
    const std::vector<Expr> through = reads_in(composed(reads[0], value, reader.extents));
    return std::all_of(through.begin(), through.end(), [&](const Expr& one) {
      return is_affine(one) && keeps_neighbours(reads[0], one, reader.extents);
    });
  }

  static PointsReader points_of(const Reader& reader) {
    return {*reader.op, reader.body, reader.extents, reader.is_member};
  }

  void compose(const Source& move, Reader* reader) const {
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

  bool suits(const Reader& reader, const Source& move) const {
    if (reader.tiles) {
      const Contraction& c = *reader.tiles;
      return (!reads(c.a, *move.op) || suits_rows(reader, composed(c.a, move, reader.extents))) &&
             (!reads(c.b, *move.op) || suits_columns(reader, composed(c.b, move, reader.extents)));
    }
    const std::vector<Expr> all = reads_in(reader.body, move.op);
    const PointsReader points = points_of(reader);
    const bool has_borders = chooses_values(points);
    if (suits_pixels(reader, move)) return true;
    return std::all_of(all.begin(), all.end(), [&](const Expr& read) {
      const Expr through = composed(read, move, reader.extents);
      if (has_borders && suits_choice(points, move, read, {through}, target_)) return true;
      if (!is_affine(through)) {
        return !reader.beside_sums && suits_in_blocks(points, through, target_);
      }
      return keeps_neighbours(read, through, reader.extents) ||
             (all.size() == 1 && suits_across(reader, *move.op, read, through));
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

  // A transpose: whoever makes vectors of rows takes columns, the move or its reader.
  bool suits_across(const Reader& reader, const Op& move, const Expr& read,
                    const Expr& through) const {
    const Op& op = *reader.op;
    const std::vector<size_t>& readers = readers_.at(&move);
    const auto is_stored = [&](size_t at) { return inlined_.count(all_[at].op) == 0; };
    if (reader.beside_sums || keeps_rows(move) ||
        std::count_if(readers.begin(), readers.end(), is_stored) != 1) {
      return false;
    }
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

  // A pixel shuffle: what the lanes of vectors through pixels and their values read lies near, and
  // is shuffled once, not when the move is stored and again when that is read.
  bool suits_pixels(const Reader& reader, const Source& move) const {
    if (reader.is_member || reader.op->combiner != Combiner::none) return false;
    Op through = *reader.op;
    through.body = with_composed_reads(reader.body, move, reader.extents);
    return merge_repeated_pixels(through, target_).has_value();
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
    if (views_.count(op.get()) > 0) {
      made->kind = OpKind::input;
      made->axes.clear();
      made->body = Expr();
      return (*replaced)[op.get()] = std::move(made);
    }
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
    std::stable_partition(live.begin(), live.end(),
                          [](const OpPtr& op) { return !is_computed(*op); });
    return Graph(std::move(live), std::move(outputs));
  }

  const Graph& grouped_;
  const Target& target_;
  const std::function<bool(const Op&)>& wanted_;
  std::vector<Reader> all_;
  std::unordered_map<const Op*, size_t> position_;
  std::unordered_map<const Op*, std::vector<size_t>> readers_;
  std::unordered_set<const Op*> outputs_;
  std::unordered_set<const Op*> apart_;  // see is_apart()
  std::unordered_set<const Op*> inlined_;
  std::unordered_set<const Op*> views_;  // of these, what is an argument to its readers
  std::unordered_map<const Op*, int> in_a_row_;
  std::set<std::string> moves_;
};

}  // namespace

ReadThrough read_through(const Graph& grouped, const Target& target,
                         const std::function<bool(const Op&)>& wanted) {
  return SourceFinder(grouped, target, wanted).find();
}

}  // namespace emulsion
