#ifndef EMULSION_PASSES_DERIVE_PREFETCH_ROWS_H_
#define EMULSION_PASSES_DERIVE_PREFETCH_ROWS_H_

// The rows of inputs that are asked of memory while the rows before them are computed. A softmax
// loads a row and then computes from the first cache, while memory rests; the processor itself
// fetches ahead only where loads follow one another (`softmax/8192x256` of
// `//benchmarks:onnx_runtime`). Private to passes/derive/.

#include <cstdint>

#include "dsl/expr.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// At `row`, a loop of the reader that computes so many rows in a step: those of the next step, of
// the inputs, where a quarter of the second cache holds them. Not where the first one holds all
// that there are, nor of a group that computes no series along its rows (a norm).
void prefetch_rows(const RowGroup& group, const Axis& row, int64_t rows, const Target& target,
                   Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_PREFETCH_ROWS_H_
