#ifndef EMULSION_PASSES_DERIVE_POINTS_WITH_READER_H_
#define EMULSION_PASSES_DERIVE_POINTS_WITH_READER_H_

// Pointwise operations that are computed with each vector of a pointwise one that reads them: what
// is an output and read again, and what several of them read. Stored as a whole, each would be
// walked through in memory once more.
//
//   m[i] = b * m0[i] + g[i];  v[i] = m[i] * m[i];  w[i] = w0[i] - m[i] / v[i]     outputs: m and w
//     ->  for i: a vector of m, stored; a vector of v; a vector of w
//
// Where all of them are outputs, a row or a block of each is stored before the next one reads it:
// stores to several arrays by turns are slow.
//
// The reader may have one more axis of a few planes, which are computed side by side: the states of
// a filter, next[r, i]. What no other reads is in one expression with its reader, or has its own
// loops because that would be too large. Results that do not read one another are siblings
// (sibling_loops.h). Private to passes/derive/.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// Operations of a grouped graph.
struct PointsWithReader {
  const Op* reader;
  std::vector<const Op*> producers;  // each behind all that read it
  std::optional<size_t> planes;      // the axis that the reader alone has
};

// The reader first.
std::vector<const Op*> members_of(const PointsWithReader& points);

// Why vectors of an operation cannot be computed beside those of others: "expected ...", or
// nothing.
std::optional<std::string> why_not_with_others(const Op& op, const Target& target);
// Why it does not pay: little is stored and loaded again, or the reader has more to read and to
// write at a time than it takes one by one. "expected ...", or nothing.
std::optional<std::string> why_not_worth_with_reader(const PointsWithReader& points,
                                                     const Target& target);

// Those of a graph for which it pays and that `wants` has, in which the operations in `done` have
// loops already. No operation is in two.
std::vector<PointsWithReader> points_with_readers(
    const Graph& grouped, const Target& target, const std::unordered_set<const Op*>& done,
    const std::function<bool(const std::vector<const Op*>& members)>& wants);

void derive_points_with_reader(const PointsWithReader& points, const Target& target,
                               Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_POINTS_WITH_READER_H_
