// main() of a test suite: GoogleTest's own, and the floor of floor.h after it.
//
// A program may hold several suites, each of a file (emulsion_cc_tests). EMULSION_TEST_SUITE then
// says which runs: x_test for the cases of x_test.cc.

#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/floor.h"
#include "bazel/testing/needs.h"

namespace {

using emulsion::test_run::Skip;
using emulsion::test_run::SuiteRun;

std::string SkipReason(const testing::TestResult& result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (!part.skipped()) continue;
    std::string reason = part.message();
    reason.erase(0, reason.find_first_not_of(" \n"));
    return reason;
  }
  return "";
}

// GoogleTest's own variables, which Bazel's test setup derives from its own: a process that has
// only Bazel's runs all cases, and has the whole floor.
int NumberFromEnvironment(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// As GoogleTest does: patterns with : between them; those behind a - leave out what they match.
bool Matches(const std::string& filter, const std::string& name) {
  const size_t minus = filter.find('-');
  const auto any = [&](const std::string& patterns) {
    for (size_t begin = 0; begin <= patterns.size();) {
      const size_t end = std::min(patterns.find(':', begin), patterns.size());
      if (fnmatch(patterns.substr(begin, end - begin).c_str(), name.c_str(), 0) == 0) return true;
      begin = end + 1;
    }
    return false;
  };
  return (minus == 0 || any(filter.substr(0, minus))) &&
         (minus == std::string::npos || !any(filter.substr(minus + 1)));
}

bool IsDisabled(const testing::TestInfo& info) {
  const std::string patterns = "DISABLED_*:*/DISABLED_*";
  return Matches(patterns, info.test_suite_name()) || Matches(patterns, info.name());
}

// What was asked for, of all cases or of those of one file.
struct Selection {
  int registered = 0;     // without the disabled ones, whatever the filter
  bool filtered = false;  // a part of them, by name
};

// Of the cases that its filter names, leaves to GoogleTest only those of `suite`.cc. Null leaves
// all.
Selection SelectSuite(const char* suite) {
  const testing::UnitTest& unit_test = *testing::UnitTest::GetInstance();
  const std::string filter = GTEST_FLAG_GET(filter);
  Selection selection;
  selection.filtered = filter != "*";
  std::string chosen;
  for (int i = 0; i < unit_test.total_test_suite_count(); ++i) {
    const testing::TestSuite& cases = *unit_test.GetTestSuite(i);
    for (int j = 0; j < cases.total_test_count(); ++j) {
      const testing::TestInfo& info = *cases.GetTestInfo(j);
      if (suite != nullptr && std::filesystem::path(info.file()).stem() != suite) continue;
      if (GTEST_FLAG_GET(also_run_disabled_tests) || !IsDisabled(info)) ++selection.registered;
      const std::string name = std::string(info.test_suite_name()) + "." + info.name();
      if (Matches(filter, name)) chosen += (chosen.empty() ? "" : ":") + name;
    }
  }
  if (suite != nullptr) GTEST_FLAG_SET(filter, chosen);
  return selection;
}

// Counts what really ended: a case that GoogleTest selected and then left out, because an
// environment or its suite was skipped, has no result that says so.
class EndedCases : public testing::EmptyTestEventListener {
 public:
  explicit EndedCases(const Selection& selection) : selection_(selection) {}

  void OnTestIterationStart(const testing::UnitTest& /*unit_test*/, int /*iteration*/) override {
    executed_ = 0;
    skipped_.clear();
  }
  void OnTestEnd(const testing::TestInfo& info) override {
    if (!info.result()->Skipped()) {
      ++executed_;
      return;
    }
    skipped_.push_back(
        {std::string(info.test_suite_name()) + "." + info.name(), SkipReason(*info.result())});
  }

  SuiteRun Describe() const {
    SuiteRun run;
    run.registered = selection_.registered;
    run.executed = executed_;
    run.skipped = skipped_;
    run.shards = std::max(NumberFromEnvironment("GTEST_TOTAL_SHARDS", 1), 1);
    run.shard = NumberFromEnvironment("GTEST_SHARD_INDEX", 0);
    run.filtered = selection_.filtered;
    run.floor = std::getenv("EMULSION_TEST_FLOOR");
    return run;
  }

 private:
  Selection selection_;
  int executed_ = 0;
  std::vector<Skip> skipped_;
};

// As an environment, its failure is one of the suite, and is in the XML report too.
class Floor : public testing::Environment {
 public:
  explicit Floor(const EndedCases* ended) : ended_(ended) {}

  void TearDown() override {
    const SuiteRun run = ended_->Describe();
    for (const Skip& skip : run.skipped) {
      std::printf("[ SKIPPED  ] %s: %s\n", skip.name.c_str(), skip.reason.c_str());
    }
    const std::string why = emulsion::test_run::WhyBelowFloor(run);
    if (!why.empty()) ADD_FAILURE() << why;
    if (run.filtered && run.floor != nullptr) {
      std::printf("[ FILTERED ] %d test cases executed; the floor of %s is for all %d\n",
                  run.executed, run.floor, run.registered);
    }
  }

 private:
  const EndedCases* ended_;
};

// GoogleTest sets no environment up or down when there is no case to run.
int StatusWithoutCases(const EndedCases& ended) {
  const std::string why = emulsion::test_run::WhyBelowFloor(ended.Describe());
  if (why.empty()) return 0;
  std::printf("FAILED: %s\n", why.c_str());
  return 1;
}

// A suite with `needs_host` runs kernels for Target::host(). Where that is a target which this
// machine is not, one case is all that is left, and it is skipped with the need.
class HostCase : public testing::Test {
 public:
  void TestBody() override { SKIP_UNLESS_IT_RUNS(emulsion::Target::host()); }
};

void LeaveOnlyTheHostCase() {
  testing::RegisterTest("NeedsHost", "Runs", nullptr, nullptr, __FILE__, __LINE__,
                        [] { return new HostCase; });
  GTEST_FLAG_SET(filter, "NeedsHost.Runs");
}

// A case that ends the process, by exit() or by a library that does, would leave no failure behind.
// What a case forks, and the child of a death test, may end as they like.
pid_t running_cases = 0;

void RefuseToEndEarly() {
  if (running_cases != getpid()) return;
  std::printf("FAILED: a case ended the process by exit()\n");
  std::fflush(stdout);
  _exit(1);
}

bool IsDeathTestChild(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) {
    return std::string(word).find("gtest_internal_run_death_test") != std::string::npos;
  });
}

bool IsMissingItsHost() {
  const char* needs = std::getenv("EMULSION_TEST_NEEDS_HOST");
  return needs != nullptr && !emulsion::test_run::WhyItDoesNotRun(emulsion::Target::host()).empty();
}

}  // namespace

int main(int argc, char** argv) {
  const bool may_end = IsDeathTestChild(argc, argv);
  testing::InitGoogleMock(&argc, argv);
  Selection selection = SelectSuite(std::getenv("EMULSION_TEST_SUITE"));
  if (IsMissingItsHost()) {
    LeaveOnlyTheHostCase();
    selection.filtered = true;
  }
  // GoogleTest's from here on, as the environment is.
  auto* ended = new EndedCases(selection);
  testing::UnitTest::GetInstance()->listeners().Append(ended);
  testing::AddGlobalTestEnvironment(new Floor(ended));
  if (!may_end) {
    running_cases = getpid();
    std::atexit(RefuseToEndEarly);
  }
  const int status = RUN_ALL_TESTS();
  running_cases = 0;
  const bool ran_none = testing::UnitTest::GetInstance()->test_to_run_count() == 0;
  return status == 0 && ran_none && !GTEST_FLAG_GET(list_tests) ? StatusWithoutCases(*ended)
                                                                : status;
}
