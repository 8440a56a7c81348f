#include "tests/backends/halide/wrong_nest.h"

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {

LoopNest nest_that_is_wrong_for_many_rows() {
  const Axis m("m", Extent::size("B")), n("n", 5);
  const Tensor x = input("x", f32, {Extent::size("B"), 5});
  Func a("a"), y("y");
  a(m, n) = x(m, n) * 2.0f;
  y(m, n) = a(m, n) + 1.0f;
  Schedule s(y);
  s[a].compute_root();
  s[y].vectorize(n, 4);
  LoopNest nest = lower(Graph(y), s);
  nest.root =
      edit<Alloc>(nest.root, [](Alloc* node) { node->extents[0] = min(node->extents[0], 40); });
  return nest;
}

}  // namespace emulsion
