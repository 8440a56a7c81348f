// Gradients of comprehensions by hand, as graphs: what the interpreter computes of them, fused and
// not, and what compiled kernels do on each level of x86-64, is what the program gives that runs
// backwards point by point (scattered_gradients.h), and its central differences. A failure prints
// what reproduces it:
//
//   ./bazelw test //tests/random:random_comprehension_gradients_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many there are, EMULSION_GRAPH the number of the only one to run. The
// tests run a few dozen; //tests/random:all_random_comprehension_gradients_test, by hand, 5,000.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "bazel/testing/needs.h"
#include "tests/random/check_gradients.h"
#include "tests/random/check_recipe.h"
#include "tests/random/expect_in_children.h"
#include "tests/random/gradient_programs.h"
#include "tests/random/level_batches.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261128;
constexpr int kGraphs = 72;

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

// What is wrong, or nothing.
std::string check(uint64_t seed, int index) {
  const GradientProgram program = random_gradient_program(seed, index, DType::f64);
  std::optional<GradientProgram> rounded;
  if (index % 2 == 1) rounded = random_gradient_program(seed, index, DType::f32);
  GradientWay way = {machine_of(index), {}, index % 3 == 2};
  if (index % 4 < 2) way.options = test_options();
  way.options.fuse = index % 7 != 6;
  return wrong_gradients(program, rounded ? &*rounded : nullptr, way, seed);
}

class RandomComprehensionGradients : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(machine_of(std::get<0>(GetParam()))); }
};

TEST_P(RandomComprehensionGradients, AreThoseOfEveryPoint) {
  const auto [level, number_of_batch] = GetParam();
  expect_nothing_wrong(batch(level, number_of_batch, kGraphs), base_seed(),
                       [](int index) { return check(base_seed(), index); });
}

INSTANTIATE_TEST_SUITE_P(All, RandomComprehensionGradients,
                         testing::Combine(testing::Range(0, kLevelCount),
                                          testing::Range(0, kBatches)));

}  // namespace
}  // namespace emulsion
