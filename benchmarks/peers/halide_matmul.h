#ifndef EMULSION_BENCHMARKS_PEERS_HALIDE_MATMUL_H_
#define EMULSION_BENCHMARKS_PEERS_HALIDE_MATMUL_H_

// A matrix product with a tile of sums in registers, written and scheduled in Halide without
// Emulsion: what //benchmarks:matmul_vs_halide and //benchmarks:products compare with.

#include <cstdint>
#include <memory>
#include <string>

#include "dsl/target.h"

namespace emulsion::benchmarks {

struct MatmulTile {
  int64_t rows = 0, columns = 0, lanes = 0;  // columns divide N, and lanes columns
  // The sums of a row: one vector as long as the row, or one of `lanes` after another.
  bool is_apart = false;
};

// w[n / columns, k, n % columns], or w[n, k], of which each panel of columns is copied before the
// rows of x come by.
enum class WeightLayout : uint8_t { packed, by_columns };

class HalideMatmul {
 public:
  // y[m, n] = sum over k of x[m, k] * w, row-major, in memory that stays where it is. Error: Halide
  // refuses.
  HalideMatmul(int m, int n, int k, WeightLayout layout, const MatmulTile& tile,
               const Target& target, const float* x, const float* w, float* y);
  ~HalideMatmul();
  HalideMatmul(const HalideMatmul&) = delete;
  HalideMatmul& operator=(const HalideMatmul&) = delete;

  void run();

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// What Halide makes of it with a packed weight: loops_and_accesses() (halide_code.h).
std::string halide_matmul_code(int m, int n, int k, const MatmulTile& tile, const Target& target);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_HALIDE_MATMUL_H_
