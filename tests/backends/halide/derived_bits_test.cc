// The order of a derived sum is the same for every batch that a row is part of: its results have
// the same bits, be there one row or many, first or last. By kinds of schedules that are derived.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "bazel/testing/needs.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

constexpr int64_t kRows = 150;
const Extent kSize = Extent::size("B");

bool is_batch(const Op& op) { return !op.shape.empty() && op.shape[0] == kSize; }

// By name: inputs, all rows of each, or results.
using Values = std::map<std::string, std::vector<float>>;

int64_t elements_of_row(const Op& op) {
  int64_t count = 1;
  for (size_t d = is_batch(op) ? 1 : 0; d < op.shape.size(); ++d) {
    count *= op.shape[d].constant_term();
  }
  return count;
}

// No sum of them is exact.
Values inputs_of(const Graph& graph) {
  std::mt19937 engine(5);
  std::normal_distribution<float> distribution(0, 1);
  Values values;
  for (const OpPtr& op : graph.arguments()) {
    std::vector<float>& all = values[op->name];
    all.resize(static_cast<size_t>(elements_of_row(*op) * kRows));
    for (float& value : all) value = distribution(engine);
  }
  return values;
}

JitBuffer buffer_of(const Op& op, int64_t rows, float* data) {
  JitBuffer buffer{f32, {}, data};
  for (const Extent& extent : op.shape) buffer.shape.push_back(extent.evaluate({{"B", rows}}));
  return buffer;
}

Values run_rows(const JitKernel& kernel, const Graph& graph, Values* inputs, int64_t first,
                int64_t rows) {
  std::map<std::string, JitBuffer> buffers;
  for (const OpPtr& op : graph.arguments()) {
    float* const all = inputs->at(op->name).data();
    buffers[op->name] =
        buffer_of(*op, rows, all + (is_batch(*op) ? first * elements_of_row(*op) : 0));
  }
  Values results;
  for (const OpPtr& op : graph.outputs()) {
    std::vector<float>& all = results[op->name];
    all.resize(static_cast<size_t>(elements_of_row(*op) * rows));
    buffers[op->name] = buffer_of(*op, rows, all.data());
  }
  kernel.run(buffers);
  return results;
}

class DerivedBits : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SKIP_UNLESS_IT_RUNS(target_);
    target_.cores = 8;
  }

  void expect_same_bits(const Tensor& y) {
    const Graph graph(y);
    Values inputs = inputs_of(graph);
    const JitKernel kernel(run_pipeline(graph, target_).nest, target_);
    const Values all = run_rows(kernel, graph, &inputs, 0, kRows);
    for (const int64_t rows : {1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 33, 64, 100, 149}) {
      for (const int64_t first : {int64_t{0}, int64_t{1}, kRows - rows}) {
        const Values some = run_rows(kernel, graph, &inputs, first, rows);
        for (const OpPtr& op : graph.outputs()) {
          const std::vector<float>&found = some.at(op->name), &expected = all.at(op->name);
          const auto from = static_cast<size_t>(first * elements_of_row(*op));
          EXPECT_EQ(std::memcmp(found.data(), &expected[from], found.size() * sizeof(float)), 0)
              << rows << " rows from " << first << "\n"
              << to_string(graph);
        }
      }
    }
  }

  static Tensor rows_of(int64_t length) { return input("x", f32, {kSize, length}); }

 private:
  Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedBits, OfProducts) {
  for (const auto& [depth, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{100, 33}, {3, 3}, {33, 2}, {5, 300}}) {
    expect_same_bits(matmul(rows_of(depth), weight("w", f32, {depth, columns})));
    expect_same_bits(relu(matmul(rows_of(depth), transpose(input("w", f32, {columns, depth})))));
  }
  expect_same_bits(matmul(rows_of(100), input("w", f32, {100})));
}

TEST_P(DerivedBits, OfRows) {
  for (const int64_t length : {7, 33, 300}) {
    const Tensor x = rows_of(length);
    expect_same_bits(sum(exp(x), {1}));
    expect_same_bits(softmax(x));
    expect_same_bits(layer_norm(x, input("gamma", f32, {length}), input("beta", f32, {length})));
  }
}

TEST_P(DerivedBits, OfPictures) {
  const Tensor pixels = input("x", f32, {kSize, 9, 11, 3});
  expect_same_bits(conv2d(pixels, weight("w", f32, {3, 3, 3, 8})));
  expect_same_bits(mean(pixels, {1, 2}));
  expect_same_bits(mean(input("x", f32, {kSize, 3, 9, 11}), {2, 3}));
  expect_same_bits(sum(input("x", f32, {kSize, 7, 33}), {1}));
}

TEST_P(DerivedBits, OfAttention) {
  const Tensor scores = matmul(rows_of(16), transpose(input("keys", f32, {33, 16})));
  expect_same_bits(matmul(softmax(scores), input("values", f32, {33, 24})));
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedBits,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion
