#include "passes/fuse/fusion_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "dsl/files.h"
#include "dsl/operators.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/fuse/op_of.h"
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
  EXPECT_EQ(parse_fusion_config("{}").patterns, fusion_patterns());
}

TEST(FusionConfig, RefusesWhatIsNoConfig) {
  EXPECT_ERROR(parse_fusion_config("[]"), "expected an object, got");
  EXPECT_ERROR(parse_fusion_config("{"), "");
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
  ScopedVariable variable("EMULSION_FUSION", "/no/such/file.json");
  EXPECT_ERROR(fusion_config_from_environment(), "/no/such/file.json");
}

TEST(FusionConfig, AFileThatIsWrongIsNamed) {
  const std::string path = ::testing::TempDir() + "/wrong.json";
  write_file("fusion config", path, R"({"large": 5})");
  EXPECT_ERROR(read_fusion_config(path), "wrong.json: fusion config: expected a field, got large");
}

}  // namespace
}  // namespace emulsion
