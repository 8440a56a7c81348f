#include "tests/backends/entry/squares_nest.h"

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"

namespace emulsion {

LoopNest squares_nest(const std::string& directives) {
  const Extent rows = Extent::size("A"), columns = Extent::size("B");
  const Tensor x = input("x", f32, {columns}), z = input("z", f32, {rows});
  const Axis a("a", rows), i("i", columns), j("j", columns);
  const Tensor square = compute("square", {i, j}, x(i) * x(j));
  const Graph graph(compute("y", {a, i}, sum(j, square(i, j) * z(a))));
  return lower(graph, parse_schedule("emulsion schedule 1\n" + directives, graph));
}

}  // namespace emulsion
