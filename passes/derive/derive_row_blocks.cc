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
  const BlockLoops loops = derive_reader_of_blocks(group_of(*blocks.reader, schedule), blocks.block,
                                                   target, options, schedule);
  derive_rows(blocks.rows, target, schedule, &loops);
  // A row of run-time length is on the heap, which is asked for it once for all rows of a block.
  for (const RowGroup::Producer& producer : blocks.rows.producers) {
    if (elements_from(*producer.op, blocks.rows.rows)) continue;
    (*schedule)[result_of(*producer.op).name].hoist_storage(loops.reader, loops.block);
  }
  for (const Op* product : blocks.products) {
    derive_product_in_blocks(group_of(*product, schedule), loops, target, options, schedule);
  }
}

}  // namespace emulsion
