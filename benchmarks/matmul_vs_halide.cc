// What our layer adds at run time: a matrix product with a tile of sums in registers and a packed
// weight, scheduled by hand in Emulsion and by hand in Halide.

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/halide_matmul.h"
#include "benchmarks/peers/hand_schedules.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures a matrix product (f32, a tile of sums in registers, the weight packed) scheduled by\n"
    "hand in Emulsion against the same schedule written in Halide. Rows `apart` have several\n"
    "vectors of sums for each row of the tile, one after another.";

void add_product(int size, const MatmulTile& tile, const Target& target,
                 std::vector<Comparison>* all) {
  const Schedule schedule = matmul_by_hand(size, tile);
  const LoopNest nest = lower(schedule.graph(), schedule);
  const Values values = values_of(schedule.graph());
  Comparison product{fmt::format("{0}x{0}x{0}{1}", size, tile.is_apart ? "/apart" : ""), "GF/s",
                     2e-9 * size * size * size};
  product.emulsion.call = kernel_call(nest, values);
  auto halide = std::make_shared<HalideMatmul>(
      size, size, size, WeightLayout::packed, tile, target, values->data<float>("x"),
      values->data<float>(nest.packs.at(0).packed), values->data<float>("y"));
  product.peers.push_back({"Halide", [halide] { halide->run(); }});
  add_on_one_and_all_threads(product, values, all);
}

Report run(const ProgramOptions& options) {
  const Target target = Target::host();
  MatmulTile tile = matmul_tile(target);
  std::vector<Comparison> all;
  for (int size : {192, 384, 768, 1536}) add_product(size, tile, target, &all);  // whole tiles
  tile.is_apart = true;
  for (int size : {192, 768}) add_product(size, tile, target, &all);
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(
      argc, argv,
      {"matmul_vs_halide", kMeasures, "--benchmark_filter=768x --json=/tmp/matmul.json", run});
}
