// A graph as plain loops in C computes what the interpreter says, in every order of its loops.

#include "benchmarks/peers/plain_c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/error.h"
#include "dsl/graph_text.h"

namespace emulsion::benchmarks {
namespace {

Graph graph_of(const std::string& lines) { return parse_graph("emulsion graph 1\n" + lines); }

testing::AssertionResult computes_the_same(const Graph& graph, const SizeValues& sizes = {}) {
  std::string source;
  for (const PlainOrder order : all_plain_orders())
    source += plain_c(graph, order, "way" + std::to_string(static_cast<int>(order)));
  const CompiledC compiled(source);
  TensorValues values;
  uint64_t seed = 0;
  for (const OpPtr& op : graph.arguments()) {
    values[op->name] =
        random_integers(op->dtype, evaluate_shape(op->name, op->shape, sizes), ++seed);
  }
  const TensorValues expected = interpret_graph(graph, values);
  for (const PlainOrder order : all_plain_orders()) {
    TensorValues own = values;
    for (const auto& [name, value] : expected) {
      own[name] = value;
      fill_with_poison(&own[name]);
    }
    compiled.call("way" + std::to_string(static_cast<int>(order)), graph, sizes, &own)();
    for (const auto& [name, value] : expected) {
      if (const auto difference = first_difference(value, own.at(name), 1e-5, 1e-5)) {
        return testing::AssertionFailure()
               << name << *difference << " in order " << static_cast<int>(order) << "\n"
               << source;
      }
    }
  }
  return testing::AssertionSuccess();
}

TEST(PlainC, ElementwiseOperationsOfAllKinds) {
  EXPECT_TRUE(computes_the_same(graph_of(
      "input x: f32[5, 7]\ninput z: f32[7]\n"
      "a[i: 5, j: 7] = max(min(x[i, j], 2f), -1.5f) + z[j] * -0.25f - abs(x[i, 6 - j])\n"
      "y[i: 5, j: 7] = select(a[i, j] < 0f || j == 3, exp(a[i, j]), sqrt(abs(a[i, j])) / 3f)\n"
      "output y\n")));
  EXPECT_TRUE(computes_the_same(graph_of(
      "input x: f64[9]\ny[i: 9] = round(x[i] / 2d) + floor(x[i]) + pow(2d, x[i])\noutput y\n")));
}

TEST(PlainC, ReductionsOfAllKinds) {
  for (const std::string combiner : {"sum", "max", "min", "product"}) {
    EXPECT_TRUE(computes_the_same(graph_of("input x: f32[4, 3, 5]\ny[j: 3] = " + combiner +
                                           "(k: 5, i: 4) x[i, j, k]\noutput y\n")))
        << combiner;
    EXPECT_TRUE(computes_the_same(
        graph_of("input x: i32[4, 3]\ny[] = " + combiner + "(i: 4, j: 3) x[i, j]\noutput y\n")))
        << combiner;
  }
}

TEST(PlainC, OperationsOneAfterAnotherAndSeveralOutputs) {
  EXPECT_TRUE(
      computes_the_same(graph_of("input x: f32[6, 8]\ns[i: 6] = sum(j: 8) x[i, j]\n"
                                 "y[i: 6, j: 8] = x[i, j] - s[i]\noutput y\noutput s\n")));
}

TEST(PlainC, IndicesThatAreDividedRoundDown) {
  EXPECT_TRUE(computes_the_same(
      graph_of("input x: f32[10]\n"
               "y[i: 20] = x[i / 2] + x[max((i - 3) / 4, 0)] + x[(i + 7) % 10]\noutput y\n")));
  EXPECT_TRUE(computes_the_same(
      graph_of("input x: i32[9]\ny[i: 9] = x[i] / 2 + x[i] % 3 + x[i] / (i - 4)\noutput y\n")));
}

TEST(PlainC, NarrowIntegersWrapAndCastsSaturate) {
  EXPECT_TRUE(
      computes_the_same(graph_of("input x: u8[40]\ny[i: 40] = x[i] * 100u8 - 3u8\noutput y\n")));
  EXPECT_TRUE(
      computes_the_same(graph_of("input x: i8[40]\ny[] = sum(i: 40) x[i] * 37i8\noutput y\n")));
  EXPECT_TRUE(computes_the_same(
      graph_of("input x: f32[40]\ny[i: 40] = u8(x[i] * 100f)\nz[i: 40] = i32(x[i] * 1e9f)\n"
               "output y\noutput z\n")));
}

TEST(PlainC, RunTimeSizesAndConstants) {
  EXPECT_TRUE(computes_the_same(
      graph_of("size R\ninput x: f32[2 * R + 1, 3]\nconstant c: f32[3] = {1f, 2.5f, -3f}\n"
               "y[i: R, j: 3] = sum(r: 2) x[2 * i + r, j] * c[j] + f32(R)\noutput y\n"),
      {{"R", 6}}));
}

TEST(PlainC, SaysWhatItCannotBe) {
  EXPECT_THROW(plain_c(graph_of("input x: f32[4]\nfused_relu y {\n  a[i: 4] = x[i] + 1f\n"
                                "  y[i: 4] = max(a[i], 0f)\n}\noutput y\n"),
                       PlainOrder::as_written, "f"),
               Error);
  EXPECT_THROW(CompiledC("this is no C\n"), Error);
  setenv("CC", "no-such-compiler", 1);
  EXPECT_THROW(CompiledC("void f(void) {}\n"), Error);
  unsetenv("CC");
  const CompiledC compiled("void f(char** tensors, const long* sizes) {}\n");
  TensorValues values;
  const Graph graph = graph_of("input x: f32[4]\ny[i: 4] = x[i]\noutput y\n");
  EXPECT_THROW(compiled.call("g", graph, {}, &values), Error);
}

}  // namespace
}  // namespace emulsion::benchmarks
