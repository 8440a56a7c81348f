// Guided fuzzing, and files that it looks at. Compiled so that comparisons guide it: that is
// guided_fuzz_test_address. EMULSION_RUNS is how many files each target looks at, EMULSION_SEED
// says which; by hand and for long is fuzz_for_long.

#include "tests/fuzz/guided_fuzz.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fuzz/comparisons.h"
#include "tests/fuzz/fuzz_files.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/mutate.h"
#include "tests/random/random_numbers.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr uint64_t kSeed = 20261123;
constexpr uint64_t kRuns = 2500;

// --- What guides
// -----------------------------------------------------------------------------------

int whole_number(int x) { return x < 40 ? 1 : 2; }

int real_number(int x) { return x * 0.5 < 20 ? 1 : 2; }

int one_of_several(int x) {
  switch (x) {
    case 3:
      return 7;
    case 77:
      return 2;
    case 5000:
      return 3;
    default:
      return 4;
  }
}

int loop(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += i;
  return sum;
}

std::vector<uint32_t> outcomes_of(int (*body)(int), int x) {
  start_comparing();
  body(x);
  Comparisons compared = stop_comparing();
  EXPECT_GE(compared.made, compared.outcomes.size());
  std::sort(compared.outcomes.begin(), compared.outcomes.end());
  return compared.outcomes;
}

TEST(Comparisons, AreToldApartByHowTheyComeOut) {
  for (const auto body : {whole_number, real_number}) {
    EXPECT_THAT(outcomes_of(body, 1), Not(IsEmpty()));
    EXPECT_EQ(outcomes_of(body, 1), outcomes_of(body, 38));
    EXPECT_NE(outcomes_of(body, 1), outcomes_of(body, 40));
    EXPECT_NE(outcomes_of(body, 1), outcomes_of(body, 41));
  }
  EXPECT_NE(outcomes_of(whole_number, 1), outcomes_of(real_number, 1));
}

TEST(Comparisons, AreToldApartByTheCaseOfASwitch) {
  EXPECT_EQ(outcomes_of(one_of_several, 4), outcomes_of(one_of_several, 5));
  EXPECT_NE(outcomes_of(one_of_several, 3), outcomes_of(one_of_several, 77));
  EXPECT_NE(outcomes_of(one_of_several, 77), outcomes_of(one_of_several, 5000));
  EXPECT_NE(outcomes_of(one_of_several, 5000), outcomes_of(one_of_several, 4));
}

TEST(Comparisons, AreToldApartByAboutHowOften) {
  EXPECT_NE(outcomes_of(loop, 1), outcomes_of(loop, 2));
  EXPECT_EQ(outcomes_of(loop, 100), outcomes_of(loop, 101));
  EXPECT_NE(outcomes_of(loop, 100), outcomes_of(loop, 300));
  EXPECT_EQ(outcomes_of(loop, 300), outcomes_of(loop, 3000));
}

TEST(Comparisons, AreForgotten) {
  const std::vector<uint32_t> before = outcomes_of(loop, 1);
  outcomes_of(loop, 300);
  EXPECT_EQ(outcomes_of(loop, 1), before);
  loop(300);
  EXPECT_EQ(outcomes_of(loop, 1), before);
}

// --- What it guides to
// -----------------------------------------------------------------------------

constexpr uint64_t kEnough = 60000;

// Four questions, each behind the answer to the one before it.
int answered(const std::string& text) {
  int64_t x[4] = {};
  std::sscanf(text.c_str(), "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &x[0], &x[1], &x[2],
              &x[3]);
  if (x[0] != 255) return 0;
  if (x[1] != 65536) return 1;
  if (x[2] != 1073741824) return 2;
  if (x[3] != 2147483647) return 3;
  return 4;
}

int most_answered = 0;

bool throw_at_the_end(const std::string& bytes, const std::string& /*file*/) {
  most_answered = std::max(most_answered, answered(bytes));
  if (answered(bytes) == 4) throw std::runtime_error("all questions were answered");
  return true;
}

bool crash_at_the_end(const std::string& bytes, const std::string& /*file*/) {
  if (answered(bytes) == 4) std::abort();
  return true;
}

const FuzzTarget kThrows = {"questions", ".text", throw_at_the_end};
const FuzzTarget kCrashes = {"questions", ".text", crash_at_the_end};
const FuzzFile kStart = {"start.text", "1 1 1 1\n"};

TEST(GuidedFuzz, FindsWhatChanceDoesNot) {
  RandomNumbers random(kSeed);
  most_answered = 0;
  for (uint64_t run = 0; run < kEnough; ++run) {
    look_at(kThrows, {"", mutate(kStart.bytes, {kStart.bytes}, &random)});
  }
  EXPECT_LT(most_answered, 3);

  GuidedFuzz fuzz(kThrows, kSeed);
  EXPECT_EQ(fuzz.look(kStart).failure, "");
  std::string failure;
  for (uint64_t run = 0; run < kEnough && failure.empty(); ++run) {
    failure = fuzz.look(fuzz.next()).failure;
  }
  EXPECT_THAT(failure,
              AllOf(StartsWith("all questions were answered"), HasSubstr("255 65536 1073741824")));
}

TEST(GuidedFuzz, KeepsWhatGoesSomewhereNew) {
  GuidedFuzz fuzz(kThrows, kSeed);
  fuzz.look(kStart);
  const size_t before = fuzz.outcomes();
  EXPECT_GT(before, 0U);
  fuzz.look({"again.text", kStart.bytes});
  fuzz.look({"long.text", "255" + std::string(5000, ' ')});
  fuzz.look({"far.text", "255 1"});
  fuzz.look({"as_far.text", "255 2"});
  fuzz.look({"failure.text", "255 65536 1073741824 2147483647"});
  std::vector<std::string> names;
  for (const FuzzFile& file : fuzz.kept()) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("start.text"));
  EXPECT_GT(fuzz.outcomes(), before);
}

TEST(GuidedFuzz, IsTheSameForTheSameSeed) {
  std::vector<std::string> kept[2];
  for (auto& texts : kept) {
    GuidedFuzz fuzz(kThrows, kSeed);
    fuzz.look(kStart);
    for (int run = 0; run < 5000; ++run) fuzz.look(fuzz.next());
    for (const FuzzFile& file : fuzz.kept()) texts.push_back(file.bytes);
  }
  EXPECT_GE(kept[0].size(), 3U);
  EXPECT_EQ(kept[0], kept[1]);
}

// As the first file that fuzz_for_long found did: an empty one was kept.
TEST(Mutate, TakesNothingFromAnEmptyFile) {
  RandomNumbers random(kSeed);
  size_t changed = 0;
  for (int run = 0; run < 2000; ++run) changed += mutate("1 2 3\n", {""}, &random) != "1 2 3\n";
  EXPECT_GE(changed, 1000U);
}

// A folder of this case's own.
fs::path new_folder() {
  const fs::path folder =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::remove_all(folder);
  return folder;
}

std::function<bool()> after(uint64_t runs) {
  return [runs]() mutable { return runs-- == 0; };
}

TEST(FuzzInFolder, KeepsWhatEndsTheProcess) {
  const fs::path folder = new_folder();
  const FuzzRound round = fuzz_in_folder(kCrashes, {kStart}, folder, kSeed, after(kEnough));
  ASSERT_EQ(round.found.size(), 1U);
  EXPECT_THAT(round.found[0], AllOf(StartsWith("start."), HasSubstr("Aborted")));
  EXPECT_EQ(round.summary, "questions: ended early");
  const std::vector<FuzzFile> found = files_of(kCrashes, folder / "found");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(answered(found[0].bytes), 4);
  EXPECT_THAT(files_of(kCrashes, folder / "now"), IsEmpty());
}

TEST(FuzzInFolder, KeepsWhatIsWrongAndGoesOn) {
  const fs::path folder = new_folder();
  const FuzzFile wrong = {"wrong.text", "255 65536 1073741824 2147483647"};
  const FuzzRound round = fuzz_in_folder(kThrows, {kStart, wrong}, folder, kSeed, after(100));
  ASSERT_EQ(round.found.size(), 1U);
  EXPECT_THAT(round.found[0],
              AllOf(StartsWith("wrong."), HasSubstr(".text: all questions were answered")));
  EXPECT_THAT(round.summary, StartsWith("questions: 102 files, "));
  const std::vector<FuzzFile> found = files_of(kThrows, folder / "found");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, wrong.bytes);
}

TEST(FuzzInFolder, GoesOnWithWhatWasKept) {
  const fs::path folder = new_folder();
  fuzz_in_folder(kThrows, {kStart}, folder, kSeed, after(10000));
  const std::vector<FuzzFile> kept = files_of(kThrows, folder / "kept");
  EXPECT_THAT(kept, Not(IsEmpty()));
  const FuzzRound round = fuzz_in_folder(kThrows, {kStart}, folder, kSeed, after(0));
  EXPECT_THAT(round.summary, StartsWith(fmt::format("questions: {} files, ", 1 + kept.size())));
}

// --- Files
// -----------------------------------------------------------------------------------------

// How far it came in kRuns files: fewer would say that nothing guides it.
struct Floor {
  size_t new_ones, outcomes;
};
const std::map<std::string, Floor> kFloors = {
    {"graph", {120, 30000}}, {"schedule", {100, 22000}}, {"json", {90, 18000}}, {"npy", {40, 600}}};

class GuidedFuzzOf : public ::testing::TestWithParam<FuzzTarget> {};

std::string guided(const FuzzTarget& target, const std::vector<FuzzFile>& corpus, uint64_t seed,
                   uint64_t runs) {
  GuidedFuzz fuzz(target, seed);
  std::string failure;
  for (const FuzzFile& file : corpus) failure += fuzz.look(file).failure;
  const size_t before = fuzz.kept().size();
  for (uint64_t run = 0; run < runs && failure.empty(); ++run) {
    const FuzzFile file = fuzz.next();
    announce(fmt::format("{} seed {} run {}, of {}:\n{}", target.name, seed, run, file.name,
                         printable(file.bytes)));
    failure = fuzz.look(file).failure;
  }
  return fmt::format("{} {} {}", fuzz.kept().size() - before, fuzz.outcomes(), failure);
}

TEST_P(GuidedFuzzOf, FilesAreReadOrRefused) {
  const FuzzTarget& target = GetParam();
  const uint64_t seed = number_from("EMULSION_SEED", kSeed);
  const uint64_t runs = number_from("EMULSION_RUNS", kRuns);
  const std::vector<FuzzFile> corpus = files_of(target, "tests/fuzz/corpus");
  const TaskResult result =
      run_in_children({[&] { return guided(target, corpus, seed, runs); }})[0];
  ASSERT_EQ(result.crash, "");
  size_t kept = 0, outcomes = 0;
  int end = 0;
  ASSERT_EQ(std::sscanf(result.text.c_str(), "%zu %zu %n", &kept, &outcomes, &end), 2);
  EXPECT_EQ(result.text.substr(static_cast<size_t>(end)), "");
  fmt::print("{}: {} files kept of {}, {} outcomes of comparisons\n", target.name, kept, runs,
             outcomes);
  if (runs < kRuns) return;
  const Floor floor = kFloors.at(target.name);
  EXPECT_GE(kept, floor.new_ones);
  EXPECT_GE(outcomes, floor.outcomes);
}

INSTANTIATE_TEST_SUITE_P(All, GuidedFuzzOf, ::testing::ValuesIn(fuzz_targets()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace emulsion
