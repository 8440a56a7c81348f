// Calls the kernel for a few batches and checks that every row of the result is a distribution.

#include <cmath>
#include <cstdio>
#include <vector>

#include "scores_kernel.h"

namespace kernel = emulsion::kernels::scores;

int main() {
  // The kernel reads its weight in a layout of its own, which is made once.
  std::vector<float> w(16 * 8, 0.25f);
  std::vector<float> packed(kernel::packed_w_elements(0));
  kernel::packed_w w_packed;
  emulsion::Status status =
      kernel::pack_w({w.data(), {16, 8}}, {packed.data(), kernel::w_packed_shape(0)}, &w_packed);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message.c_str());
    return 1;
  }
  for (int64_t batch : {0, 1, 7, 33}) {
    std::vector<float> x(batch * 16, 0.5f);
    std::vector<float> y(batch * 8);
    kernel::Arguments arguments;
    arguments.x = {x.data(), {batch, 16}};
    arguments.w_packed = w_packed;
    arguments.scores = {y.data(), {batch, 8}};
    const emulsion::Status ran = kernel::run(arguments);
    if (!ran.ok()) {
      std::fprintf(stderr, "%s\n", ran.message.c_str());
      return 1;
    }
    for (int64_t row = 0; row < batch; ++row) {
      float sum = 0;
      for (int64_t column = 0; column < 8; ++column) sum += y[row * 8 + column];
      if (std::fabs(sum - 1) > 1e-5f) {
        std::fprintf(stderr, "row %lld: expected a sum of 1, got %g\n", static_cast<long long>(row),
                     sum);
        return 1;
      }
    }
    std::printf("%lld rows: ok\n", static_cast<long long>(batch));
  }
  // What does not fit is refused, and the process lives.
  status = kernel::run({w.data(), {8, 16}}, w_packed, {packed.data(), {2, 8}});
  std::printf("refused: %s\n", status.message.c_str());
  return status.ok() ? 1 : 0;
}
