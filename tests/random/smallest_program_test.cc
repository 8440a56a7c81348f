#include "tests/random/smallest_program.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "dsl/graph_text.h"

namespace emulsion {
namespace {

ScheduleProgram program_of(const char* text) {
  return {"program",
          parse_graph(std::string("emulsion graph 1\n") + text),
          {{{"H", 0}}, {{"H", 5}}, {{"H", 7}}}};
}

const char* const kText =
    "size H\n"
    "input x: f32[H, 24]\ninput z: f32[24]\n"
    "a[i: H, j: 24] = x[i, j] + z[j]\n"
    "b[i: H] = max(j: 24) a[i, j]\n"
    "c[i: H, j: 24] = a[i, j] - b[i]\n"
    "output c\noutput b\n";

bool has_a_maximum(const ScheduleProgram& program) {
  return to_string(program.graph).find("= max(") != std::string::npos;
}

TEST(SmallestProgram, HasWhatIsWrongAndNoMore) {
  const ScheduleProgram smallest =
      smallest_program(program_of(kText), [](const ScheduleProgram& program) {
        const bool is_long = program.runs.back().at("H") > 3;
        return has_a_maximum(program) && is_long ? "a maximum" : "";
      });
  EXPECT_EQ(to_string(smallest.graph),
            "emulsion graph 1\nsize H\ninput a: f32[H, 1]\n"
            "b[i: H] = max(j: 1) a[i, j]\noutput b\n");
  EXPECT_EQ(smallest.runs, std::vector<SizeValues>({{{"H", 5}}}));
}

TEST(SmallestProgram, EndsTheProcessToo) {
  const ScheduleProgram smallest =
      smallest_program(program_of(kText), [](const ScheduleProgram& program) {
        if (has_a_maximum(program)) std::raise(SIGKILL);
        return "";
      });
  EXPECT_EQ(smallest.graph.ops().size(), 2u) << to_string(smallest.graph);
}

TEST(SmallestProgram, IsNotWrongInOtherWords) {
  const ScheduleProgram smallest =
      smallest_program(program_of(kText), [](const ScheduleProgram& program) {
        return program.graph.outputs().size() == 2 ? "two of them" : "one of them";
      });
  EXPECT_EQ(smallest.graph.outputs().size(), 2u);
}

TEST(SmallestProgram, IsTheProgramWhereNothingSmallerIsWrong) {
  const ScheduleProgram program = program_of(kText);
  const ScheduleProgram smallest = smallest_program(program, [&](const ScheduleProgram& part) {
    const bool is_whole = to_string(part.graph) == to_string(program.graph);
    return is_whole && part.runs.size() == 3 ? "all of it" : "";
  });
  EXPECT_EQ(to_string(smallest.graph), to_string(program.graph));
  EXPECT_EQ(smallest.runs, program.runs);
}

}  // namespace
}  // namespace emulsion
