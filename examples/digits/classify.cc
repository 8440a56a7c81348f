#include "examples/digits/classify.h"

#include <algorithm>

#include "dsl/error.h"
#include "dsl/target.h"
#include "examples/digits/digits_network_kernel.h"
#include "examples/digits/digits_unfused_kernel.h"

namespace emulsion {
namespace {

const runtime::KernelInfo& info(Network network) {
  return network == Network::fused ? kernels::digits_network::info()
                                   : kernels::digits_unfused::info();
}

}  // namespace

void compute_logits(Network network, int64_t count, const float* images, float* logits) {
  const Span<const float, 2> x(images, {count, kDigitPixels});
  const Span<float, 2> y(logits, {count, kDigitClasses});
  const Status status = network == Network::fused ? kernels::digits_network::run(x, y)
                                                  : kernels::digits_unfused::run(x, y);
  if (!status.ok()) throw Error(status.message);
}

std::vector<int32_t> classify(Network network, int64_t count, const float* images) {
  std::vector<float> logits(static_cast<size_t>(count * kDigitClasses));
  compute_logits(network, count, images, logits.data());
  std::vector<int32_t> digits;
  for (auto row = logits.begin(); row != logits.end(); row += kDigitClasses) {
    digits.push_back(static_cast<int32_t>(std::max_element(row, row + kDigitClasses) - row));
  }
  return digits;
}

int64_t count_correct(Network network, const Digits& digits) {
  const std::vector<int32_t> found = classify(network, digits.size(), digits.images.data());
  int64_t correct = 0;
  for (size_t i = 0; i < found.size(); ++i) correct += found[i] == digits.labels[i] ? 1 : 0;
  return correct;
}

int running_target(Network network) {
  const int count = info(network).target_count;
  for (int target = 0; target < count; ++target) {
    if (runs_on_this_machine(Target::parse(target_name(network, target)))) return target;
  }
  return count - 1;
}

const char* target_name(Network network, int target) { return info(network).targets[target]; }

}  // namespace emulsion
