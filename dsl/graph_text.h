#ifndef EMULSION_DSL_GRAPH_TEXT_H_
#define EMULSION_DSL_GRAPH_TEXT_H_

// A graph as text that a person can read, edit and keep in a repository, and that parses back to
// the same graph: same operations in the same order, same names, same bits in every constant.
//
//   emulsion graph 1                                the format's version
//   size B                                          every run-time size, before its use
//   input x: f32[B, 256]                            also: weight; in the order in which the kernel
//                                                   takes them
//   constant c: f32[2] = {1.5f, nan(f32)}           up to 16 values
//   constant d: f32[20] = hex {                     more: one word an element, most significant
//     3f800000 ...                                  digit first
//   }
//   mm[m: B, n: 512] = sum(k: 256) x[m, k] * c[0]   an operation: axes, reduction if any, and its
//                                                   expression
//   fused_relu y {                                  named as its last member. What it does stands
//     y[m: B, n: 512] = max(mm[m, n], 0f)           behind fused_ for people (group_kind.h): text
//   }                                               with another word, or none, is the same graph
//   fused_rows_max_sub_exp_sum_div z over [m] {     a loop group (graph.h), named as its last
//     p[m: B, n: 512] = ...                         member, with its kind in front: fused_rows,
//     z[m: B, n: 512] = p[m, n] / ...               fused_columns, fused_row_blocks,
//   }                                               fused_windows or fused_waiting_sums; `over`
//                                                   the axes shared
//   output y                                        one line for each, in order
//
// Expressions are those of expr_text.h. `#` starts a comment. A line is a statement.

#include <string>

#include "dsl/graph.h"

namespace emulsion {

std::string to_string(const Graph& graph);
// One operation, as in the text of a graph but without the end of its last line.
std::string to_string(const Op& op);
// Throws Error that says the line, the column, what was expected and what was found. Whatever the
// C++ interface refuses is refused here, in the same words.
Graph parse_graph(const std::string& text);

}  // namespace emulsion

#endif  // EMULSION_DSL_GRAPH_TEXT_H_
