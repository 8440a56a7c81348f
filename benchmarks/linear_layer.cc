#include "benchmarks/linear_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "backends/runtime/emulsion_runtime.h"
#include "benchmarks/peers/memory_traffic.h"
#include "benchmarks/peers/plain_linear.h"

namespace emulsion::benchmarks {
namespace {

const char* name_of(Way way) {
  switch (way) {
    case Way::fused:
      return "fused";
    case Way::unfused:
      return "unfused";
    case Way::plain:
      break;
  }
  return "plain";
}

void fill(HostArray* array, uint32_t seed) {
  std::mt19937 random(seed);
  for (size_t i = 0; i < array->size(); ++i) {
    array->data()[i] = static_cast<float>(random()) * 0x1p-31F - 1.0F;
  }
}

std::unique_ptr<HostArray> pack(const LinearKernel& kernel, HostArray* w) {
  if (!kernel.pack) return nullptr;
  auto packed = std::make_unique<HostArray>(kernel.packed_shape);
  if (kernel.pack(w->raw(), packed->raw()) != 0) {
    fail("{}: packing: {}", kernel.shape.to_string(), emulsion_last_error());
  }
  return packed;
}

}  // namespace

LinearLayer::LinearLayer(const LinearKernel& fused, const LinearKernel& unfused)
    : fused_(fused),
      unfused_(unfused),
      x_({fused.shape.m, fused.shape.k}),
      w_({fused.shape.k, fused.shape.n}),
      bias_({fused.shape.n}),
      y_({fused.shape.m, fused.shape.n}) {
  fill(&x_, 1);
  fill(&w_, 2);
  fill(&bias_, 3);
  fused_w_ = pack(fused_, &w_);
  unfused_w_ = pack(unfused_, &w_);
  // Equal weights are one array, or one kernel could win by lying in better pages than the other.
  shared_w_ = fused_w_ && unfused_w_ && fused_.packed_shape == unfused_.packed_shape &&
              std::equal(fused_w_->data(), fused_w_->data() + fused_w_->size(), unfused_w_->data());
  if (shared_w_) unfused_w_.reset();
}

HostArray* LinearLayer::weights(Way way) {
  if (way == Way::fused && fused_w_) return fused_w_.get();
  if (way == Way::unfused && shared_w_) return fused_w_.get();
  if (way == Way::unfused && unfused_w_) return unfused_w_.get();
  return &w_;
}

int LinearLayer::run(Way way) {
  if (way == Way::plain) {
    plain_linear(shape(), x_.data(), w_.data(), bias_.data(), y_.data());
    return 0;
  }
  const LinearKernel& kernel = way == Way::fused ? fused_ : unfused_;
  return kernel.run(x_.raw(), weights(way)->raw(), bias_.raw(), y_.raw());
}

void LinearLayer::evict_for(Way way) {
  for (const HostArray* array : {&x_, weights(way), &bias_, &y_}) {
    evict(array->data(), array->bytes());
  }
}

void LinearLayer::check(Way way) {
  const LinearShape s = shape();
  std::fill_n(y_.data(), y_.size(), std::numeric_limits<float>::quiet_NaN());
  if (run(way) != 0) {
    fail("{} {}: {}", s.to_string(), name_of(way), emulsion_last_error());
  }
  // Every row and every column, but not every pair.
  const int64_t most = std::max(s.m, s.n);
  for (int64_t i = 0; i < most; ++i) {
    const int64_t m = i * 7 % s.m, n = i * 11 % s.n;
    double sum = bias_.data()[n], size = std::abs(sum);
    for (int64_t k = 0; k < s.k; ++k) {
      const double term = double{x_.data()[m * s.k + k]} * w_.data()[k * s.n + n];
      sum += term;
      size += std::abs(term);
    }
    const double expected = std::max(sum, 0.0), found = y_.data()[m * s.n + n];
    const double rounding = static_cast<double>(s.k + 2) * 0x1p-24 * size;
    if (std::abs(found - expected) <= rounding) continue;  // false for NaN
    fail("{} {}: y[{}, {}]: expected {}, got {}", s.to_string(), name_of(way), m, n, expected,
         found);
  }
}

}  // namespace emulsion::benchmarks
