#include "backends/entry/check_cpu_limits.h"

#include <gtest/gtest.h>

#include "backends/halide/jit.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/illegal/illegal_case.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

LoopNest nest_of(const std::string& graph_name, const std::string& directives) {
  const Graph graph = illegal_graph(graph_name);
  return lower(graph, parse_schedule("emulsion schedule 1\n" + directives, graph));
}

struct LargeCode {
  const char *name, *graph, *schedule, *cause;
};

class TooMuchCode : public testing::TestWithParam<LargeCode> {};

// The nest is legal; what compiles it has to say no, and nothing is compiled.
TEST_P(TooMuchCode, IsRefusedByTheBackend) {
  const LoopNest nest = nest_of(GetParam().graph, GetParam().schedule);
  EXPECT_TRUE(
      throws_with<ScheduleError>([&] { check_cpu_limits(nest, CodeLimits()); }, GetParam().cause));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { JitKernel kernel(nest); }, "expected at most"));
}

// clang-format off
const LargeCode kCases[] = {
    {"MoreLanesThanAVectorHas", "huge", "y.vectorize(i, 1048576)", "expected at most 256 lanes, got 1048576; legal: vectorize("},
    {"OneLaneMoreThanAVectorHas", "huge", "y.vectorize(i, 257)", "expected at most 256 lanes, got 257"},
    {"MoreLanesThanAVectorHasOfAnAxis", "huge", "y.vectorize(i)", "y.vectorize(i): expected at most 256 lanes, got 1500000000; legal: vectorize(i, 8), which splits it first"},
    {"MoreLanesInASpecialization", "batch_vector", "y.specialize(B == 2048)\ny.vectorize(i)", "expected at most 256 lanes, got 2048; legal: vectorize(i, 8)"},
    {"MoreCopiesThanAreCompiled", "huge", "y.unroll(i, 1200)", "expected at most 1024 copies of what y computes, by all unrolled loops, 64 lanes or loops inside counting as 4 copies, a guard or mask as 2, got 1200; legal: i_u as a serial loop"},
    {"MoreCopiesOfLoops", "large", "y.unroll(i, 257)", "expected at most 1024 copies of what y computes, by all unrolled loops, 64 lanes or loops inside counting as 4 copies, a guard or mask as 2, got 2056; legal: i_u as a serial loop"},
    {"MoreCopiesByTwoLoops", "large", "y.unroll(i)\ny.unroll(j)", "a guard or mask as 2, got 10000"},
    {"MoreCopiesByAnEnclosingLoop", "large", "y.split(i, io, ii, 50)\ny.unroll(ii)\na.compute_at(y, ii)\na.unroll(j)", "expected at most 1024 copies of what a computes, by all unrolled loops, 64 lanes or loops inside counting as 4 copies, a guard or mask as 2, got 5000; legal: j as a serial loop"},
    {"MoreCopiesUnderGuards", "huge", "y.unroll(i, 513)", "a guard or mask as 2, got 1026; legal: i_u as a serial loop"},
    {"MoreCopiesOfMaskedLoads", "batch_vector", "a.unroll(i, 1000, predicate_loads)", "copies of what a computes, by all unrolled loops, 64 lanes or loops inside counting as 4 copies, a guard or mask as 2, got 2000"},
    {"MoreCopiesOfMaskedStores", "batch_vector", "y.unroll(i, 513, predicate_stores)", "got 1026"},
    {"MoreMaskedCopies", "batch_vector", "y.unroll(i, 600, predicate)", "got 1200"},
    {"MoreCopiesOfVectors", "batch_vector", "y.vectorize(i, 128)\ny.unroll(i, 132)", "a guard or mask as 2, got 2112"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(All, TooMuchCode, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CheckCpuLimits, AcceptsWhatIsAtTheLimit) {
  EXPECT_NO_THROW(check_cpu_limits(nest_of("large", "y.unroll(j, 64)"), CodeLimits()));
  EXPECT_NO_THROW(check_cpu_limits(nest_of("huge", "y.vectorize(i, 256)"), CodeLimits()));
  EXPECT_NO_THROW(check_cpu_limits(nest_of("huge", "y.unroll(i, 1000)"), CodeLimits()));
}

TEST(CheckCpuLimits, AcceptsGuardedCopiesAtTheLimit) {
  for (const char* schedule :
       {"a.unroll(i, 512)", "a.unroll(i, 512, predicate)", "a.unroll(i, 512, predicate_loads)",
        "y.unroll(i, 512, predicate_stores)"}) {
    EXPECT_NO_THROW(check_cpu_limits(nest_of("batch_vector", schedule), CodeLimits())) << schedule;
  }
  // The guard of a loop around the copies is no condition of each of them.
  CodeLimits ten;
  ten.copies = 10;
  EXPECT_NO_THROW(check_cpu_limits(nest_of("linear", "y.split(m, mo, mi, 3)\ny.unroll(n)"), ten));
  // Nor is the mask of a vector, which all copies have alike.
  CodeLimits of_vectors;
  of_vectors.copies = 4 * of_vectors.copies_of_more;
  const LoopNest masked = nest_of("linear",
                                  "y.split(n, no, ni, 4, predicate)\ny.reorder(ni, m, no)\n"
                                  "y.vectorize(ni)\ny.unroll(m)");
  EXPECT_NO_THROW(check_cpu_limits(masked, of_vectors));
  --of_vectors.copies;
  EXPECT_TRUE(throws_with<ScheduleError>([&] { check_cpu_limits(masked, of_vectors); },
                                         "got 16; legal: m as a serial loop"));
}

TEST(CheckCpuLimits, AnotherLimitIsAnotherAnswer) {
  CodeLimits narrow;
  narrow.lanes = 8;
  const LoopNest nest = nest_of("huge", "y.vectorize(i, 16)");
  EXPECT_TRUE(throws_with<ScheduleError>([&] { check_cpu_limits(nest, narrow); },
                                         "expected at most 8 lanes, got 16"));
}

TEST(CheckCpuLimits, NarrowRegistersTakeFewerCopiesOfVectors) {
  const LoopNest nest = nest_of("huge", "y.vectorize(i, 250)\ny.unroll(i, 64)");
  const auto check = [&](const char* target) {
    check_cpu_limits(nest, code_limits(Target::parse(target)));
  };
  EXPECT_NO_THROW(check("x86-64-v3"));
  EXPECT_NO_THROW(check("x86-64-v4"));
  for (const char* target : {"x86-64-linux", "x86-64-v2"}) {
    EXPECT_TRUE(throws_with<ScheduleError>([&] { check(target); },
                                           "32 lanes or loops inside counting as 4 copies, a guard "
                                           "or mask as 2, got 2048"))
        << target;
  }
}

TEST(CheckCpuLimits, RefusesOneCopyTooMany) {
  CodeLimits few;
  few.copies = 9;
  const LoopNest nest = nest_of("linear", "y.unroll(n)");
  EXPECT_TRUE(throws_with<ScheduleError>([&] { check_cpu_limits(nest, few); },
                                         "expected at most 9 copies"));
  few.copies = 10;
  EXPECT_NO_THROW(check_cpu_limits(nest, few));
}

// y = 2 x, t = 2 x computed at a row of y.
Schedule two_stages() {
  Axis m("m", 4), n("n", 8);
  Tensor t = compute("t", {m, n}, input("x", f32, {4, 8})(m, n) * 2.0f);
  Schedule schedule(compute("y", {m, n}, t(m, n) + 1.0f));
  schedule["t"].compute_at("y", m);
  return schedule;
}

TEST(CheckCpuLimits, AcceptsACpuNest) {
  const Schedule schedule = two_stages();
  EXPECT_NO_THROW(check_cpu_limits(lower(schedule.graph(), schedule), CodeLimits()));
}

TEST(CheckCpuLimits, NamesTheStageInTheScratchpad) {
  Schedule schedule = two_stages();
  schedule["t"].store_in(Memory::scratchpad);
  const LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { check_cpu_limits(nest, CodeLimits()); },
                                         "t.store_in(scratchpad): expected memory that a CPU has"));
  EXPECT_TRUE(
      throws_with<ScheduleError>([&] { JitKernel kernel(nest); }, "t.store_in(scratchpad)"));
}

TEST(CheckCpuLimits, NamesTheLoopOfATile) {
  Schedule schedule = two_stages();
  schedule["y"].tensorize(Axis("n"));
  const LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { check_cpu_limits(nest, CodeLimits()); },
                                         "y.tensorize(n): expected loops that a CPU runs"));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { JitKernel kernel(nest); }, "y.tensorize(n)"));
}

}  // namespace
}  // namespace emulsion
