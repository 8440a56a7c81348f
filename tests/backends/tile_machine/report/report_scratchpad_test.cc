#include "backends/tile_machine/report/report_scratchpad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/tile_machine/plan/test_programs.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ScratchpadReport report_of(int64_t sram_bytes, EvictionPolicy policy = EvictionPolicy::belady) {
  return report_scratchpad("y", matmul_program(64, 96, 96, 32), machine_with(sram_bytes, true),
                           policy);
}

TEST(ReportScratchpad, HasBothPolicies) {
  const ScratchpadReport report = report_of(6 * 4096);
  ASSERT_EQ(report.outcomes.size(), 2U);
  EXPECT_EQ(report.outcomes[0].policy, EvictionPolicy::lru);
  EXPECT_EQ(report.outcomes[1].policy, EvictionPolicy::belady);
  EXPECT_LT(report.outcomes[1].counts.loads, report.outcomes[0].counts.loads);
  EXPECT_EQ(report.outcomes[1].cycles, report.timing.total);
  const ScratchpadReport other = report_of(6 * 4096, EvictionPolicy::lru);
  EXPECT_EQ(other.outcomes[0].cycles, other.timing.total);
  EXPECT_EQ(other.outcomes[1].cycles, report.timing.total);
}

TEST(ReportScratchpad, NothingWaitsForSpaceInAnSramThatIsAllButEmpty) {
  const Tensor x = input("x", f32, {40, 50});
  const Target target = Target::tile_machine();
  for (const Graph& graph :
       {linear_graph(40, 0, 40), Graph(transpose(x)), Graph(softmax(x, 1)), Graph(relu(x))}) {
    const ScratchpadReport report =
        report_scratchpad(run_pipeline(graph, target).nest, *target.tiles);
    EXPECT_LT(report.plan.counts.peak_bytes, target.tiles->sram_bytes / 10) << report.name;
    EXPECT_EQ(report.timing.stalled(StallCause::space), 0) << report.name;
  }
}

TEST(ReportScratchpad, NoPlanBeatsTheLeast) {
  for (int64_t tiles : {3, 5, 8, 100}) {
    const ScratchpadReport report = report_of(tiles * 4096);
    EXPECT_LE(report.least_cycles, report.timing.total);
    EXPECT_GE(report.least_cycles, report.timing.execute_busy);
  }
}

TEST(ReportScratchpad, TextNamesTheFigures) {
  const ScratchpadReport report = report_of(6 * 4096);
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("scratchpad plan of y, tile-machine,tile=32x32x32,sram=24576"));
  EXPECT_THAT(text, HasSubstr("planned with Belady: 30 executes"));
  EXPECT_THAT(text, HasSubstr(fmt::format("the nest has 42 loads and 0 stores, the plan {} and 6",
                                          report.plan.counts.loads)));
  EXPECT_THAT(text, HasSubstr(fmt::format("cycles: {}, at least {} in any plan",
                                          report.timing.total, report.least_cycles)));
  EXPECT_THAT(text, HasSubstr("waiting for space"));
}

TEST(ReportScratchpad, JsonSaysTheSame) {
  const ScratchpadReport report = report_of(6 * 4096);
  const json parsed = json::parse(to_json(report));
  EXPECT_EQ(parsed["name"], "y");
  EXPECT_EQ(parsed["policy"], "Belady");
  EXPECT_EQ(parsed["policies"][1]["loads"], report.plan.counts.loads);
  EXPECT_EQ(parsed["policies"][0]["policy"], "LRU");
  const json& cycles = parsed["cycles"];
  EXPECT_EQ(cycles["total"], report.timing.total);
  EXPECT_EQ(cycles["executing"].get<int64_t>() + cycles["waiting for a load"].get<int64_t>() +
                cycles["waiting for space"].get<int64_t>() +
                cycles["waiting for the last stores"].get<int64_t>(),
            report.timing.total);
  EXPECT_EQ(parsed["uops"]["total"], report.plan.uops.size());
  ASSERT_EQ(parsed["uops"]["first"].size(), report.plan.uops.size());
  for (size_t i = 0; i < report.plan.uops.size(); ++i) {
    EXPECT_EQ(parsed["uops"]["first"][i]["address"], report.plan.uops[i].address);
    EXPECT_EQ(parsed["uops"]["first"][i]["end"], report.timing.spans[i].end);
  }
}

TEST(ReportScratchpad, JsonOfALongProgramIsShort) {
  EXPECT_EQ(json::parse(to_json(report_of(6 * 4096), 7))["uops"]["first"].size(), 7U);
}

TEST(ReportScratchpad, JsonOfAHostileName) {
  ScratchpadReport report = report_of(6 * 4096);
  report.name = "\"}\n\xFF<script>";
  EXPECT_EQ(json::parse(to_json(report))["name"], "\"}\n\xEF\xBF\xBD<script>");
}

TEST(ReportScratchpad, OfANest) {
  const LoopNest nest =
      run_pipeline(linear_graph(9, 7, 11), Target::tile_machine(small_machine())).nest;
  const ScratchpadReport report = report_scratchpad(nest, small_machine());
  EXPECT_EQ(report.name, "y");
  EXPECT_EQ(report.program.loads, 3 * 2 * 2 * 2 + 3 * 2);
  EXPECT_EQ(report.plan.counts.loads, 3 * 2 + 2 * 2 + 2);
}

TEST(ReportScratchpad, OfNothing) {
  const ScratchpadReport report = report_scratchpad("y", {}, machine_with(4096));
  EXPECT_EQ(report.least_cycles, 0);
  EXPECT_THAT(to_string(report), HasSubstr("cycles: 0"));
  EXPECT_EQ(json::parse(to_json(report))["uops"]["total"], 0);
}

TEST(ReportScratchpad, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(report_of(4096), "expected operands that fit in 4096 bytes of SRAM");
}

}  // namespace
}  // namespace emulsion
