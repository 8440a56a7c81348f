#ifndef EMULSION_PASSES_ANALYSE_RECOGNISE_OP_H_
#define EMULSION_PASSES_ANALYSE_RECOGNISE_OP_H_

// What a comprehension is, told from its structure and never from its name: a matmul written by
// hand in index notation is the same contraction as matmul(). Every op of kind compute is exactly
// one of the four.

#include <optional>
#include <string>
#include <vector>

#include "dsl/tensor.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

enum class OpClass : uint8_t {
  // No combiner. Every read is at plain axes, each at most once, or at positions without axes
  // (broadcast). A body that computes may read them in any order (a[i, j] + b[j, i]); one that only
  // selects and copies must read whole axes in increasing order (a copy, a broadcast, a mask).
  elementwise,
  // What match_contraction() accepts: matmul, batched or not, convolution, grouped or not, matrix
  // times vector, distances of all pairs.
  contraction,
  // Any other op with a combiner.
  reduction,
  // Any other op without one: elements change places. transpose, reshape, slice, concat, pad,
  // gather; also arithmetic between neighbours, as in x[i + 1] - x[i].
  data_movement,
};

// out[axes] = combined over reduction_axes, f(a, b), with every pure axis in exactly one of the
// three lists, each in the order of the op's axes. The last pure axis, contiguous in the output, is
// a column axis unless it is a batch axis; so a and b may be the other way round than written.
struct Contraction {
  Expr a, b;                                // the reads; casts around them are left out
  std::vector<std::string> row_axes;        // only in a
  std::vector<std::string> column_axes;     // only in b
  std::vector<std::string> batch_axes;      // in both
  std::vector<std::string> reduction_axes;  // in both
  bool divides = false;                     // whether an index takes a quotient of a batch axis
  std::vector<Expr> others = {};            // what the body reads besides, of several operands
};

// Of an op of kind compute; anything else is our bug.
OpClass classify(const Op& op);

// A reduction of whatever combiner, whose body reads exactly two operands, each at the same affine
// indices wherever it is read, and computes with sums, differences, products, minima, maxima and
// signs alone (casts around reads allowed): sum(x * w), sum((x - y) * (x - y)), max(x + w). Every
// reduction axis is used by both operands, every pure axis by at least one and some pure axis by
// exactly one (otherwise no element is used twice, as in sum(x * x): a reduction). An index may
// also take a quotient of an axis that both use, as that of a grouped convolution: x[.., o / 3 * 2
// + c]. If it is none, `why_not` says why: "expected ...".
std::optional<Contraction> match_contraction(const Op& op, std::string* why_not = nullptr);

// The same of a body of more operands, sum(x[m, k] * w[k, n] * c[k]), with rows and columns: a has
// the rows, b the columns, both all reduction axes; no other operand has rows and columns.
std::optional<Contraction> match_several(const Op& op, std::string* why_not = nullptr);

// Those that are a sum of a product of exactly two reads, without quotients: what a unit for
// products can execute.
std::optional<Contraction> match_product(const Op& op, std::string* why_not = nullptr);

// The same of a nest's stage.
std::optional<Contraction> match_product(const Stage& stage);

std::string to_string(
    OpClass op_class);  // "elementwise", "contraction", "reduction", "data movement"

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_RECOGNISE_OP_H_
