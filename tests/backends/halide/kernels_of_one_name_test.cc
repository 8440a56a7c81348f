// Kernels called `same`, in programs and shared libraries that the C compiler links.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/halide/compile_aot.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/test_folder.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class KernelsOfOneName : public TestFolder {
 protected:
  std::string folder(const std::string& name) const { return (folder_ / name).string(); }

  // folder/same.h and same.a, and folder/use.o, whose source includes that header.
  void make(const std::string& where, const Tensor& result) {
    const Graph graph(result);
    compile_aot(lower(graph, Schedule(graph)), "same", Target::parse("x86-64-linux"),
                folder(where));
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
    std::stringstream text;
    text << std::ifstream(said).rdbuf();
    return code == 0 ? "" : "failed: " + text.str();
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
    make("one", relu(input("x", f32, {8}), "y"));
    make("other", abs(input("z", f32, {8}), "y"));
    write_calls("one", 'x');
    write_calls("other", 'z');
    // Of the runtime there is what is called. With each of the headers once.
    std::ofstream(folder("one") + "/main.c") << R"(
      int emulsion_check_arguments(void) { return 0; }
      int call_one(void), call_other(void);
      int main(void) { return 10 * call_one() + call_other() == 3 ? 0 : 1; })";
  }

  // folder/call.o, with a function that calls `same` as the header there declares it, in both ways
  // and by a pointer. What the header says of the kernel is of the same one: its input is `input`.
  void write_calls(const std::string& where, char input) {
    std::ofstream(folder(where) + "/call.c")
        << "#include \"same.h\"\n"
        << kBuffers << kMetadata << "int call_" << where << R"((void) {
        struct buffers b;
        int (*pointer)(struct halide_buffer_t*, struct halide_buffer_t*) = same;
        if (!is_told(same_metadata(), ')"
        << input << R"(')) return 400;
        set_up(&b);
        if (same(&b.in, &b.out) != 0) return 100;
        const int result = (int)b.y[0];
        b.y[0] = 50;
        if (same_argv(b.array) != 0 || (int)b.y[0] != result) return 200;
        b.y[0] = 50;
        return pointer(&b.in, &b.out) == 0 && (int)b.y[0] == result ? result : 300;
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

  // What a call of a kernel of eight floats is made of.
  const std::string kBuffers = R"(
      #include <stdint.h>
      struct dimension { int32_t min, extent, stride; uint32_t flags; };
      struct halide_buffer_t {
        uint64_t device; const void* interface; void* host; uint64_t flags;
        uint8_t code, bits; uint16_t lanes; int32_t rank; struct dimension* dim; void* padding;
      };
      struct buffers {
        float x[8], y[8];
        struct dimension dim;
        struct halide_buffer_t in, out;
        void* array[2];
      };
      static void set_up(struct buffers* b) {
        __builtin_memset(b, 0, sizeof *b);
        b->x[0] = -3;
        const struct dimension dim = {0, 8, 1, 0};
        const struct halide_buffer_t in = {0, 0, b->x, 0, 2, 32, 1, 1, &b->dim, 0};
        b->dim = dim;
        b->in = b->out = in;
        b->out.host = b->y;
        b->array[0] = &b->in;
        b->array[1] = &b->out;
      }
      )";
  // What is said of `same`, a kernel of two arguments whose first one has a name of one letter.
  const std::string kMetadata = R"(
      struct halide_filter_metadata_t {
        int32_t version, count;
        const char* const* arguments;  /* each starts with a pointer to its name */
        const char *target, *name;
      };
      static int is_told(const struct halide_filter_metadata_t* told, char input) {
        return told->count == 2 && told->arguments[0][0] == input && told->arguments[0][1] == 0 &&
               __builtin_strncmp(told->name, "same", 4) == 0;
      }
      )";
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

// What somebody calls who has no header, also where the program has a kernel of that name.
TEST_F(CallsOfOneName, TheNameItselfIsThereForDlsym) {
  make_library("other");
  std::ofstream(folder("one") + "/find.c") << "#include <dlfcn.h>\n"
                                           << kBuffers << kMetadata << R"(
      int emulsion_check_arguments(void) { return 0; }
      int call_one(void);
      int main(int count, char** words) {
        struct buffers b;
        void* library = count == 2 ? dlopen(words[1], RTLD_LAZY) : 0;
        if (!library || call_one() != 0) return 1;
        int (*same)(void*, void*) = dlsym(library, "same");
        int (*same_argv)(void**) = dlsym(library, "same_argv");
        set_up(&b);
        if (!same || same(&b.in, &b.out) != 0 || b.y[0] != 3) return 2;
        b.y[0] = 50;
        if (!same_argv || same_argv(b.array) != 0 || b.y[0] != 3) return 3;
        const struct halide_filter_metadata_t* (*told)(void) = dlsym(library, "same_metadata");
        return told && is_told(told(), 'z') ? 0 : 4;
      })";
  const std::string program = folder("one") + "/find";
  ASSERT_EQ(run(kOpen + program + " -rdynamic " + folder("one") + "/find.c " + calls("one") +
                folder("one") + "/same.a -ldl"),
            "");
  EXPECT_EQ(run(program + " " + library("other")), "");
}

}  // namespace
}  // namespace emulsion
