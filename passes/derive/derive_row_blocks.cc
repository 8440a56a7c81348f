#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/row_blocks.h"

namespace emulsion {
namespace {

// The contraction and its result; what is between these is computed inline.
ContractionGroup group_of(const Op& op, Schedule* schedule) {
  inline_members(op, sums_of(op), schedule);
  return {sums_of(op), &result_of(op)};
}

}  // namespace

void derive_row_blocks(const BlockGroup& blocks, const Target& target, const DeriveOptions& options,
                       Schedule* schedule) {
  // Products of a chain take about as long as one another.
  const double part = 1.0 / static_cast<double>(1 + blocks.products.size());
  const BlockLoops loops = derive_reader_of_blocks(group_of(*blocks.reader, schedule), blocks.block,
                                                   target, options, schedule, {part, std::nullopt});
  derive_rows(blocks.rows, target, schedule, &loops);
  for (const Op* product : blocks.products) {
    derive_product_in_blocks(group_of(*product, schedule), loops, target, options, schedule);
  }
  // Rows of run-time length are on the heap, which is asked for them once for many blocks.
  for (const Op* op : members_of(blocks)) {
    if (op == blocks.reader || elements_from(*op, blocks.rows.axes().size())) continue;
    if (is_inline(*schedule, result_of(*op).name)) continue;
    (*schedule)[result_of(*op).name].hoist_storage(loops.reader, loops.storage);
  }
}

}  // namespace emulsion
