// Names that mean something to a C or C++ compiler, as names of arguments, run-time sizes, weights
// and kernels: each is refused with its reason, or the generated headers compile, behind whatever
// else a program includes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/codegen/generate_kernel.h"
#include "dsl/error.h"
#include "dsl/extent.h"
#include "dsl/operators.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Macros: no program can have a variable of that name.
const std::vector<std::string> kMacros = {
    "BUFSIZ",   "CHAR_BIT",  "EINVAL", "EOF",       "ERANGE",    "EXIT_SUCCESS", "FE_UPWARD",
    "HUGE_VAL", "INFINITY",  "INT8_C", "INT32_MAX", "INT32_MIN", "INT_MAX",      "LC_ALL",
    "M_PI",     "NAN",       "NULL",   "RAND_MAX",  "SEEK_SET",  "SIGINT",       "SIZE_MAX",
    "SIG_DFL",  "UINT8_MAX", "WEOF",   "assert",    "errno",     "linux",        "offsetof",
    "setjmp",   "stderr",    "stdin",  "stdout",    "unix",      "va_arg"};

// What headers declare outside of all namespaces, and namespaces: local names may hide them, a
// kernel's function cannot.
const std::vector<std::string> kDeclared = {
    "FILE",     "Halide", "P_ALL",  "abi",         "clock_t",   "div_t",    "exit",
    "expf",     "fd_set", "free",   "int8_t",      "malloc",    "memcpy",   "printf",
    "read",     "signal", "size_t", "std",         "time",      "time_t",   "uint",
    "uint64_t", "ushort", "write",  "max_align_t", "pthread_t", "ptrdiff_t"};

// Its header would be found in place of another.
const std::vector<std::string> kHeaders = {"math", "memory", "pthread", "stdint", "string"};

// What the generated headers say themselves, and what only looks like a type.
const std::vector<std::string> kOwn = {"Arguments", "Packed",  "Span",      "Status",
                                       "a",         "a0",      "arguments", "arguments_of_kernel",
                                       "array",     "data",    "dim",       "extents",
                                       "f",         "flops",   "host",      "i",
                                       "info",      "kernels", "packed",    "raw",
                                       "run",       "runtime", "shape",     "sizes",
                                       "span",      "status",  "table",     "type",
                                       "vector",    "weight",  "x_t",       "matmul_t"};

std::vector<std::string> together(const std::vector<std::string>& one,
                                  const std::vector<std::string>& other) {
  std::vector<std::string> all = one;
  all.insert(all.end(), other.begin(), other.end());
  return all;
}

fs::path folder() { return fs::path(std::getenv("TEST_TMPDIR")) / "kernels"; }

void generate(const std::string& name, const Graph& graph) {
  KernelRequest request;
  request.name = name;
  request.targets = {Target::parse("x86-64-linux")};
  request.directory = folder().string();
  generate_kernel(request, [&](const KernelContext&) { return graph; });
}

// What the compiler says of a file of these lines: empty where it compiles without a warning.
std::string complaints(const std::string& lines, const std::string& options) {
  const fs::path source = folder() / "program.cc", said = folder() / "said.txt";
  std::ofstream(source) << lines;
  const std::string command = "c++ " + options + " -Wall -Wextra -Werror -fsyntax-only -I. -I" +
                              folder().string() + " -isystem " + std::getenv("HALIDE_INCLUDE") +
                              " " + source.string() + " >" + said.string() + " 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream text;
  text << std::ifstream(said).rdbuf();
  return status == 0 ? text.str() : "ended with " + std::to_string(status) + ":\n" + text.str();
}

// Of the C headers, in C.
void expect_compiles_in_c(const std::vector<std::string>& kernels) {
  const std::string others =
      "#include <assert.h>\n#include <errno.h>\n#include <math.h>\n#include <signal.h>\n"
      "#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
      "#include <string.h>\n#include <time.h>\n";
  std::string ours;
  for (const std::string& kernel : kernels) ours += "#include \"" + kernel + ".h\"\n";
  EXPECT_EQ(complaints(others + ours + "int last;\n", "-x c -std=c99 -pedantic"), "");
  EXPECT_EQ(complaints(ours + others + "int last;\n", "-x c -std=gnu17"), "");
}

// In each mode, before and behind the headers of C and C++.
void expect_compiles(const std::vector<std::string>& kernels) {
  const std::string others =
      "#include <algorithm>\n#include <cassert>\n#include <cerrno>\n#include <cfenv>\n"
      "#include <cinttypes>\n#include <clocale>\n#include <cmath>\n#include <csetjmp>\n"
      "#include <csignal>\n#include <cstdio>\n#include <cstdlib>\n#include <ctime>\n"
      "#include <cxxabi.h>\n#include <dirent.h>\n#include <iostream>\n#include <memory>\n"
      "#include <string>\n#include <thread>\n#include <unistd.h>\n#include <vector>\n";
  std::string ours;
  for (const std::string& kernel : kernels) ours += "#include \"" + kernel + "_kernel.h\"\n";
  const std::string calls = "int main() { return 0; }\n";
  EXPECT_EQ(complaints(others + ours + calls, "-std=gnu++17"), "");
  EXPECT_EQ(complaints(ours + others + calls, "-std=c++20"), "");
  expect_compiles_in_c(kernels);
}

// The sum of the first elements of inputs with these names.
Graph with_arguments(const std::vector<std::string>& names) {
  const Axis i("i", 1);
  Expr body = constant(DType::f32, 0);
  for (const std::string& name : names) body = body + input(name, f32, {1})(i);
  return Graph(compute("result", {i}, body));
}

// As many sizes as a kernel may have.
Graph with_sizes(const std::vector<std::string>& names) {
  const Axis i("i", 1);
  Expr body = constant(DType::f32, 0);
  for (size_t n = 0; n < names.size(); ++n) {
    const std::string number = std::to_string(n);
    const Axis k("k" + number, Extent::size(names[n]));
    const Tensor x = input("x" + number, f32, {Extent::size(names[n])});
    const Tensor part = compute("s" + number, {i}, sum(k, x(k)));
    body = body + part(i);
  }
  return Graph(compute("result", {i}, body));
}

// result = x w, whose weight is packed.
Graph with_weight(const std::string& name) {
  const Tensor x = input("x", f32, {Extent::size("B"), 20});
  return Graph(matmul(x, weight(name, f32, {20, 24}), "result"));
}

TEST(HostileNames, MacrosAreRefusedEverywhere) {
  for (const std::string& name : kMacros) {
    const std::string reason =
        name + "': expected a name of its own, got a macro of the C library's";
    EXPECT_THAT(error_of([&] { with_arguments({name}); }), HasSubstr(reason));
    EXPECT_THAT(error_of([&] { with_sizes({name}); }), HasSubstr(reason));
    EXPECT_THAT(error_of([&] { with_weight(name); }), HasSubstr(reason));
    EXPECT_THAT(error_of([&] { generate(name, with_arguments({"x"})); }), HasSubstr(reason));
  }
}

// Kernels call such, and would call the kernel in its place.
TEST(HostileNames, WhatKernelsCallIsNoKernel) {
  for (const char* name : {"emulsion_last_error", "halide_malloc", "omp_in_parallel",
                           "GOMP_parallel", "kmp_set_blocktime"}) {
    EXPECT_THAT(
        error_of([&] { generate(name, with_arguments({"x"})); }),
        HasSubstr("kernel " + std::string(name) + ": expected a name of its own, got one "));
  }
  generate("halide", with_arguments({"halide_malloc", "omp_in_parallel", "emulsion_last_error"}));
  expect_compiles({"halide"});
}

TEST(HostileNames, WhatHeadersDeclareIsNoKernel) {
  for (const std::string& name : kDeclared) {
    EXPECT_THAT(error_of([&] { generate(name, with_arguments({"x"})); }),
                HasSubstr("kernel " + name + ": expected a name of its own, got"));
  }
  for (const std::string& name : kHeaders) {
    EXPECT_THAT(error_of([&] { generate(name, with_arguments({"x"})); }),
                HasSubstr("got that of the header " + name + ".h"));
  }
}

TEST(HostileNames, AreArguments) {
  generate("hostile_arguments", with_arguments(together(together(kDeclared, kHeaders), kOwn)));
  expect_compiles({"hostile_arguments"});
}

TEST(HostileNames, AreRunTimeSizes) {
  generate("hostile_sizes", with_sizes(together(kDeclared, kOwn)));
  expect_compiles({"hostile_sizes"});
}

TEST(HostileNames, ArePackedWeights) {
  std::vector<std::string> kernels;
  for (const char* name :
       {"std", "int8_t", "memory", "packed", "status", "weight", "run", "info"}) {
    kernels.push_back(std::string("packs_") + name);
    generate(kernels.back(), with_weight(name));
  }
  expect_compiles(kernels);
}

TEST(HostileNames, AreKernels) {
  for (const std::string& name : kOwn) generate(name, with_arguments({"x", name}));
  expect_compiles(kOwn);
}

// The list of macros has all that the generated headers bring with them, on this machine.
TEST(HostileNames, NoMacroOfTheGeneratedHeadersIsAName) {
  generate("hostile_macros", with_arguments({"x"}));
  const fs::path source = folder() / "macros.cc", said = folder() / "macros.txt";
  std::ofstream(source) << "#include \"hostile_macros_kernel.h\"\n";
  const std::string command = "c++ -std=gnu++17 -dM -E -I. -I" + folder().string() + " -isystem " +
                              std::getenv("HALIDE_INCLUDE") + " " + source.string() + " >" +
                              said.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream lines(said);
  int found = 0;
  for (std::string define, name; lines >> define >> name; std::getline(lines, define)) {
    name = name.substr(0, name.find('('));
    if (name[0] == '_') continue;
    ++found;
    EXPECT_THAT(error_of([&] { check_identifier("argument", name); }), HasSubstr("expected "))
        << name;
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace emulsion
