#include "passes/derive/waiting_sums.h"

#include <algorithm>
#include <unordered_map>

#include "dsl/error.h"
#include "passes/derive/derive_few_columns.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/sums_across.h"
#include "passes/derive/sums_of_maps.h"
#include "passes/derive/window_sums.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {

std::vector<const Op*> members_of(const WaitingSums& waiting) {
  std::vector<const Op*> members = {waiting.reader};
  members.insert(members.end(), waiting.sums.rbegin(), waiting.sums.rend());
  return members;
}

bool can_wait_in_vectors(const Op& sums, const Op& result, const Target& target) {
  return !has_register_tiles(sums) && has_sums_in_vectors(sums, target) &&
         !combines_many_rows(sums, target) && !combines_chosen_places(sums, target) &&
         !threads_share_rows(sums, target) && !sums_few_columns(sums, target) &&
         !sums_few_columns_of_each(sums, target) && !sums_of_maps(sums, target) &&
         !lies_across(sums, target) && !crosses(result, target);
}

bool can_wait_in_registers(const Op& sums, const Op& result, const Target& target) {
  if (!has_register_tiles(sums)) return can_wait_in_vectors(sums, result, target);
  return classify(sums) != OpClass::contraction && !crosses(result, target);
}

bool can_wait_together(const std::vector<const Op*>& sums, const Target& target) {
  constexpr size_t kMost = 4;
  constexpr int64_t kMostSteps = 64;
  const Op& first = *sums.front();
  const int64_t lanes = value_lanes(first, target);
  return sums.size() <= kMost && std::all_of(sums.begin(), sums.end(), [&](const Op* op) {
           const bool is_window = rows_of_windows(*op) > 1 || step_of_windows(*op) > 0;
           return is_window && steps_of_sum(*op, kMostSteps + 1) <= kMostSteps &&
                  rows_of_windows(*op) == rows_of_windows(first) && !has_register_tiles(*op) &&
                  value_lanes(*op, target) == lanes && !pixels_to_sum(*op, lanes) &&
                  !sums_up_quarters(*op);
         });
}

bool can_wait_with(const ValuesInSums& values, const WaitingSums& waiting, const Target& target) {
  const std::vector<const Op*> sums = with_values(waiting.sums, values);
  const Op& result = result_of(*waiting.reader);
  return std::all_of(sums.begin(), sums.end(),
                     [&](const Op* op) {
                       return has_register_tiles(*op) || can_wait_in_vectors(*op, result, target);
                     }) &&
         (sums.size() == 1 || can_wait_together(sums, target));
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

namespace {

// Whether tiles are derived for sums that have register tiles. Else they are a reduction, with
// loops of its own.
bool has_loops(const Op& sums, const Op& reader, const Schedule& nothing_said,
               const Target& target) {
  if (!has_register_tiles(sums)) return true;
  Schedule tried = nothing_said;  // of the same graph
  return derive_contraction({&sums, &result_of(reader)}, target, {}, &tried);
}

}  // namespace

std::vector<WaitingSums> waiting_sums(const Graph& grouped, const Target& target) {
  const Readers readers(grouped);
  const Schedule nothing_said(grouped);
  std::vector<WaitingSums> found;
  std::unordered_map<const Op*, size_t> first;  // by reader: the one of it that is found first
  for (const OpPtr& op : grouped.ops()) {
    if (!is_computed(*op)) continue;
    const std::vector<const Op*>* const reading = readers.only_readers(*op);
    if (reading == nullptr || reading->size() != 1) continue;
    const Op& reader = *reading->front();
    if (why_not_wait(*op, reader, target) || !has_loops(*op, reader, nothing_said, target))
      continue;
    const auto [same, is_new] = first.emplace(&reader, found.size());
    if (is_new) {
      found.push_back({{op.get()}, &reader});
      continue;
    }
    std::vector<const Op*>& sums = found[same->second].sums;
    sums.push_back(op.get());
    if (!can_wait_together(sums, target)) sums.pop_back();
  }
  return found;
}

}  // namespace emulsion
