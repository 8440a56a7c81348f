#include "backends/halide/compile_aot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "Halide.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/backends/halide/wrong_nest.h"
#include "tests/memory_limit.h"
#include "tests/passes/expect_error.h"
#include "tests/small_files.h"
#include "tests/test_folder.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const Target kPlain = Target::parse("x86-64-linux");
const Target kAvx2 = Target::parse("x86-64-v3");
const Target kAvx512 = Target::parse("x86-64-v4");

// relu(x w + b), w packed in panels.
LoopNest linear_nest(int64_t panel = 16, const std::string& output = "y") {
  Tensor x = input("x", f32, {Extent::size("B"), 6});
  Tensor w = weight("w", f32, {6, 20});
  Graph graph(relu(matmul(x, w, "mm") + weight("b", f32, {20}), output));
  Schedule s(graph);
  s["mm"].pack(w, Axis("n"), panel);
  s["mm"].split(Axis("n"), Axis("no"), Axis("ni"), panel, Tail::round_up).vectorize(Axis("ni"));
  return lower(graph, s);
}

class CompileAot : public TestFolder {
 protected:
  std::string folder(const std::string& name = "out") const { return (folder_ / name).string(); }

  std::string contents(const std::string& path) const {
    std::ifstream file(folder_ / path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }

  std::vector<std::string> files_in(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / name)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(CompileAot, WritesAHeaderAndAnArchiveAndNothingElse) {
  compile_aot(linear_nest(), "linear", kAvx2, folder());
  EXPECT_THAT(files_in("out"), UnorderedElementsAre("linear.h", "linear.a"));
  EXPECT_EQ(contents("out/linear.a").substr(0, 7), "!<arch>");
}

TEST_F(CompileAot, TheHeaderDeclaresTheKernelAndThePackFunction) {
  compile_aot(linear_nest(), "linear", kAvx2, folder());
  std::string header = contents("out/linear.h");
  EXPECT_THAT(header, HasSubstr("int linear(struct halide_buffer_t *_x_buffer, struct "
                                "halide_buffer_t *_w_packed_buffer, struct halide_buffer_t "
                                "*_b_buffer, struct halide_buffer_t *_y_buffer)"));
  EXPECT_THAT(header, HasSubstr("int linear_pack_w(struct halide_buffer_t *_w_buffer, struct "
                                "halide_buffer_t *_w_packed_buffer)"));
  EXPECT_THAT(header, HasSubstr("*_w_packed_buffer) __asm__(\"linear_pack_w_is_"));
  EXPECT_THAT(header, Not(HasSubstr("body")));
}

TEST_F(CompileAot, EqualInputsGiveEqualBytesInAnotherFolderAndAfterOtherKernels) {
  const std::vector<Target> targets = {kAvx512, kAvx2, kPlain};
  compile_aot(linear_nest(), "linear", targets, folder("first"));
  compile_aot(linear_nest(16, "z"), "other", kPlain, folder("between"));
  compile_aot(linear_nest(), "linear", targets, folder("a/longer/path/to/the/second"));
  EXPECT_EQ(contents("first/linear.a"), contents("a/longer/path/to/the/second/linear.a"));
  EXPECT_EQ(contents("first/linear.h"), contents("a/longer/path/to/the/second/linear.h"));
}

TEST_F(CompileAot, OneLibraryHoldsABodyForEachTarget) {
  compile_aot(linear_nest(), "linear", {kAvx512, kPlain}, folder());
  std::string archive = contents("out/linear.a");
  EXPECT_THAT(archive, HasSubstr("linear_emulsion_body_0"));
  EXPECT_THAT(archive, HasSubstr("linear_emulsion_body_1"));
  EXPECT_THAT(archive, HasSubstr("halide_can_use_target_features"));
}

TEST_F(CompileAot, CheckedCodeHasTheWordsOfItsChecks) {
  CompileOptions checked;
  checked.checked = true;
  const LoopNest nest = nest_that_is_wrong_for_many_rows();
  compile_aot(nest, "rows", {kAvx512, kPlain}, folder("checked"), checked);
  compile_aot(nest, "rows", {kAvx512, kPlain}, folder("plain"));
  const std::string words = "stage a, axis 0 of a: expected an index from 0 to less than";
  EXPECT_NE(contents("checked/rows.a").find(words), std::string::npos);
  EXPECT_EQ(contents("plain/rows.a").find(words), std::string::npos);
}

TEST_F(CompileAot, APlainTargetAsksNothingOfTheProcessor) {
  compile_aot(linear_nest(), "linear", kPlain, folder());
  EXPECT_THAT(contents("out/linear.a"), Not(HasSubstr("halide_can_use_target_features")));
}

// Where the target has no such instruction, LLVM would call the C library for each element.
TEST_F(CompileAot, CallsNoFunctionForMultiplyAdds) {
  for (const Target& target : {kPlain, Target::parse("x86-64-v2"), kAvx2}) {
    compile_aot(linear_nest(), "linear", target, folder());
    EXPECT_EQ(contents("out/linear.a").find("fmaf"), std::string::npos) << target.to_string();
  }
}

// LLVM's own writer makes the same bytes of the same objects.
TEST_F(CompileAot, TheArchiveIsTheOneThatLlvmWrites) {
  compile_aot(linear_nest(), "linear", {kAvx512, kPlain}, folder());
  const std::string archive = contents("out/linear.a");
  std::vector<std::string> names = {"linear_emulsion_body_0.o", "linear_emulsion_body_1.o",
                                    "linear_pack_w_emulsion_body_0.o",
                                    "linear_pack_w_emulsion_body_1.o", "linear.o"};
  const std::string objects = folder("objects");
  fs::create_directories(objects);
  const std::string extract = "cd " + objects + " && ar x ../out/linear.a";
  ASSERT_EQ(std::system(extract.c_str()), 0);
  for (std::string& name : names) name = objects + "/" + name;
  Halide::Internal::run_with_large_stack([&] {
    Halide::create_static_library(names, Halide::Target("x86-64-linux"), objects + "/llvm.a", true);
  });
  EXPECT_EQ(archive, contents("objects/llvm.a"));
}

// What is written beyond the limit fails as it does on a disk that is full.
TEST_F(CompileAot, AFullDiskIsAnErrorAndLeavesTheOldFiles) {
  compile_aot(linear_nest(16, "z"), "linear", kAvx2, folder());
  const std::string header = contents("out/linear.h"), archive = contents("out/linear.a");
  const std::string message = error_of([&] {
    const SmallFiles full(1000);
    compile_aot(linear_nest(), "linear", kAvx2, folder());
  });
  EXPECT_THAT(message, HasSubstr("bytes to be written, got: File too large"));
  EXPECT_EQ(contents("out/linear.h"), header);
  EXPECT_EQ(contents("out/linear.a"), archive);
  EXPECT_THAT(files_in("out"), UnorderedElementsAre("linear.h", "linear.a"));
}

CompileOptions isolated() {
  CompileOptions options;
  options.isolate = true;
  return options;
}

// Pages that processes have asked for which this one has started.
int64_t pages_of_children() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  return usage.ru_minflt;
}

TEST_F(CompileAot, MakesTheSameBytesInAProcessOfItsOwn) {
  const int64_t before = pages_of_children();
  compile_aot(linear_nest(), "linear", {kAvx512, kPlain}, folder());
  EXPECT_EQ(pages_of_children(), before);
  const std::string header = contents("out/linear.h"), archive = contents("out/linear.a");
  compile_aot(linear_nest(), "linear", {kAvx512, kPlain}, folder("child"), isolated());
  EXPECT_GT(pages_of_children(), before);
  EXPECT_EQ(contents("child/linear.h"), header);
  EXPECT_TRUE(contents("child/linear.a") == archive);
}

constexpr rlim_t kMegabyte = 1 << 20;

// Whatever runs out, LLVM's memory or ours, this process lives on, and the next one compiles.
TEST_F(CompileAot, InAProcessOfItsOwnMemoryThatRunsOutIsAnError) {
  compile_aot(linear_nest(16, "z"), "linear", kAvx2, folder());
  const std::string old = contents("out/linear.a");
  for (rlim_t megabytes : {100, 768, 769, 771}) {
    const std::string message = error_of([&] {
      const MemoryLimit limit(megabytes * kMegabyte);
      compile_aot(linear_nest(), "linear", kAvx2, folder(), isolated());
    });
    if (megabytes > 500 && message == "no Error") continue;  // what earlier calls left is enough
    EXPECT_THAT(message, HasSubstr("compiling linear: expected")) << megabytes;
    EXPECT_TRUE(contents("out/linear.a") == old) << megabytes;
    EXPECT_THAT(files_in("out"), UnorderedElementsAre("linear.h", "linear.a"));
  }
  compile_aot(linear_nest(), "linear", kAvx2, folder(), isolated());
  EXPECT_FALSE(contents("out/linear.a") == old);
}

TEST_F(CompileAot, NoRoomForHalidesStackIsAnErrorAndTheNextOneCompiles) {
  const std::string message = error_of([&] {
    const MemoryLimit limit(100 * kMegabyte);
    compile_aot(linear_nest(), "linear", kAvx2, folder());
  });
  EXPECT_EQ(message, "compiling linear: expected 768 MiB of memory, got none");
  compile_aot(linear_nest(), "linear", kAvx2, folder());
  EXPECT_THAT(files_in("out"), UnorderedElementsAre("linear.h", "linear.a"));
}

TEST_F(CompileAot, ErrorsOfAProcessOfItsOwnAreThoseOfThisOne) {
  const auto message = [&](const CompileOptions& options) {
    return error_of([&] { compile_aot(linear_nest(), "exp", kPlain, folder(), options); });
  };
  EXPECT_EQ(message(isolated()), message({}));
}

TEST_F(CompileAot, ReplacesWhatWasThere) {
  compile_aot(linear_nest(), "linear", kPlain, folder());
  std::string before = contents("out/linear.a");
  compile_aot(linear_nest(), "linear", kAvx2, folder());
  EXPECT_NE(contents("out/linear.a"), before);
  EXPECT_THAT(files_in("out"), UnorderedElementsAre("linear.h", "linear.a"));
}

TEST_F(CompileAot, RefusesNamesThatAreNoIdentifiers) {
  for (const char* name : {"", "2fast", "a-b", "a b", "a/b", "../x", "int", "a__b", "\xc3\xa9"}) {
    EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), name, kPlain, folder()); }),
                HasSubstr("kernel"))
        << name;
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CompileAot, RefusesNamesOfTheCLibrary) {
  for (const char* name : {"exp", "memcpy", "malloc", "y1"}) {
    EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), name, kPlain, folder()); }),
                HasSubstr("function of the C library"))
        << name;
  }
}

TEST_F(CompileAot, RefusesAPackFunctionWhoseNameIsNoIdentifier) {
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "linear_", kPlain, folder()); }),
              HasSubstr("linear__pack_w"));
  EXPECT_THAT(files_in("out"), IsEmpty());
}

TEST_F(CompileAot, RefusesNoTarget) {
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", std::vector<Target>{}, folder()); }),
              HasSubstr("expected at least one target"));
}

TEST_F(CompileAot, RefusesATargetTwice) {
  for (const std::vector<Target>& targets :
       {std::vector<Target>{kAvx2, kAvx2}, {kAvx2, kPlain, kAvx2}}) {
    EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", targets, folder()); }),
                HasSubstr("expected distinct targets"));
  }
}

TEST_F(CompileAot, RefusesATargetThatWouldNeverBeRun) {
  EXPECT_THAT(error_of([&] {
                compile_aot(linear_nest(), "k", {kPlain, kAvx2}, folder());
              }),
              HasSubstr("expected the best target first, got " + kPlain.to_string() + " before " +
                        kAvx2.to_string()));
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CompileAot, RefusesAnUnknownFeatureAndHost) {
  EXPECT_THAT(error_of([] { Target::parse("x86-64-linux-avx3"); }), HasSubstr("avx3"));
  EXPECT_THAT(error_of([] { Target::parse("host"); }), HasSubstr("host"));
}

TEST_F(CompileAot, RefusesAFeatureThatHalideDoesNotKnow) {
  Target target = kPlain;
  target.features.insert("quantum");
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", target, folder()); }),
              HasSubstr("quantum"));
  EXPECT_THAT(files_in("out"), IsEmpty());
}

TEST_F(CompileAot, RefusesMoreTargetsThanNests) {
  EXPECT_THAT(error_of([&] {
                compile_aot(std::vector<LoopNest>{linear_nest()}, "k", {kAvx2, kPlain}, folder());
              }),
              HasSubstr("expected 2 nests, one for each target, got 1"));
}

// The packed weights have one shape and their elements in another order: entries do not tell.
TEST_F(CompileAot, RefusesNestsWhoseWeightsArePackedOtherwise) {
  std::vector<LoopNest> nests;
  for (const char* axis : {"n", "k"}) {
    const Tensor x = input("x", f32, {4, 16}), w = weight("w", f32, {16, 16});
    const Graph graph(matmul(x, w, "y"));
    Schedule schedule(graph);
    schedule["y"].pack(w, Axis(axis), 4);
    nests.push_back(lower(graph, schedule));
  }
  EXPECT_EQ(to_string(nests[0].buffer("w_packed").shape),
            to_string(nests[1].buffer("w_packed").shape));
  EXPECT_THAT(error_of([&] {
                compile_aot(nests, "k", {kAvx2, kPlain}, folder());
              }),
              HasSubstr("kernel k: expected the same packed weights for every target"));
}

TEST_F(CompileAot, RefusesNestsWithOtherArguments) {
  const std::vector<Target> targets = {Target::parse("x86-64-v4"), kAvx2, kPlain};
  for (size_t other : {1, 2}) {
    std::vector<LoopNest> nests(3, linear_nest());
    nests[other] = linear_nest(16, "z");
    EXPECT_THAT(error_of([&] { compile_aot(nests, "k", targets, folder()); }),
                HasSubstr("expected the same arguments for every target"));
  }
}

TEST_F(CompileAot, RefusesNestsThatPackDifferently) {
  std::vector<LoopNest> nests = {linear_nest(16), linear_nest(8)};
  EXPECT_THAT(error_of([&] {
                compile_aot(nests, "k", {kAvx2, kPlain}, folder());
              }),
              HasSubstr("for every target"));
}

TEST_F(CompileAot, MakesFoldersThatAreNotThere) {
  compile_aot(linear_nest(), "linear", kPlain, folder("not/there/yet"));
  EXPECT_THAT(files_in("not/there/yet"), UnorderedElementsAre("linear.h", "linear.a"));
}

TEST_F(CompileAot, RefusesAFolderInsideAFile) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "in the way";
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", kPlain, folder("file/out")); }),
              AllOf(HasSubstr("output directory "),
                    HasSubstr("file/out: expected one that can be made, got: Not a directory")));
  EXPECT_EQ(contents("file"), "in the way");
}

TEST_F(CompileAot, RefusesAFolderThatCannotBeWritten) {
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", kPlain, "/proc/self"); }),
              HasSubstr("output directory /proc/self: expected one that can be written"));
}

TEST_F(CompileAot, ANestThatIsWrongLeavesTheOldFiles) {
  compile_aot(linear_nest(), "linear", kPlain, folder());
  std::string before = contents("out/linear.a");
  LoopNest broken = linear_nest();
  broken.root = nullptr;
  EXPECT_THROW(compile_aot(broken, "linear", kPlain, folder()), InternalError);
  EXPECT_EQ(contents("out/linear.a"), before);
  EXPECT_THAT(files_in("out"), UnorderedElementsAre("linear.h", "linear.a"));
}

TEST_F(CompileAot, RefusesAFileNameThatIsAFolder) {
  fs::create_directories(folder_ / "out" / "linear.a" / "x");
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "linear", kPlain, folder()); }),
              HasSubstr("linear.a: expected one that can be replaced"));
}

}  // namespace
}  // namespace emulsion
