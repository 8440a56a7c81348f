#include "passes/derive/waiting_sums.h"

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {

std::vector<const Op*> members_of(const WaitingSums& waiting) {
  return {waiting.reader, waiting.sums};
}

bool can_wait_in_vectors(const Op& sums, const Op& result, const Target& target) {
  return !has_register_tiles(sums) && keeps_sums_in_registers(sums, target) &&
         !combines_many_rows(sums, target) && !crosses(result, target);
}

bool can_wait_in_registers(const Op& sums, const Op& result, const Target& target) {
  if (!has_register_tiles(sums)) return can_wait_in_vectors(sums, result, target);
  return classify(sums) != OpClass::contraction && !crosses(result, target);
}

std::optional<std::string> why_not_wait(const Op& sums, const Op& reader, const Target& target) {
  if (sums.kind != OpKind::compute || sums.combiner == Combiner::none) {
    return fmt::format("expected {} to be sums, and nothing behind them", sums.name);
  }
  if (is_always_empty(sums)) return fmt::format("expected {} to have elements", sums.name);
  if (!is_computed(reader)) return fmt::format("expected {} to be computed", reader.name);
  if (!fits_one_expression(reader)) {
    return fmt::format("expected {} to be a group that fits one expression", reader.name);
  }
  if (sums_of(reader) != nullptr) {
    return fmt::format("expected {} to combine nothing itself", reader.name);
  }
  if (!can_wait_in_registers(sums, result_of(reader), target)) {
    return fmt::format("expected {} to be in registers while {} is computed", sums.name,
                       reader.name);
  }
  if (!reads_at_own_place(sums, reader)) {
    return fmt::format("expected {} to read {} at its own places alone", reader.name, sums.name);
  }
  return std::nullopt;
}

std::vector<WaitingSums> waiting_sums(const Graph& grouped, const Target& target) {
  const Readers readers(grouped);
  std::vector<WaitingSums> found;
  for (const OpPtr& op : grouped.ops()) {
    if (!is_computed(*op)) continue;
    const std::vector<const Op*>* const reading = readers.only_readers(*op);
    if (reading == nullptr || reading->size() != 1) continue;
    const Op& reader = *reading->front();
    if (!why_not_wait(*op, reader, target)) found.push_back({op.get(), &reader});
  }
  return found;
}

}  // namespace emulsion
