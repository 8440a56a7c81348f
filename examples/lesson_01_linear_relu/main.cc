// Lesson 1: what to compute, how to compute it, and what becomes of it.
//
//   ./bazelw run //examples/lesson_01_linear_relu
//
// The first half is the code of the README. The second half looks at what it made: the derived
// schedule, the loop nest, the library, and that both schedules give the numbers that the
// definition asks for.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/emulsion.h"
#include "examples/lesson.h"
#include "examples/measure_lowering.h"
using namespace emulsion;

namespace {

// The library goes to a temporary directory, not to where the lesson was started.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "emulsion-XXXXXX") {
    std::string pattern = path_.string();
    if (mkdtemp(pattern.data()) == nullptr) fail("{}: cannot be made", pattern);
    path_ = pattern;
    std::filesystem::current_path(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::current_path("/", ignored);
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

// Compiled into this process and called.
TensorValue run_compiled(const LoopNest& nest, TensorValues arguments) {
  TensorValue y = zeros(f32, {128, 512});
  std::map<std::string, JitBuffer> buffers;
  for (auto& [name, value] : arguments) {
    buffers[name] = {value.dtype, value.shape, value.bytes.data()};
  }
  buffers["y"] = {y.dtype, y.shape, y.bytes.data()};
  JitKernel(nest).run(buffers);
  return y;
}

void check(const char* what, const TensorValue& expected, const TensorValue& actual) {
  const auto difference = first_difference(expected, actual);
  if (difference) fail("{}: {}", what, *difference);
  std::printf("%s: the same numbers\n", what);
}

void show_both() {
  const TemporaryDirectory directory;

  // clang-format off
  // What to compute: named operators, or functions over indices. Both build the same graph.
  Tensor x = input("x", f32, {128, 256});
  Tensor w = weight("w", f32, {256, 512});
  Tensor b = weight("b", f32, {512});

  Axis m("m", 128), n("n", 512), k("k", 256);
  Func mm("mm"), y("y");
  mm(m, n) = sum(k, x(m, k) * w(k, n));
  y(m, n)  = max(mm(m, n) + b(n), 0.0f);          // = relu(matmul(x, w) + b)

  // How to compute it: derived, printed, edited, or written by hand.
  Schedule derived = derive_schedule(y, Target::host());

  Axis mo("mo"), mi("mi"), no("no"), ni("ni");
  Schedule by_hand(y);
  by_hand[y].tile(m, n, mo, no, mi, ni, 6, 64).parallel(mo).vectorize(ni, 16).unroll(mi);
  by_hand[mm].compute_at(y, no).reorder({n, m, k}).vectorize(n, 16).unroll(m);   // innermost first, as in Halide

  LoopNest nest = lower(y, derived);              // uOps: print it, count it, interpret it
  compile_aot(nest, "linear_relu", Target::host(), "out/");   // linear_relu.h + linear_relu.a
  // clang-format on

  lesson::measure_lowering("derived", derived);
  lesson::measure_lowering("by hand", by_hand);

  std::printf("What to compute:\n\n%s\n", to_string(Graph(y)).c_str());
  std::printf("How, as derived for this machine:\n\n%s\n", to_string(derived).c_str());
  std::printf("The loop nest:\n\n%s\n", to_string(nest).c_str());
  const UopCounts counts = count_uops(nest);
  std::printf("uOps: %lld loads, %lld inits, %lld executes, %lld stores\n\n",
              static_cast<long long>(counts.loads), static_cast<long long>(counts.inits),
              static_cast<long long>(counts.executes), static_cast<long long>(counts.stores));
  for (const char* file : {"out/linear_relu.h", "out/linear_relu.a"}) {
    std::printf("%s: %s\n", file, std::filesystem::file_size(file) > 0 ? "written" : "empty");
  }

  // Small whole numbers, so that no order of summation rounds and "the same" means every bit.
  const TensorValues arguments = {{"x", random_integers(f32, {128, 256}, 1)},
                                  {"w", random_integers(f32, {256, 512}, 2)},
                                  {"b", random_integers(f32, {512}, 3)}};
  const TensorValue expected = interpret_graph(y, arguments).at("y");
  check("derived, interpreted", expected, interpret_nest(nest, arguments).at("y"));
  check("derived, compiled", expected, run_compiled(nest, arguments));
  check("by hand, compiled", expected, run_compiled(lower(y, by_hand), arguments));
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(
      argc, argv, "lesson_01_linear_relu",
      "What to compute, how to compute it, and what becomes of it: graph, schedule, nest, library.",
      show_both);
}
