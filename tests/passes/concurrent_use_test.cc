// Several threads derive, lower, print, parse, analyse and differentiate the same graphs at once:
// what is shared is not written, and all get what one alone gets. The thread sanitizer looks for
// the rest (concurrent_use_test_thread).

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "passes/analyse/measure_work.h"
#include "passes/differentiate/differentiate.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

Graph linear_layer() {
  const Tensor x = input("x", f32, {Extent::size("B"), 24}), w = weight("w", f32, {24, 40});
  return Graph(relu(matmul(x, w, "mm") + weight("b", f32, {40}), "y"));
}

Graph rows() { return Graph(softmax(input("x", f32, {Extent::size("B"), 40}), 1, "y")); }

Graph blurred() {
  const Axis i("i", 30), j("j", 40);
  const Tensor x = input("x", u8, {32, 42});
  const auto at = [&](int r, int c) { return cast(i32, x(i + r, j + c)); };
  return Graph(compute("y", {i, j}, cast(u8, (at(0, 0) + at(1, 1) * 2 + at(2, 2)) / 4)));
}

Graph squared_error() {
  const Tensor x = input("x", f32, {6, 8}), w = weight("w", f32, {8, 3});
  const Tensor error = sub(matmul(x, w), input("t", f32, {6, 3}));
  const Tensor loss = sum(mul(error, error), {0, 1}, false, "loss");
  return Graph(gradients(loss, {w}));
}

// All that is made of a graph, in words.
std::string described(const Graph& graph, const Target& target) {
  const Lowered lowered = run_pipeline(graph, target);
  const std::string schedule = to_string(lowered.schedule);
  std::string text = to_string(parse_graph(to_string(graph))) + schedule + to_string(lowered.nest);
  text += to_string(parse_schedule(schedule, lowered.grouped));
  for (const int64_t batch : {0, 1, 33}) {
    text += to_string(measure_work(lowered.nest, {{"B", batch}}));
  }
  return text;
}

TEST(ConcurrentUse, GivesWhatOneThreadAloneGets) {
  constexpr int kThreads = 8;
  const std::vector<Graph> graphs = {linear_layer(), rows(), blurred(), squared_error()};
  const Target target = Target::parse("x86-64-v3,cores=4");
  std::vector<std::string> alone;
  for (const Graph& graph : graphs) alone.push_back(described(graph, target));
  std::vector<std::vector<std::string>> found(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t n = 0; n < graphs.size(); ++n) {  // each starts with another one
        const size_t at = (n + static_cast<size_t>(thread)) % graphs.size();
        found[static_cast<size_t>(thread)].push_back(described(graphs[at], target));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int thread = 0; thread < kThreads; ++thread) {
    for (size_t n = 0; n < graphs.size(); ++n) {
      const size_t at = (n + static_cast<size_t>(thread)) % graphs.size();
      EXPECT_EQ(found[static_cast<size_t>(thread)][n], alone[at]) << thread << ", graph " << at;
    }
  }
}

TEST(ConcurrentUse, GraphsAreMadeSideBySide) {
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&text] {
      text = to_string(linear_layer()) + to_string(rows()) + to_string(squared_error());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

}  // namespace
}  // namespace emulsion
