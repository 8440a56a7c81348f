#ifndef EMULSION_EXAMPLES_DIGITS_CLASSIFY_H_
#define EMULSION_EXAMPLES_DIGITS_CLASSIFY_H_

// The kernels as the application sees them: a function from images to logits.

#include <cstdint>
#include <vector>

#include "examples/digits/digits_data.h"

namespace emulsion {

enum class Network {
  fused,    // each layer in one pass over its outputs
  unfused,  // operator by operator, every result through memory
};

// `images`: [count, kDigitPixels]; `logits`: [count, kDigitClasses]. Throws Error with the kernel's
// message.
void compute_logits(Network network, int64_t count, const float* images, float* logits);

// The digit of each image.
std::vector<int32_t> classify(Network network, int64_t count, const float* images);

// How many of the images are classified as their labels say.
int64_t count_correct(Network network, const Digits& digits);

// What of a network's targets this processor runs, counted from 0, and its name.
int running_target(Network network);
const char* target_name(Network network, int target);

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_DIGITS_CLASSIFY_H_
