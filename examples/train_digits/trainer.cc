#include "examples/train_digits/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "dsl/error.h"
#include "examples/train_digits/train_digits_logits_kernel.h"
#include "examples/train_digits/train_digits_step_kernel.h"

namespace emulsion {
namespace {

constexpr std::array<int64_t, 4> kWidths = {kDigitPixels, 128, 64, kDigitClasses};

void check(const Status& status) {
  if (!status.ok()) throw Error(status.message);
}

// Weights and biases, layer by layer, as the arguments of either kernel.
template <typename Parameters, typename Arguments>
void pass_parameters(const Parameters& values, Arguments* a) {
  a->w1 = {values[0].data(), {kWidths[0], kWidths[1]}};
  a->b1 = {values[1].data(), {kWidths[1]}};
  a->w2 = {values[2].data(), {kWidths[1], kWidths[2]}};
  a->b2 = {values[3].data(), {kWidths[2]}};
  a->w3 = {values[4].data(), {kWidths[2], kWidths[3]}};
  a->b3 = {values[5].data(), {kWidths[3]}};
}

}  // namespace

Trainer::Trainer(const Digits& digits, int64_t batch, uint64_t seed)
    : digits_(digits), batch_(batch), random_(seed), order_(digits.labels.size()) {
  // He's initialisation: the variance that ReLU keeps from layer to layer.
  for (size_t layer = 0; layer + 1 < kWidths.size(); ++layer) {
    const int64_t in = kWidths[layer], out = kWidths[layer + 1];
    const double scale = std::sqrt(2.0 / static_cast<double>(in));
    std::vector<float>& w = now_[2 * layer];
    for (int64_t i = 0; i < in * out; ++i) {
      // A normal number by Box and Muller.
      const double radius = std::sqrt(-2 * std::log(1 - uniform()));
      w.push_back(static_cast<float>(scale * radius * std::cos(2 * std::acos(-1.0) * uniform())));
    }
    now_[2 * layer + 1].assign(static_cast<size_t>(out), 0);
  }
  next_ = now_;
  std::iota(order_.begin(), order_.end(), 0);
  images_.resize(static_cast<size_t>(batch * kDigitPixels));
  labels_.resize(static_cast<size_t>(batch));
}

double Trainer::uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

double Trainer::run_epoch(float rate, const std::function<bool()>& stop) {
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
  double total = 0;
  int64_t steps = 0;
  for (int64_t start = 0; start < digits_.size() && !stop(); start += batch_) {
    const int64_t count = std::min(batch_, digits_.size() - start);
    for (int64_t row = 0; row < count; ++row) {
      const int64_t image = order_[static_cast<size_t>(start + row)];
      std::copy_n(digits_.images.begin() + image * kDigitPixels, kDigitPixels,
                  images_.begin() + row * kDigitPixels);
      labels_[static_cast<size_t>(row)] = digits_.labels[static_cast<size_t>(image)];
    }
    total += run_step(count, rate);
    ++steps;
  }
  return total / static_cast<double>(std::max<int64_t>(steps, 1));
}

float Trainer::run_step(int64_t count, float rate) {
  float loss = 0;
  kernels::train_digits_step::Arguments a;
  a.images = {images_.data(), {count, kDigitPixels}};
  a.labels = {labels_.data(), {count}};
  a.rate = {&rate, {}};
  pass_parameters(now_, &a);
  a.loss = {&loss, {}};
  a.w1_next = {next_[0].data(), {kWidths[0], kWidths[1]}};
  a.b1_next = {next_[1].data(), {kWidths[1]}};
  a.w2_next = {next_[2].data(), {kWidths[1], kWidths[2]}};
  a.b2_next = {next_[3].data(), {kWidths[2]}};
  a.w3_next = {next_[4].data(), {kWidths[2], kWidths[3]}};
  a.b3_next = {next_[5].data(), {kWidths[3]}};
  check(kernels::train_digits_step::run(a));
  std::swap(now_, next_);
  return loss;
}

int64_t Trainer::count_correct(const Digits& digits) const {
  std::vector<float> logits(static_cast<size_t>(digits.size() * kDigitClasses));
  kernels::train_digits_logits::Arguments a;
  a.images = {digits.images.data(), {digits.size(), kDigitPixels}};
  pass_parameters(now_, &a);
  a.logits = {logits.data(), {digits.size(), kDigitClasses}};
  check(kernels::train_digits_logits::run(a));
  int64_t correct = 0;
  auto row = logits.begin();
  for (const int32_t label : digits.labels) {
    correct += std::max_element(row, row + kDigitClasses) - row == label ? 1 : 0;
    row += kDigitClasses;
  }
  return correct;
}

}  // namespace emulsion
