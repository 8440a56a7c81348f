#ifndef EMULSION_PASSES_DERIVE_SUMS_OF_MAPS_H_
#define EMULSION_PASSES_DERIVE_SUMS_OF_MAPS_H_

// Sums over pictures and over the pixels of each of their small feature maps, one for each channel:
// the statistics of a batch norm, the gradient of a bias. Private to passes/derive/.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// Whether such sums are faster when the pictures are added up first. The maps of one channel are
// short parts of memory that lie far apart. What the processor fetches ahead behind one of them is
// the map of the next channel, and that has left the cache before its turn comes.
bool sums_of_maps(const Op& op, const Target& target);

// Pictures are added up as they lie in memory, one after another, and then the pixels of each sum:
//   for c: for n: for p: y[c] += x[n, c, p]
//     ->  for n: for c: for p: pixels[c, p] += x[n, c, p]; for c: for p: y[c] += pixels[c, p]
void derive_sums_of_maps(const Op& op, const Target& target, Schedule* schedule);

// Whether few neighbours are summed up for each column, and that over rows that lie one after
// another, each of them a few vectors: y[n, c] = sum(p, k) x[n, p, c, k].
bool sums_of_few_side_by_side(const Op& op, const Target& target);

// Rows are added up as they lie in memory, and then the few of each column:
//   for n: for p: for c: for k: y[n, c] += x[n, p, c, k]
//     ->  for n: for p: vectors of c and k: rows += x[n, p, c, k]; for k: for c: y[n, c] += rows
void derive_sums_of_few_side_by_side(const Op& op, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SUMS_OF_MAPS_H_
