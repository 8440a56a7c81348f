#ifndef EMULSION_PASSES_DERIVE_DERIVE_SERIES_H_
#define EMULSION_PASSES_DERIVE_DERIVE_SERIES_H_

// Elementwise chains with a series (exp, tanh) that waits for what is before it: another series, or
// rows that are no whole number of vectors. In one expression the processor would hold few of such
// vectors at a time, and compute lanes that nobody needs. So parts of the chain have loops of their
// own, over a block that stays in the first cache. Private to passes/derive/.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/derive/derive_schedule.h"

namespace emulsion {

// The loops of such a chain, by itself:
//   for block: vectors of what is before the series; vectors of the result
// False of others; then nothing was added.
bool derive_series(const Op& group, const Target& target, Schedule* schedule);

// The member of a product's group, the product or what follows it, behind which a series is
// computed in vectors through several rows, which fill none: it is stored. Nothing where there is
// none. In a register tile the series would be computed of lanes that nobody needs.
std::optional<size_t> product_before_series(const Op& group, const Target& target);
// The loops of such a group, with that member, of a known number of rows:
//   for block: for tile: product; vectors of the result through all rows of the block
// False of others; then nothing was added.
bool derive_series_of_product(const Op& group, size_t end, const Target& target,
                              const DeriveOptions& options, Schedule* schedule);

// Whether an operation has a series whose vectors may go through several rows, which fill none: all
// of it, or from some member on.
bool has_flat_series(const Op& op, const Target& target);
// Whether all that it reads lies as it does, or is one value for all points.
bool lies_flat(const Op& op);
// Its loops in a loop of a reader, of so many steps of the axis before the last; or of the one
// before that, with one step of the axis between.
struct FlatRows {
  int64_t steps;
  bool has_one_between = false;
};
void derive_flat_series(const Op& op, const FlatRows& rows, const std::string& reader,
                        const Axis& at, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_SERIES_H_
