#include "backends/entry/contracts_with_fma.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// Chains of calls up to which LLVM is known to make vectors of them: as many steps as derived
// schedules unroll of a sum. It takes the longer for them.
constexpr int64_t kLongestFmaChain = 64;

}  // namespace

bool contracts_with_fma(const Stage& stage, const UopNode& uop,
                        const std::vector<const Loop*>& around) {
  if (uop.part != Part::update || stage.combiner != Combiner::sum) return false;
  if (!is_float(stage.dtype) || stage.body->op != ExprOp::mul) return false;
  int64_t unrolled = 1;
  for (const Loop* loop : around) {
    if (loop->kind != LoopKind::unrolled) continue;
    const std::string variable = loop->variable();
    const bool carries =
        std::any_of(uop.point.begin() + static_cast<std::ptrdiff_t>(stage.axes.size()),
                    uop.point.end(), [&](const Expr& index) { return mentions(index, variable); });
    if (carries) unrolled *= std::max<int64_t>(1, evaluate_index(loop->extent, {}));
  }
  return unrolled <= kLongestFmaChain;
}

}  // namespace emulsion
