#include "passes/fuse/fusion_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "dsl/files.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"
#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// matmul, bias, relu, then tanh: three edges.
Graph layer() {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 8}), b = weight("b", f32, {8});
  return Graph(tanh(relu(add(matmul(x, w, "mm"), b, "t"), "r"), "y"));
}

std::string ledger(const FusionConfig& config) {
  FusionReport report;
  fuse_epilogues(layer(), policy_of(config), &report);
  return to_string(report);
}

TEST(FusionConfig, FusesAllWhenNothingIsSaid) {
  EXPECT_EQ(ledger({}),
            "contraction epilogue, mm -> t: fused\nelementwise chain, t -> r: fused\n"
            "elementwise chain, r -> y: fused\n");
}

TEST(FusionConfig, Disabled) {
  FusionConfig config;
  config.enabled = false;
  EXPECT_THAT(ledger(config), HasSubstr("mm -> t: not fused: expected fusion to be enabled"));
  EXPECT_EQ(fuse_epilogues(layer(), policy_of(config)).ops().size(), layer().ops().size());
}

TEST(FusionConfig, Patterns) {
  FusionConfig config;
  config.patterns = {"elementwise chain"};
  EXPECT_EQ(ledger(config),
            "contraction epilogue, mm -> t: not fused: expected a pattern that the config enables, "
            "got contraction epilogue\n"
            "elementwise chain, t -> r: fused\nelementwise chain, r -> y: fused\n");
}

TEST(FusionConfig, LeastElements) {
  FusionConfig config;
  config.least_elements = 33;
  EXPECT_THAT(ledger(config), HasSubstr("expected mm of at least 33 elements, got 32"));
  config.least_elements = 32;
  EXPECT_THAT(ledger(config), HasSubstr("mm -> t: fused"));
  Tensor x = input("x", f32, {Extent::size("B")});
  config.least_elements = 1000;
  EXPECT_EQ(fuse_epilogues(Graph(exp(tanh(x), "y")), policy_of(config)).ops().size(), 2u);
}

TEST(FusionConfig, LargestGroup) {
  FusionConfig config;
  config.largest_group = 3;
  const Graph after = fuse_epilogues(layer(), policy_of(config));
  verify_graph(after);
  EXPECT_EQ(op_of(after, "r")->members.size(), 3u);
  EXPECT_EQ(op_of(after, "y")->kind, OpKind::compute);
  EXPECT_THAT(ledger(config), HasSubstr("expected a group of at most 3 operations, got 4 with r"));
}

TEST(FusionConfig, FromJson) {
  const FusionConfig config = parse_fusion_config(
      R"({"enabled": false, "patterns": ["elementwise chain"], "least_elements": 7,
          "largest_group": 9, "fail_on_unfused": ["matmul+bias"]})");
  EXPECT_FALSE(config.enabled);
  EXPECT_THAT(config.patterns, ElementsAre("elementwise chain"));
  EXPECT_EQ(config.least_elements, 7);
  EXPECT_EQ(config.largest_group, 9);
  EXPECT_THAT(config.fail_on_unfused, ElementsAre("matmul+bias"));
  EXPECT_TRUE(parse_fusion_config("{}").enabled);
  EXPECT_EQ(parse_fusion_config("{}").patterns, default_fusion_patterns());
  EXPECT_THAT(default_fusion_patterns(),
              ElementsAre("contraction epilogue", "elementwise chain", "siblings", "shared rows",
                          "shared columns", "layer blocks", "sliding windows", "waiting sums",
                          "moves read through", "borders read through"));
  EXPECT_THAT(parse_fusion_config(R"({"patterns": ["sibling products"]})").patterns,
              ElementsAre("sibling products"));
  EXPECT_THAT(parse_fusion_config(R"({"patterns": ["recomputed values"]})").patterns,
              ElementsAre("recomputed values"));
}

TEST(FusionConfig, PerTarget) {
  const FusionConfig config = parse_fusion_config(
      R"({"targets": {"x86-64-v3": {"largest_group": 2}, "x86-64-v4": {"enabled": false}},
          "least_elements": 5})");
  EXPECT_EQ(rules_for(config, Target::parse("x86-64-v2")).largest_group, 0);
  EXPECT_EQ(rules_for(config, Target::parse("x86-64-v2")).least_elements, 5);
  const FusionRules& v3 = rules_for(config, Target::parse("x86-64-v3,cores=8,l1=65536"));
  EXPECT_EQ(v3.largest_group, 2);
  EXPECT_EQ(v3.least_elements, 5);  // said of all, wherever that stands
  EXPECT_TRUE(v3.enabled);
  const FusionRules& v4 = rules_for(config, Target::parse("x86-64-v4-avx512_zen4"));
  EXPECT_FALSE(v4.enabled);
  EXPECT_EQ(v4.largest_group, 0);  // of the nearest target alone
  EXPECT_TRUE(rules_for(config, Target::tile_machine()).enabled);
}

TEST(FusionConfig, PerTargetInCode) {
  FusionConfig config;
  FusionRules off;
  off.enabled = false;
  config.targets.push_back({Target::parse("x86-64-v3"), off});
  EXPECT_FALSE(rules_for(config, Target::parse("x86-64-v3")).enabled);
  EXPECT_TRUE(rules_for(config, Target::parse("x86-64-v2")).enabled);
}

TEST(FusionConfig, WhatWasMeasured) {
  const FusionConfig config = parse_fusion_config(
      R"({"measured": [{"pattern": "add+relu", "shape_class": "64x64", "target": "x86-64-v3",
                        "version": "1", "speed_up": 0.5, "runs": 7}]})");
  ASSERT_EQ(config.measured.size(), 1u);
  EXPECT_EQ(config.measured[0].pattern, "add+relu");
  EXPECT_EQ(config.measured[0].shape_class, "64x64");
  EXPECT_EQ(config.measured[0].speed_up, 0.5);
  EXPECT_EQ(config.measured[0].runs, 7);
}

TEST(FusionConfig, ParsesBack) {
  const std::string json = to_json(parse_fusion_config(
      R"({"enabled": false, "patterns": ["elementwise chain"], "least_elements": 7,
          "targets": {"x86-64-v3": {"fail_on_unfused": ["matmul+bias"]}},
          "measured": [{"pattern": "add+relu", "shape_class": "64x64", "target": "x86-64-v3",
                        "version": "1", "speed_up": 0.5, "runs": 7}]})"));
  EXPECT_EQ(to_json(parse_fusion_config(json)), json);
  EXPECT_THAT(json, HasSubstr("\"x86-64-linux-avx-avx2-f16c-fma-sse41\""));
  EXPECT_THAT(json, HasSubstr("\"speed_up\": 0.5"));
}

TEST(FusionConfig, RefusesTargetsThatAreNone) {
  EXPECT_ERROR(parse_fusion_config(R"({"targets": []})"), "targets: expected an object");
  EXPECT_ERROR(parse_fusion_config(R"({"targets": {"x86-64-v9": {}}})"), "v9");
  EXPECT_ERROR(parse_fusion_config(R"({"targets": {"x86-64-v3": 1}})"),
               "targets, x86-64-v3: expected an object");
  EXPECT_ERROR(parse_fusion_config(R"({"targets": {"x86-64-v3": {"enable": 1}}})"),
               "expected a field of target x86-64-v3 (enabled, patterns,");
  EXPECT_ERROR(parse_fusion_config(R"({"targets": {"x86-64-v3": {"targets": {}}}})"),
               "fail_on_unfused), got targets; nearest:");
}

TEST(FusionConfig, RefusesMeasurementsThatAreNone) {
  const auto measured = [](const std::string& fields) {
    return R"({"measured": [{"pattern": "add+relu", "shape_class": "64x64", "target": "x86-64-v3",
                             "version": "1", )" +
           fields + "}]}";
  };
  EXPECT_NO_THROW(parse_fusion_config(measured(R"("speed_up": 1, "runs": 1)")));
  EXPECT_ERROR(parse_fusion_config(measured(R"("speed_up": 1)")), "expected the field runs");
  EXPECT_ERROR(parse_fusion_config(measured(R"("speed_up": "1", "runs": 1)")),
               "speed_up: expected a number");
  EXPECT_ERROR(parse_fusion_config(measured(R"("speed_up": 0, "runs": 1)")),
               "expected a speed-up above 0, got 0");
  EXPECT_ERROR(parse_fusion_config(measured(R"("speed_up": 1, "runs": 0)")),
               "expected runs, got 0");
  EXPECT_ERROR(parse_fusion_config(measured(R"("speed": 1)")), "got speed; nearest: speed_up");
  EXPECT_ERROR(parse_fusion_config(R"({"measured": {}})"), "measured: expected a list");
  EXPECT_ERROR(parse_fusion_config(R"({"measured": [1]})"), "measured: expected objects");
}

TEST(FusionConfig, RefusesWhatIsNoConfig) {
  EXPECT_ERROR(parse_fusion_config("[]"), "expected an object, got");
  EXPECT_ERROR(parse_fusion_config("{"), "fusion config: parse error");
  EXPECT_ERROR(parse_fusion_config(R"({"largest_group": 18446744073709551615})"),
               "largest_group: expected a whole number, got 18446744073709551615");
  EXPECT_ERROR(parse_fusion_config(R"({"largest_group": 99999999999999999999})"),
               "largest_group: expected a whole number, got 1e+20");
  EXPECT_ERROR(parse_fusion_config(R"({"enable": true})"), "got enable; nearest: enabled");
  EXPECT_ERROR(parse_fusion_config(R"({"patterns": ["contraction"]})"),
               "got contraction; nearest: contraction epilogue");
  EXPECT_ERROR(parse_fusion_config(R"({"patterns": "all"})"), "patterns: expected a list of names");
  EXPECT_ERROR(parse_fusion_config(R"({"patterns": [1]})"), "patterns: expected names");
  EXPECT_ERROR(parse_fusion_config(R"({"enabled": 1})"), "enabled: expected true or false");
  EXPECT_ERROR(parse_fusion_config(R"({"largest_group": -1})"), "expected 0 or greater, got -1");
  EXPECT_ERROR(parse_fusion_config(R"({"largest_group": 1.5})"), "expected a whole number");
  EXPECT_ERROR(parse_fusion_config(R"({"enabled": true, "enabled": false})"), "enabled");
}

TEST(FusionConfig, RefusesMeasurementsOfNoTargetOrShape) {
  const auto measured = [](const std::string& shape_class, const std::string& target) {
    return R"({"measured": [{"pattern": "add+relu", "shape_class": ")" + shape_class +
           R"(", "target": ")" + target + R"(", "version": "1", "speed_up": 1, "runs": 1}]})";
  };
  for (const char* legal : {"64x64", "1x1x1", "4611686018427387904x1"}) {
    EXPECT_NO_THROW(parse_fusion_config(measured(legal, "x86-64-v3,cores=2")));
  }
  const char* const expected =
      "expected a class of shapes, two or three powers of two as in "
      "512x1024x64, got ";
  for (const char* wrong : {"rubbish", "64", "64x", "x64", "64x63", "0x64", "64x064", "-64x64",
                            "64x64x64x64", "64x64 ", "36893488147419103232x1"}) {
    EXPECT_ERROR(parse_fusion_config(measured(wrong, "x86-64-v3")), expected + std::string(wrong));
  }
  EXPECT_ERROR(parse_fusion_config(measured("", "x86-64-v3")), expected + std::string("nothing"));
  EXPECT_ERROR(parse_fusion_config(measured("64x64", "nonsense")),
               "measured fusion, add+relu: target \"nonsense\": expected");
  EXPECT_ERROR(parse_fusion_config(measured("64x64", "x86-64-v9")), "the nearest is v2");
}

// What a config in code says is checked where it is used, as the JSON form is.
TEST(FusionConfig, RefusesWhatIsNoConfigInCode) {
  const Target target = Target::parse("x86-64-v3");
  const auto expect_refused = [&](const FusionConfig& config, const std::string& cause) {
    EXPECT_ERROR(check_fusion_config(config), cause);
    EXPECT_ERROR(run_pipeline(layer(), target, {}, nullptr, config), cause);
    EXPECT_ERROR(run_pipeline(layer(), std::vector<Target>{target}, {}, nullptr, config), cause);
  };
  FusionRules rules;
  rules.patterns = {"contraction"};
  FusionConfig config;
  config.patterns = rules.patterns;
  expect_refused(config, "fusion config: expected a pattern (contraction epilogue, ");
  config = {};
  config.targets = {{Target::parse("x86-64-v4"), rules}};
  expect_refused(config, "got contraction; nearest: contraction epilogue");
  config = {};
  config.least_elements = -5;
  expect_refused(config, "fusion config, least_elements: expected 0 or greater, got -5");
  config = {};
  config.largest_group = -1;
  expect_refused(config, "fusion config, largest_group: expected 0 or greater, got -1");
  config = {};
  config.measured = {{"add+relu", "64x64", "nonsense", "1", 1, 1}};
  expect_refused(config, "target \"nonsense\": expected");
  EXPECT_ERROR(policy_of(rules), "got contraction");
  EXPECT_ERROR(sibling_policy_of(rules, share_always), "got contraction");
  EXPECT_ERROR(join_policy_of(rules, always_join), "got contraction");
  EXPECT_ERROR(recompute_policy_of(rules, recompute_always), "got contraction");
  EXPECT_ERROR(loop_policy_of(rules), "got contraction");
  EXPECT_NO_THROW(check_fusion_config({}));
}

TEST(FusionConfig, FromTheEnvironment) {
  const std::string path = ::testing::TempDir() + "/fusion.json";
  write_file("fusion config", path, R"({"largest_group": 5})");
  {
    ScopedVariable variable("EMULSION_FUSION", path);
    EXPECT_EQ(fusion_config_from_environment().largest_group, 5);
  }
  for (const char* text : {"", "on"}) {
    ScopedVariable variable("EMULSION_FUSION", text);
    EXPECT_TRUE(fusion_config_from_environment().enabled);
  }
  {
    ScopedVariable variable("EMULSION_FUSION", "off");
    EXPECT_FALSE(fusion_config_from_environment().enabled);
  }
  {
    ScopedVariable variable("EMULSION_FUSION", R"({"targets": {"x86-64-v3": {"enabled": false}}})");
    EXPECT_EQ(fusion_config_from_environment().targets.size(), 1u);
  }
  {
    ScopedVariable variable("EMULSION_FUSION", R"({"enable": false})");
    EXPECT_ERROR(fusion_config_from_environment(), "got enable; nearest: enabled");
  }
  for (const char* text : {" {\"enabled\": false}", "\n\t{\"enabled\": false} "}) {
    ScopedVariable variable("EMULSION_FUSION", text);
    EXPECT_FALSE(fusion_config_from_environment().enabled);
  }
  ScopedVariable variable("EMULSION_FUSION", "/no/such/file.json");
  EXPECT_ERROR(fusion_config_from_environment(), "/no/such/file.json");
}

TEST(FusionConfig, RefusalsOfTheEnvironmentNameTheVariable) {
  const std::string expected =
      "EMULSION_FUSION: expected on, off, a fusion config that begins with {, or a file of one: ";
  for (const char* text : {"0", "OFF", "true", " off", " "}) {
    ScopedVariable variable("EMULSION_FUSION", text);
    EXPECT_ERROR(fusion_config_from_environment(),
                 expected + "cannot read fusion config " + text + ":");
  }
  ScopedVariable variable("EMULSION_FUSION", "{\"enabled\": 0}");
  EXPECT_ERROR(fusion_config_from_environment(),
               expected + "fusion config, enabled: expected true");
}

TEST(FusionConfig, AFileThatIsWrongIsNamed) {
  const std::string path = ::testing::TempDir() + "/wrong.json";
  write_file("fusion config", path, R"({"large": 5})");
  EXPECT_ERROR(read_fusion_config(path),
               "wrong.json: fusion config: expected a field (enabled, patterns,");
}

}  // namespace
}  // namespace emulsion
