#include "backends/codegen/write_manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

using nlohmann::json;

KernelDescription describe(const LoopNest& nest, const std::string& label) {
  KernelDescription kernel;
  kernel.name = "f";
  kernel.label = label;
  kernel.nest = &nest;
  kernel.targets = {Target::parse("x86-64-v3,cores=4")};
  kernel.flops = {{2, {Extent::size("B"), 8}}};
  return kernel;
}

LoopNest nest() {
  const Tensor x = input("x", f32, {Extent::size("B"), 8});
  const Tensor y = mul(x, weight("w", f32, {8}), "y");
  return lower(y, Schedule(y));
}

TEST(WriteManifestTest, KeepsTheOrderOfArguments) {
  const Tensor a = input("a", f32, {8}), b = input("b", f32, {8});
  const auto names_of = [](const Graph& graph) {
    const LoopNest kernel = lower(graph, Schedule(graph));
    const json manifest = json::parse(kernel_manifest(describe(kernel, "//a:f"), {{"text", true}}));
    std::vector<std::string> names;
    for (const json& argument : manifest["arguments"]) names.push_back(argument["name"]);
    return names;
  };
  const Graph graph(sub(b, a, "y"));
  EXPECT_EQ(names_of(graph), (std::vector<std::string>{"a", "b", "y"}));
  EXPECT_EQ(names_of(graph.arguments({b, a})), (std::vector<std::string>{"b", "a", "y"}));
}

TEST(WriteManifestTest, DescribesTheKernel) {
  const LoopNest kernel = nest();
  const json manifest = json::parse(kernel_manifest(describe(kernel, "//a:f"), {{"text", true}}));
  EXPECT_EQ(manifest["format"], 1);
  EXPECT_EQ(manifest["sizes"], json({"B"}));
  EXPECT_EQ(manifest["arguments"].size(), 3);
  EXPECT_EQ(manifest["arguments"][0]["shape"], json({"B", 8}));
  EXPECT_EQ(manifest["arguments"][1]["role"], "weight");
  EXPECT_EQ(manifest["arguments"][2]["role"], "output");
  EXPECT_EQ(manifest["targets"][0]["schedule"], "derived");
  EXPECT_EQ(Target::parse(manifest["targets"][0]["target"]), Target::parse("x86-64-v3,cores=4"));
  EXPECT_EQ(manifest["flops"][0]["operations"], 2);
}

TEST(WriteManifestTest, SaysOfEachTargetWhereItsScheduleIsFrom) {
  const LoopNest made = nest();
  KernelDescription kernel = describe(made, "//a:f");
  kernel.targets = {Target::parse("x86-64-v3"), Target::parse("x86-64-v2")};
  const json manifest =
      json::parse(kernel_manifest(kernel, {{"one", false}, {"other", true}}))["targets"];
  ASSERT_EQ(manifest.size(), 2U);
  EXPECT_EQ(manifest[0]["schedule"], "file");
  EXPECT_EQ(manifest[1]["schedule"], "derived");
  EXPECT_NE(manifest[0]["schedule_hash"], manifest[1]["schedule_hash"]);
  EXPECT_EQ(Target::parse(manifest[1]["target"]), kernel.targets[1]);
}

TEST(WriteManifestTest, HasTheSameBytesForTheSameKernel) {
  const LoopNest a = nest();
  const LoopNest b = nest();
  EXPECT_EQ(kernel_manifest(describe(a, "f"), {{"text", true}}),
            kernel_manifest(describe(b, "f"), {{"text", true}}));
}

TEST(WriteManifestTest, EscapesAnyLabel) {
  const LoopNest kernel = nest();
  for (const std::string& label : {std::string("a\"b\\c"), std::string("\xff\xfe")}) {
    EXPECT_NO_THROW(json::parse(kernel_manifest(describe(kernel, label), {{"text", false}})));
  }
}

TEST(WriteManifestTest, RefusesAScheduleTooFew) {
  const LoopNest kernel = nest();
  EXPECT_THROW(kernel_manifest(describe(kernel, "f"), {}), InternalError);
}

}  // namespace
}  // namespace emulsion
