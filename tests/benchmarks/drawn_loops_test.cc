// Programs that are drawn are the same again, are programs, and are of all kinds.

#include "benchmarks/drawn_loops.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph_text.h"

namespace emulsion::benchmarks {
namespace {

TEST(DrawnLoops, AreTheSameForTheSameName) {
  for (const std::string& name : draw_loops(7, 40)) {
    EXPECT_EQ(loops_named(name).text, loops_named(name).text);
    EXPECT_EQ(loops_named(name).name, name);
  }
  EXPECT_EQ(draw_loops(7, 40), draw_loops(7, 40));
}

TEST(DrawnLoops, AreOthersForOtherNames) {
  std::set<std::string> texts;
  for (const std::string& name : draw_loops(7, 100)) texts.insert(loops_named(name).text);
  for (const std::string& name : draw_loops(8, 100)) texts.insert(loops_named(name).text);
  EXPECT_GT(texts.size(), 190U);
}

// Each reads inside of its tensors, and every size has a value.
TEST(DrawnLoops, AreGraphs) {
  for (const std::string& name : draw_loops(3, 400)) {
    const DrawnLoops program = loops_named(name);
    const Graph graph = parse_graph(program.text);
    EXPECT_EQ(graph.outputs().size(), 1U) << name;
    EXPECT_EQ(graph.sizes().size(), program.sizes.size()) << program.text;
    for (const std::string& size : graph.sizes()) EXPECT_GE(program.sizes.at(size), 2) << name;
  }
}

TEST(DrawnLoops, KindsComeInTurns) {
  const std::vector<std::string> kinds = loop_kinds(), names = draw_loops(5, 2 * kinds.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i].substr(0, names[i].find('/')), kinds[i % kinds.size()]);
  }
  for (const std::string& name : draw_loops(5, 9, "window")) {
    EXPECT_EQ(name.rfind("window/5.", 0), 0U) << name;
  }
}

TEST(DrawnLoops, NoOtherKinds) {
  for (const char* const name : {"stencil/1.2", "/1.2", ""}) {
    EXPECT_THROW(loops_named(name), Error) << name;
  }
  EXPECT_THROW(draw_loops(1, 1, "stencil"), Error);
}

TEST(DrawnLoops, NoOtherNumbers) {
  for (const char* const name :
       {"window", "window/", "window/1", "window/1.", "window/.2", "window/1.2.3", "window/-1.2",
        "window/1.2x", "window/1234567890.1"}) {
    EXPECT_THROW(loops_named(name), Error) << name;
  }
}

}  // namespace
}  // namespace emulsion::benchmarks
