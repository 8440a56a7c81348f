#ifndef EMULSION_PASSES_DIFFERENTIATE_DIFFERENTIATE_H_
#define EMULSION_PASSES_DIFFERENTIATE_DIFFERENTIATE_H_

// Reverse-mode differentiation: gradients are tensors like any others. They are read on (an update
// step, a gradient of a gradient), fused, scheduled and compiled as what the user wrote.
//
//   Tensor loss = mean(square_error, {0, 1}, false, "loss");
//   std::vector<Tensor> g = gradients(loss, {w, b});
//   Graph step({loss, sub(w, mul(rate, g[0]), "w_next"), sub(b, mul(rate, g[1]), "b_next")});
//
// Every comprehension has a derivative by what it reads at indices made of axes, numbers and
// run-time sizes (scatter_read.h); every scalar operation has its rule (scalar_derivatives.h, which
// also says what happens where there is no derivative). Of reduce_max and reduce_min those elements
// that are equal to the result share its gradient evenly. A product over an axis takes time
// quadratic in the axis, and is right where factors are 0. Nothing flows through a condition, an
// index or a comparison.

#include <vector>

#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {

// The gradient of y by each tensor of `by`, in its shape and type: the sum over the elements of y
// of cotangent * d(element) / d(tensor). A y of one element needs no cotangent: 1. The gradient by
// a tensor that y does not depend on is zeros. Each result is a tensor of its own, called grad_x.
//
// Error: y, or a tensor of `by`, that is not f32 or f64; a cotangent that y needs and does not get,
// or of another shape or type; a tensor twice in `by`; on the way from one of them to y, an index
// made of data, or an integer made of floats. A graph with groups is refused, too: differentiate
// first, then fuse.
std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& by,
                              const Tensor& cotangent = Tensor());
// The same of the sum of several, each with its cotangent or an undefined tensor.
std::vector<Tensor> gradients(const std::vector<Tensor>& ys, const std::vector<Tensor>& by,
                              const std::vector<Tensor>& cotangents);

// The graph with the gradients by these tensors of it behind its outputs. An output of one element
// that is the only one has the cotangent 1; else each float output y that a gradient depends on has
// a new input grad_y of its shape, behind the graph's arguments in their order. An Error as above.
Graph differentiate(const Graph& graph, const std::vector<Tensor>& by);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DIFFERENTIATE_DIFFERENTIATE_H_
