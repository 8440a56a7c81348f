// What a translated expression computes is tested operator by operator, in scalar_ops_test and
// nest_cases. Here: what compilers must not know of it.

#include "backends/halide/translate_expr.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/graph_text.h"
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
    // A remainder may be larger than what is divided: 2 % -7 is -5.
    expect_clamped_place(
        [&](const Tensor& u, const Tensor& d) { return (cast(i32, u(i)) % 5 + 2) % d(i) * 100000; },
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

// y[i] = value and s[o] = the sum of all of them, plain and unrolled. Halide computes numbers
// itself and ends where i32 does not hold them.
void expect_compiles(const std::function<Expr(const Axis& i)>& value, const Extent& extent) {
  const Axis i("i", extent), o("o", 1);
  const Tensor d = input("d", i32, {extent});
  const Tensor y = compute("y", {i}, value(i) + d(i));
  const Tensor s = compute("s", {o}, sum(i, value(i) + d(i)));
  const Graph graph({y, s});
  TensorValue data = random_integers(i32, {7}, 1);
  const TensorValues expected = interpret_graph(graph, {{"d", data}});
  for (const bool unrolled : {false, true}) {
    Schedule schedule(graph);
    if (unrolled) schedule[y].unroll(i, 4, Tail::predicate);
    if (unrolled) schedule[s].unroll(i, 4, Tail::predicate);
    TensorValue results[] = {zeros(i32, {7}), zeros(i32, {1})};
    JitKernel(lower(graph, schedule))
        .run({{"d", {i32, {7}, data.bytes.data()}},
              {"y", {i32, {7}, results[0].bytes.data()}},
              {"s", {i32, {1}, results[1].bytes.data()}}});
    EXPECT_EQ(first_difference(expected.at("y"), results[0]), std::nullopt)
        << to_string(graph.outputs()[0]->body);
    EXPECT_EQ(first_difference(expected.at("s"), results[1]), std::nullopt)
        << to_string(graph.outputs()[0]->body);
  }
}

TEST(TranslateExpr, WhatNumbersMakeBeyondI32Compiles) {
  for (const Extent& extent : {Extent(7), Extent::size("N")}) {
    SCOPED_TRACE(extent.is_constant());
    expect_compiles([](const Axis&) { return int_constant(65536) * 65537; }, extent);
    expect_compiles([](const Axis&) { return int_constant(INT32_MAX) + 1; }, extent);
    expect_compiles([](const Axis&) { return int_constant(-2) - INT32_MAX; }, extent);
    expect_compiles([](const Axis&) { return -int_constant(INT32_MIN); }, extent);
    expect_compiles([](const Axis&) { return int_constant(INT32_MIN) / -1; }, extent);
    expect_compiles([](const Axis&) { return int_constant(INT32_MIN) % -1; }, extent);
    expect_compiles([](const Axis& i) { return i * 2654435 * 1001; }, extent);
    expect_compiles([](const Axis&) { return int_constant(2) % -INT32_MAX * 10; }, extent);
    expect_compiles([](const Axis& i) { return select(int_constant(INT32_MIN) == 5, i, 7); },
                    extent);
    expect_compiles([](const Axis& i) { return select(i - INT32_MAX != 5, i, 7); }, extent);
    expect_compiles([](const Axis& i) { return (i * 1000003 + 17) * 1000003; }, extent);
  }
  // As far as the axis goes only.
  expect_compiles([](const Axis& i) { return i * 1000000000; }, Extent(7));
}

// What the graph computes of integers from the lowest of their type to the highest, and of what is
// near 0.
void expect_as_interpreted(const Graph& graph) {
  TensorValues values, results;
  std::map<std::string, JitBuffer> arguments;
  int64_t step = 1;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind != OpKind::input) continue;
    const IntegerRange range = integer_range(op->dtype);
    const int64_t edges[] = {range.lowest, range.lowest + 1, -1, 0, 1, 2, range.highest};
    TensorValue& value = values[op->name] = zeros(op->dtype, {49});
    for (int64_t n = 0; n < 49; ++n) {
      value.set_value(n, static_cast<double>(edges[n / step % 7]));
    }
    step *= 7;
    arguments[op->name] = {value.dtype, value.shape, value.bytes.data()};
  }
  for (const auto& [name, expected] : interpret_graph(graph, values)) {
    results[name] = expected;
    fill_with_poison(&results[name]);
    arguments[name] = {expected.dtype, expected.shape, results[name].bytes.data()};
  }
  JitKernel(lower(graph, Schedule(graph))).run(arguments);
  for (const auto& [name, expected] : interpret_graph(graph, values)) {
    EXPECT_EQ(first_difference(expected, results.at(name)), std::nullopt) << name;
  }
}

// Halide drops the sign of what is never above 0, and the processor divided -2147483648 by -1.
TEST(TranslateExpr, TheLowestI32IsDividedByWhatMayBeMinusOne) {
  const Axis i("i", 49);
  const Tensor x = input("x", i32, {49}), z = input("z", i32, {49});
  const Expr low = abs(min(x(i), -1) - x(i) % x(i)), by = -(x(i) - z(i)) % max(x(i), z(i));
  expect_as_interpreted(
      Graph({compute("quotient", {i}, low / by), compute("remainder", {i}, low % by),
             compute("plain", {i}, x(i) / z(i))}));
}

// Halide did not come to an end.
TEST(TranslateExpr, NarrowSumsHaveTheLowestNumberAsAFactor) {
  const Axis i("i", 49), o("o", 1);
  const Tensor a = input("a", i8, {49}), b = input("b", i16, {49});
  const auto of_i8 = [](int value) { return constant(i8, value); };
  expect_as_interpreted(
      Graph({compute("plain", {o}, sum(i, a(i) * of_i8(-128))),
             compute("made", {o}, sum(i, a(i) * of_i8(64) * of_i8(-2))),
             compute("wide", {o}, sum(i, b(i) * constant(i16, -32768))),
             compute("hidden", {o}, sum(i, a(i) * -(a(i) * of_i8(0) + of_i8(-128))))}));
}

// LLVM knew that i32 does not hold the number, and stored nothing.
TEST(TranslateExpr, NumbersThatTheTypeDoesNotHoldAreCastAsDataAre) {
  const Axis i("i", 49);
  for (const DType from : {f32, f64}) {
    std::vector<Tensor> outputs;
    for (const DType to : {i8, u8, i16, u16, i32}) {
      for (const double half : {-3e9, -70000.0, -100.0, -0.4, 0.3, 99.9, 70000.0, 3e9, 1.5e308}) {
        if (from == f32 && half > 1e38) continue;
        // Numbers are not computed before Halide has the kernel.
        const Expr number = cast(to, constant(from, half) + constant(from, half));
        const std::string name = "y" + std::to_string(outputs.size());
        outputs.push_back(compute(name, {i}, select(number == constant(to, 0), i, 7)));
        outputs.push_back(compute(name + "c", {i}, number));
      }
    }
    expect_as_interpreted(Graph(outputs));
  }
}

// Of two casts Halide makes one where it can: from float to an unsigned number, of which there is
// none below 0.
TEST(TranslateExpr, WhatIsCastFromFloatIsCastAgain) {
  const Axis i("i", 49);
  const Tensor a = input("a", i8, {49}), b = input("b", i16, {49});
  for (const DType from : {f32, f64}) {
    const Expr x = cast(from, a(i)) * constant(from, 0.9), y = cast(from, b(i));
    expect_as_interpreted(Graph({compute("bytes", {i}, cast(u8, cast(i8, x))),
                                 compute("words", {i}, cast(u16, cast(i16, y))),
                                 compute("of_wide", {i}, cast(u16, cast(i32, y))),
                                 compute("narrow", {i}, cast(i8, x) * a(i)),
                                 compute("middle", {i}, cast(i16, y) * b(i)),
                                 compute("wide", {i}, cast(i32, x) * cast(i32, b(i)))}));
  }
}

// Halide took min(k, n) == m for k == m: of one row, n = m = 0, it combined nothing.
TEST(TranslateExpr, StepsBeyondAClampAreAtItsPlace) {
  const Graph graph = parse_graph(
      "emulsion graph 1\nsize N\ninput a: f64[N, 5]\ninput sp: f64[N, 10]\n"
      "p[i: N, j: 5] = sum(is: N, q: 3, t: 2) select(max(min(j * 4 + t * 2 + q, N - 1), 0) == i, "
      "sp[is, j * 2 + t] * a[max(min(N - is - 1, N - 1), 0), q], 0d)\noutput p\n");
  Schedule schedule(graph);
  const Axis i("i"), io("io"), ii("ii"), j("j"), is("is"), q("q"), t("t");
  schedule["p"].cache_write("p_acc").split(i, io, ii, 4).vectorize(j).unroll(ii).partition(io);
  schedule["p_acc"].compute_at("p", io).reorder({j, i, t, q, is}).vectorize(j).unroll(i);
  const JitKernel kernel(lower(graph, schedule));
  for (int64_t rows = 1; rows < 10; ++rows) {
    TensorValues values = {{"a", random_integers(f64, {rows, 5}, 3)},
                           {"sp", random_integers(f64, {rows, 10}, 4)}};
    InterpretOptions options;
    options.sizes = {{"N", rows}};
    const TensorValue expected = interpret_graph(graph, values, options).at("p");
    TensorValue p = expected;
    fill_with_poison(&p);
    kernel.run({{"a", {f64, {rows, 5}, values.at("a").bytes.data()}},
                {"sp", {f64, {rows, 10}, values.at("sp").bytes.data()}},
                {"p", {f64, p.shape, p.bytes.data()}}});
    EXPECT_EQ(first_difference(expected, p), std::nullopt) << rows;
  }
}

// 0 and -0 in one kernel: what is computed of each tells them apart.
TEST(TranslateExpr, BothZerosStayWhatTheyAre) {
  const Axis i("i", 8);
  for (const DType type : {f32, f64}) {
    const Tensor b = input("b", bool_, {8});
    const Expr zero = constant(type, 0.0), minus = constant(type, -0.0), one = constant(type, 1);
    const Graph graph({compute("chosen", {i}, select(b(i), zero, minus)),
                       compute("difference", {i}, minus - zero),
                       compute("quotient", {i}, one / (minus - zero)),
                       compute("largest", {i}, max(minus, zero)),
                       compute("others", {i}, select(b(i), minus, one) + select(b(i), minus, zero)),
                       compute("by", {i}, one / select(b(i), minus, zero))});
    TensorValue data = random_integers(bool_, {8}, 3, 0, 1);
    TensorValues expected = interpret_graph(graph, {{"b", data}}), results;
    std::map<std::string, JitBuffer> arguments = {{"b", {bool_, {8}, data.bytes.data()}}};
    for (const auto& [name, value] : expected) {
      TensorValue& result = results[name] = zeros(type, {8});
      fill_with_poison(&result);
      arguments[name] = {type, {8}, result.bytes.data()};
    }
    JitKernel(lower(graph, Schedule(graph))).run(arguments);
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(first_difference(value, results.at(name)), std::nullopt) << name;
    }
  }
}

}  // namespace
}  // namespace emulsion
