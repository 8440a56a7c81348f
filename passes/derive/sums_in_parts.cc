#include "passes/derive/sums_in_parts.h"

#include <algorithm>
#include <string>

#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_stage.h"

namespace emulsion {

SumsInParts cut_in_parts(const Op& op, const PartSizes& sizes, Schedule* schedule) {
  const Axis rows = op.reduction_axes.front();
  const Axis block(fresh_axis(op, "block"), sizes.count);
  SumsInParts made{op, block, std::nullopt};
  Op& part = made.part;
  part.name = fresh_stage(*schedule, op.name + "_parts");
  part.axes.insert(part.axes.begin(), block);
  part.shape.insert(part.shape.begin(), block.extent());
  part.reduction_axes.front() = Axis(rows.name(), sizes.steps);
  StageSchedule& stage = (*schedule)[op.name];
  if (!rows.extent().is_constant()) {
    const Axis round(fresh_axis(op, "round"), rows.extent());
    part.reduction_axes.insert(part.reduction_axes.begin(), round);
    stage.split(rows, round, rows, sizes.count * sizes.steps);
    made.uneven = round;
  } else if (rows.extent() != Extent(sizes.count * sizes.steps)) {
    made.uneven = rows;
  }
  stage.split(rows, block, rows, sizes.steps).rfactor(block, part.name);
  return made;
}

std::optional<int64_t> elements_of_step(const Op& op) {
  int64_t elements = element_count(op.shape).value_or(0);
  for (size_t i = 1; i < op.reduction_axes.size(); ++i) {
    elements = saturated_product(elements, op.reduction_axes[i].extent().as_constant().value_or(0));
  }
  return elements > 0 ? std::optional(elements) : std::nullopt;
}

// Long parts, which the processor fetches ahead of, and few: more are no better balanced, for each
// thread takes as many of every round. Of whole numbers of the rows that are combined at a time.
std::optional<PartSizes> parts_of_rounds(const Op& op, const Target& target) {
  constexpr int64_t kPartsOfCore = 2, kElementsOfPart = 16384, kRowsAtATime = 16;
  const std::optional<int64_t> elements = elements_of_step(op);
  if (!elements) return std::nullopt;
  const int64_t rows = op.reduction_axes.size() == 1 ? kRowsAtATime : 1;
  const int64_t steps = std::max<int64_t>(kElementsOfPart / *elements / rows, 1) * rows;
  return PartSizes{kPartsOfCore * target.cores, steps};
}

}  // namespace emulsion
