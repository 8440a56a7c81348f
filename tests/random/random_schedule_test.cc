// Random schedules of a dozen algorithms: legal ones change nothing, illegal ones are refused. A
// failure prints what reproduces it:
//
//   ./bazelw test //tests/random:random_schedule_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_SCHEDULE=123
//
// EMULSION_SCHEDULES is how many there are of each, EMULSION_SCHEDULE the number of the only one to
// run. The tests run a tenth; //tests/random:all_random_schedules_test, by hand, runs all 3,000.

#include "tests/random/random_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/schedule_text.h"
#include "passes/lower.h"
#include "tests/random/check_schedule.h"

namespace emulsion {
namespace {

constexpr int kBatches = 10;
constexpr uint64_t kSeed = 20261121;
constexpr int kSchedules = 300;
constexpr int kCompileEvery = 5;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

int schedule_count() { return static_cast<int>(number_from("EMULSION_SCHEDULES", kSchedules)); }

std::vector<int> batch(int number) {
  const uint64_t only = number_from("EMULSION_SCHEDULE", UINT64_MAX);
  std::vector<int> indices;
  const int count = schedule_count();
  for (int index = count * number / kBatches; index < count * (number + 1) / kBatches; ++index) {
    if (only == UINT64_MAX || only == static_cast<uint64_t>(index)) indices.push_back(index);
  }
  return indices;
}

ScheduleResult run_batch(ScheduleCheck check, int number) {
  const std::vector<int> indices = batch(number);
  const auto results = check_in_children(check, base_seed(), indices, kCompileEvery);
  ScheduleResult total;
  for (size_t i = 0; i < indices.size(); ++i) {
    total.refused += results[i].refused;
    total.compiled += results[i].compiled;
    for (const auto& [kind, count] : results[i].kinds) total.kinds[kind] += count;
    if (results[i].failure.empty()) continue;
    ADD_FAILURE() << "EMULSION_SEED=" << base_seed() << " EMULSION_SCHEDULE=" << indices[i] << "\n"
                  << results[i].failure;
  }
  fmt::print("seed {}: {} schedules, {} refused, {} compiled\n", base_seed(), indices.size(),
             total.refused, total.compiled);
  return total;
}

class RandomSchedules : public testing::TestWithParam<int> {};

TEST_P(RandomSchedules, LegalOnesChangeNothing) { run_batch(check_legal, GetParam()); }

TEST_P(RandomSchedules, IllegalOnesAreRefused) {
  const ScheduleResult total = run_batch(check_illegal, GetParam());
  if (std::getenv("EMULSION_SCHEDULE") != nullptr) return;
  EXPECT_GE(total.refused, static_cast<int>(batch(GetParam()).size()) * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(All, RandomSchedules, testing::Range(0, kBatches));

// Every directive that there is has to occur in legal schedules: what is never drawn, or never
// accepted, is tested by nothing.
TEST(RandomScheduleCensus, EveryDirectiveOccurs) {
  std::map<std::string, int> kinds;
  int refused = 0;
  for (int index = 0; index < kSchedules; ++index) {
    const auto& programs = schedule_programs();
    const Graph& graph = programs[static_cast<size_t>(index) % programs.size()].graph;
    RandomNumbers random(base_seed() + static_cast<uint64_t>(index));
    ScheduleLines lines;
    draw_legal_schedule(graph, &random, &lines, &refused);
    for (const std::string& line : lines) {
      const size_t dot = line.find('.');
      ++kinds[line.substr(dot + 1, line.find('(') - dot - 1)];
    }
  }
  for (const auto& [kind, count] : kinds) fmt::print("{:6} {}\n", count, kind);
  fmt::print("{:6} refused\n", refused);
  for (const char* kind :
       {"split", "fuse", "reorder", "vectorize", "unroll", "parallel", "compute_at", "compute_root",
        "compute_inline", "store_in", "pack", "cache_write", "rfactor", "copy_in", "atomic"}) {
    EXPECT_GE(kinds[kind], 3) << kind;
  }
}

TEST(RandomScheduleTest, TheSameSeedGivesTheSame) {
  const Graph& graph = schedule_programs().front().graph;
  int refused = 0;
  auto drawn = [&](uint64_t seed) {
    RandomNumbers random(seed);
    ScheduleLines lines;
    draw_legal_schedule(graph, &random, &lines, &refused);
    return lines;
  };
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

// The check would notice: a schedule that computes something else, and one that is refused.
TEST(CheckScheduleTest, NoticesADifference) {
  const auto& programs = schedule_programs();
  ScheduleProgram wrong = programs[0];
  EXPECT_NO_THROW(check_schedule(wrong, {"y.unroll(j)"}, false));
  EXPECT_THROW(check_schedule(wrong, {"y.unroll(q)"}, false), Error);
}

}  // namespace
}  // namespace emulsion
