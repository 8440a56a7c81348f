#include "passes/derive/small_rows.h"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "dsl/affine.h"
#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/few_small_rows.h"
#include "passes/derive/merge_row_axes.h"
#include "passes/derive/rows_at_a_time.h"
#include "passes/derive/vector_lanes.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/index/simplify_index.h"
#include "passes/index/simplify_quotients.h"

namespace emulsion {
namespace {

// A chain of any length is derived and lowered in time that grows with it, group by group.
constexpr size_t kMostMembers = 33;
// Of a thing, in registers or near; and of a row that is one.
constexpr int64_t kMostElements = 16, kMostOfRow = 24;
// Vectors along so few elements would be nearly empty.
constexpr int64_t kFewElements = 7;
// Operations that are written out for the elements of all that a group has.
constexpr int64_t kMostWrittenOut = 8192;
// Series (takes_series) that are. LLVM takes several seconds to compile so many, of twice as many
// half a minute, and where rows have more of them, these take longest, in whatever vectors they
// are.
constexpr int64_t kMostSeries = 64;
// What four lanes of any machine's vectors hold. Of fewer bytes nothing is gathered.
constexpr int64_t kLeastBytes = 4;

// Those behind the first, and what is summed up, of several steps.
std::vector<Axis> axes_within(const Op& op, size_t rows) {
  std::vector<Axis> within = op.reduction_axes;
  for (size_t i = rows; i < op.axes.size(); ++i) within.push_back(op.axes[i]);
  within.erase(std::remove_if(within.begin(), within.end(),
                              [](const Axis& axis) { return axis.extent() == Extent(1); }),
               within.end());
  return within;
}

// Of elements that fill a vector, those of the elements: in one step all of these are computed
// alike, whichever step it is.
std::vector<Axis> axes_that_differ(const Op& part, size_t rows) {
  constexpr int64_t kShortestVector = 4;
  std::vector<Axis> within = axes_within(part, rows), elements;
  int64_t count = 1;
  for (const Axis& axis : within) {
    if (!axis_index(part.axes, axis.name())) continue;
    count = saturated_product(count, axis.extent().as_constant().value_or(1));
    elements.push_back(axis);
  }
  return count >= kShortestVector ? elements : within;
}

bool mentions_any(const Expr& e, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return mentions(e, axis.name()); });
}

// An operation, or the members of a group.
std::vector<const Op*> parts_of(const Op& op) {
  if (op.kind != OpKind::fused) return {&op};
  std::vector<const Op*> parts;
  for (const OpPtr& member : op.members) parts.push_back(member.get());
  return parts;
}

// Whether the place in memory that is read is a sum of multiples: as of a reshape, whose quotients
// and remainders cancel there.
bool reads_in_strides(const Expr& read, const std::vector<Axis>& within) {
  Expr place = int_constant(0);
  std::optional<int64_t> stride = 1;
  for (size_t i = read->args.size(); i-- > 0;) {
    if (mentions_any(read->args[i], within)) {
      // Where it is not known, no quotient of another index cancels.
      if (!stride && !affine_of(read->args[i])) return false;
      if (stride) place = place + read->args[i] * int_constant(*stride);
    }
    const std::optional<int64_t> extent = read->tensor->shape[i].as_constant();
    stride = stride && extent ? std::optional(saturated_product(*stride, *extent)) : std::nullopt;
  }
  AxisExtents extents;
  for (const Axis& axis : within) extents[axis.name()] = axis.extent();
  return affine_of(simplify_quotients(place, extents)).has_value();
}

bool reads_narrow(const Op& op) {
  const std::vector<Expr> reads = reads_in(op.body);
  return size_in_bytes(op.dtype) < kLeastBytes ||
         std::any_of(reads.begin(), reads.end(),
                     [](const Expr& read) { return size_in_bytes(read.dtype()) < kLeastBytes; });
}

int64_t written_out_of(const Op& op, size_t rows) {
  const int64_t points = points_beside(op, first_axes(rows)).value_or(kMostWrittenOut);
  return saturated_product(points, FusionLegality::written_out(op, {}).nodes);
}

int64_t series_of(const Op& op, size_t rows) {
  const int64_t points = points_beside(op, first_axes(rows)).value_or(kMostSeries);
  return saturated_product(points, series_in(op));
}

// Whether there are enough of them for vectors along the last axis that says which.
bool has_many(const Op& op, size_t rows, const Target& target) {
  const int64_t lanes = lanes_apart(op, target);
  return op.axes[rows - 1].extent().as_constant().value_or(lanes) >= lanes;
}

// The same along all of these axes, if they lie one after another.
bool has_many_merged(const RowGroup& group, const Target& target) {
  const std::optional<MergedRows> merged = merge_row_axes(group);
  if (!merged) return false;
  const RowGroup& rows = merged->group;
  return has_many(result_of(rows.reader()), rows.axes().size(), target);
}

class SmallRowsBuilder {
 public:
  SmallRowsBuilder(const Op& reader, const Readers& readers,
                   const std::unordered_set<const Op*>& taken)
      : readers_(readers), taken_(taken), rows_(axes_of_things(reader)) {
    add(reader);
  }

  RowGroup build() {
    bool is_larger = true;
    while (is_larger) {
      is_larger = false;
      for (const Op* member : members_of(group_)) {
        for (const OpPtr& operand : operands(*member)) {
          if (group_.members.size() == kMostMembers || !may_join(*operand)) continue;
          add(*operand);
          is_larger = true;
        }
      }
    }
    std::sort(group_.members.begin(), group_.members.end(), [&](const auto& a, const auto& b) {
      return readers_.position_of(*a.op) > readers_.position_of(*b.op);
    });
    return std::move(group_);
  }

 private:
  void add(const Op& op) {
    inside_.insert(&op);
    group_.members.push_back({&op, first_axes(rows_)});
    written_out_ += written_out_of(op, rows_);
    series_ += series_of(op, rows_);
  }

  bool may_join(const Op& op) const {
    if (inside_.count(&op) > 0 || taken_.count(&op) > 0 || why_not_small(op, rows_)) return false;
    if (written_out_ + written_out_of(op, rows_) > kMostWrittenOut) return false;
    if (series_ + series_of(op, rows_) > kMostSeries) return false;
    const auto is_inside = [&](const Op& by) { return inside_.count(&by) > 0; };
    if (readers_.why_not_only(op, is_inside)) return false;
    const std::vector<const Op*>& reading = readers_.readers_of(op);
    return std::none_of(reading.begin(), reading.end(), [&](const Op* reader) {
      return why_not_same_rows(op, *reader, rows_).has_value();
    });
  }

  const Readers& readers_;
  const std::unordered_set<const Op*>& taken_;
  size_t rows_;
  RowGroup group_;
  std::unordered_set<const Op*> inside_;
  int64_t written_out_ = 0, series_ = 0;
};

// Whether vectors of sums, one of each thing, step over the few elements of these: each lane has a
// thing, though not what is computed with the sums.
bool steps_over_elements(const Op& sums, size_t rows, const Target& target) {
  return sums.axes.size() <= rows && !keeps_sums_in_registers(sums, target) &&
         !combines_many_rows(sums, target) && steps_a_little(sums, sums.axes.back());
}

// Whether elements of a thing are combined, and not beside one another in vectors. Of vectors that
// step over a few elements, those of four lanes take no longer in loops of their own.
bool combines_elements(const Op& op, size_t rows, const Target& target) {
  const Op* sums = sums_of(op);
  if (sums == nullptr || combines_many_rows(*sums, target)) return false;
  if (!has_sums_in_vectors(*sums, target)) return true;
  return target.has("avx") && steps_over_elements(*sums, rows, target);
}

bool combines_maxima(const Op& op) {
  const Op* sums = sums_of(op);
  return sums != nullptr && (sums->combiner == Combiner::max || sums->combiner == Combiner::min);
}

// What a group has that says up to how many elements of a thing are computed in one way.
struct Alike {
  bool has_maxima, has_series;
  bool is_known;   // the number of rows
  bool is_narrow;  // at most four bytes
};

// Up to how many: each is a vector, across as many things as it has lanes. They are loaded and
// stored in small parts of rows, and transposed (transpose_rows.h), which takes no longer than to
// combine the lanes of each row while they are in registers; nor where some are not, if there are
// maxima, of which two take several instructions for NaN. Of a run-time number of rows the last
// ones are as many lanes, however few there are; where masks lack, each lane of these is a branch.
// Of eight bytes a part has two elements.
int64_t most_alike(const Alike& alike, const Target& target) {
  constexpr int64_t kFewer = 5, kVector = 8;
  if (!target.has("avx")) return alike.has_series ? kFewElements : (alike.is_known ? kFewer : 0);
  if (!alike.is_narrow) return alike.has_series ? kFewElements : kVector;
  if (alike.has_maxima) return kMostOfRow;
  if (!alike.is_known && alike.has_series) return kFewElements;
  if (!target.has("avx512_skylake")) return kVector;
  return alike.is_known ? kMostOfRow : kMostElements;
}

// Whether it pays to have a thing in each lane although all its elements are computed in one way.
// What is behind a norm of a known number of rows has full vectors by itself; of a run-time number
// the norm would be computed a few rows at a time, in vectors that are nearly empty
// (layer_norm_gelu of `//benchmarks:fusion_sweep`).
bool pays_for_sums(const RowGroup& group, const Target& target) {
  constexpr int64_t kMostBytes = 4;
  const auto any = [&](const std::function<bool(const Op&)>& holds) {
    return std::any_of(group.members.begin(), group.members.end(),
                       [&](const RowGroup::Member& member) { return holds(*member.op); });
  };
  const std::vector<size_t> rows = first_axes(group.axes().size());
  if (!any([&](const Op& op) { return combines_elements(op, rows.size(), target); })) return false;
  const Alike alike{any(combines_maxima), any(takes_series),
                    group.reader().shape[rows.back()].is_constant(),
                    !any([](const Op& op) { return size_in_bytes(op.dtype) > kMostBytes; })};
  const int64_t most = most_alike(alike, target);
  const auto is_long = [&](const Op& op) {
    return elements_of_row(op, rows).value_or(most + 1) > most ||
           points_beside(op, rows).value_or(most + 1) > most;
  };
  return !any(is_long) && !(alike.is_known && stored_for_series(group) != nullptr);
}

// Why things of so few elements that vectors of sums step over these are not computed together:
// nothing where others look at them as rows.
std::optional<std::string> why_not_few_elements(const RowGroup& group, bool is_many,
                                                const Target& target) {
  const size_t rows = group.axes().size();
  const bool steps_over =
      std::any_of(group.members.begin(), group.members.end(), [&](const RowGroup::Member& member) {
        const Op* sums = sums_of(*member.op);
        return sums != nullptr && steps_over_elements(*sums, rows, target);
      });
  if (!steps_over) return std::nullopt;
  const Op& reader = result_of(group.reader());
  if (!is_many) {
    return fmt::format("expected at least {} rows of {} for a vector across them",
                       lanes_apart(reader, target), reader.name);
  }
  if (!target.has("avx")) {
    return fmt::format("expected a target with AVX for vectors across the rows of {}", reader.name);
  }
  if (stored_for_series(group) != nullptr) {
    return fmt::format("expected no series behind the sums of each row of {}", reader.name);
  }
  return fmt::format("expected fewer elements in a row of {} for vectors across them", reader.name);
}

// Whether vectors would lie along its rows, of many elements.
bool has_many_elements(const Op& op, size_t rows) {
  return elements_of_row(op, first_axes(rows)).value_or(kMostOfRow) > kFewElements;
}

bool are_of_same_rows(const Op& producer, const Op& reader, size_t rows) {
  return !why_not_in_rows(producer) && !why_not_in_rows(reader) && producer.shape.size() >= rows &&
         reader.shape.size() >= rows && !why_not_same_rows(producer, reader, rows);
}

// Whether one value of each row is read, as it is or through a few others, along rows of many
// elements.
bool is_read_along_rows(const Op& value, size_t rows, const Readers& readers) {
  std::vector<const Op*> values = {&value};  // one of each row
  for (size_t i = 0; i < values.size() && values.size() <= kMostMembers; ++i) {
    const Op& one = *values[i];
    for (const Op* reader : readers.readers_of(one)) {
      if (!are_of_same_rows(one, *reader, rows)) continue;
      if (!is_one_in_a_row(*reader, first_axes(rows))) {
        if (has_many_elements(*reader, rows)) return true;
      } else if (std::count(values.begin(), values.end(), reader) == 0) {
        values.push_back(reader);
      }
    }
  }
  return false;
}

// Whether it is a part of what is computed in vectors along its rows: it ends in one value of each
// row which others read along them, or it reads such a value that is kept with them.
bool is_part_of_rows(const RowGroup& group, const Readers& readers, const Target& target) {
  const size_t rows = group.axes().size();
  const Op& reader = group.reader();
  if (is_one_in_a_row(reader, group.axes())) return is_read_along_rows(reader, rows, readers);
  if (!has_many_elements(reader, rows)) return false;
  const std::vector<const Op*> members = members_of(group);
  return std::any_of(members.begin(), members.end(), [&](const Op* member) {
    const std::vector<OpPtr> read = operands(*member);
    return std::any_of(read.begin(), read.end(), [&](const OpPtr& one) {
      return std::count(members.begin(), members.end(), one.get()) == 0 && is_computed(*one) &&
             is_one_in_a_row(*one, group.axes()) && are_of_same_rows(*one, *member, rows) &&
             !why_not_worth_keeping({one.get(), group.axes()}, group, target);
    });
  });
}

bool differs(const RowGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](const RowGroup::Member& member) {
                       return differs_by_element(*member.op, group.axes().size());
                     });
}

bool may_be_last(const Op& op) {
  const size_t rows = axes_of_things(op);
  return rows > 0 && !why_not_small(op, rows) && written_out_of(op, rows) <= kMostWrittenOut &&
         series_of(op, rows) <= kMostSeries;
}

// How many rows a vector across them has, of as few vectors as all rows need.
double rows_of_vector(const RowGroup& group, const Target& target) {
  const int64_t lanes = lanes_apart(result_of(group.reader()), target);
  const int64_t rows = group.reader().shape[group.axes().back()].as_constant().value_or(lanes);
  const int64_t vectors = std::max<int64_t>((rows + lanes - 1) / lanes, 1);
  return static_cast<double>(rows) / static_cast<double>(vectors);
}

void derive_in_lanes(const RowGroup& group, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(group.reader());
  const bool may_have_ways = !keeps_any(group) && can_have_ways(reader, *schedule);
  if (may_have_ways && group.may_go_along && derive_few_or_many(group, target, schedule)) return;
  const std::optional<FewRows> few = few_rows_in_step(group, target, lanes_apart(reader, target));
  if (!few || !may_have_ways) return derive_rows_in_each_lane(group, Expr(), target, schedule);
  AlternativeWay way{"_apart", few->condition, schedule->without_directives()};
  derive_rows_in_each_lane(few->group, Expr(), target, &way.schedule);
  Schedule otherwise = schedule->without_directives();
  derive_rows_in_each_lane(group, Expr(), target, &otherwise);
  add_ways(reader, {way}, otherwise, schedule);
}

}  // namespace

size_t axes_of_things(const Op& op) {
  int64_t elements = 1;
  size_t rows = op.shape.size();
  while (rows > 0) {
    const std::optional<int64_t> extent = op.shape[rows - 1].as_constant();
    const int64_t most = elements == 1 ? kMostOfRow : kMostElements;
    if (!extent || *extent == 0 || elements * *extent > most) break;
    elements *= *extent;
    --rows;
  }
  return rows;
}

std::optional<std::string> why_not_small(const Op& op, size_t rows) {
  if (std::optional<std::string> reason = why_not_in_rows(op)) return reason;
  if (op.shape.size() < rows) {
    return fmt::format("expected {} to have {} to say which, got {}", op.name,
                       count_text(rows, "axis", "axes"), op.shape.size());
  }
  for (const Op* part : parts_of(op)) {
    if (!reads_narrow(*part)) continue;
    return fmt::format("expected values of at least {} bytes in {}", kLeastBytes, part->name);
  }
  const std::optional<int64_t> elements = elements_of_row(op, first_axes(rows));
  const std::optional<int64_t> points = points_beside(op, first_axes(rows));
  if (elements && points && *elements <= kMostOfRow && *points <= kMostElements * kMostElements) {
    return std::nullopt;
  }
  return fmt::format("expected at most {} elements of {}, each of at most {} steps", kMostOfRow,
                     op.name, kMostElements);
}

bool differs_by_element(const Op& op, size_t rows) {
  const auto differs = [&](const Op& part) {
    if (chooses_by_place(part.body, Choice::of_elements)) return false;
    const std::vector<Axis> within = axes_that_differ(part, rows);
    return any_part(part.body, [&](const Expr& e) {
      if (e->op == ExprOp::read) {
        const bool is_data = std::any_of(e->args.begin(), e->args.end(), reads_data);
        return !is_data && !reads_in_strides(e, within);
      }
      return e->op == ExprOp::select && mentions_any(e->args[0], within) && !reads_data(e->args[0]);
    });
  };
  const std::vector<const Op*> parts = parts_of(op);
  return std::any_of(parts.begin(), parts.end(), [&](const Op* part) { return differs(*part); });
}

std::optional<RowGroup> small_rows_alone(const Op& op, const Target& target) {
  if (!is_computed(op) || !may_be_last(op)) return std::nullopt;
  const size_t rows = axes_of_things(op);
  if (!has_many(result_of(op), rows, target)) return std::nullopt;
  // Those of one axis are pixels, or a vector; and loops are cut at borders.
  const bool is_pixel = axes_within(result_of(op), rows).size() < 2;
  if (is_pixel || has_borders(op) || !differs_by_element(op, rows)) return std::nullopt;
  return RowGroup{{{&op, first_axes(rows)}}};
}

std::optional<RowGroup> small_rows_of(const Op& reader, const Readers& readers,
                                      const Target& target,
                                      const std::unordered_set<const Op*>& taken,
                                      std::vector<DeclinedRows>* declined) {
  if (!is_computed(reader) || !may_be_last(reader)) return std::nullopt;
  RowGroup group = SmallRowsBuilder(reader, readers, taken).build();
  if (group.members.size() < 2) return std::nullopt;
  const bool is_many =
      has_many(result_of(reader), group.axes().size(), target) || has_many_merged(group, target);
  if (is_many && differs(group)) return group;
  if (!is_many || !pays_for_sums(group, target)) {
    std::optional<std::string> reason = why_not_few_elements(group, is_many, target);
    if (declined != nullptr && reason) declined->push_back({members_of(group), *std::move(reason)});
    return std::nullopt;
  }
  if (is_part_of_rows(group, readers, target)) return std::nullopt;
  return along_elements_too(group, readers, target, taken);
}

std::vector<RowGroup> small_rows(const Graph& grouped, const Target& target,
                                 const std::unordered_set<const Op*>& taken,
                                 std::vector<DeclinedRows>* declined) {
  std::unordered_set<const Op*> in_groups = taken;
  const Readers readers(grouped);
  std::vector<RowGroup> groups;
  for (auto op = grouped.ops().rbegin(); op != grouped.ops().rend(); ++op) {
    if (in_groups.count(op->get()) > 0) continue;
    std::optional<RowGroup> group = small_rows_of(**op, readers, target, in_groups, declined);
    if (!group) continue;
    for (const Op* member : members_of(*group)) in_groups.insert(member);
    groups.push_back(*std::move(group));
  }
  return groups;
}

void derive_small_rows(const RowGroup& group, const Target& target, Schedule* schedule) {
  const auto at_a_time = [&](const RowGroup& rows) { return rows_of_vector(rows, target); };
  const auto derive = [&](const RowGroup& rows, Schedule* of_rows) {
    derive_in_lanes(rows, target, of_rows);
  };
  derive_with_merged_axes(group, at_a_time, derive, schedule);
}

}  // namespace emulsion
