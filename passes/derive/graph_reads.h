#ifndef EMULSION_PASSES_DERIVE_GRAPH_READS_H_
#define EMULSION_PASSES_DERIVE_GRAPH_READS_H_

// How the operations of a grouped graph read one another: from this the legality of computing
// several of them together is told (window_chains.h, row_groups.h). Private to passes/derive/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/affine.h"
#include "dsl/graph.h"

namespace emulsion {

// What it sums up, or combines otherwise: itself, or a member; null of what is pointwise.
const Op* sums_of(const Op& op);

// How many values of an element of it, and of its members, take many instructions each: an
// exponential and the like.
int64_t series_in(const Op& op);
// Whether there is one.
bool takes_series(const Op& op);

// In instructions, what a node takes; kAsALoad: no more than to store an element and load it again.
inline constexpr int64_t kAsALoad = 2;
int64_t instructions_of(const ExprNode& e);
// The same of an element, with all members of a group.
int64_t instructions_of(const Op& op);

// The elements of the dimensions from `from` on; nothing when a run-time size decides.
std::optional<int64_t> elements_from(const Op& op, size_t from);
// The extents of all dimensions but those at these positions.
Shape extents_beside(const Op& op, const std::vector<size_t>& positions);
// The points that are computed of it, or of its sums, at each place along these positions; nothing
// when a run-time size decides.
std::optional<int64_t> points_beside(const Op& op, const std::vector<size_t>& positions);
// Whether it combines the places of a window that moves with one of its axes: x[i + k], clamped or
// not.
bool combines_windows(const Op& op);

// How one operation reads another: what is read lies between these.
struct Reads {
  std::vector<std::vector<Affine>> all;  // the indices of each read
  std::vector<Axis> axes;                // of the reader
  AxisExtents reduction_axes;            // of the reader, under names of their own

  AxisExtents extents() const;  // of both
};

// All reads, of a group those of its members, in the axes of the last one. Of each the indices of
// the first `dimensions`; nothing when one of these is not affine, but for clamps.
std::optional<Reads> reads_of(const Op& producer, const Op& reader, size_t dimensions);

// Whether all that `reader` reads of `producer` is at the same place along an axis: `position` of
// the producer, `at` of the reader.
bool reads_same_place(const Op& producer, size_t position, const Op& reader, size_t at,
                      const Reads& reads);
// Whether `reader`, which has the shape of the producer, reads it at the place that it computes,
// and nowhere else.
bool reads_at_own_place(const Op& producer, const Op& reader);

// Whether an operand of `reader` is `op`.
bool reads_op(const Op& reader, const Op& op);
// Whether an index is that axis and nothing else.
bool is_axis(const Affine& index, const Axis& axis);
// Whether the first and the last element of every dimension from `first` on are read, or
// places beyond them if no clamp were there. `rows`: the positions of the axes that say which row,
// of the producer and of the reader. All of each row is to be read: x[i, i] is one element of it.
struct RowPositions {
  std::vector<size_t> of_producer, of_reader;
};
bool reads_whole(const Op& producer, const Reads& reads, size_t first, const RowPositions& rows);

// The readers, and in the place of each that is computed inline those that compute it (`inside`),
// each once.
std::vector<const Op*> in_their_place(
    const std::vector<const Op*>& readers,
    const std::unordered_map<const Op*, std::vector<const Op*>>& inside);

// Who reads what, once for the whole graph.
class Readers {
 public:
  explicit Readers(const Graph& graph);

  const std::vector<const Op*>& readers_of(const Op& producer) const;
  size_t position_of(const Op& op) const { return positions_.at(&op); }  // in the graph
  // Nothing of what the outside reads.
  const std::vector<const Op*>* only_readers(const Op& producer) const;
  // Why it is needed elsewhere than inside of something: "expected ...", or nothing.
  std::optional<std::string> why_not_only(const Op& producer,
                                          const std::function<bool(const Op&)>& is_inside) const;

 private:
  std::unordered_map<const Op*, std::vector<const Op*>> readers_;
  std::unordered_map<const Op*, size_t> positions_;
  std::unordered_set<const Op*> outputs_;
};

// Whether one operation alone reads it, by one read, and each of its elements once.
bool is_read_once(const Op& op, const Readers& readers);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_GRAPH_READS_H_
