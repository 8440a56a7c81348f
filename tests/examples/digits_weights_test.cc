// The trained weights that the repository carries, run by a plain loop in double precision: an
// oracle for the example that shares nothing with the kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/codegen/npy.h"
#include "dsl/error.h"
#include "examples/digits/digits_data.h"

namespace emulsion {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw Error(std::string("expected the environment variable ") + name);
  return value;
}

struct Layer {
  int64_t inputs;
  int64_t outputs;
  std::vector<float> weight;  // [inputs, outputs]
  std::vector<float> bias;    // [outputs]
};

Layer read_layer(const std::string& number, int64_t inputs, int64_t outputs) {
  const std::string folder = environment("EMULSION_DIGITS_WEIGHTS");
  return {inputs, outputs, read_npy_f32(folder + "/w" + number + ".npy", {inputs, outputs}),
          read_npy_f32(folder + "/b" + number + ".npy", {outputs})};
}

std::vector<double> linear(const Layer& layer, const std::vector<double>& x) {
  std::vector<double> y(layer.bias.begin(), layer.bias.end());
  for (int64_t k = 0; k < layer.inputs; ++k) {
    for (int64_t n = 0; n < layer.outputs; ++n) y[n] += x[k] * layer.weight[k * layer.outputs + n];
  }
  return y;
}

int64_t correct(const std::vector<Layer>& layers, const Digits& digits) {
  int64_t hits = 0;
  for (int64_t i = 0; i < digits.size(); ++i) {
    const auto image = digits.images.begin() + i * kDigitPixels;
    std::vector<double> x(image, image + kDigitPixels);
    for (size_t l = 0; l < layers.size(); ++l) {
      x = linear(layers[l], x);
      if (l + 1 == layers.size()) break;
      for (double& value : x) value = std::max(value, 0.0);
    }
    hits += std::max_element(x.begin(), x.end()) - x.begin() == digits.labels[i];
  }
  return hits;
}

TEST(DigitsWeightsTest, ClassifyTheImagesAsTheReadmeSays) {
  const std::vector<Layer> layers = {read_layer("1", 64, 128), read_layer("2", 128, 64),
                                     read_layer("3", 64, 10)};
  const DigitsSplit split = split_digits(read_digits(environment("EMULSION_DIGITS_CSV")));
  EXPECT_EQ(correct(layers, split.held_out), 448);
  EXPECT_EQ(correct(layers, split.train), 1347);
}

TEST(DigitsWeightsTest, RefusesTheWeightsOfAnotherShape) {
  EXPECT_THAT([] { read_layer("1", 128, 64); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("w1.npy: npy shape: expected (128, 64), got (64, 128)")));
}

}  // namespace
}  // namespace emulsion
