#ifndef EMULSION_PASSES_DERIVE_CHOICES_H_
#define EMULSION_PASSES_DERIVE_CHOICES_H_

// Bodies that choose by place, as those of concat and pad: select(i < 24, a[min(i, 23)], 0). Loops
// that are cut at the borders have no choice left in them. Private to passes/derive/.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/graph.h"

namespace emulsion {

// Whether an expression reads data.
bool reads_data(const Expr& e);

// What is chosen among: elements of tensors and numbers, or whatever is computed of these. Either
// way no data say at which places a tensor is read.
enum class Choice : uint8_t { of_elements, of_values };
// Whether the body chooses, by comparisons with one axis each.
bool chooses_by_place(const Expr& body, Choice choice);

// Whether steps of an axis, and no data, decide somewhere what is chosen.
bool chooses_by(const Expr& body, const std::string& axis);
// The body where the axis is at that step, without the choices that this decides by comparisons
// with numbers. Elsewhere the axis stays in it.
Expr chosen_at(const Expr& body, const std::string& axis, int64_t step);

// An index without what keeps it inside of a tensor.
Expr without_clamps(const Expr& index);
// The read with such indices.
Expr without_clamped_indices(const Expr& read);

// An index of an operation as it is between the ends of what it reads: without clamps; abs(a), and
// min(a, b) of one that rises along the axis and one that falls, as the one that rises (reflected
// at an end); a % n as a, where the axis has no more than n steps (wrapped around).
Expr between_ends(const Expr& index, const Op& op, const std::string& axis);

// The operation with the place alone for each index that data move (moved_index.h): a vector of it
// is of neighbours, wherever they lie, but where it wraps around, once a row.
//   x[(i + d[]) % W]  as  x[i]
Op without_moves_by_data(const Op& op);

// Whether such an index is reflected or wrapped around: without clamps alone it is not affine.
bool is_turned_at_ends(const Op& op, const std::string& axis);

// Whether reads are turned or held at the ends of what they read, so that vectors of neighbours are
// there between the ends alone. What holds reads of a number of columns is left to what compiles
// the nest, but where data choose the reads. An index that is data has no ends.
bool is_clamped_along(const Op& op, const Axis& axis);

// Every read in a body, of that tensor or of any.
std::vector<Expr> reads_in(const Expr& body, const Op* of = nullptr);

using Borders = std::map<std::string, int64_t>;  // by axis
// How many comparisons with that axis alone decide what is computed: the borders of what is
// concatenated or padded, masks. Those that are equal count once.
Borders borders_by_axis(const Op& op);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_CHOICES_H_
