// What every benchmark does as a program, with calls that take no time: no test looks at seconds.

#include "benchmarks/benchmark_program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "benchmarks/comparison.h"

namespace emulsion::benchmarks {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

struct Ended {
  int status;
  std::string out, error;
};

Ended run_with(std::vector<std::string> words,
               const std::function<Report(const ProgramOptions&)>& run,
               const std::string& arguments = "", bool times_itself = false) {
  // Google Benchmark keeps a filter from one call to the next.
  words.insert(words.begin(), {"test", "--benchmark_filter=."});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ended ended{};
  ended.status =
      run_program(static_cast<int>(pointers.size()), pointers.data(),
                  {"a_program", "Measures nothing.", "--quick", run, arguments, times_itself});
  ended.out = testing::internal::GetCapturedStdout();
  ended.error = testing::internal::GetCapturedStderr();
  return ended;
}

Report nothing(const ProgramOptions&) { return {}; }

// Two comparisons; the second has two peers.
std::vector<Comparison> comparisons(int* calls) {
  const Call call = [calls] { ++*calls; };
  std::vector<Comparison> all(2);
  all[0].name = "first";
  all[1].name = "second";
  for (Comparison& one : all) one.emulsion.call = call;
  all[1].peers = {{"Halide", call}, {"plain", call, {}, {}}};
  return all;
}

TEST(RunProgram, HelpsWithAnExample) {
  const Ended ended = run_with({"--help"}, nothing);
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("Measures nothing.\n\nExample:\n  ./bazelw run -c opt "
                                   "//benchmarks:a_program -- --quick\n"));
  EXPECT_THAT(ended.out, HasSubstr("--benchmark_filter="));
}

TEST(RunProgram, HelpsWithoutOptionsThatItDoesNotTake) {
  const std::string help = run_with({"--help"}, nothing, "", true).out;
  EXPECT_THAT(help, Not(HasSubstr("--benchmark_filter")));
  EXPECT_THAT(help, Not(HasSubstr("--benchmark_repetitions")));
  EXPECT_THAT(help, HasSubstr("--benchmark_list_tests"));
}

TEST(RunProgram, RefusesWhatItDoesNotKnow) {
  const Ended ended = run_with({"--slow"}, nothing);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.error, HasSubstr("a_program: "));
  EXPECT_THAT(ended.error, HasSubstr("--slow"));
}

TEST(RunProgram, TakesArgumentsWhereItSaysWhatTheyAre) {
  EXPECT_EQ(run_with({"one"}, nothing).status, 2);
  std::vector<std::string> taken;
  run_with(
      {"one", "--quick", "two"},
      [&](const ProgramOptions& options) {
        taken = options.arguments;
        return Report();
      },
      "words");
  EXPECT_THAT(taken, testing::ElementsAre("one", "two"));
  EXPECT_THAT(run_with({"--help"}, nothing, "words that count").out, HasSubstr("words that count"));
}

TEST(RunProgram, PrintsTextAndJson) {
  const Ended ended = run_with({}, nothing);
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("losses: none\n\n{"));
}

TEST(RunProgram, WritesTheJsonIntoAFile) {
  const std::string path = testing::TempDir() + "/report.json";
  const Ended ended = run_with({"--json=" + path}, nothing);
  EXPECT_EQ(ended.out, "losses: none\n");
  std::string first;
  std::getline(std::ifstream(path), first);
  EXPECT_EQ(first, "{");
}

TEST(RunProgram, SaysThatTheFileCannotBeWrittenBeforeItMeasures) {
  const Ended ended = run_with({"--json=/nowhere/report.json"}, [](const ProgramOptions&) {
    ADD_FAILURE() << "measured";
    return Report();
  });
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.error, HasSubstr("/nowhere/report.json"));
}

TEST(RunProgram, TurnsExceptionsIntoAMessage) {
  const Ended ended =
      run_with({}, [](const ProgramOptions&) -> Report { throw std::runtime_error("no luck"); });
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.error, "a_program: no luck\n");
}

TEST(Measure, RepeatsEverythingAndEmulsionTwice) {
  int calls = 0;
  std::vector<Row> rows;
  run_with({"--quick"}, [&](const ProgramOptions& options) {
    rows = measure(comparisons(&calls), options);
    return Report();
  });
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].name, "first");
  for (const Row& row : rows) {
    EXPECT_THAT(row.seconds, SizeIs(3));
    EXPECT_THAT(row.again, SizeIs(3));
  }
  ASSERT_THAT(rows[1].peers, SizeIs(2));
  EXPECT_EQ(rows[1].peers[0].mark, kMark);
  EXPECT_EQ(rows[1].peers[1].mark, std::nullopt);
  for (const Peer& peer : rows[1].peers) EXPECT_THAT(peer.seconds, SizeIs(3)) << peer.name;
  EXPECT_GE(calls, 6 * 3 * 2);
}

TEST(Measure, LeavesOutWhatAFilterDoes) {
  int calls = 0;
  std::vector<Row> rows;
  run_with({"--quick", "--benchmark_filter=second"}, [&](const ProgramOptions& options) {
    rows = measure(comparisons(&calls), options);
    return Report();
  });
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[0].seconds, SizeIs(0));
  EXPECT_THAT(rows[1].seconds, SizeIs(3));
}

TEST(Measure, PreparesEachRepetitionAndEmptiesTheCachesBeforeEachCall) {
  int prepared = 0, emptied = 0, calls = 0;
  run_with({"--quick", "--benchmark_filter=first"}, [&](const ProgramOptions& options) {
    std::vector<Comparison> all = comparisons(&calls);
    all[0].prepare = [&] { ++prepared; };
    all[0].emulsion.before_call = [&] { ++emptied; };
    measure(all, options);
    return Report();
  });
  EXPECT_GE(prepared, 3);
  // The first call of each repetition is not measured.
  EXPECT_EQ(emptied, calls - prepared);
}

TEST(Measure, TakesTheSecondsThatAPeerMeasuredItself) {
  int calls = 0;
  std::vector<Row> rows;
  run_with({"--quick", "--benchmark_filter=second/peer/"}, [&](const ProgramOptions& options) {
    std::vector<Comparison> all = comparisons(&calls);
    all[1].peers[0].seconds = [] { return 0.25; };
    rows = measure(all, options);
    return Report();
  });
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[1].peers[0].seconds, testing::Each(0.25));
  EXPECT_THAT(rows[1].peers[0].seconds, SizeIs(3));
  EXPECT_EQ(calls, 0);  // what computes is not what is timed
}

// A call that sleeps takes no time of its processor.
TEST(Measure, CountsTheProcessorsTimeOfWhatComputesOnOneThread) {
  constexpr std::chrono::milliseconds kSleep{1};
  for (const bool empties_caches : {false, true}) {
    int calls = 0;
    std::vector<Row> rows;
    run_with({"--quick"}, [&](const ProgramOptions& options) {
      std::vector<Comparison> all = comparisons(&calls);
      for (Comparison& one : all) {
        one.emulsion.call = [&] { std::this_thread::sleep_for(kSleep); };
        if (empties_caches) one.emulsion.before_call = [] {};
        one.peers.clear();
      }
      all[1].on_one_thread = true;
      rows = measure(all, options);
      return Report();
    });
    ASSERT_THAT(rows, SizeIs(2));
    const double slept = std::chrono::duration<double>(kSleep).count();
    EXPECT_THAT(rows[0].seconds, testing::Each(testing::Ge(slept)));
    EXPECT_THAT(rows[1].seconds, testing::Each(testing::Lt(slept / 2)));
    EXPECT_THAT(rows[1].seconds, SizeIs(3));
  }
}

// It stays interrupted: nothing is measured after it.
TEST(Measure, StopsAtControlCAndSaysSo) {
  int calls = 0;
  const Ended ended = run_with({"--quick"}, [&](const ProgramOptions& options) {
    std::vector<Comparison> all = comparisons(&calls);
    all[0].emulsion.call = [&] {
      if (calls++ == 0) std::raise(SIGINT);  // a second one would end the process
    };
    all.resize(1);
    Report report;
    report.rows = measure(all, options);
    return report;
  });
  EXPECT_EQ(ended.status, 128 + SIGINT);
  EXPECT_THAT(ended.out, testing::StartsWith("interrupted: not everything was measured\n"));
}

// It goes on listing: the last test here.
TEST(Measure, ListsNamesAndCallsNothing) {
  int calls = 0;
  const Ended ended = run_with({"--benchmark_list_tests"}, [&](const ProgramOptions& options) {
    Report report;
    report.rows = measure(comparisons(&calls), options);
    return report;
  });
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(ended.out, HasSubstr("second/peer_2"));
  EXPECT_THAT(ended.out, Not(HasSubstr("losses")));
}

}  // namespace
}  // namespace emulsion::benchmarks
