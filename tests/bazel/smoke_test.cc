// Uses every library that comes from outside once, so that a broken repository rule or a package
// that has changed shows here and not in a test of something else.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sqlite3.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "Halide.h"

namespace {

TEST(SmokeTest, HalideCompilesAndRunsAPipeline) {
  Halide::Var i("i");
  Halide::Func square("square");
  square(i) = i * i;
  square.vectorize(i, 4, Halide::TailStrategy::GuardWithIf);
  const Halide::Buffer<int> out = square.realize({7});
  EXPECT_EQ(out(0), 0);
  EXPECT_EQ(out(6), 36);
}

TEST(SmokeTest, HalideErrorsAreExceptions) {
  Halide::Var i("i");
  Halide::Func undefined("undefined");
  EXPECT_THROW(undefined.realize({1}), Halide::CompileError);
}

TEST(SmokeTest, OpenMpRunsEveryIteration) {
  int sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
  for (int i = 1; i <= 100; ++i) sum += i;
  EXPECT_EQ(sum, 5050);
  EXPECT_GE(omp_get_max_threads(), 1);
}

TEST(SmokeTest, FmtFormats) { EXPECT_EQ(fmt::format("{}x{}", 6, 64), "6x64"); }

TEST(SmokeTest, SqliteCounts) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "SELECT 6 * 7", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
}

TEST(SmokeTest, JsonParsesBack) {
  const nlohmann::json value = {{"m", 128}, {"split", {6, 64}}};
  EXPECT_EQ(nlohmann::json::parse(value.dump()), value);
}

TEST(SmokeTest, CliParses) {
  CLI::App app("smoke");
  int batch = 0;
  app.add_option("--batch", batch);
  std::vector<std::string> arguments = {"450", "--batch"};
  app.parse(arguments);
  EXPECT_EQ(batch, 450);
}

TEST(SmokeTest, GoogleBenchmarkLinks) {
  benchmark::RegisterBenchmark("nothing", [](benchmark::State& state) {
    for (auto unused : state) benchmark::DoNotOptimize(unused);
  });
  benchmark::ClearRegisteredBenchmarks();
}

TEST(SmokeTest, GoogleMockMatches) {
  EXPECT_THAT("expected a positive integer", testing::HasSubstr("positive"));
}

TEST(SmokeTest, DigitsAreThere) {
  std::ifstream file("external/scikit_learn_data/digits.csv");
  ASSERT_TRUE(file.is_open());
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) ++rows;
  EXPECT_EQ(rows, 1797);
}

}  // namespace
