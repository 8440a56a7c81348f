#ifndef EMULSION_EXAMPLES_TRAIN_DIGITS_LAYERS_H_
#define EMULSION_EXAMPLES_TRAIN_DIGITS_LAYERS_H_

// The network 64-128-64-10 with ReLU between its layers, of which two kernels are made: a step of
// training and the logits. Its parameters are inputs, for they change with each call.

#include <string>
#include <vector>

#include "dsl/operators.h"

namespace emulsion {

using Parameters = std::vector<Tensor>;  // w1, b1, w2, b2, w3, b3

inline Parameters declare_parameters() {
  const std::vector<int64_t> widths = {64, 128, 64, 10};
  Parameters parameters;
  for (size_t layer = 1; layer < widths.size(); ++layer) {
    const std::string number = std::to_string(layer);
    parameters.push_back(input("w" + number, f32, {widths[layer - 1], widths[layer]}));
    parameters.push_back(input("b" + number, f32, {widths[layer]}));
  }
  return parameters;
}

inline Tensor network(const Tensor& images, const Parameters& p) {
  const Tensor hidden1 = relu(add(matmul(images, p[0]), p[1]), "hidden1");
  const Tensor hidden2 = relu(add(matmul(hidden1, p[2]), p[3]), "hidden2");
  return add(matmul(hidden2, p[4]), p[5], "logits");
}

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_TRAIN_DIGITS_LAYERS_H_
