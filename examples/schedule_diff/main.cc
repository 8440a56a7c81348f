// Shows two schedules of one graph side by side: what each says, and the nest that it makes.
//
//   schedule_diff linear.graph naive.schedule tiled.schedule --size B=8
//
// Files are of the text forms (dsl/graph_text.h, dsl/schedule_text.h); a schedule whose name ends
// in .json is JSON (dsl/schedule_file.h). --json prints the difference as JSON. Ends
// with 0 when the schedules say the same, 1 when they differ, 2 when something could not be read.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "bazel/user_path.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_file.h"
#include "dsl/version.h"
#include "passes/analyse/diff_schedules.h"

namespace {

using namespace emulsion;

Graph graph_of(const std::string& path) {
  const std::string text = read_file("graph", path);
  try {
    return parse_graph(text);
  } catch (const Error& error) {
    fail("graph {}: {}", path, error.what());
  }
}

// "B=8"
SizeValues sizes_of(const std::vector<std::string>& words) {
  SizeValues sizes;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string digits = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      fail("--size: expected NAME=NUMBER, got {}", word);
    }
    sizes[word.substr(0, equals)] = std::stoll(digits);
  }
  return sizes;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Shows two schedules of one graph, and the loop nests that they make, side by side."};
  std::string graph_path, left_path, right_path;
  std::vector<std::string> sizes;
  bool as_json = false;
  app.set_version_flag("--version", "Emulsion " EMULSION_VERSION);
  app.add_option("graph", graph_path, "the graph, as text")->required();
  app.add_option("left", left_path, "a schedule: text, or JSON when it ends in .json")->required();
  app.add_option("right", right_path, "another schedule of that graph")->required();
  app.add_option("--size", sizes, "a run-time size, as in B=8: then uOps are counted");
  app.add_flag("--json", as_json, "print the difference as JSON");
  app.footer(
      "Example, from the root of the repository:\n"
      "  cd examples/schedule_diff; ../../bazelw run //examples/schedule_diff -- --size B=8 \\\n"
      "    linear.graph naive.schedule tiled.schedule");
  CLI11_PARSE(app, argc, argv);
  try {
    const Graph graph = graph_of(user_path(graph_path));
    const ScheduleDiff diff =
        diff_schedules(read_schedule(user_path(left_path), graph),
                       read_schedule(user_path(right_path), graph), sizes_of(sizes));
    std::fputs((as_json ? to_json(diff) : to_string(diff)).c_str(), stdout);
    return diff.same() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "schedule_diff: %s\n", error.what());
    return 2;
  }
}
