#include "backends/codegen/generate_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Graph linear(const KernelContext&) {
  const Tensor x = input("x", f32, {Extent::size("B"), 20});
  const Tensor w = weight("w", f32, {20, 24});
  return relu(matmul(x, w, "mm"), "y");
}

fs::path directory(const std::string& name) {
  fs::path path = fs::path(std::getenv("TEST_TMPDIR")) / name;
  fs::remove_all(path);
  return path;
}

KernelRequest request(const fs::path& directory) {
  KernelRequest result;
  result.name = "f";
  result.label = "//some:f";
  result.targets = {Target::parse("x86-64-v3")};
  result.directory = directory.string();
  return result;
}

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> files_in(const fs::path& path) {
  std::vector<std::string> result;
  if (!fs::exists(path)) return result;
  for (const auto& entry : fs::directory_iterator(path)) {
    result.push_back(entry.path().filename().string());
  }
  return result;
}

// With this in the message and without a file.
void expect_refusal(KernelRequest wrong, const std::string& words,
                    const KernelFunction& kernel = linear) {
  const fs::path path = directory("refused");
  wrong.directory = path.string();
  EXPECT_THAT([&] { generate_kernel(wrong, kernel); }, ThrowsMessage<Error>(HasSubstr(words)));
  EXPECT_THAT(files_in(path), ::testing::IsEmpty());
}

TEST(GenerateKernelTest, WritesEveryFile) {
  const fs::path path = directory("every");
  KernelRequest both = request(path);
  both.targets.push_back(Target::parse("x86-64-linux"));
  generate_kernel(both, linear);
  EXPECT_THAT(files_in(path), ::testing::UnorderedElementsAreArray(kernel_files("f", 2)));
  EXPECT_THAT(read(path / "f_kernel.h"), HasSubstr("//some:f"));
  EXPECT_THAT(read(path / "f.h"), HasSubstr("int f("));
  EXPECT_THAT(read(path / "f.nest.txt"), HasSubstr("kernel y("));
  EXPECT_NE(read(path / "f.schedule.txt"), read(path / "f.1.schedule.txt"));
}

TEST(GenerateKernelTest, WritesEqualBytesInAnyDirectory) {
  const fs::path a = directory("a");
  const fs::path b = directory("b") / "c" / "a_longer_name";
  generate_kernel(request(a), linear);
  generate_kernel(request(b), linear);
  for (const std::string& file : kernel_files("f", 1)) EXPECT_EQ(read(a / file), read(b / file));
}

TEST(GenerateKernelTest, ReadsTheScheduleThatItWrote) {
  const fs::path a = directory("a");
  generate_kernel(request(a), linear);
  KernelRequest again = request(directory("b"));
  again.schedule = (a / "f.schedule.txt").string();
  generate_kernel(again, linear);
  EXPECT_EQ(read(a / "f.a"), read(fs::path(again.directory) / "f.a"));
  EXPECT_THAT(read(fs::path(again.directory) / "f.json"), HasSubstr("\"schedule\": \"file\""));
}

TEST(GenerateKernelTest, RefusesNamesThatWouldBreakTheApplication) {
  KernelRequest wrong = request("");
  for (const char* name : {"exp", "malloc", "read"}) {
    wrong.name = name;
    expect_refusal(wrong, "C library");
  }
  wrong.name = "halide_malloc";
  expect_refusal(wrong, "halide_");
  wrong.name = "../f";
  expect_refusal(wrong, "kernel '../f'");
}

TEST(GenerateKernelTest, RefusesWhatIsNotFusedAsItMustBe) {
  KernelRequest strict = request(directory("fused"));
  strict.fail_on_unfused = {"matmul+relu"};
  generate_kernel(strict, linear);
  expect_refusal(strict,
                 "expected matmul+relu at y to be one group, got mm apart from it: expected "
                 "mm to be no output of the graph",
                 [](const KernelContext&) {
                   const Tensor x = input("x", f32, {4, 20}), w = weight("w", f32, {20, 24});
                   const Tensor product = matmul(x, w, "mm");
                   return Graph({relu(product, "y"), product});
                 });
  KernelRequest unfused = strict;
  unfused.derive.fuse = false;
  expect_refusal(unfused, "expected a kernel that is fused, got one that is not");
  KernelRequest scheduled = strict;
  scheduled.schedule = "y.schedule";
  expect_refusal(scheduled, "expected a derived schedule, got y.schedule");
}

TEST(GenerateKernelTest, WarnsOfAScheduleThatWasGivenUp) {
  EXPECT_THAT(generate_kernel(request(directory("derived")), linear), ::testing::IsEmpty());
  const fs::path path = directory("given_up");
  KernelRequest with_bug = request(path);
  with_bug.derive.panels["w"] = 0;  // panels of no columns: no such schedule can be lowered
  const std::vector<std::string> warnings = generate_kernel(with_bug, linear);
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("cannot be lowered")));
  EXPECT_THAT(files_in(path), ::testing::UnorderedElementsAreArray(kernel_files("f", 1)));
  EXPECT_THAT(read(path / "f.json"), HasSubstr("cannot be lowered"));
  with_bug.fail_on_unfused = {"matmul+relu"};
  EXPECT_THROW(generate_kernel(with_bug, linear), InternalError);
}

// Rules of the environment for one target hold beside what the request asks for.
TEST(GenerateKernelTest, RefusesWhatIsNotFusedForATargetWithRulesOfItsOwn) {
  const ScopedVariable rules("EMULSION_FUSION",
                             R"({"targets": {"x86-64-v3": {"enabled": false}}})");
  generate_kernel(request(directory("apart")), linear);
  KernelRequest strict = request(directory("none"));
  strict.fail_on_unfused = {"matmul+relu"};
  expect_refusal(strict, "expected fusion to be enabled by the config");
}

TEST(GenerateKernelTest, RefusesALabelOfTwoLines) {
  KernelRequest wrong = request("");
  for (const char* label : {"//a\n#error", "//a\r#error", "//a\x1b[2J"}) {
    wrong.label = label;
    expect_refusal(wrong, "one line");
  }
}

TEST(GenerateKernelTest, RefusesTargets) {
  KernelRequest wrong = request("");
  wrong.targets.clear();
  expect_refusal(wrong, "at least one target");
  wrong.targets = {Target::parse("x86-64-v3"), Target::parse("x86-64-v3")};
  expect_refusal(wrong, "twice");
}

TEST(GenerateKernelTest, RefusesASchedule) {
  KernelRequest wrong = request("");
  wrong.schedule = "/no/such/schedule";
  expect_refusal(wrong, "/no/such/schedule");
  wrong.schedule = (fs::path(std::getenv("TEST_TMPDIR")) / "wrong.txt").string();
  std::ofstream(wrong.schedule) << "emulsion schedule 1\ny.parallel(q)\n";
  expect_refusal(wrong, "q");
}

TEST(GenerateKernelTest, RefusesWhatTheGraphRefuses) {
  expect_refusal(request(""), "rows to match", [](const KernelContext&) {
    return Graph(matmul(input("x", f32, {2, 3}), input("w", f32, {4, 5})));
  });
  expect_refusal(request(""), "data file", [](const KernelContext& context) {
    return Graph(context.constant("w", "w.npy"));
  });
}

TEST(GenerateKernelTest, RefusesADirectoryThatCannotBeMade) {
  const fs::path path = directory("file");
  std::ofstream(path.string()) << "not a directory";
  KernelRequest wrong = request(path / "below");
  EXPECT_THAT([&] { generate_kernel(wrong, linear); },
              ThrowsMessage<Error>(HasSubstr("output directory")));
}

TEST(GenerateKernelTest, SaysWhatTheGraphFunctionThrew) {
  expect_refusal(
      request(""),
      "emulsion_kernel(): expected a graph, got an exception: std::runtime_error: no such layer",
      [](const KernelContext&) -> Graph { throw std::runtime_error("no such layer"); });
  expect_refusal(request(""), "emulsion_kernel(): expected a graph, got an exception: int",
                 [](const KernelContext&) -> Graph { throw 42; });
}

TEST(GenerateKernelTest, LeavesAnErrorOfTheGraphFunctionAsItIs) {
  expect_refusal(request(""), "expected something else",
                 [](const KernelContext&) -> Graph { throw Error("expected something else"); });
}

TEST(GenerateKernelTest, OurOwnFaultsStayOurs) {
  const KernelFunction kernel = [](const KernelContext&) -> Graph { throw InternalError("ours"); };
  EXPECT_THROW(generate_kernel(request(directory("ours")), kernel), InternalError);
}

}  // namespace
}  // namespace emulsion
