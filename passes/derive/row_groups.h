#ifndef EMULSION_PASSES_DERIVE_ROW_GROUPS_H_
#define EMULSION_PASSES_DERIVE_ROW_GROUPS_H_

// Which operations can be computed together, row by row: softmax, norms, losses, and whatever else
// combines the elements of a row and goes on with that row alone. Of each only one row is there at
// a time, in a cache. The schedule is derive_rows.cc.

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {

// Operations of a grouped graph, each read by others of the group alone, but for what is kept; the
// last one, the reader, by the outside. What is kept of whole rows is a result beside the reader,
// element by element: a norm and what follows it, two gradients. All of them have the axes that say
// which row, and read one another only at the same place along these. Mostly they are the first
// axes of all. Of a batch norm of pictures, x[n, c, y, x], it is the second one: a row is a channel
// of all pictures, and lies in pieces.
struct RowGroup {
  struct Member {
    const Op* op;
    // The positions of the axes that say which row, in one order for all members.
    std::vector<size_t> axes;
    bool whole_rows = true;  // else some elements of a row are read by none, and not computed
    // Whether it is computed where it is read: elements of which each is read once, by one, or that
    // are as soon computed as loaded.
    bool is_inline = false;
    // Whether it is stored whole, a row at a time: an output, or what the outside reads too.
    bool is_kept = false;
    // Whether it can be computed with each vector of the reader: a result beside it, or what only
    // such results read. Rows that stay in the second cache are computed one after another
    // (are_results_in_rows()).
    bool is_with_reader = false;
  };
  std::vector<Member> members;  // the reader first, each behind all that read it
  // The most rows that the last axis that says which row has, where these are few, and several
  // steps of the axis before it are computed at a time (few_rows_in_step()); 0 of others.
  int64_t most_in_step = 0;
  // Of rows in each lane: whether the members have the marks of rows that vectors lie along
  // (build_row_group()), and a few of them can be computed so.
  bool may_go_along = false;
  // Whether rows are told by several axes that are one here (merge_row_axes()): a few of them lie
  // in no rectangle of these.
  bool is_merged = false;
  // Whether that axis is known to have fewer rows than would be computed at a time, a run-time
  // number: then one is.
  bool are_few = false;

  const Op& reader() const { return *members.front().op; }
  bool is_read_outside(const Member& member) const {
    return member.is_kept || member.op == &reader();
  }
  // Of the reader.
  const std::vector<size_t>& axes() const { return members.front().axes; }
  bool is_across_steps() const { return most_in_step > 0; }
  // Which of them has the steps of which several are computed at a time.
  size_t at_a_time() const { return axes().size() - (is_across_steps() ? 2 : 1); }
};

// Rows that could be computed together, and are not.
struct DeclinedRows {
  std::vector<const Op*> members;  // as in a RowGroup
  std::string reason;
};

// All operations of a group, the reader first.
std::vector<const Op*> members_of(const RowGroup& group);
// Whether all of it is worth several threads, or run-time sizes decide.
bool wakes_threads(const RowGroup& group, const Target& target);
bool keeps_any(const RowGroup& group);
// Whether it has results beside the reader, which are computed with each vector of it.
bool has_results(const RowGroup& group);

// Why an operation cannot be in a group: "expected ...", or nothing.
std::optional<std::string> why_not_in_rows(const Op& op);
// The positions 0 to `count` - 1, and whether positions are these.
std::vector<size_t> first_axes(size_t count);
bool are_first(const std::vector<size_t>& axes);
// Whether they are these of all members; else some rows lie in pieces.
bool are_first(const RowGroup& group);
// The positions of `producer` at which `reader` reads it at its own place along `axes`; nothing
// where it has none for one of these.
std::optional<std::vector<size_t>> row_axes_of(const Op& producer, const Op& reader,
                                               const std::vector<size_t>& axes);
// Why a row of `producer` cannot be computed ahead of the row of `reader` that reads it, where
// `axes` of the reader say which row: "expected ...", or nothing.
std::optional<std::string> why_not_by_rows(const Op& producer, const Op& reader,
                                           const std::vector<size_t>& axes);
// The same of the reads alone, of the first axes, whatever the two operations are.
std::optional<std::string> why_not_same_rows(const Op& producer, const Op& reader, size_t rows);
// The elements of a row of it; nothing when a run-time size decides.
std::optional<int64_t> elements_of_row(const Op& op, const std::vector<size_t>& axes);
// Whether there is one element of it in a row: it has no axes but those that say which row, or
// others of one step each (keepdims).
bool is_one_in_a_row(const Op& op, const std::vector<size_t>& axes);
// Whether that is so of all members: of a row there are sums of what is read.
bool are_sums_of_rows(const RowGroup& group);
// How many axes there are up to the last one that says which row.
size_t behind_rows(const RowGroup::Member& member);
// Whether vectors go along the rows of a member, and not across them: what has one element needs
// none.
bool has_vectors_in_rows(const RowGroup::Member& member, const Target& target);
// Whether what something else needs too may be in a group, as far as that is built, and kept.
using MayKeep = std::function<bool(const RowGroup::Member& kept, const RowGroup& group)>;
// The group that ends in an operation, as large as it gets where `axes` of it say which row, which
// are positions in their order: all operands that nothing else reads, or that may be kept, and that
// have vectors along the rows, and theirs; maybe none. `in_pieces`: whether rows of these may lie
// in pieces; none of what is kept does. `others`: results beside the reader, in front of which they
// stand, whether or not it needs them.
RowGroup build_row_group(const Op& reader, const std::vector<size_t>& axes, bool in_pieces,
                         const Readers& readers, const Target& target,
                         const std::unordered_set<const Op*>& taken, const MayKeep& may_keep = {},
                         const std::vector<const Op*>& others = {});
// Why an operation has not the rows of the reader that these axes say, as a result beside it has:
// "expected ...", or nothing.
std::optional<std::string> why_not_beside(const Op& other, const Op& reader,
                                          const std::vector<size_t>& axes);
// Why it does not pay to compute with a group what something else needs too, and to keep it:
// "expected ...", or nothing. A whole row is stored and read again anyway. Rows of a run-time
// length are computed in several ways, and what is kept has one. Short rows that all stay in a
// cache are read again from there. `norm_kept` and `softmax_kept` of `//benchmarks:fusion` measure
// what is taken.
std::optional<std::string> why_not_worth_keeping(const RowGroup::Member& kept,
                                                 const RowGroup& group, const Target& target);
// Whether the elements of a row are combined, and something goes on with them.
bool combines_rows(const RowGroup& group);
// Why it does not pay: rows are combined, in vectors, and the threads get rows enough. However long
// a row is, it stays in a nearer cache than all rows would. "expected ...", or nothing.
std::optional<std::string> why_not_worth_rows(const RowGroup& group, const Target& target);
// Of each operation how many groups that keep something stand before it, one behind the other: it
// comes behind the loops of each. Of two operations with as many, neither comes behind loops that
// need the other.
using KeptBefore = std::unordered_map<const Op*, size_t>;
KeptBefore kept_before(const Graph& grouped, const std::vector<RowGroup>& groups);
// The groups of a graph that can be computed by rows and for which it pays. No operation is in two,
// or in one of `taken`. Groups, and single operations, that go through the same rows are one group
// with several results where these can be computed with each vector of the last of them: then what
// stood between them is stored no more. Of rows of a known length.
std::vector<RowGroup> row_groups(const Graph& grouped, const Target& target,
                                 const std::unordered_set<const Op*>& taken = {},
                                 std::vector<DeclinedRows>* declined = nullptr);

// The member of a fused reader behind which a series (exp, tanh) is computed of its elements alone:
// the last that reads what the group computes, a mean or a root. It is stored a row at a time,
// since one long chain of operations for each vector leaves the processor less to do beside it than
// two loops do. Null where there is none.
const Op* stored_for_series(const RowGroup& group);
// Whether what the reader computes behind it reads whole tensors as they lie: then several rows of
// it are one, whose vectors are full.
bool lies_as_rows(const Op& stored, const Op& reader);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_ROW_GROUPS_H_
