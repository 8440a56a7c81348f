// main() of the tool that emulsion_library builds from a kernel's source and runs: arguments in,
// files out. Ends with 0, or with 1 and one message.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "backends/codegen/check_reproducible.h"
#include "backends/codegen/exception_text.h"
#include "backends/codegen/generate_kernel.h"
#include "backends/codegen/kernel_context.h"
#include "dsl/error.h"
#include "dsl/graph.h"
#include "dsl/graph_text.h"
#include "dsl/version.h"

extern char** environ;

namespace {

// Before the static objects of the kernel's source are made: they may throw.
__attribute__((constructor(101))) void before_static_objects() {
  emulsion::report_uncaught_exceptions();
}

using emulsion::Error;
using emulsion::Graph;
using emulsion::KernelContext;
using emulsion::KernelRequest;
using emulsion::Target;

// Halide changes the code it makes by variables that start with HL_; a kernel depends on its
// request only.
void forget_halide_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* end = std::strchr(*entry, '=');
    if (end != nullptr && std::strncmp(*entry, "HL_", 3) == 0)
      names.emplace_back(*entry, static_cast<size_t>(end - *entry));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

void add_data(const std::string& text, KernelRequest* request) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    emulsion::fail("--data: expected NAME=FILE, got \"{}\"", text);
  }
  request->data[text.substr(0, equals)] = text.substr(equals + 1);
}

// CLI11 takes what stands behind it for the value.
void refuse_empty_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.compare(0, 2, "--") == 0 && text.find('=') + 1 == text.size()) {
      emulsion::fail("{}: expected a value behind =, got nothing", text.substr(0, text.size() - 1));
    }
  }
}

// Not by way of a file beside it: `path` may be one without a name.
void write_text(const std::string& option, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) emulsion::fail("{}: expected a file that can be written, got \"{}\"", option, path);
}

// Where the texts go that are asked for instead of a kernel; empty: nowhere.
struct Texts {
  std::string graph, dump;
  bool code = false;

  bool any() const { return !graph.empty() || !dump.empty() || code; }

  void write(const KernelRequest& request) const {
    if (!graph.empty()) {
      const Graph made = emulsion_kernel(KernelContext(request.targets, request.data));
      write_text("--graph", graph, to_string(made));
    }
    if (!dump.empty()) write_text("--dump", dump, dump_kernel(request, emulsion_kernel));
    if (code) generate_code(request, emulsion_kernel);
  }
};

// Before a kernel is made of it.
Graph checked_kernel(const std::string& name, const std::vector<std::string>& command,
                     const KernelContext& context) {
  Graph graph = emulsion_kernel(context);
  emulsion::check_same_graph(name, to_string(graph),
                             emulsion::graph_text_of_another_process(command));
  return graph;
}

void warn(const KernelRequest& request, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    std::fprintf(stderr,
                 "warning: kernel %s is right, and may be slow, since a schedule was given up; "
                 "please report it: %s\n",
                 request.name.c_str(), warning.c_str());
  }
}

int generate(int argc, char** argv) {
  KernelRequest request;
  bool check_reproducible = false;
  Texts texts;
  std::vector<std::string> targets;
  std::vector<std::string> data;
  bool no_fuse = false;
  CLI::App app(
      "Writes the kernel that emulsion_kernel() describes: NAME.a, NAME.h, NAME_kernel.h,\n"
      "NAME.schedule.txt, NAME.nest.txt and NAME.json. emulsion_library runs this; by hand:\n\n"
      "  mlp_generator --name=mlp --target=x86-64-v4 --target=x86-64-v3 --target=x86-64-linux \\\n"
      "      --data=digits/w1.npy=/tmp/w1.npy --out=/tmp/kernels\n");
  app.add_option("--name", request.name, "The kernel's C function")->required();
  app.add_option("--target", targets,
                 "Instruction sets, as Halide spells them, or x86-64-v2 to v4; several times, the "
                 "best first: "
                 "the first that the processor has is run")
      ->required();
  app.add_option("--out", request.directory,
                 "The directory for the files; made when it is not there")
      ->required();
  app.add_option("--schedule", request.schedule,
                 "A schedule file, JSON when it ends in .json; without it, schedules are derived");
  app.add_option("--data", data, "NAME=FILE, for KernelContext::path; several times");
  app.add_option("--label", request.label,
                 "What the kernel is made from, for the readers of the files");
  app.add_flag("--no-fuse", no_fuse,
               "Derived schedules compute every operation by itself, through memory");
  app.add_option(
      "--fail_on_unfused", request.fail_on_unfused,
      "What derived schedules must compute as one, as in matmul+bias+relu, or siblings; "
      "several times. Else there is no kernel, and a message says what stayed apart and why");
  app.add_flag("--checked", request.compile.checked,
               "The kernel compares every offset with the memory that it goes to, before it uses "
               "it: for tests, many times slower");
  app.add_flag("--check_reproducible", check_reproducible,
               "Runs emulsion_kernel() in a second process, too, later and with other variables, "
               "and refuses when it makes another graph there");
  app.add_option("--graph", texts.graph, "Writes the graph's text to this file, and no kernel");
  app.add_option(
      "--dump", texts.dump,
      "Writes what every pass makes of the graph to this file, as EMULSION_DUMP=1 prints "
      "it, and no kernel");
  app.add_flag("--code", texts.code,
               "Writes NAME.stmt.txt and NAME.s, then NAME.1.stmt.txt and so on for other targets: "
               "what Halide is given and the assembly it makes; and no kernel");
  app.set_version_flag("--version", "Emulsion " EMULSION_VERSION);
  refuse_empty_values(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  request.derive.fuse = !no_fuse;
  request.compile.isolate = true;
  for (const std::string& target : targets) request.targets.push_back(Target::parse(target));
  for (const std::string& file : data) add_data(file, &request);
  if (texts.any()) {
    texts.write(request);
  } else if (check_reproducible) {
    const std::vector<std::string> command(argv + 1, argv + argc);
    warn(request, emulsion::generate_kernel(request, [&](const KernelContext& context) {
           return checked_kernel(request.name, command, context);
         }));
  } else {
    warn(request, emulsion::generate_kernel(request, emulsion_kernel));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  forget_halide_variables();
  try {
    return generate(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error, please report it: %s\n", error.what());
  }
  return 1;
}
