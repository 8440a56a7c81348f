#ifndef EMULSION_BACKENDS_HALIDE_REPORTED_LOOPS_H_
#define EMULSION_BACKENDS_HALIDE_REPORTED_LOOPS_H_

// The loops that Halide itself reports for a nest, beside the nest's own: the proof that what is
// printed is what runs. Halide reports loops before it unrolls and vectorises them.
//
// Left out of both lists, because Halide leaves some of them out before it reports: loops around
// nothing that ever runs, and loops that Halide knows to have a single step. Those of the nest may
// be none in Halide.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

struct ReportedLoop {
  std::string stage;
  std::string axis;  // plain name
  LoopKind kind = LoopKind::serial;
  std::optional<int64_t>
      extent;  // where it is a number that does not depend on where the loop starts
  std::vector<std::string> around;  // the variables of the loops around it, outermost first
  // Of a nest: one step, or one in all iterations of a loop around but the first.
  bool may_vanish = false;
};

// In the order in which they run. Of a nest of which Halide's report is not that of the kernel (see
// below) loops may be missing, or an InternalError says that Halide gave none.
std::vector<ReportedLoop> loops_of_nest(const LoopNest& nest);
std::vector<ReportedLoop> loops_of_halide(const LoopNest& nest);
// Whether Halide's report has to be the nest's. Of two equal special cases Halide makes one; it
// reports before it knows how long the loops are that are fused; and it keeps loops around some of
// what is empty.
bool report_is_of_kernel(const LoopNest& nest);
// As text, one line a loop.
std::string to_string(const std::vector<ReportedLoop>& loops);

// Nothing when they are the same loops, else the first difference. Loops of one stage are compared
// in order; two stages that do not need each other may come in either order. An extent that only
// one side knows as a number is no difference.
//
// Where a window slides, the nest computes all of it at the first iteration of a loop; Halide,
// where it can, starts that loop earlier instead and computes one step of the window in each. So
// the extent of such a loop is not compared, nor those of what moves with the window, and a loop
// that has one step in all iterations but the first may be none in Halide.
std::optional<std::string> first_difference(const std::vector<ReportedLoop>& nest,
                                            const std::vector<ReportedLoop>& halide);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_REPORTED_LOOPS_H_
