// Lesson 2: one algorithm, four schedules. What is computed never changes; the loops do.
//
//   ./bazelw run //examples/lesson_02_schedules
//
// Each step prints its schedule (the text that a file would hold) and the loop nest that it makes;
// the interpreter runs it and compares the result with the definition's. The batch is a run-time
// size: each nest holds for every B from 0 up.

#include <cstdio>
#include <string>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/emulsion.h"
#include "dsl/schedule_text.h"
#include "examples/lesson.h"
#include "examples/measure_lowering.h"
using namespace emulsion;

namespace {

struct Step {
  const char* title;
  const char* schedule;
};

constexpr Step kSteps[] = {
    {"1. No directives: every operation whole, one after the other, through memory.", ""},
    {"2. Fused by hand: the product is computed at the tile of the sum, and never leaves it.", R"(
y.split(m, mo, mi, 4, guard)
y.split(n, no, ni, 8)
y.reorder(ni, mi, no, mo)
mm.compute_at(y, no)
)"},
    {"3. Accumulators in registers: reduction outside the tile, the tile unrolled and in vectors.",
     R"(
y.split(m, mo, mi, 4, guard)
y.split(n, no, ni, 8)
y.reorder(ni, mi, no, mo)
y.vectorize(ni)
y.unroll(mi)
mm.compute_at(y, no)
mm.store_in(registers)
mm.reorder(n, m, k)
mm.vectorize(n)
mm.unroll(m)
)"},
    {"4. The weight in panels, read in order; rows shared by the threads.", R"(
y.split(m, mo, mi, 4, guard)
y.split(n, no, ni, 8)
y.reorder(ni, mi, no, mo)
y.vectorize(ni)
y.unroll(mi)
y.parallel(mo)
mm.compute_at(y, no)
mm.store_in(registers)
mm.reorder(n, m, k)
mm.vectorize(n)
mm.unroll(m)
mm.pack(w, n, 8)
)"},
};

void show_steps() {
  Extent batch = Extent::size("B");
  Tensor x = input("x", f32, {batch, 12});
  Tensor w = weight("w", f32, {12, 16});
  Tensor b = weight("b", f32, {16});
  Axis m("m", batch), n("n", 16), k("k", 12);
  Func mm("mm"), y("y");
  mm(m, n) = sum(k, x(m, k) * w(k, n));
  y(m, n) = max(mm(m, n) + b(n), 0.0f);
  const Graph graph(y);
  std::printf("%s\n", to_string(graph).c_str());

  for (const Step& step : kSteps) {
    const Schedule schedule =
        parse_schedule(std::string("emulsion schedule 1\n") + step.schedule, graph);
    lesson::measure_lowering(step.title, schedule);
    const LoopNest nest = lower(graph, schedule);
    std::printf("%s\n%s\n%s", step.title, step.schedule, to_string(nest).c_str());
    for (int64_t rows : {0, 1, 3, 4, 9}) {
      const TensorValues arguments = {{"x", random_integers(f32, {rows, 12}, 1)},
                                      {"w", random_integers(f32, {12, 16}, 2)},
                                      {"b", random_integers(f32, {16}, 3)}};
      const auto difference = first_difference(interpret_graph(graph, arguments).at("y"),
                                               interpret_nest(nest, arguments).at("y"));
      if (difference) fail("step {}, B = {}: {}", step.title, rows, *difference);
    }
    std::printf("the same numbers for B = 0, 1, 3, 4 and 9\n\n");
  }

  // What cannot be honoured is refused, in words that say what could be.
  try {
    lower(graph, parse_schedule("emulsion schedule 1\nmm.parallel(k)\n", graph));
  } catch (const ScheduleError& error) {
    std::printf("And this one is refused:\n%s\n", error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_02_schedules",
                     "One algorithm in four schedules, and one that is refused.", show_steps);
}
