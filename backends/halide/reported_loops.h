#ifndef EMULSION_BACKENDS_HALIDE_REPORTED_LOOPS_H_
#define EMULSION_BACKENDS_HALIDE_REPORTED_LOOPS_H_

// The loops that Halide itself reports for a nest, beside the nest's own: the proof that what is printed is
// what runs. Halide reports loops before it unrolls and vectorises them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/loop_nest.h"

namespace emulsion {

struct ReportedLoop {
  int depth = 0;  // how many loops are around it
  std::string stage;
  std::string axis;  // plain name
  LoopKind kind = LoopKind::serial;
  std::optional<int64_t> extent;  // where it is a number that does not depend on where the loop starts

  bool operator==(const ReportedLoop& other) const;
};

// In the order in which they run: the loops of a nest, and those that Halide has for it. Loops of a single step
// are left out of both: Halide takes some of them away before it reports.
std::vector<ReportedLoop> loops_of_nest(const LoopNest& nest);
std::vector<ReportedLoop> loops_of_halide(const LoopNest& nest);
// As text, one line a loop; the extent as far as both know it.
std::string to_string(const std::vector<ReportedLoop>& loops);

// Nothing when they are the same loops, else the first difference. An extent that only one side knows as a
// number is no difference.
std::optional<std::string> first_difference(const std::vector<ReportedLoop>& expected,
                                            const std::vector<ReportedLoop>& reported);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_REPORTED_LOOPS_H_
