#include "passes/derive/derive_sum_in_parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "dsl/index_arithmetic.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/stage_directives.h"
#include "passes/derive/sums_in_parts.h"

namespace emulsion {
namespace {

// How long the parts are into which an axis is cut: equal ones, some for each core, of whole steps
// of lanes, if they can be. Where nothing divides it, the last part is shorter.
int64_t steps_of_part(int64_t extent, int64_t step, const Target& target) {
  constexpr int64_t kPartsOfCore = 4;
  const int64_t most = kPartsOfCore * target.cores;
  for (const int64_t multiple : {step, int64_t{1}}) {
    for (int64_t parts = most; parts >= target.cores; --parts) {
      if (extent % (parts * multiple) == 0) return extent / parts;
    }
  }
  return ((extent + most - 1) / most + step - 1) / step * step;
}

// Of a sum of everything whose last reduction axes are merged by now.
std::optional<PartSizes> parts_of_all(const Op& op, const Target& target) {
  if (!elements_of_step(op) || element_count(op.shape) != 1) return std::nullopt;
  const std::optional<int64_t> extent = op.reduction_axes.front().extent().as_constant();
  if (!extent) return parts_of_rounds(op, target);
  const bool is_row = op.reduction_axes.size() == 1;
  const int64_t step = is_row ? kMostVectors * value_lanes(op, target) : 1;
  const int64_t steps = steps_of_part(*extent, step, target);
  const PartSizes sizes{(*extent + steps - 1) / steps, steps};
  return sizes.count < 2 ? std::nullopt : std::optional(sizes);
}

void sum_all_in_parts(const Op& op, const std::optional<MergedAxes>& merged, const PartSizes& sizes,
                      const Target& target, Schedule* schedule) {
  if (merged) merged->fuse(&(*schedule)[op.name]);
  const SumsInParts parts = cut_in_parts(merged ? merged->view : op, sizes, schedule);
  // Threads are woken once: not to start the sums in memory, and to add to these.
  Op sums = parts.part;
  sums.name = accumulator_of(parts.part, parts.part, schedule);
  (*schedule)[sums.name].compute_at(parts.part.name, parts.block);
  const SumsInLanes lanes = derive_sums_in_lanes(sums, target, schedule);
  (*schedule)[parts.part.name].parallel(parts.block);
  if (parts.uneven) {
    StageSchedule& stage = (*schedule)[lanes.stages.front()];
    if (!is_partitioned(stage, *parts.uneven)) stage.partition(*parts.uneven);
    const bool says_where = has_kind(stage.directives(), DirectiveKind::store_in);
    if (!says_where) stage.store_in(Memory::registers);  // else there already
  }
  lanes.compute_at(parts.part.name, parts.block, schedule);
}

// Sums over a run-time length: of everything, or of the rows of a few columns.
class SumsOfMuch {
 public:
  SumsOfMuch(const Op& op, const Target& target) : op_(op), target_(target) {
    if (op.reduction_axes.front().extent().is_constant() || target.cores < 2) return;
    if (has_sums_in_lanes(op, target)) {
      cut_all();
    } else {
      cut_rows();
    }
  }

  // Nothing where threads do not share it so.
  std::optional<Expr> is_much() const {
    if (!sizes_) return std::nullopt;
    const int64_t of_round =
        saturated_product(sizes_->count * sizes_->steps, elements_of_step(op_).value());
    return reaches(work_of_sums(op_), std::max(of_round, points_for_threads({&op_}, target_)));
  }

  void derive(Schedule* schedule) const {
    if (!is_of_columns_) return sum_all_in_parts(op_, std::nullopt, *sizes_, target_, schedule);
    Op rows = op_;
    if (summed_columns_) {
      rows = of_columns(fresh_stage(*schedule, op_.name + "_columns"));
      (*schedule)[op_.name].rfactor(*summed_columns_, rows.name);
    }
    derive_rows_in_parts(rows, *sizes_, target_, schedule);
  }

 private:
  // The last round is computed in as many steps as the others. Where it may end inside a vector of
  // rows that are merged, or no mask says where, its elements would be loaded one by one: so there
  // are sums of columns first.
  void cut_all() {
    const Axis& last = op_.reduction_axes.back();
    const bool is_row = op_.reduction_axes.size() == 1;
    const bool ends_between = last.extent().exact_quotient(value_lanes(op_, target_)).has_value();
    if (ends_between || (is_row && !lacks_masks(op_, target_))) {
      sizes_ = parts_of_all(op_, target_);
    } else if (op_.reduction_axes.size() == 2 && last.extent().is_constant()) {
      summed_columns_ = last;
      cut_rows();
    }
  }

  void cut_rows() {
    is_of_columns_ = true;
    sizes_ = parts_of_rows(summed_columns_ ? of_columns(op_.name) : op_, target_);
  }

  // s = sum({r, c}, e)  ->  columns[c] = sum(r, e); s = sum(c, columns)
  Op of_columns(const std::string& name) const {
    Op columns = op_;
    columns.name = name;
    columns.axes.push_back(*summed_columns_);
    columns.shape.push_back(summed_columns_->extent());
    columns.reduction_axes.pop_back();
    return columns;
  }

  const Op& op_;
  const Target& target_;
  std::optional<Axis> summed_columns_;
  std::optional<PartSizes> sizes_;
  bool is_of_columns_ = false;
};

}  // namespace

bool derive_sum_in_parts(const Op& op, const Target& target, Schedule* schedule) {
  if (!wakes_threads_to_sum(op, target)) return false;
  const std::optional<MergedAxes> merged = merge_reduction_axes(op, target);
  const Op view = merged ? merged->view : op;
  if (!view.reduction_axes.front().extent().is_constant()) return false;
  const std::optional<PartSizes> sizes = parts_of_all(view, target);
  if (sizes) sum_all_in_parts(op, merged, *sizes, target, schedule);
  return sizes.has_value();
}

bool derive_parts_of_much(const Op& sums, const Op& reader, const Target& target,
                          const PartsOrNot& derive, Schedule* schedule) {
  const Op& result = result_of(reader);
  if (!can_have_ways(result, *schedule)) return false;
  const SumsOfMuch much(sums, target);
  const std::optional<Expr> condition = much.is_much();
  if (!condition || !condition->defined()) return false;
  AlternativeWay way{"_in_parts", *condition, schedule->without_directives()};
  way.schedule = beside_way(result, way, *schedule);  // it has no ways itself
  much.derive(&way.schedule);
  if (derive.reader) derive.reader(&way.schedule);
  Schedule otherwise = beside_way(result, way, *schedule);
  derive.otherwise(&otherwise);
  add_ways(result, {way}, otherwise, schedule);
  return true;
}

}  // namespace emulsion
