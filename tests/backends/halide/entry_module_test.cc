// What the entry of a kernel asks the processor, of which a test on one machine sees little.

#include "backends/halide/entry_module.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/halide/halide_call.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// The words of each question for features.
struct Questions : hi::IRVisitor {
  using hi::IRVisitor::visit;
  std::vector<std::vector<uint64_t>> words;

  void visit(const hi::Call* op) override {
    hi::IRVisitor::visit(op);
    if (op->name != "halide_can_use_target_features") return;
    words.emplace_back();
    for (const Halide::Expr& word : op->args.at(1).as<hi::Call>()->args) {
      words.back().push_back(*hi::as_const_uint(word));
    }
  }
};

std::vector<std::vector<uint64_t>> questions_for(const Target& target) {
  const Axis i("i", 8);
  const Tensor y = compute("y", {i}, input("x", f32, {8})(i) * 2.0f);
  const LoopNest nest = lower(Graph(y), Schedule(y));
  Questions questions;
  call_halide("making an entry", [&] {
    const Halide::Module module =
        entry_module("k", {{&nest, "k", {{"k_body", target, &nest}}}}, "0123");
    for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&questions);
  });
  return questions.words;
}

// Halide numbers its features; 64 of them have a place in each word.
TEST(EntryModule, AsksForEachFeatureInItsWord) {
  const Halide::Target::Feature early = Halide::Target::feature_from_name("avx2"),
                                late = Halide::Target::feature_from_name("avx10_1");
  ASSERT_LT(early, 64);
  ASSERT_GE(late, 64);
  for (const auto& [name, feature] : {std::pair("avx2", early), std::pair("avx10_1", late)}) {
    Target target = Target::parse("x86-64-linux");
    target.features = {name};
    std::vector<uint64_t> expected((Halide::Target::FeatureEnd + 63) / 64, 0);
    expected[feature / 64] = uint64_t{1} << (feature % 64);
    const auto questions = questions_for(target);
    ASSERT_EQ(questions.size(), 1U) << name;
    EXPECT_EQ(questions[0], expected) << name;
  }
}

}  // namespace
}  // namespace emulsion
