#ifndef EMULSION_PASSES_DERIVE_WINDOW_CHAINS_H_
#define EMULSION_PASSES_DERIVE_WINDOW_CHAINS_H_

// Which operations can be computed row by row behind one another: stencils, depthwise convolutions,
// poolings and what is pointwise between them. Of each only the rows that are still to be read are
// kept, in a window that slides. Whether that pays, and the schedule, is derive_windows.cc.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {

// The axis that its vectors go along.
size_t vectors_of(const Op& op, const Target& target);

// The rows of an operation that row i of the one at the end of a chain needs: those from
// step * i + first to step * i + last.
struct RowWindow {
  int64_t step = 1, first = 0, last = 0;

  int64_t rows() const { return last - first + 1; }
  // How many of them the next row needs too.
  int64_t kept() const { return std::max<int64_t>(rows() - step, 0); }
};

// Operations of a grouped graph, each read by others of the chain alone; the last one, `reader`, by
// the outside. Along `row`, an axis of all of them, each reads a few neighbouring rows of those
// before.
struct WindowChain {
  struct Producer {
    const Op* op;
    RowWindow window;
    bool whole_rows;  // else some columns are read by none, and not computed
  };
  const Op* reader;
  std::vector<Producer> producers;  // each behind all that read it
  size_t row;
};

// Why rows of `producer` cannot be computed one by one ahead of the rows of `reader` that need
// them, kept in a window that slides along axis `row` of both: "expected ...", or nothing.
std::optional<std::string> why_not_slide(const Op& producer, const Op& reader, size_t row,
                                         const Target& target);
// The rows of a producer that a row of the reader needs, where nothing is said against that.
RowWindow window_of(const Op& producer, const Op& reader, size_t row);
// Whether what is kept of a producer for `reader` fits the cache, and its whole result would not.
bool pays_to_keep(const WindowChain::Producer& producer, const Op& reader, size_t row,
                  const Target& target);
// The chain that ends in an operation, along one of its axes, as long as it goes and pays to keep:
// none of `taken`.
WindowChain build_window_chain(const Op& reader, size_t row, const Readers& readers,
                               const Target& target,
                               const std::unordered_set<const Op*>& taken = {});
// Whether it pays: there are strips of rows enough for the threads, each much longer than the rows
// that it computes again. Where run-time sizes decide that, an output has a way for them.
bool pays_to_slide(const WindowChain& chain, const Readers& readers, const Target& target);
// All operations of a chain, the reader first.
std::vector<const Op*> members_of(const WindowChain& chain);
// The chains of a graph that can slide and for which it pays. No operation is in two.
std::vector<WindowChain> window_chains(const Graph& grouped, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_WINDOW_CHAINS_H_
