// Writes the kernels that the runtime's tests link: real ones, because what has to be shown is how
// Halide's generated code meets our hooks. Compiled as Emulsion compiles kernels: without a
// runtime, and with assertions, since Halide looks at the result of an allocation only then. With
// -tsan they tell the thread sanitizer what they read and write.

#include <cstdio>
#include <exception>
#include <string>

#include "Halide.h"

namespace {

using Halide::Func;
using Halide::ImageParam;
using Halide::Target;
using Halide::Var;

std::string features = "-no_bounds_query-no_runtime";

// Defined by the test: tells it which thread an iteration runs on, and lets one fail. Returns 0.
HalideExtern_2(int, emulsion_test_visit, int, int);

void compile(Func func, const ImageParam& input, const std::string& name,
             const std::string& folder) {
  const Target target("x86-64-linux" + features);
  func.compile_to_static_library(folder + "/" + name, {input}, name, target);
}

// twice(x, y) = 2 * in(x, y), row by row in parallel, through a heap buffer and a second parallel
// loop.
void make_twice(const std::string& folder) {
  Var x("x"), y("y");
  ImageParam input(Halide::Float(32), 2, "in");
  Func copy("copy"), twice("twice");
  copy(x, y) = input(x, y) + Halide::cast<float>(emulsion_test_visit(x, y));
  twice(x, y) = copy(x, y) + copy(x, y);
  copy.compute_root().parallel(y);
  twice.parallel(y);
  compile(twice, input, "emulsion_test_twice", folder);
}

// A parallel loop in a parallel loop, each iteration of the outer with a heap buffer of its own.
void make_nested(const std::string& folder) {
  Var x("x"), y("y"), z("z");
  ImageParam input(Halide::Float(32), 3, "in");
  Func copy("copy"), nested("nested");
  copy(x, y, z) = input(x, y, z) + Halide::cast<float>(emulsion_test_visit(y, z));
  nested(x, y, z) = copy(x, y, z) + copy(x, y, z);
  copy.compute_at(nested, z).parallel(y);
  nested.parallel(z).parallel(y);
  compile(nested, input, "emulsion_test_nested", folder);
}

// A producer and a consumer that need two threads, with semaphores between them.
void make_async(const std::string& folder) {
  Var x("x"), y("y");
  ImageParam input(Halide::Float(32), 2, "in");
  Func producer("producer"), consumer("consumer");
  producer(x, y) = input(x, y) + Halide::cast<float>(emulsion_test_visit(x, y));
  consumer(x, y) = producer(x, y) + producer(x, y);
  producer.compute_at(consumer, y).store_root().fold_storage(y, 2).async();
  compile(consumer, input, "emulsion_test_async", folder);
}

// Compiled twice: which body runs is asked of halide_can_use_target_features.
void make_dispatch(const std::string& folder) {
  Var x("x");
  ImageParam input(Halide::Float(32), 1, "in");
  Func dispatch("emulsion_test_dispatch");  // a multitarget library takes its name from here
  dispatch(x) = input(x) + input(x);
  dispatch.vectorize(x, 16, Halide::TailStrategy::GuardWithIf);
  dispatch.compile_to_multitarget_static_library(
      folder + "/emulsion_test_dispatch", {input},
      {Target("x86-64-linux-avx-avx2-f16c-fma-sse41-avx512-avx512_skylake" + features),
       Target("x86-64-linux-avx-avx2-f16c-fma-sse41" + features),
       Target("x86-64-linux" + features)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: make_test_kernels FOLDER [-tsan]\n");
    return 2;
  }
  if (argc == 3) features += argv[2];
  try {
    make_twice(argv[1]);
    make_nested(argv[1]);
    make_async(argv[1]);
    make_dispatch(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_test_kernels: %s\n", error.what());
    return 1;
  }
  return 0;
}
