#ifndef EMULSION_BENCHMARKS_CHANNEL_GRAPHS_H_
#define EMULSION_BENCHMARKS_CHANNEL_GRAPHS_H_

// Graphs that combine the channels of pictures, or the pictures of each channel.

#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion::benchmarks {

Graph softmax_of_channels(int pictures, int channels, int side);
// (x - mean) / deviation of the channels of each place, as operators say it.
Graph norm_of_channels(int pictures, int channels, int side);

// What a channel of all pictures says: a batch norm in training, as operators say it, and in index
// notation, by which nothing is stored that is as large as x.
Tensor batch_norm_train(const Tensor& x);
Tensor batch_norm_by_hand(const Tensor& x, float elements);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_CHANNEL_GRAPHS_H_
