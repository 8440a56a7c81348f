#include "dsl/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;

// The message of the Error that parsing throws; empty when it throws none.
std::string refusal(const std::string& text) {
  try {
    Target::parse(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

constexpr const char* kHostTarget = "EMULSION_HOST_TARGET";

TEST(Target, ParsesABaselineTarget) {
  Target target = Target::parse("x86-64-linux");
  EXPECT_TRUE(target.features.empty());
  EXPECT_EQ(target.arch, "x86-64");
  EXPECT_EQ(target.os, "linux");
  EXPECT_EQ(target, Target());
}

TEST(Target, PrintsFeaturesSorted) {
  EXPECT_EQ(Target::parse("x86-64-linux-sse41-fma-f16c-avx2-avx").to_string(),
            "x86-64-linux-avx-avx2-f16c-fma-sse41");
}

TEST(Target, AddsWhatAFeatureImplies) {
  EXPECT_EQ(Target::parse("x86-64-linux-avx512_skylake").to_string(),
            "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41");
  EXPECT_EQ(Target::parse("x86-64-linux-avx2").to_string(), "x86-64-linux-avx-avx2-sse41");
  EXPECT_TRUE(Target::parse("x86-64-linux-avx512_sapphirerapids").has("avx512_zen4"));
  EXPECT_TRUE(Target::parse("x86-64-linux-avx512_zen4").has("avx512_cannonlake"));
  EXPECT_FALSE(Target::parse("x86-64-linux-avx512").has("avx512_skylake"));
}

TEST(Target, LevelsAreShortForFeatures) {
  EXPECT_EQ(Target::parse("x86-64-v2"), Target::parse("x86-64-linux-sse41"));
  EXPECT_EQ(Target::parse("x86-64-v3"), Target::parse("x86-64-linux-avx2-fma-f16c"));
  EXPECT_EQ(Target::parse("x86-64-v4"), Target::parse("x86-64-linux-avx512_skylake"));
  EXPECT_EQ(Target::parse("x86-64-v3-linux"), Target::parse("x86-64-v3"));
}

TEST(Target, ALevelTakesMoreFeatures) {
  EXPECT_EQ(Target::parse("x86-64-v4-avx512_zen4"), Target::parse("x86-64-linux-avx512_zen4"));
}

TEST(Target, PrintsWhatParsesBack) {
  for (const char* text :
       {"x86-64-linux", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-linux-avx512_zen5",
        "x86-64-linux-avx512_sapphirerapids", "x86-64-linux-avx512_zen4", "x86-64-linux-avxvnni"}) {
    Target target = Target::parse(text);
    EXPECT_EQ(Target::parse(target.to_string()), target) << text;
    EXPECT_EQ(Target::parse(target.to_string()).to_string(), target.to_string());
  }
}

TEST(Target, CachesAndCoresParseBackToo) {
  Target target = Target::parse("x86-64-v3,cores=8,l1=49152,l3=33554432");
  EXPECT_EQ(target.cores, 8);
  EXPECT_EQ(target.l1_bytes, 49152);
  EXPECT_EQ(target.l2_bytes, Target().l2_bytes);
  EXPECT_EQ(target.l3_bytes, 33554432);
  EXPECT_EQ(Target::parse(target.to_string_with_machine()), target);
  EXPECT_NE(Target::parse(target.to_string()), target);
}

TEST(Target, EachSettingMakesAnotherTarget) {
  const Target target = Target::parse("x86-64-v3,cores=8,l1=49152,l2=1048576,l3=33554432");
  for (const char* other : {"x86-64-v2,cores=8,l1=49152,l2=1048576,l3=33554432",
                            "x86-64-v3,cores=9,l1=49152,l2=1048576,l3=33554432",
                            "x86-64-v3,cores=8,l1=32768,l2=1048576,l3=33554432",
                            "x86-64-v3,cores=8,l1=49152,l2=2097152,l3=33554432",
                            "x86-64-v3,cores=8,l1=49152,l2=1048576,l3=16777216", "tile-machine"}) {
    EXPECT_NE(Target::parse(other), target) << other;
  }
  EXPECT_EQ(Target::parse("x86-64-v3,cores=8,l1=49152,l2=1048576,l3=33554432"), target);
}

TEST(Target, VectorsOfAvx512) {
  Target target = Target::parse("x86-64-v4");
  EXPECT_EQ(target.vector_lanes(f32), 16);
  EXPECT_EQ(target.vector_lanes(f64), 8);
  EXPECT_EQ(target.vector_lanes(i32), 16);
  EXPECT_EQ(target.vector_lanes(bool_), 16);
  EXPECT_EQ(target.vector_lanes(u8), 64);
  EXPECT_EQ(target.vector_lanes(i8), 64);
  EXPECT_EQ(target.vector_lanes(i16), 32);
  EXPECT_EQ(target.vector_lanes(u16), 32);
  EXPECT_EQ(target.vector_lanes(bf16), 16);
  EXPECT_EQ(target.vector_registers(), 32);
  EXPECT_TRUE(target.has_fma());
}

TEST(Target, VectorsOfAvx2) {
  Target target = Target::parse("x86-64-v3");
  EXPECT_EQ(target.vector_lanes(f32), 8);
  EXPECT_EQ(target.vector_lanes(f64), 4);
  EXPECT_EQ(target.vector_registers(), 16);
  EXPECT_TRUE(target.has_fma());
}

TEST(Target, VectorsOfSse) {
  Target target = Target::parse("x86-64-v2");
  EXPECT_EQ(target.vector_lanes(f32), 4);
  EXPECT_EQ(target.vector_lanes(f64), 2);
  EXPECT_EQ(target.vector_lanes(i32), 4);
  EXPECT_EQ(target.vector_registers(), 16);
}

TEST(Target, Avx2AloneHasNoFma) { EXPECT_FALSE(Target::parse("x86-64-linux-avx2").has_fma()); }

TEST(Target, BareAvx512ComputesInShorterVectors) {
  EXPECT_EQ(Target::parse("x86-64-linux-avx512").vector_lanes(f32), 8);
}

TEST(Target, HostParsesBack) {
  Target host = Target::host();
  EXPECT_EQ(Target::parse(host.to_string_with_machine()), host);
  EXPECT_EQ(Target::host(), host);
}

// Code for Zen 4 holds SSE4a, which Intel's processors do not have, whatever of AVX-512 they have.
TEST(Target, HostIsZenOnlyWithTheInstructionsOfAmd) {
  const ScopedVariable own(kHostTarget, "");
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const bool is_amd = text.find(" sse4a") != std::string::npos;
  EXPECT_TRUE(is_amd || !Target::host().has("avx512_zen4"));
}

TEST(Target, HostIsTakenForAnother) {
  const Target host = Target::host();
  for (const char* text : {"x86-64-linux", "x86-64-v2", "x86-64-v3", "x86-64-v4",
                           "x86-64-linux-avx512_sapphirerapids-avx512_zen5"}) {
    const ScopedVariable setting(kHostTarget, text);
    Target expected = host;
    expected.features = Target::parse(text).features;
    EXPECT_EQ(Target::host(), expected) << text;
  }
  EXPECT_EQ(Target::host(), host);
}

// What it is taken for changes nothing about what it can run.
TEST(Target, WhatRunsHereIsOfTheProcessor) {
  const Target wide = Target::parse("x86-64-linux-avx512_sapphirerapids-avx512_zen5");
  const bool runs = runs_on_this_machine(wide);
  const ScopedVariable setting(kHostTarget, wide.to_string());
  EXPECT_EQ(runs_on_this_machine(wide), runs);
}

TEST(TargetRefuses, AHostThatIsNoTarget) {
  for (const auto& [text, cause] : std::map<std::string, std::string>{
           {"x86-64-v5", "the nearest is v"},
           {"v3", "expected an architecture first"},
           {"host", "expected explicit features"},
           {"x86-64-v3,cores=2", "expected instruction sets alone, such as x86-64-v3, got"},
           {"tile-machine", "expected instruction sets alone"}}) {
    const ScopedVariable setting(kHostTarget, text);
    try {
      Target::host();
      ADD_FAILURE() << text << " is accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("EMULSION_HOST_TARGET: "), HasSubstr(cause)));
    }
  }
}

TEST(Target, HostHasCachesAndCores) {
  Target host = Target::host();
  EXPECT_GT(host.l1_bytes, 0);
  EXPECT_GE(host.l2_bytes, host.l1_bytes);
  EXPECT_GE(host.cores, 1);
}

TEST(Target, HostCountsOnlyCoresOfThisProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  int cores = Target::host().cores;
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(cores, 1);
  EXPECT_EQ(Target::host().cores, CPU_COUNT(&before));
}

TEST(Target, RunsOnThisMachine) {
  const ScopedVariable own(kHostTarget, "");
  EXPECT_TRUE(runs_on_this_machine(Target()));
  EXPECT_TRUE(runs_on_this_machine(Target::host()));
}

TEST(Target, FeaturesThatAreNotHereDoNotRun) {
  Target target = Target::host();
  target.features.insert("avx512_of_the_year_2100");
  EXPECT_FALSE(runs_on_this_machine(target));
  EXPECT_THAT(missing_on_this_machine(target), testing::ElementsAre("avx512_of_the_year_2100"));
  EXPECT_THROW(require_this_machine(target), Error);
  EXPECT_NO_THROW(require_this_machine(Target::host()));
}

TEST(Target, OtherSystemsDoNotRun) {
  Target target;
  target.os = "windows";
  EXPECT_FALSE(runs_on_this_machine(target));
  EXPECT_THAT(missing_on_this_machine(target), testing::ElementsAre("windows"));
  target = Target();
  target.arch = "arm-64";
  EXPECT_FALSE(runs_on_this_machine(target));
}

TEST(TargetRefuses, AnUnknownFeature) {
  std::string message = refusal("x86-64-linux-avx2-avx512skylake");
  EXPECT_THAT(message, HasSubstr("got \"avx512skylake\""));
  EXPECT_THAT(message, HasSubstr("the nearest is avx512_skylake"));
  EXPECT_THAT(message, HasSubstr("avx512_sapphirerapids, avx512_skylake"));
}

TEST(TargetRefuses, AFeatureInCapitals) {
  EXPECT_THAT(refusal("x86-64-linux-AVX2"), HasSubstr("the nearest is avx2"));
}

TEST(TargetRefuses, ASystemThatIsNearToNothing) {
  EXPECT_THAT(refusal("x86-64-osx"), testing::EndsWith("(linux, v2, v3, v4), got \"osx\""));
  EXPECT_THAT(refusal("x86-64-linus"), HasSubstr("; the nearest is linux"));
}

TEST(TargetRefuses, AFeatureWithoutDashes) {
  EXPECT_THAT(refusal("x86-64-linux-avx_fma"), HasSubstr("got \"avx_fma\""));
}

TEST(TargetRefuses, AnEmptyFeature) {
  EXPECT_THAT(refusal("x86-64-linux-"), HasSubstr("expected a feature"));
  EXPECT_THAT(refusal("x86-64-linux--avx"), HasSubstr("expected a feature"));
}

TEST(TargetRefuses, AnUnknownArchitecture) {
  EXPECT_THAT(refusal("arm-64-linux"), HasSubstr("expected an architecture first (x86-64)"));
  EXPECT_THAT(refusal("x86-32-linux"), HasSubstr("got \"x86-32\""));
}

TEST(TargetRefuses, NoText) { EXPECT_THAT(refusal(""), HasSubstr("architecture")); }

TEST(TargetRefuses, AnUnknownSystem) {
  std::string message = refusal("x86-64-windows-avx2");
  EXPECT_THAT(message, HasSubstr("expected an operating system"));
  EXPECT_THAT(message, HasSubstr("got \"windows\""));
  EXPECT_THAT(message, HasSubstr("linux"));
}

TEST(TargetRefuses, NoSystem) {
  EXPECT_THAT(refusal("x86-64"), HasSubstr("expected an operating system"));
  EXPECT_THAT(refusal("x86-64-avx2"), HasSubstr("got \"avx2\""));
}

TEST(TargetRefuses, ALevelThatIsNotThere) {
  EXPECT_THAT(refusal("x86-64-v5"), HasSubstr("(linux, v2, v3, v4), got \"v5\""));
}

TEST(TargetRefuses, Host) {
  EXPECT_THAT(refusal("host"), HasSubstr("Target::host().to_string()"));
  EXPECT_THAT(refusal("host-avx2"), HasSubstr("Target::host().to_string()"));
  EXPECT_THAT(refusal("host,cores=2"), HasSubstr("Target::host().to_string()"));
}

TEST(TargetRefuses, AnUnknownSetting) {
  EXPECT_THAT(refusal("x86-64-v3,core=2"), HasSubstr("got \"core\"; the nearest is cores"));
}

TEST(TargetRefuses, NumbersThatAreNone) {
  for (const char* text :
       {"", "0", "-1", "2x", " 2", "99999999999999999999", "65537", "65539", "65540"}) {
    EXPECT_THAT(refusal("x86-64-v3,cores=" + std::string(text)),
                HasSubstr("cores: expected a whole number from 1 to 65536"))
        << text;
  }
  EXPECT_THAT(refusal("x86-64-v3,l1"), HasSubstr("l1: expected a whole number"));
}

TEST(TargetRefuses, AnEndlessTextInFewWords) {
  std::string message = refusal("x86-64-linux-" + std::string(1 << 20, 'a'));
  EXPECT_THAT(message, HasSubstr("expected a feature"));
  EXPECT_LT(message.size(), 1000u);
}

}  // namespace
}  // namespace emulsion
