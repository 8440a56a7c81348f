#ifndef EMULSION_PASSES_DERIVE_READ_THROUGH_H_
#define EMULSION_PASSES_DERIVE_READ_THROUGH_H_

// Operations that only move elements (reshape, transpose, slice, broadcast) and need not be stored,
// for what reads them reads as well where they have their elements from. Nor need an elementwise
// value that a move, or what follows it, alone reads: it is computed where its elements go.
//
//   v = exp(x);  r = reshape(v);  y = r + z
//     ->  y[i, j] = exp(x[(i * 8 + j) / 4, (i * 8 + j) % 4]) + z[i, j]
//
// Private to passes/derive/.

#include <functional>
#include <set>
#include <string>

#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

struct ReadThrough {
  Graph graph;  // the operations as they read then; the moves that nothing reads any more are gone
  std::set<std::string> moves;  // to be computed inline, with the values among them
};

// A move is read through where every reader has vectors of neighbours as before, or where it would
// itself take its elements one by one and its only reader can do that as well. A contraction keeps
// on reading the move by name, and so copies panels of it: where the move lies across its columns,
// it must (derive_contraction). A reshape of an input that lies in the same memory is an input to
// all others, where they could not read it otherwise: it is computed inline, and its readers have
// the loops that they would have, were it stored.
// A value has one reader, elementwise, that reads it once and at no more places than it has
// elements, in vectors of neighbours; or the reader chooses by place, as concat does, and its
// vectors are those that the value's own loops would have, which may be of every second element.
// `wanted` is asked of each move or value that could be.
ReadThrough read_through(const Graph& grouped, const Target& target,
                         const std::function<bool(const Op& move)>& wanted = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_READ_THROUGH_H_
