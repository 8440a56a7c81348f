#ifndef EMULSION_PASSES_NEST_AXIS_PIECES_H_
#define EMULSION_PASSES_NEST_AXIS_PIECES_H_

// The pieces of axes that are cut (the directive cut), and what a stage computes in one of them.
//
//   y[j] = select(j < C, a[min(j, C - 1)], b[max(j - C, 0)])
//     for j from C on: b[j - C]

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Of an axis, in order; of one that is not cut all of it.
std::vector<AxisPiece> pieces_of(const Stage& stage, const std::string& axis);
// One for each of the axes, in all combinations: of the last axis one after another.
std::vector<std::vector<AxisPiece>> combinations_of_pieces(const Stage& stage,
                                                           const std::vector<std::string>& axes);
// The axes of the stage that are cut, in order.
std::vector<std::string> cut_axes(const Stage& stage);
// The axes of the stage that a loop is made of.
std::set<std::string> axes_of_loop(const Stage& stage, const std::string& loop);
// Whether a loop is made of an axis that is cut.
bool is_of_cut_axis(const Stage& stage, const std::string& loop);

// The extents, or the starts, of what is computed of a stage at once, where of some axes it is a
// piece.
std::vector<Expr> extents_in_pieces(const Stage& stage, std::vector<Expr> extents,
                                    const std::vector<AxisPiece>& pieces);
std::vector<Expr> starts_in_pieces(const Stage& stage, std::vector<Expr> starts,
                                   const std::vector<AxisPiece>& pieces);

// The body of a stage there: without the choices that the pieces decide, and with indices as they
// are there. An index that is another than that of `body` is proved to be inside its buffer, whose
// shape `shape_of` says.
Expr body_in_pieces(const Stage& stage, const Expr& body, const std::vector<AxisPiece>& pieces,
                    const std::function<Shape(const std::string& buffer)>& shape_of);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_AXIS_PIECES_H_
