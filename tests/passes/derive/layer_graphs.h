#ifndef EMULSION_TESTS_PASSES_DERIVE_LAYER_GRAPHS_H_
#define EMULSION_TESTS_PASSES_DERIVE_LAYER_GRAPHS_H_

// Layers of an MLP, for tests of what is computed by blocks of rows.

#include <cstdint>
#include <string>

#include "dsl/extent.h"
#include "dsl/tensor.h"
#include "dsl/types.h"

namespace emulsion {

// The input x.
Tensor rows_of(const Extent& rows, int64_t width, DType type = f32);
// relu(x w + b), with the name of the layer behind those of its weights.
Tensor layer(const Tensor& x, const std::string& name, int64_t width);
// Layers y1, y2, .. of one width.
Tensor mlp(const Extent& rows, int64_t width, int layers = 3, DType type = f32);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_LAYER_GRAPHS_H_
