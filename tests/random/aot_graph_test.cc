// Random graphs that are compiled ahead of time agree with NumPy, in each of their bodies: what
// random_graph_test is for the JIT, for libraries. Their buffers lie beside forbidden pages.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "backends/interpreter/bind_arguments.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/skip_targets.h"
#include "bazel/testing/needs.h"
#include "passes/pipeline.h"
#include "tests/random/aot_graphs.h"
#include "tests/random/aot_graphs.inc"
#include "tests/random/guarded_buffer.h"
#include "tests/random/oracle.h"
#include "tests/random/random_graph.h"
#include "tests/random/run_in_children.h"
#include "tests/random/wrong_step.h"

namespace emulsion {
namespace {

// Memory of a kernel's argument, and the descriptor of it.
class Argument {
 public:
  Argument(DType dtype, const std::vector<int64_t>& shape, const std::vector<uint8_t>& bytes,
           GuardedBuffer::Side side)
      : size_(bytes.size()), memory_(bytes, side), axes_(shape.size()) {
    int64_t stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      axes_[shape.size() - 1 - axis] = {0, static_cast<int32_t>(shape[axis]),
                                        static_cast<int32_t>(stride)};
      stride *= shape[axis];
    }
    const auto bits = static_cast<uint8_t>(dtype == DType::boolean ? 1 : 8 * size_in_bytes(dtype));
    halide_type_code_t code = halide_type_float;
    if (dtype == DType::boolean) code = halide_type_uint;
    if (is_integer(dtype)) {
      code = integer_range(dtype).lowest < 0 ? halide_type_int : halide_type_uint;
    }
    raw_.host = static_cast<uint8_t*>(memory_.data());
    raw_.type = halide_type_t(code, bits, 1);
    raw_.dimensions = static_cast<int32_t>(shape.size());
  }

  halide_buffer_t* raw() {
    raw_.dim = axes_.data();
    return &raw_;
  }
  std::vector<uint8_t> bytes() const { return {raw_.host, raw_.host + size_}; }
  bool padding_is_intact() const { return memory_.padding_is_intact(); }

 private:
  size_t size_;
  GuardedBuffer memory_;
  std::vector<halide_dimension_t> axes_;
  halide_buffer_t raw_ = {};
};

// One library, as body `body` of it computes. Empty where all is as NumPy says.
class Library {
 public:
  Library(const AotGraph& library, int body)
      : library_(library),
        body_(body),
        recipe_(random_recipe(kAotSeed, library.index)),
        graph_(build_graph(recipe_)),
        lowered_(run_pipeline(graph_, aot_targets())) {}

  const Recipe& recipe() const { return recipe_; }

  std::string check(const Answer& answer) const {
    if (!answer.error.empty()) return answer.error;
    for (size_t run = 0; run < recipe_.runs.size(); ++run) {
      const std::string found = check_run(recipe_.runs[run], answer.runs[run]);
      if (!found.empty()) {
        return fmt::format("seed {} graph {} run {}: {}\n{}", kAotSeed, library_.index, run, found,
                           to_string(recipe_));
      }
    }
    return "";
  }

 private:
  std::string check_run(const SizeValues& sizes, const std::vector<Expected>& expected) const {
    const auto side =
        library_.index % 2 == 0 ? GuardedBuffer::Side::end : GuardedBuffer::Side::start;
    const TensorValues values = arguments_of(recipe_, graph_, sizes);
    runtime::SkipTargets skip(body_);
    std::map<std::string, Argument> given;         // by the names of the nest
    const LoopNest& nest = lowered_.front().nest;  // arguments and packs are those of all
    for (const Buffer* buffer : nest.arguments()) {
      const auto value = values.find(buffer->name);
      if (value != values.end()) {
        given.try_emplace(buffer->name, buffer->dtype, value->second.shape, value->second.bytes,
                          side);
        continue;
      }
      TensorValue empty = zeros(buffer->dtype, evaluate_shape(buffer->name, buffer->shape, sizes));
      fill_with_poison(&empty);
      given.try_emplace(buffer->name, buffer->dtype, empty.shape, empty.bytes, side);
    }
    for (const Pack& pack : nest.packs) {
      const TensorValue& weight = values.at(pack.weight);
      Argument from(weight.dtype, weight.shape, weight.bytes, side);
      halide_buffer_t* arguments[] = {from.raw(), given.at(pack.packed).raw()};
      skip.restart();
      if (library_.packs.at(pack.weight)(arguments) != 0) return emulsion_last_error();
    }
    std::vector<halide_buffer_t*> arguments;
    for (const Buffer* buffer : nest.arguments()) arguments.push_back(given.at(buffer->name).raw());
    skip.restart();
    if (library_.call(arguments.data()) != 0) return emulsion_last_error();
    for (const auto& [name, argument] : given) {
      if (!argument.padding_is_intact()) return "wrote beside " + name;
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Op& op = *graph_.outputs()[i];
      TensorValue actual = zeros(op.dtype, evaluate_shape(op.name, op.shape, sizes));
      actual.bytes = given.at(op.name).bytes();
      const auto difference = first_difference(expected[i], actual);
      if (difference) {
        return fmt::format("{}{}\nfirst wrong after: {}", op.name, *difference,
                           wrong_step(values, sizes, expected));
      }
    }
    return "";
  }

  std::string wrong_step(const TensorValues& values, const SizeValues& sizes,
                         const std::vector<Expected>& expected) const {
    const Lowered& lowered = lowered_.at(static_cast<size_t>(body_));
    const auto agrees = [&](const TensorValues& results) {
      bool all = true;
      for (size_t i = 0; i < expected.size(); ++i) {
        all = all && !first_difference(expected[i], results.at(graph_.outputs()[i]->name));
      }
      return all;
    };
    return first_wrong_step({{"the graph", graph_}, {"the groups", lowered.grouped}},
                            lowered.schedule, values, sizes, agrees);
  }

  const AotGraph& library_;
  const int body_;
  Recipe recipe_;
  Graph graph_;
  std::vector<Lowered> lowered_;  // for each body
};

class AotGraphs : public ::testing::TestWithParam<int> {};

TEST_P(AotGraphs, AgreeWithNumPy) {
  const Target target = aot_targets()[static_cast<size_t>(GetParam())];
  SKIP_UNLESS_IT_RUNS(target);
  ASSERT_EQ(kLibraries.size(), size_t{kAotGraphs});
  std::vector<Recipe> recipes;
  for (const AotGraph& library : kLibraries) {
    recipes.push_back(random_recipe(kAotSeed, library.index));
  }
  const std::vector<Answer> answers = ask_numpy(recipes);
  std::vector<std::function<std::string()>> tasks;
  for (size_t i = 0; i < kLibraries.size(); ++i) {
    tasks.emplace_back([&, i] {
      announce(fmt::format("graph {}", kLibraries[i].index));
      return Library(kLibraries[i], GetParam()).check(answers.at(i));
    });
  }
  for (const TaskResult& result : run_in_children(tasks)) {
    EXPECT_EQ(result.crash, "");
    EXPECT_EQ(result.text, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AotGraphs, ::testing::Values(0, 1, 2));

}  // namespace
}  // namespace emulsion
