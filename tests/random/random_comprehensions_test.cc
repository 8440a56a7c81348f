// Comprehensions by hand: what the graph interpreter, which knows nothing of schedules, and the
// compiled kernel of the derived schedule compute is the same, on each level of x86-64. A failure
// prints what reproduces it:
//
//   ./bazelw test //tests/random:random_comprehensions_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many there are, EMULSION_GRAPH the number of the only one to run. The
// tests run a few hundred; //tests/random:all_random_comprehensions_test, by hand, runs 3,000.

#include "tests/random/random_comprehensions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "passes/pipeline.h"
#include "tests/random/check_recipe.h"
#include "tests/random/check_schedule.h"
#include "tests/random/expect_in_children.h"
#include "tests/random/level_batches.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261127;
constexpr int kGraphs = 240;

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

// What is thrown is what is wrong. Where all is exact, zeros have their signs too.
void check_pipeline(ScheduleProgram drawn, const Lowered& lowered, const Target& target) {
  if (drawn.relative == 0) drawn.absolute = 0;
  check_lowered(drawn, lowered, target);
}

// What is wrong, or nothing. The schedule is announced as soon as there is one.
std::string check(uint64_t seed, int index) {
  const ScheduleProgram drawn = random_comprehensions(seed, index);
  const Target target = machine_of(index);
  std::string text =
      fmt::format("\n{}target {}\n", to_string(drawn.graph), target.to_string_with_machine());
  announce(text);
  DeriveOptions options = index % 2 == 0 ? test_options() : DeriveOptions{};
  options.fuse = index % 8 != 7;
  try {
    const Lowered lowered = run_pipeline(drawn.graph, target, options);
    text += to_string(lowered.schedule);
    announce(text);
    check_pipeline(drawn, lowered, target);
    return "";
  } catch (const std::exception& error) {
    return error.what() + text;
  }
}

class RandomComprehension : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(machine_of(std::get<0>(GetParam()))); }
};

TEST_P(RandomComprehension, IsComputedAsItIsWritten) {
  const auto [level, number_of_batch] = GetParam();
  expect_nothing_wrong(batch(level, number_of_batch, kGraphs), base_seed(),
                       [](int index) { return check(base_seed(), index); });
}

INSTANTIATE_TEST_SUITE_P(All, RandomComprehension,
                         testing::Combine(testing::Range(0, kLevelCount),
                                          testing::Range(0, kBatches)));

// What random ones have found, as small as still shows it.
struct FoundComprehension {
  const char* name;
  const char* text;
};

class FoundComprehensions : public testing::TestWithParam<std::tuple<FoundComprehension, int>> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(machine_of(std::get<1>(GetParam()))); }
};

TEST_P(FoundComprehensions, AreComputedAsTheyAreWritten) {
  const auto& [smallest, level] = GetParam();
  const Graph graph = parse_graph(std::string("emulsion graph 1\n") + smallest.text);
  ScheduleProgram found = program_of_comprehensions(graph, kSeed);
  for (const int64_t size : {0, 1, 2, 3, 7, 8, 17, 37}) {
    SizeValues sizes;
    for (const std::string& name : graph.sizes()) sizes[name] = size;
    found.runs.push_back(sizes);
  }
  const Target target = machine_of(level);
  EXPECT_NO_THROW(check_pipeline(found, run_pipeline(graph, target), target));
}

const FoundComprehension kFound[] = {
    // LLVM did not come to an end (even_bytes.h).
    {"TwiceBytesThatStandTwice",
     "size W\n"
     "input x: u8[W]\n"
     "y[i: 2 * W] = x[i / 2] + x[i / 2]\n"
     "z[i: 3 * W] = x[i / 3] * 254u8\n"
     "output y\noutput z\n"},
    {"BytesThatStandTwiceInASum",
     "size W\n"
     "input x: u8[W]\ninput z: u8[2 * W]\n"
     "y[i: 2 * W] = (x[i / 2] + z[i]) + (x[i / 2] + z[2 * W - 1 - i])\n"
     "y1[i: 2 * W] = (x[i / 2] - z[i]) - (z[i] - x[i / 2]) + x[i / 2]\n"
     "output y\noutput y1\n"},
    // Halide finds no bounds of an index in which one condition chooses between vectors.
    {"AnIndexOfBytesThatAreHeldAtTheEnd",
     "size W\n"
     "input t: i16[4]\ninput x: f32[8]\n"
     "y[i: W] = x[max(min(i32(t[min(i, 3)]), 7), 0)]\n"
     "output y\n"},
    // What is loaded as a whole where the tensor holds it was loaded in front of that condition.
    {"BytesHeldAtTheEndAsALargerType",
     "size W\n"
     "input x: u8[W, 4]\n"
     "y[i: W, j: 4] = min(f64(x[i, min(j + 2, 3)]), 4d)\n"
     "output y\n"},
    // A name for the mask of several loads was lost.
    {"AProductOfBytesUnderOneMask",
     "size H\nsize W\n"
     "input x: i8[4, H, 4]\n"
     "y[i: W, j: H] = (4u16 - u16(x[min(j, 3), (j + 2) % H, 1])) * (u16(x[min(j, 3), "
     "min(j + 3, H - 1), 2]) + u16(x[min(j, 3), max(j - 1, 0), 0]))\n"
     "output y\n"},
    // Halide took the last step of a loop for one less than it is, and one side for never taken.
    {"ASideThatOnlyOnePlaceTakes",
     "size W\n"
     "input x: f32[W]\ninput z: f32[W]\n"
     "y[i: W] = select(i == 0 || i >= 2, x[i], z[i])\n"
     "output y\n"},
    // The verifier took a condition for another that is the same at the places that it looks at.
    {"ConditionsThatAreTheSameAtAnEnd",
     "size W\n"
     "input x: f32[W, 8]\ninput z: f32[W]\n"
     "y[i: 8, j: W] = select(i >= 1 && i < 7, select(i == 7, x[(j + 1) % W, i], z[j]), "
     "select(j < 7, x[max(j - 3, 0), min(j + 3, 7)], f32(i)))\n"
     "output y\n"},
    // Code generation put the place in front of a tensor, which had a name, back as a number.
    {"AProductOfBytesInFrontOfARow",
     "size W\n"
     "input x: i8[W]\ninput z: i8[W]\n"
     "y[i: W] = i16((select(z[i] == x[i], i32(z[i]) - i32(x[i]), i32(x[max(i - 1, 0)]) * 5) * 109 "
     "+ 128) / 32) * i16(x[i])\n"
     "output y\n"},
    // Halide left out the steps whose place is not below the first value, and then the comparison.
    {"TheLeastPlace",
     "size H\n"
     "y[i: 2] = min(r: H + 3) r + i\n"
     "y1[] = min(r: H + 3) r\n"
     "output y\noutput y1\n"},
    // The same as for the first, behind a name.
    {"AnIndexOfBytesByName",
     "size H\n"
     "input t: u8[15]\ninput x: f32[H, H]\n"
     "f[i: H] = max(abs(x[max(min(i32(t[min(i, 14)]), H - 1), 0), i]), select(i > 4, "
     "x[max(min(i32(t[min(i, 14)]), H - 1), 0), max(i - 3, 0)], x[i, i] + "
     "f32(t[min(i * 2 + 1, 14)])))\n"
     "output f\n"},
    // LLVM loaded lanes that are none, of a vector that is less than a register.
    {"BytesThatPointToBytes",
     "size H\n"
     "input x: u8[H]\ninput z: i32[H]\n"
     "y[i: 15, j: H] = sum(r: 2) min(select(j == 0 || j >= 6, f64(x[min(i32(x[j]), H - 1)]), "
     "f64(z[j])), f64(r))\n"
     "output y\n"},
    // What two conditions load was loaded in front of both.
    {"EvenElementsAndElementsInTurn",
     "size H\nsize W\n"
     "input x: i8[W, 2*H]\ninput z: u16[2*H, 2*H]\ninput t: i16[2*H]\n"
     "y[i: H] = sum(r: W) u8(max(i32(x[r, i * 2]) + i32(t[i * 2 + 1]), "
     "i32(z[max(min(i32(x[r, i]), 2 * H - 1), 0), i * 2]) - i32(t[i * 2])) / 128)\n"
     "output y\n"},
    // Lanes of data behind the end of a row, which a mask leaves out, said where to read.
    {"PlacesOfDataInTheLastVectorOfARow",
     "size H\n"
     "input x: i16[H, 40]\ninput d: i32[H, 40]\n"
     "y[i: H] = sum(j: 40) x[max(min(d[i, j], H - 1), 0), j]\n"
     "output y\n"},
    // The verifier took j + lane behind data for another sum than j_and_lane + data.
    {"PlacesOfDataAndAxisInASum",
     "size H\n"
     "input x: f32[16, H]\ninput z: f32[H]\ninput d: i32[H]\n"
     "y[i: 16] = sum(j: H) x[i, j] * z[max(min(max(min(d[j], 100), -100) + j, H - 1), 0)]\n"
     "output y\n"},
    // The verifier did not know that the last tile of rows of two axes may end with them.
    {"RowsOfTwoAxesThatAreCombinedTwice",
     "size H\n"
     "input x: f32[H, 6, 18]\n"
     "f[i: H, j: 6] = sum(k: 18) x[i, j, k]\n"
     "y[i: H, j: 6] = max(k: 18) x[i, j, k] - f[i, j]\n"
     "output y\n"},
};

INSTANTIATE_TEST_SUITE_P(All, FoundComprehensions,
                         testing::Combine(testing::ValuesIn(kFound),
                                          testing::Range(0, kLevelCount)),
                         [](const auto& info) {
                           return name_with_level(std::get<0>(info.param).name,
                                                  std::get<1>(info.param));
                         });

}  // namespace
}  // namespace emulsion
