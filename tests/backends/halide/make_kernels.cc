// Writes the libraries that aot_kernels_test links: real ones, made as every user's are.

#include <cstdio>
#include <exception>
#include <vector>

#include "backends/halide/compile_aot.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/backends/entry/squares_nest.h"
#include "tests/backends/halide/wrong_nest.h"

namespace emulsion {
namespace {

const std::vector<Target>& targets() {
  static const auto* kTargets = new std::vector<Target>{
      Target::parse("x86-64-v4"), Target::parse("x86-64-v3"), Target::parse("x86-64-linux")};
  return *kTargets;
}

// y = relu(x w + b): rows a run-time size, 24 inputs, 40 outputs; packed, tiled, in parallel.
void make_linear(const char* folder) {
  Tensor x = input("x", f32, {Extent::size("B"), 24});
  Tensor w = weight("w", f32, {24, 40});
  Graph graph(relu(matmul(x, w, "mm") + weight("b", f32, {40}), "y"));
  Axis m("m"), n("n"), k("k"), i0("i0"), i1("i1"), mo("mo"), mi("mi"), no("no"), ni("ni");
  Schedule s(graph);
  s["add"].compute_inline();
  s["y"].tile(i0, i1, mo, no, mi, ni, 6, 16).vectorize(ni).unroll(mi).parallel(mo);
  s["mm"].pack(w, n, 16).compute_at(Tensor(*graph.find("y")), no).reorder({n, m, k}).vectorize(n);
  s["mm"].unroll(m);
  compile_aot(lower(graph, s), "test_linear", targets(), folder);
}

// Rows after rows: either may be empty. And their sums, through the heap.
void make_concat(const char* folder) {
  Tensor a = input("a", f32, {Extent::size("A"), 5}), b = input("b", f32, {Extent::size("B"), 5});
  Tensor rows = concat({a, b}, 0, "rows");
  Graph graph(std::vector<Tensor>{rows, sum(exp(rows), {1}, false, "sums")});
  compile_aot(lower(graph, Schedule(graph)), "test_concat", Target::parse("x86-64-linux"), folder);
}

// Only for a processor that nobody has.
void make_picky(const char* folder) {
  Tensor x = input("x", f32, {8});
  Graph graph(relu(x, "y"));
  compile_aot(lower(graph, Schedule(graph)), "test_picky",
              Target::parse("x86-64-linux-avx512_sapphirerapids-avx512_zen5"), folder);
}

// Checked, and wrong for more than 40 rows, which is more than the verifier tries.
void make_checked(const char* folder) {
  compile_aot(nest_that_is_wrong_for_many_rows(), "test_checked", targets(), folder, {true});
}

// Stores a square of B x B for each a.
void make_squares(const char* folder) {
  compile_aot(squares_nest("square.compute_at(y, a)\n"), "test_squares", targets(), folder);
}

// y(i) = x(i * 999999 / 1000000), whose index leaves i32 for more than 2148 elements.
void make_strides(const char* folder) {
  const Extent n = Extent::size("N");
  const Axis i("i", n);
  const Tensor x = input("x", f32, {n});
  const Expr place = Expr(i) * 999999 / 1000000;
  const Graph graph(compute("y", {i}, x(place)));
  compile_aot(lower(graph, Schedule(graph)), "test_strides", targets(), folder);
}

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_kernels FOLDER\n");
    return 2;
  }
  try {
    emulsion::make_linear(argv[1]);
    emulsion::make_concat(argv[1]);
    emulsion::make_picky(argv[1]);
    emulsion::make_checked(argv[1]);
    emulsion::make_squares(argv[1]);
    emulsion::make_strides(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_kernels: %s\n", error.what());
    return 1;
  }
  return 0;
}
