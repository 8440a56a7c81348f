// Random schedules of a dozen algorithms: legal ones change nothing, and the statement for Halide
// is what the nest says; illegal ones are refused. A failure prints what reproduces it:
//
//   ./bazelw test //tests/random:random_schedule_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_SCHEDULE=123
//
// EMULSION_SCHEDULES is how many there are of each, EMULSION_SCHEDULE the number of the only one to
// run; EMULSION_CHECKED=1 compiles all in checked mode instead of every other one. The tests run a
// tenth; //tests/random:all_random_schedule_test, by hand, runs all 3,000.

#include "tests/random/random_schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "passes/lower/lower.h"
#include "tests/random/check_schedule.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr int kBatches = 10;
constexpr uint64_t kSeed = 20261121;
constexpr int kSchedules = 360;

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
  const auto results = check_in_children(check, base_seed(), indices);
  ScheduleResult total;
  for (size_t i = 0; i < indices.size(); ++i) {
    total.refused += results[i].refused;
    total.checked += results[i].checked;
    total.emitted += results[i].emitted;
    for (const auto& [kind, count] : results[i].kinds) total.kinds[kind] += count;
    if (results[i].failure.empty()) continue;
    ADD_FAILURE() << "EMULSION_SEED=" << base_seed() << " EMULSION_SCHEDULE=" << indices[i] << "\n"
                  << results[i].failure;
  }
  fmt::print("seed {}: {} drawn, {} accepted and run, {} refusals\n", base_seed(), indices.size(),
             total.checked, total.refused);
  fmt::print("{}\n", to_string(total.emitted));
  for (const auto& [kind, count] : total.kinds) fmt::print("{:6} {}\n", count, kind);
  return total;
}

class RandomSchedules : public testing::TestWithParam<int> {};

TEST_P(RandomSchedules, LegalOnesChangeNothing) {
  const ScheduleResult total = run_batch(check_legal, GetParam());
  if (std::getenv("EMULSION_SCHEDULE") != nullptr) return;
  // The least that was compared of the statements: few of the schedules are not compiled.
  const EmittedCounts& compared = total.emitted;
  EXPECT_GE(compared.loops, 10 * total.checked);
  EXPECT_GE(compared.uops, 3 * total.checked);
  EXPECT_GE(compared.allocs, 2 * total.checked);
  EXPECT_GE(compared.prefetches, total.checked / 10);
  // What only many steps reach, of windows and prefetches; and what nothing does: the side of a
  // specialization that its own loops give no steps.
  EXPECT_LE(40 * compared.unreached, compared.loops + compared.uops);
  EXPECT_LE(10 * compared.dead, compared.loops + compared.uops);
}

TEST_P(RandomSchedules, IllegalOnesAreRefused) {
  const ScheduleResult total = run_batch(check_illegal, GetParam());
  if (std::getenv("EMULSION_SCHEDULE") != nullptr) return;
  EXPECT_GE(total.refused, static_cast<int>(batch(GetParam()).size()) * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(All, RandomSchedules, testing::Range(0, kBatches));

// The least that the legal schedules of the tests' run have of each directive: what is never
// drawn, or never accepted, is tested by nothing. Another seed has them by chance: half of it.
const std::map<DirectiveKind, int> kAccepted = {
    {DirectiveKind::split, 400},
    {DirectiveKind::fuse, 50},
    {DirectiveKind::reorder, 150},
    {DirectiveKind::vectorize, 100},
    {DirectiveKind::unroll, 100},
    {DirectiveKind::parallel, 90},
    {DirectiveKind::compute_at, 230},
    {DirectiveKind::store_at, 30},
    {DirectiveKind::compute_root, 30},
    {DirectiveKind::compute_inline, 25},
    {DirectiveKind::store_in, 45},
    {DirectiveKind::pack, 15},
    {DirectiveKind::cache_write, 45},
    {DirectiveKind::rfactor, 40},
    {DirectiveKind::copy_in, 110},
    {DirectiveKind::tensorize, 5},
    {DirectiveKind::atomic, 25},
    {DirectiveKind::prefetch, 100},
    {DirectiveKind::compute_with, 10},
    {DirectiveKind::store_root, 35},
    {DirectiveKind::hoist_storage, 45},
    {DirectiveKind::fold_storage, 20},
    {DirectiveKind::reorder_storage, 55},
    {DirectiveKind::align_storage, 60},
    {DirectiveKind::specialize, 65},
    {DirectiveKind::partition, 70},
    {DirectiveKind::store_in_output, 10},
    {DirectiveKind::alternative, 20},
    {DirectiveKind::cut, 25},
    {DirectiveKind::precompute, 5},
};

// The schedules that LegalOnesChangeNothing checks.
TEST(RandomScheduleCensus, EveryDirectiveIsAccepted) {
  std::map<DirectiveKind, int> kinds;
  int refused = 0;
  const auto& programs = schedule_programs();
  for (int index = 0; index < kSchedules; ++index) {
    ScheduleLines lines;
    draw_legal_schedule(base_seed(), index, &lines, &refused);
    const Graph& graph = programs[static_cast<size_t>(index) % programs.size()].graph;
    for (const auto& [kind, count] : directive_kinds(graph, lines)) kinds[kind] += count;
  }
  for (const auto& [kind, count] : kinds) fmt::print("{:6} {}\n", count, to_string(kind));
  fmt::print("{:6} refused\n", refused);
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const auto kind = static_cast<DirectiveKind>(i);
    ASSERT_TRUE(kAccepted.count(kind)) << to_string(kind);
    const int least = kAccepted.at(kind) / (base_seed() == kSeed ? 1 : 2);
    EXPECT_GE(kinds[kind], least) << to_string(kind);
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

Graph times(int factor) { return Graph(mul(input("x", i32, {3, 4}), factor, "y")); }

TEST(CheckScheduleTest, NoticesADifference) {
  const ScheduleProgram twice = {"twice", times(2), {{}}};
  EXPECT_NO_THROW(check_schedule(twice, {"y.unroll(i1)"}));
  const LoopNest other = lower(times(3), Schedule(times(3)));
  EXPECT_THAT(
      [&] { check_interpreted(twice, other); },
      testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("y[0, 0]: expected 2, got 3")));
  EXPECT_THAT([&] { check_compiled(twice, other); },
              testing::ThrowsMessage<std::runtime_error>(
                  testing::HasSubstr("JIT: y[0, 0]: expected 2, got 3")));
}

TEST(CheckScheduleTest, RefusesWhatIsIllegal) {
  EXPECT_THROW(check_schedule(schedule_programs()[0], {"y.unroll(q)"}), Error);
}

}  // namespace
}  // namespace emulsion
