// What our layer adds at run time: a matrix product with a tile of sums in registers and a packed
// weight, scheduled by hand in Emulsion and by hand in Halide, measured side by side.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/interpreter/tensor_value.h"
#include "benchmarks/halide_matmul.h"
#include "benchmarks/halide_peer.h"
#include "benchmarks/hand_schedules.h"
#include "benchmarks/progress.h"
#include "benchmarks/side_by_side_benchmarks.h"
#include "dsl/error.h"
#include "dsl/target.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kHelp[] =
    "Measures a matrix product (f32, a tile of sums in registers, the weight packed) scheduled by\n"
    "hand in Emulsion against the same schedule written in Halide. Both are compiled into this\n"
    "process for this machine. Prints the table as text and as JSON; losses come first.\n"
    "\n"
    "  bazel run -c opt //benchmarks:matmul_vs_halide -- --quick --json=/tmp/matmul.json\n"
    "\n";

// One size: both kernels, and the data that they share.
class Product {
 public:
  Product(int size, const Target& target)
      : nest_(matmul_by_hand(size, matmul_tile(target))),
        emulsion_(nest_, target),
        y_(zeros(f32, {size, size})) {
    arguments_ = apply_packs(nest_, {{"x", random_integers(f32, {size, size}, 1)},
                                     {"w", random_integers(f32, {size, size}, 2)}});
    for (auto& [name, value] : arguments_) {
      buffers_[name] = {value.dtype, value.shape, value.bytes.data()};
    }
    buffers_["y"] = {y_.dtype, y_.shape, y_.bytes.data()};
    halide_ = std::make_unique<HalideMatmul>(
        size, size, size, WeightLayout::packed, matmul_tile(target), target,
        arguments_.at("x").data<float>(), arguments_.at(nest_.packs.at(0).packed).data<float>(),
        y_.data<float>());
  }

  void run_emulsion() { emulsion_.run(buffers_); }
  void run_halide() { halide_->run(); }

  // Small whole numbers: no order of summation rounds.
  void check() {
    run_halide();
    const TensorValue expected = y_;
    fill_with_poison(&y_);
    run_emulsion();
    const auto difference = first_difference(expected, y_);
    if (difference) fail("the two products differ: {}", *difference);
  }

 private:
  LoopNest nest_;
  JitKernel emulsion_;
  TensorValues arguments_;
  TensorValue y_;  // of both: so neither has the better place in memory
  std::map<std::string, JitBuffer> buffers_;
  std::unique_ptr<HalideMatmul> halide_;
};

int run(const ProgramOptions& options) {
  check_writable(options);
  const Target target = Target::host();
  std::vector<KernelPair> pairs;
  for (int size : {192, 384, 768, 1536}) {  // whole tiles of either kind
    announce(fmt::format("compiling and comparing {0}x{0}x{0}", size));
    auto product = std::make_shared<Product>(size, target);
    product->check();
    for (HalideThreads threads : {HalideThreads::one, HalideThreads::all}) {
      const bool one = threads == HalideThreads::one;
      if (!one && target.cores == 1) continue;
      const double work = 2e-9 * size * size * size;
      pairs.push_back({fmt::format("{0}x{0}x{0}/{1}", size, one ? "one_thread" : "all_threads"),
                       "Halide", "GF/s", work, [threads] { set_halide_threads(threads); },
                       [product] { product->run_emulsion(); },
                       [product] { product->run_halide(); }});
    }
  }
  const std::vector<SideBySide> all = measure_side_by_side(pairs, options);
  return report(options, report_text(all), report_json(all));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  return emulsion::benchmarks::run_program(argc, argv, "matmul_vs_halide",
                                           emulsion::benchmarks::kHelp, emulsion::benchmarks::run);
}
