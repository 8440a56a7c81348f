// Writes a library for each of the first random graphs that may be one, and aot_graphs.inc, the
// table of them (aot_graphs.h). A graph with a run-time size that no shape gives may not. Nothing
// is wrong with a derived schedule.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "backends/halide/compile_aot.h"
#include "dsl/error.h"
#include "passes/pipeline.h"
#include "tests/random/aot_graphs.h"
#include "tests/random/random_graph.h"

namespace emulsion {
namespace {

// A function without captures that calls `name` with so many of its arguments.
std::string call_of(const std::string& name, size_t count) {
  std::string arguments;
  for (size_t i = 0; i < count; ++i) arguments += fmt::format("{}a[{}]", i ? ", " : "", i);
  return fmt::format("[](halide_buffer_t* const* a) {{ return {}({}); }}", name, arguments);
}

std::string make_library(const std::string& name, int index, const std::string& folder) {
  const Graph graph = build_graph(random_recipe(kAotSeed, index));
  std::vector<LoopNest> nests;
  for (const Lowered& lowered : run_pipeline(graph, aot_targets())) nests.push_back(lowered.nest);
  compile_aot(nests, name, aot_targets(), folder);
  std::string packs;
  for (const Pack& pack : nests.front().packs) {
    packs +=
        fmt::format("{{\"{}\", {}}}, ", pack.weight, call_of(name + "_pack_" + pack.weight, 2));
  }
  return fmt::format("    {{{}, {}, {{{}}}}},\n", index,
                     call_of(name, nests.front().arguments().size()), packs);
}

void make_libraries(const std::string& folder) {
  std::string headers, table;
  int made = 0;
  for (int index = 0; made < kAotGraphs; ++index) {
    const std::string name = "aot_graph_" + std::to_string(made);
    try {
      table += make_library(name, index, folder);
    } catch (const ScheduleError&) {
      throw;
    } catch (const Error& error) {
      std::fprintf(stderr, "graph %d: %s\n", index, error.what());
      continue;
    }
    headers += fmt::format("#include \"tests/random/{}.h\"\n", name);
    ++made;
  }
  std::ofstream(folder + "/aot_graphs.inc")
      << headers << "\nconst std::vector<emulsion::AotGraph> kLibraries = {\n"
      << table << "};\n";
}

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_aot_graphs FOLDER\n");
    return 2;
  }
  try {
    emulsion::make_libraries(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_aot_graphs: %s\n", error.what());
    return 1;
  }
  return 0;
}
