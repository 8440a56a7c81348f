#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/row_blocks.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// The contraction and its result; what is between these is computed inline.
ContractionGroup group_of(const Op& op, Schedule* schedule) {
  inline_members(op, sums_of(op), schedule);
  return {sums_of(op), &result_of(op)};
}

// Up to how many rows of a run-time number of them all are computed at a time.
struct ManyRows {
  std::string suffix;
  int64_t most;
  bool may_share;  // whether there may be enough of them for threads
};

// Products of a chain take about as long as one another.
double part_of_reader(const BlockGroup& blocks) {
  return 1.0 / static_cast<double>(1 + blocks.products.size());
}

// Whether so many rows, of as many columns, are enough for the threads, whatever else a run-time
// size decides.
bool are_enough(const BlockGroup& blocks, const Extent& rows, int64_t count, const Target& target) {
  double points = 1;
  const auto add = [&](const Extent& extent) {
    if (extent == rows) return void(points *= static_cast<double>(count));
    points *= static_cast<double>(extent.as_constant().value_or(INT32_MAX));
  };
  for (const Extent& extent : blocks.reader->shape) add(extent);
  for (const Axis& axis : sums_of(*blocks.reader)->reduction_axes) add(axis.extent());
  const auto least = static_cast<double>(products_for_threads(target));
  return target.cores > 1 && points >= part_of_reader(blocks) * least;
}

// Of blocks more rows would be computed than there are. All of a few rows, of as many columns each,
// are on the stack, where there is room for them once, or twice in a kernel that may have threads
// or not; of more they are on the heap, as long as a cache holds them.
std::vector<ManyRows> all_rows_of(const BlockGroup& blocks, const Target& target) {
  constexpr int64_t kFew = 48, kFewForThreads = 32, kSome = 128;
  const size_t at = blocks.rows.axes().size() - 1;
  const Extent& rows = blocks.reader->shape[at];
  if (at == 0 || !is_what_is_left_of_a_size(rows)) return {};
  if (blocks.rows.reader().shape.back() != rows) return {};
  std::vector<ManyRows> all;
  const bool may_share = are_enough(blocks, rows, kFew, target);
  const int64_t few = may_share ? kFewForThreads : kFew;
  all.push_back({"_few", few, are_enough(blocks, rows, few, target)});
  // Where the loops outside are not enough for the threads, these share blocks.
  const std::optional<int64_t> outer =
      element_count(Shape(blocks.reader->shape.begin(), blocks.reader->shape.begin() + at));
  if (outer.value_or(target.cores) >= target.cores) all.push_back({"_some", kSome, true});
  return all;
}

// By blocks of `rows`, or of all rows.
void derive_blocks(const BlockGroup& blocks, std::optional<int64_t> rows, bool may_share,
                   const Target& target, const DeriveOptions& options, Schedule* schedule) {
  const BlockLoops loops =
      derive_reader_of_blocks(group_of(*blocks.reader, schedule), rows, target, options, schedule,
                              {part_of_reader(blocks), may_share});
  derive_rows(blocks.rows, target, schedule, &loops);
  for (const Op* product : blocks.products) {
    derive_product_in_blocks(group_of(*product, schedule), loops, target, options, schedule);
  }
  if (!rows) return;
  // Rows of run-time length are on the heap, which is asked for them once for many blocks.
  for (const Op* op : members_of(blocks)) {
    if (op == blocks.reader || elements_from(*op, blocks.rows.axes().size())) continue;
    if (is_inline(*schedule, result_of(*op).name)) continue;
    (*schedule)[result_of(*op).name].hoist_storage(loops.reader, loops.storage);
  }
}

}  // namespace

void derive_row_blocks(const BlockGroup& blocks, const Target& target, const DeriveOptions& options,
                       Schedule* schedule) {
  const Op& reader = result_of(*blocks.reader);
  const std::vector<ManyRows> all_rows = all_rows_of(blocks, target);
  if (all_rows.empty() || !can_have_ways(reader, *schedule)) {
    return derive_blocks(blocks, blocks.block, true, target, options, schedule);
  }
  const Expr rows = extent_value(reader.shape[blocks.rows.axes().size() - 1]);
  std::vector<AlternativeWay> ways;
  for (const ManyRows& all : all_rows) {
    ways.push_back({all.suffix, rows <= int_constant(all.most), schedule->without_directives()});
    derive_blocks(blocks, std::nullopt, all.may_share, target, options, &ways.back().schedule);
  }
  Schedule longer = schedule->without_directives();
  derive_blocks(blocks, blocks.block, true, target, options, &longer);
  add_ways(reader, ways, longer, schedule);
}

}  // namespace emulsion
