#ifndef EMULSION_EXAMPLES_TRAIN_DIGITS_TRAINER_H_
#define EMULSION_EXAMPLES_TRAIN_DIGITS_TRAINER_H_

// Stochastic gradient descent with the two kernels: the parameters, the order of the images, the
// epochs.

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "examples/digits/digits_data.h"

namespace emulsion {

class Trainer {
 public:
  // The same parameters and the same order of images for the same seed. `digits` has to outlive
  // this.
  Trainer(const Digits& digits, int64_t batch, uint64_t seed);

  // All images once, in a new order, in batches; the last one may be smaller. The mean of the
  // losses, or nothing meaningful when `stop` said so before the end: then the parameters are those
  // after the last whole step. Throws Error with a kernel's message.
  double run_epoch(float rate, const std::function<bool()>& stop);

  // How many of the images the network classifies as their labels say.
  int64_t count_correct(const Digits& digits) const;

 private:
  static constexpr size_t kParameters = 6;
  using Parameters = std::array<std::vector<float>, kParameters>;

  float run_step(int64_t count, float rate);
  double uniform();  // in [0, 1)

  const Digits& digits_;
  const int64_t batch_;
  std::mt19937_64 random_;
  Parameters now_, next_;  // a kernel reads the one and writes the other
  std::vector<int64_t> order_;
  std::vector<float> images_;    // of a batch
  std::vector<int32_t> labels_;  // of a batch
};

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_TRAIN_DIGITS_TRAINER_H_
