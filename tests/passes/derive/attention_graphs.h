#ifndef EMULSION_TESTS_PASSES_DERIVE_ATTENTION_GRAPHS_H_
#define EMULSION_TESTS_PASSES_DERIVE_ATTENTION_GRAPHS_H_

// Graphs in which a contraction reads rows that are combined before, for tests of what is computed
// by blocks of rows.

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {

// y[h, s, d] = sum(t, softmax(sum(d, q[h, s, d] * k[h, t, d])) * v[h, t, d]), in index notation;
// the scores are named e.
Graph attention(int64_t heads, const Extent& rows, const Extent& length, int64_t width);
// By name; each is one block, of which y is the reader.
std::vector<std::pair<std::string, Graph>> attention_graphs(const Extent& rows,
                                                            const Extent& length);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_ATTENTION_GRAPHS_H_
