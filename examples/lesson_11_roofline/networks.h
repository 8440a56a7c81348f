#ifndef EMULSION_EXAMPLES_LESSON_11_ROOFLINE_NETWORKS_H_
#define EMULSION_EXAMPLES_LESSON_11_ROOFLINE_NETWORKS_H_

// Three pieces of networks that fusion helps by different amounts, in f32.

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace emulsion {

struct Network {
  std::string name;
  Graph graph;
};

// y = relu(conv(relu(conv(x, w1) + b1), w2) + b2 + x): two convolutions of 3 x 3 that keep the
// size, x [1, size, size, channels].
Network resnet_block(int64_t size, int64_t channels);
// y = layer_norm(gelu(x w1 + b1) w2 + b2 + x): x [rows, width], 4 * width in between.
Network bert_ffn(int64_t rows, int64_t width);
// Three layers relu(x w + b): x [rows, width], all of one width.
Network mlp(int64_t rows, int64_t width);

// As in the papers, and small ones of the same form, to check.
std::vector<Network> full_networks();
std::vector<Network> small_networks();

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_LESSON_11_ROOFLINE_NETWORKS_H_
