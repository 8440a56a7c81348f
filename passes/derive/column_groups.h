#ifndef EMULSION_PASSES_DERIVE_COLUMN_GROUPS_H_
#define EMULSION_PASSES_DERIVE_COLUMN_GROUPS_H_

// Which operations can be computed together for a block of columns: what combines elements along
// axes that are not the last one, and goes on with the results at the same places of the last:
//
//   highest[n] = max over c of x[c, n];  p[c, n] = exp(x[c, n] - highest[n]);
//   total[n] = sum over c of p[c, n];  y[c, n] = p[c, n] / total[n]     a block of n at a time
//
// A softmax or a norm over the channels of pictures, a batch norm of rows. Vectors lie along the
// last axis of every operation, and the values of a block stay in a cache. The schedule is
// derive_columns.cc. Of rows, whose last axis is combined, see row_groups.h.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {

// Operations of a grouped graph, each read by others of the group alone; the last one, the reader,
// by the outside. All of them have the axes that are shared, and read one another only at the same
// place along these.
struct ColumnGroup {
  struct Member {
    const Op* op;
    // The positions of the shared axes, in one order for all members. The last one is the
    // operation's last axis.
    std::vector<size_t> axes;
    // Whether it is computed where it is read: elements of which each is read once, by one.
    bool is_inline = false;
  };
  std::vector<Member> members;  // the reader first, each behind all that read it

  const Op& reader() const { return *members.front().op; }
};

// All operations of a group, the reader first.
std::vector<const Op*> members_of(const ColumnGroup& group);

// Why a block of columns of `producer` cannot be computed ahead of that of `reader`, which reads
// it: "expected ...", or nothing.
std::optional<std::string> why_not_by_columns(const Op& producer, const Op& reader);
// The group that ends in an operation, as large as it gets where `axes` of it are shared, which are
// positions in their order: all operands that nothing else reads and that have vectors along the
// columns, and theirs; maybe none.
ColumnGroup build_column_group(const Op& reader, const std::vector<size_t>& axes,
                               const Readers& readers, const Target& target,
                               const std::unordered_set<const Op*>& taken);
// Whether elements are combined, and columns are walked again with the results.
bool combines_columns(const ColumnGroup& group);
// How many columns are computed at a time. Nothing where it does not pay: where columns have so
// many rows, each in other lines of memory, that to walk them takes longer than to walk all rows of
// one operation after another; where a block does not stay in a cache; or where threads get too
// few.
std::optional<int64_t> columns_of_block(const ColumnGroup& group, const Target& target);
// How many points the operation that has most of them must have for threads to share the blocks.
// More than of rows: the parts of rows in a block that another core has had come from there line by
// line.
int64_t points_for_threads(const ColumnGroup& group, const Target& target);
// The groups of a graph for which it pays. No operation is in two, or in one of `taken`.
std::vector<ColumnGroup> column_groups(const Graph& grouped, const Target& target,
                                       const std::unordered_set<const Op*>& taken = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_COLUMN_GROUPS_H_
