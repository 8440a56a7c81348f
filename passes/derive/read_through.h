#ifndef EMULSION_PASSES_DERIVE_READ_THROUGH_H_
#define EMULSION_PASSES_DERIVE_READ_THROUGH_H_

// Operations that only move elements (reshape, transpose, slice, broadcast) and need not be stored,
// for what reads them reads as well where they have their elements from. Private to passes/derive/.

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "dsl/expr.h"
#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

struct ReadThrough {
  Graph graph;  // the operations as they read then; the moves that nothing reads any more are gone
  std::set<std::string> moves;  // to be computed inline
};

// A move is read through where every reader has vectors of neighbours as before, or where it would
// itself take its elements one by one and its only reader can do that as well. A contraction keeps
// on reading the move by name, and so copies panels of it: where the move lies across its columns,
// it must (derive_contraction).
// `wanted` is asked of each move that could be.
ReadThrough read_through(const Graph& grouped, const Target& target,
                         const std::function<bool(const Op& move)>& wanted = {});

// Where the elements of a read are for neighbours along an axis.
enum class Step : uint8_t { none, neighbour, elsewhere };
Step step_of(const Expr& read, const std::string& axis);

// Whether an operation that is read through has neighbours along its last axis from neighbours.
bool keeps_rows(const Op& move);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_READ_THROUGH_H_
