#include "tests/passes/stack_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/operators.h"

namespace emulsion {
namespace {

constexpr int64_t kOfKib = 256;  // elements of four bytes

}  // namespace

Schedule tiles_at_once(const std::vector<int64_t>& kib) {
  const int64_t largest = *std::max_element(kib.begin(), kib.end());
  const Axis i("i", 2), j("j", largest * kOfKib);
  const Tensor x = input("x", f32, {2, largest * kOfKib});
  Expr sum;
  for (size_t t = 0; t < kib.size(); ++t) {
    const Axis n("n", kib[t] * kOfKib);
    const Tensor tile = compute(fmt::format("t{}", t), {i, n}, x(i, n) * static_cast<float>(t + 2));
    const Expr read = tile(i, Expr(j) / static_cast<int>(largest / kib[t]));
    sum = sum.defined() ? sum + read : read;
  }
  Schedule schedule(compute("y", {i, j}, sum));
  for (size_t t = 0; t < kib.size(); ++t) schedule[fmt::format("t{}", t)].compute_at("y", i);
  return schedule;
}

Schedule tiles_in_turn(const std::vector<int64_t>& kib, const std::vector<DType>& types) {
  const Axis i("i", 2);
  std::vector<Tensor> outputs;
  for (size_t t = 0; t < kib.size(); ++t) {
    const DType type = types.empty() ? f32 : types[t];
    const Axis j("j", kib[t] * kOfKib);
    const Tensor x = input(fmt::format("x{}", t), type, {2, kib[t] * kOfKib});
    const Tensor tile = compute(fmt::format("t{}", t), {i, j}, x(i, j) + constant(type, 1));
    outputs.push_back(compute(fmt::format("y{}", t), {i, j}, tile(i, j) * constant(type, 2)));
  }
  Schedule schedule{Graph(outputs)};
  for (size_t t = 0; t < kib.size(); ++t) {
    schedule[fmt::format("t{}", t)].compute_at(fmt::format("y{}", t), i);
  }
  return schedule;
}

Schedule nested_tiles(int64_t kib, int64_t inner_kib) {
  const Axis i("i", 2), j("j", 3), n("n", kib * kOfKib), m("m", inner_kib * kOfKib);
  const Tensor x = input("x", f32, {2, std::max(kib, inner_kib) * kOfKib});
  const Tensor t0 = compute("t0", {i, n}, x(i, n) * 2.0f);
  const Tensor t1 = compute("t1", {i, j, m}, x(i, m) * cast(f32, Expr(j)));
  const Tensor sum0 = compute("sum0", {i, j}, sum(n, t0(i, n)));
  const Tensor sum1 = compute("sum1", {i, j}, sum(m, t1(i, j, m)));
  Schedule schedule(compute("y", {i, j}, sum0(i, j) + sum1(i, j)));
  schedule[t0].compute_at("y", i);
  for (const Tensor& tensor : {t1, sum0, sum1}) schedule[tensor].compute_at("y", j);
  return schedule;
}

}  // namespace emulsion
