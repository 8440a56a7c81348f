#include "backends/halide/compile_aot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

class CompileAot : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

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

  fs::path folder_;
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

TEST_F(CompileAot, MakesTheSameBytesInAProcessOfItsOwn) {
  compile_aot(linear_nest(), "linear", {kAvx512, kPlain}, folder());
  const std::string header = contents("out/linear.h"), archive = contents("out/linear.a");
  compile_aot(linear_nest(), "linear", {kAvx512, kPlain}, folder("child"), isolated());
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

TEST_F(CompileAot, RefusesNoTarget) {
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", std::vector<Target>{}, folder()); }),
              HasSubstr("expected at least one target"));
}

TEST_F(CompileAot, RefusesATargetTwice) {
  EXPECT_THAT(error_of([&] {
                compile_aot(linear_nest(), "k", {kAvx2, kAvx2}, folder());
              }),
              HasSubstr("expected distinct targets"));
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
              HasSubstr("expected a nest for each of 2 targets, got 1"));
}

TEST_F(CompileAot, RefusesNestsWithOtherArguments) {
  std::vector<LoopNest> nests = {linear_nest(), linear_nest(16, "z")};
  EXPECT_THAT(error_of([&] {
                compile_aot(nests, "k", {kAvx2, kPlain}, folder());
              }),
              HasSubstr("expected the same arguments for every target"));
}

TEST_F(CompileAot, RefusesNestsThatPackDifferently) {
  std::vector<LoopNest> nests = {linear_nest(16), linear_nest(8)};
  EXPECT_THAT(error_of([&] {
                compile_aot(nests, "k", {kAvx2, kPlain}, folder());
              }),
              HasSubstr("for every target"));
}

TEST_F(CompileAot, RefusesAFolderInsideAFile) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "in the way";
  EXPECT_THAT(error_of([&] { compile_aot(linear_nest(), "k", kPlain, folder("file/out")); }),
              HasSubstr("output directory"));
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

// Links programs out of kernels called `same`, by the C compiler.
class KernelsOfOneName : public CompileAot {
 protected:
  // folder/same.h and same.a, and folder/main.o, which includes that header from two files deep.
  void make(const std::string& where, const Tensor& result) {
    const Graph graph(result);
    compile_aot(lower(graph, Schedule(graph)), "same", kPlain, folder(where));
    std::ofstream(folder(where) + "/use.c")
        << "#include \"same.h\"\nint use_" << where << "(void) { return 0; }\n";
    ASSERT_EQ(run("cc -O2 -Wall -Wextra -Werror -c " + folder(where) + "/use.c -o " +
                  folder(where) + "/use.o"),
              "");
  }
  // What the linker says; empty when it links. What kernels call is left open.
  std::string link(const std::vector<std::string>& folders,
                   const std::string& unresolved = "ignore-all") {
    std::ofstream(folder(folders.front()) + "/main.c") << "int main(void) { return 0; }\n";
    std::string command = "cc -Wl,--unresolved-symbols=" + unresolved + " -o " +
                          folder(folders.front()) + "/program " + folder(folders.front()) +
                          "/main.c";
    for (const std::string& where : folders) command += " " + folder(where) + "/use.o";
    for (const std::string& where : folders) command += " " + folder(where) + "/same.a";
    return run(command);
  }
  // What a command prints when it fails.
  std::string run(const std::string& command) const {
    const std::string said = folder("said.txt");
    const int code = std::system((command + " >" + said + " 2>&1").c_str());
    return code == 0 ? "" : "failed: " + contents("said.txt");
  }
};

TEST_F(KernelsOfOneName, DoNotLinkIntoOneProgram) {
  const Tensor x = input("x", f32, {8});
  make("one", relu(x, "y"));
  make("other", abs(x, "y"));
  EXPECT_EQ(link({"one"}), "");
  EXPECT_EQ(link({"other"}), "");
  EXPECT_THAT(link({"one", "other"}), HasSubstr("multiple definition of `same'"));
}

TEST_F(KernelsOfOneName, ThatDifferInAConstantOnlyDoNotLinkEither) {
  const Tensor x = input("x", f32, {2});
  make("one", add(x, constant("c", {2}, std::vector<float>{1, 2}), "y"));
  make("other", add(x, constant("c", {2}, std::vector<float>{1, 3}), "y"));
  EXPECT_THAT(link({"one", "other"}), HasSubstr("multiple definition of `same'"));
}

// The same code, and arguments of which the entry asks something else.
TEST_F(KernelsOfOneName, ThatAskForOtherExtentsOrNamesDoNotLinkEither) {
  const Axis i("i", 4);
  make("one", compute("y", {i}, input("x", f32, {8})(i)));
  make("other", compute("y", {i}, input("x", f32, {16})(i)));
  make("third", compute("y", {i}, input("z", f32, {8})(i)));
  EXPECT_THAT(link({"one", "other"}), HasSubstr("multiple definition of `same'"));
  EXPECT_THAT(link({"one", "third"}), HasSubstr("multiple definition of `same'"));
}

// As a writer leaves them that is killed after the first of two files.
TEST_F(KernelsOfOneName, AHeaderDoesNotLinkWithTheArchiveOfAnother) {
  const Tensor x = input("x", f32, {8});
  make("one", relu(x, "y"));
  make("other", abs(x, "y"));
  EXPECT_THAT(link({"one"}, "report-all"), Not(HasSubstr("undefined reference to `same_is_")));
  fs::copy_file(folder("other") + "/same.a", folder("one") + "/same.a",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(link({"one"}, "report-all"), HasSubstr("undefined reference to `same_is_"));
}

TEST_F(KernelsOfOneName, ThatAreEqualAreOne) {
  const Tensor x = input("x", f32, {8});
  make("one", relu(x, "y"));
  make("other", relu(x, "y"));
  EXPECT_EQ(link({"one", "other"}), "");
}

// What each makes of -3: relu 0, abs 3.
class CallsOfOneName : public KernelsOfOneName {
 protected:
  void SetUp() override {
    KernelsOfOneName::SetUp();
    const Tensor x = input("x", f32, {8});
    make("one", relu(x, "y"));
    make("other", abs(x, "y"));
    write_calls("one");
    write_calls("other");
    // Of the runtime there is what is called. With each of the headers once.
    std::ofstream(folder("one") + "/main.c") << R"(
      int emulsion_check_arguments(void) { return 0; }
      int call_one(void), call_other(void);
      int main(void) { return 10 * call_one() + call_other() == 3 ? 0 : 1; })";
  }

  // folder/call.o, with a function that calls `same` as the header there declares it, in both ways
  // and by a pointer.
  void write_calls(const std::string& where) {
    std::ofstream(folder(where) + "/call.c") << R"(
      #include <stdint.h>
      struct dimension { int32_t min, extent, stride; uint32_t flags; };
      struct halide_buffer_t {
        uint64_t device; const void* interface; void* host; uint64_t flags;
        uint8_t code, bits; uint16_t lanes; int32_t rank; struct dimension* dim; void* padding;
      };
      #include "same.h"
      int call_)" << where << R"((void) {
        float x[8] = {-3}, y[8];
        struct dimension dim = {0, 8, 1, 0};
        struct halide_buffer_t a = {0, 0, x, 0, 2, 32, 1, 1, &dim, 0}, b = a;
        void* array[] = {&a, &b};
        int (*pointer)(struct halide_buffer_t*, struct halide_buffer_t*) = same;
        b.host = y;
        if (same(&a, &b) != 0) return 100;
        const int result = (int)y[0];
        y[0] = 50;
        if (same_argv(array) != 0 || (int)y[0] != result) return 200;
        y[0] = 50;
        return pointer(&a, &b) == 0 && (int)y[0] == result ? result : 300;
      })";
    ASSERT_EQ(run("cc -Wall -Wextra -Werror -Wredundant-decls -fPIC -c " + folder(where) +
                  "/call.c -o " + folder(where) + "/call.o"),
              "");
  }

  // folder/libNAME.so with the kernel, and what else is said.
  void make_library(const std::string& where, const std::string& objects = "") {
    ASSERT_EQ(run(kOpen + library(where) + " -shared " + objects + " -Wl,--whole-archive " +
                  folder(where) + "/same.a -Wl,--no-whole-archive"),
              "");
  }
  std::string library(const std::string& where) const {
    return folder(where) + "/lib" + where + ".so";
  }
  std::string calls(const std::string& where) const { return " " + folder(where) + "/call.o "; }

  // The program's main with these objects and libraries, in this order, is right.
  void expect_right(const std::string& linked) {
    const std::string program = folder("one") + "/program";
    ASSERT_EQ(run(kOpen + program + " " + folder("one") + "/main.c " + linked), "");
    EXPECT_EQ(run(program), "") << linked;
  }

  const std::string kOpen = "cc -Wl,-z,lazy -Wl,--unresolved-symbols=ignore-all -o ";
};

// A loader would otherwise give the library the function of the program.
TEST_F(CallsOfOneName, InALibraryAndInItsProgramAreEachOfTheirOwn) {
  make_library("other", calls("other"));
  expect_right(calls("one") + folder("one") + "/same.a " + library("other"));
  // The linker would otherwise take the library's function, and leave the archive alone.
  expect_right(calls("one") + library("other") + " " + folder("one") + "/same.a");
}

TEST_F(CallsOfOneName, InAProgramOfAnArchiveAndALibraryAreEachOfTheirOwn) {
  make_library("other");
  const std::string both = calls("one") + calls("other"), archive = folder("one") + "/same.a ";
  expect_right(both + archive + library("other"));
  expect_right(both + library("other") + " " + archive);
}

// The loader would otherwise take the first library's function for both.
TEST_F(CallsOfOneName, InAProgramOfTwoLibrariesAreEachOfTheirOwn) {
  make_library("one");
  make_library("other");
  const std::string both = calls("one") + calls("other");
  expect_right(both + library("one") + " " + library("other"));
  expect_right(both + library("other") + " " + library("one"));
}

// What somebody calls who has no header.
TEST_F(CallsOfOneName, TheNameItselfIsThereForDlsym) {
  make_library("one");
  std::ofstream(folder("one") + "/find.c") << R"(
      #include <dlfcn.h>
      int emulsion_check_arguments(void) { return 0; }
      int main(int count, char** words) {
        void* library = dlopen(words[1], RTLD_LAZY);
        if (!library || count != 2) return 1;
        return dlsym(library, "same") && dlsym(library, "same_argv") &&
               dlsym(library, "same_metadata") ? 0 : 2;
      })";
  const std::string program = folder("one") + "/find";
  ASSERT_EQ(run("cc -rdynamic -o " + program + " " + folder("one") + "/find.c -ldl"), "");
  EXPECT_EQ(run(program + " " + library("one")), "");
}

}  // namespace
}  // namespace emulsion
