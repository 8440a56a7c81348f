#include "passes/derive/values_in_points.h"

#include <algorithm>
#include <cstdint>

#include "passes/analyse/recognise_op.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_borders.h"

namespace emulsion {
namespace {

// Whether vectors of the reader are of a value what its own would be, which take every second
// element of what it reads, or whatever it takes.
bool has_vectors_of(const Op& reader, const Op& value, const Expr& there, const Target& target) {
  if (reader.axes.empty()) return false;
  const Axis& along = reader.axes[vector_axis(reader, target)];
  return !is_move(value) && vector_axis(value, target) + 1 == value.axes.size() &&
         step_of(there, along.name()) == Step::neighbour;
}

// Whether vectors would take their elements across several operands: of the value they take them
// across one.
bool crosses_often(const Op& reader, const std::vector<Expr>& reads, const Target& target) {
  if (reader.axes.empty()) return false;
  const std::string& along = reader.axes[vector_axis(reader, target)].name();
  return std::count_if(reads.begin(), reads.end(), [&](const Expr& read) {
           return is_affine(read) && step_of(read, along) == Step::elsewhere;
         }) > 1;
}

// Whether fuse_epilogues() could have taken it, and was not to: an elementwise operation reads
// it, not a move, and all of it at its own axes.
bool is_fusable(const Op& value, const Op& reader) {
  return classify(reader) == OpClass::elementwise && reads_at_own_place(value, reader);
}

}  // namespace

bool suits_in_blocks(const PointsReader& reader, const Expr& through, const Target& target) {
  const Op& op = reader.op;
  if (op.combiner != Combiner::none || op.axes.empty()) return false;
  const Axis& along = op.axes[vector_axis(op, target)];
  const int64_t lanes = value_lanes(op, target);
  if (step_of(through, along.name()) != Step::elsewhere) return true;  // whatever rows do
  return along.extent().exact_quotient(lanes) &&
         (step_in_blocks(through, along.name(), lanes, reader.extents) != Step::elsewhere ||
          repeats_in_blocks(through, along.name(), lanes, reader.extents));
}

bool chooses_values(const PointsReader& reader) {
  return !reader.is_member && reader.op.combiner == Combiner::none &&
         chooses_by_place(reader.body, Choice::of_values);
}

bool suits_choice(const PointsReader& reader, const Source& value, const Expr& read,
                  const std::vector<Expr>& through, const Target& target) {
  const Expr there = without_clamped_indices(read);
  Op chooses = reader.op;
  chooses.body = with_composed_reads(reader.body, value, reader.extents);
  const bool as_stored = has_vectors_of(reader.op, *value.written, there, target);
  return is_affine(there) && !why_not_cut(chooses, target) &&
         std::all_of(through.begin(), through.end(), [&](const Expr& one) {
           const Expr plain = without_clamped_indices(one);
           return is_affine(plain) && (as_stored || keeps_neighbours(there, plain, reader.extents));
         });
}

bool suits_value(const PointsReader& reader, const Source& value, bool is_elementwise,
                 const Target& target) {
  const std::vector<Expr> reads = reads_in(reader.body, value.op);
  if (reads.size() != 1 || is_fusable(*value.op, reader.op)) return false;
  const Expr& read = reads[0];
  const std::vector<Expr> through = reads_in(composed(read, value, reader.extents));
  const auto by_data = [](const Expr& one) {
    return std::any_of(one->args.begin(), one->args.end(), reads_data);
  };
  if (std::any_of(through.begin(), through.end(), by_data)) return false;
  if (chooses_values(reader) && (is_elementwise || !has_borders(*value.written))) {
    return suits_choice(reader, value, read, through, target);
  }
  if (!is_elementwise) return false;
  if (!has_no_more_steps(reader.extents, value.op->shape) ||
      crosses_often(reader.op, through, target)) {
    return false;
  }
  return std::all_of(through.begin(), through.end(), [&](const Expr& one) {
    return is_affine(one) ? keeps_neighbours(read, one, reader.extents)
                          : suits_in_blocks(reader, one, target);
  });
}

}  // namespace emulsion
