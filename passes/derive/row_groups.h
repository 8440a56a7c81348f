#ifndef EMULSION_PASSES_DERIVE_ROW_GROUPS_H_
#define EMULSION_PASSES_DERIVE_ROW_GROUPS_H_

// Which operations can be computed together, row by row: softmax, norms, losses, and whatever else
// combines the elements of a row and goes on with that row alone. Of each only one row is there at
// a time, in a cache. Whether that pays, and the schedule, is derive_rows.cc.

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {

// Operations of a grouped graph, each read by others of the group alone; the last one, `reader`, by
// the outside. Their first `rows` axes are the same, and at each place along these they read the
// others of the group at that place only.
struct RowGroup {
  struct Producer {
    const Op* op;
    bool whole_rows;  // else some elements of a row are read by none, and not computed
  };
  const Op* reader;
  std::vector<Producer> producers;  // each behind all that read it
  size_t rows;
};

// All operations of a group, the reader first.
std::vector<const Op*> members_of(const RowGroup& group);

// Why an operation cannot be in a group: "expected ...", or nothing.
std::optional<std::string> why_not_in_rows(const Op& op);
// Why a row of `producer` cannot be computed ahead of the row of `reader` that reads it, where the
// first `rows` axes say which row: "expected ...", or nothing.
std::optional<std::string> why_not_by_rows(const Op& producer, const Op& reader, size_t rows);
// The same of the reads alone, whatever the two operations are.
std::optional<std::string> why_not_same_rows(const Op& producer, const Op& reader, size_t rows);
// The group that ends in an operation, as large as it gets: all operands that nothing else reads,
// and theirs; maybe none.
RowGroup build_row_group(const Op& reader, size_t rows, const Readers& readers,
                         const std::unordered_set<const Op*>& taken);
// Whether the elements of a row are combined, and something goes on with them.
bool combines_rows(const RowGroup& group);
// Whether it pays: rows are combined, in vectors, and the threads get rows enough. However long a
// row is, it stays in a nearer cache than all rows would.
bool pays_to_group(const RowGroup& group, const Target& target);
// The groups of a graph that can be computed by rows and for which it pays. No operation is in two,
// or in one of `taken`.
std::vector<RowGroup> row_groups(const Graph& grouped, const Target& target,
                                 const std::unordered_set<const Op*>& taken = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_ROW_GROUPS_H_
