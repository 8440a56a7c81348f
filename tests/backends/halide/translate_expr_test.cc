// What a translated expression computes is tested operator by operator, in scalar_ops_test and
// nest_cases. Here: what compilers must not know of it.

#include "backends/halide/translate_expr.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

// y[i] = table[clamp(value[i])], where `value` leaves i32. Compilers that take it for no number
// beyond its type drop the clamp to 0, and the kernel reads far before the table.
void expect_clamped_place(const std::function<Expr(const Tensor& u, const Tensor& d)>& value,
                          bool lower_first) {
  const Axis i("i", 40);
  Tensor u = input("u", u16, {40}), d = input("d", i32, {40}), table = input("table", i32, {1000});
  const Tensor at = compute("at", {i}, value(u, d));
  const Expr place = lower_first ? min(max(at(i), 0), 999) : max(min(at(i), 999), 0);
  const Graph graph(compute("y", {i}, table(place) + d(i) * 0 + cast(i32, u(i)) * 0));
  TensorValues values = {
      {"u", zeros(u16, {40})}, {"d", zeros(i32, {40})}, {"table", zeros(i32, {1000})}};
  for (int64_t n = 0; n < 40; ++n) values.at("u").set_value(n, static_cast<double>(65535 - n));
  for (int64_t n = 0; n < 40; ++n) values.at("d").set_value(n, n % 3 == 0 ? INT32_MIN : INT32_MAX);
  for (int64_t n = 0; n < 1000; ++n) values.at("table").set_value(n, static_cast<double>(n));
  const TensorValue expected = interpret_graph(graph, values).at("y");
  for (const bool inlined : {false, true}) {
    Schedule schedule(graph);
    if (inlined && at.op()->combiner == Combiner::none) schedule["at"].compute_inline();
    if (inlined && at.op()->combiner == Combiner::sum) {
      schedule["at"].compute_at(Tensor(graph.outputs()[0]), i).store_in(Memory::registers);
      schedule["at"].unroll(at.op()->reduction_axes[0]);
    }
    const LoopNest nest = lower(graph, schedule);
    TensorValue y = zeros(i32, {40});
    std::map<std::string, JitBuffer> arguments = {{"y", {i32, y.shape, y.bytes.data()}}};
    for (auto& [name, tensor] : values) {
      arguments[name] = {tensor.dtype, tensor.shape, tensor.bytes.data()};
    }
    JitKernel(nest).run(arguments);
    EXPECT_EQ(first_difference(expected, y), std::nullopt) << to_string(nest);
  }
}

TEST(TranslateExpr, WhatWrapsAroundIsClampedNevertheless) {
  const Expr i = axis_value("i");
  for (const bool lower_first : {false, true}) {
    SCOPED_TRACE(lower_first);
    expect_clamped_place(
        [&](const Tensor& u, const Tensor&) { return cast(i32, u(i)) * cast(i32, u(i)); },
        lower_first);
    expect_clamped_place([&](const Tensor& u, const Tensor&) { return cast(i32, u(i)) * 100000; },
                         lower_first);
    expect_clamped_place([&](const Tensor&, const Tensor& d) { return max(d(i), 0) + abs(d(i)); },
                         lower_first);
    expect_clamped_place(
        [&](const Tensor&, const Tensor& d) { return select(d(i) < 0, -d(i), d(i)) + 3; },
        lower_first);
  }
}

TEST(TranslateExpr, ASumThatWrapsAroundIsClampedNevertheless) {
  const Axis k("k", 8);
  for (const bool lower_first : {false, true}) {
    expect_clamped_place(
        [&](const Tensor& u, const Tensor&) {
          return sum(k, cast(i32, u(axis_value("i"))) * 30000);
        },
        lower_first);
  }
}

}  // namespace
}  // namespace emulsion
