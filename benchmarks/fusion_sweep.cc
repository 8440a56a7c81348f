// What fusion gains on shapes that nobody chose: programs drawn with a seed (drawn_programs.h),
// each as derived against the same operation by operation, one after the other.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/drawn_programs.h"
#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/halide_peer.h"
#include "benchmarks/timed_in_turns.h"
#include "benchmarks/whole_number.h"
#include "dsl/error.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Draws programs of any shape with a seed: the four classical pairs, chains, what follows a\n"
    "product, norms, softmax, losses, what is kept of rows, attention and MLPs, with a number of\n"
    "rows that is known or a run-time size. Each is measured as derived, fused, against the same\n"
    "operation by operation, on one thread, in turns, by the time of that thread's processor. "
    "What\n"
    "looks like a loss is measured again, for longer. Where both are one kernel they are counted\n"
    "and not measured.";

constexpr char kArguments[] =
    "COUNT SEED MEGABYTES of the largest tensor, else 100, one for each day, and 8; or\n"
    "                programs by name: softmax/R240x13 matmul_gelu/4x60x13_of_32";

constexpr double kNeverSlower = 0.97;  // of the unfused kernel's speed
constexpr double kTolerance = 2e-4;    // exp() and the order of sums

struct Measured {
  Row row;
  double ratio;
};

// Nothing where fusion leaves it as it is.
std::optional<Measured> measure_program(const std::string& name, bool is_quick) {
  constexpr int kFew = 15, kMany = 100;
  constexpr double kShort = 3e-4, kLong = 1e-3;
  const DrawnProgram program = program_named(name);
  const Target target = Target::host();
  DeriveOptions one_by_one;
  one_by_one.fuse = false;
  const LoopNest fused = run_pipeline(program.graph, target).nest;
  const LoopNest unfused = run_pipeline(program.graph, target, one_by_one).nest;
  if (to_string(fused) == to_string(unfused)) return std::nullopt;
  const Values values = values_of(program.graph, program.sizes);
  const Call call = kernel_call(fused, values), other = kernel_call(unfused, values);
  check_equal_outputs(name + ": unfused and fused", other, call, values, kTolerance);
  TimedInTurns turns(name, call, {"unfused", other, {}, kNeverSlower, {}});
  turns.measure(kFew, kShort);
  if (!is_quick && turns.ratio() < 1) turns.measure(kMany, kLong);
  announce(fmt::format("{:.2f}  {}", turns.ratio(), name));
  return Measured{turns.row(), turns.ratio()};
}

int64_t number_of(const std::string& text) {
  const std::optional<int64_t> number = whole_number(text);
  if (!number) fail("expected a number, or the name of a program, got {}", text);
  return *number;
}

std::vector<std::string> names_of(const std::vector<std::string>& arguments) {
  constexpr int64_t kCount = 100, kMegabytes = 8, kMostMegabytes = 4096;
  constexpr int64_t kHoursOfDay = 24;
  if (!arguments.empty() && arguments[0].find('/') != std::string::npos) {
    for (const std::string& name : arguments) program_named(name);  // or there is none
    return arguments;
  }
  const auto number = [&](size_t at, int64_t otherwise) {
    return at < arguments.size() ? number_of(arguments[at]) : otherwise;
  };
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const int64_t day = std::chrono::duration_cast<std::chrono::hours>(since).count() / kHoursOfDay;
  const int64_t megabytes = std::clamp<int64_t>(number(2, kMegabytes), 1, kMostMegabytes);
  return draw_names(static_cast<uint64_t>(number(1, day)), static_cast<size_t>(number(0, kCount)),
                    megabytes << 20);
}

Report run(const ProgramOptions& options) {
  set_halide_threads(HalideThreads::one);
  const std::vector<std::string> names = names_of(options.arguments);
  if (options.list) {
    for (const std::string& name : names) fmt::print("{}\n", name);
    return {};
  }
  Report report;
  size_t same = 0, lost = 0;
  for (const std::string& name : names) {
    report_progress(name);
    const std::optional<Measured> measured = measure_program(name, options.quick);
    if (!measured) {
      ++same;
      continue;
    }
    lost += measured->ratio < kNeverSlower ? 1 : 0;
    report.rows.push_back(measured->row);
  }
  report.notes.push_back(fmt::format(
      "{} programs: {} are one kernel either way; of {} that were measured {} are below "
      "{} of the unfused kernel's speed",
      names.size(), same, report.rows.size(), lost, kNeverSlower));
  return report;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv,
                     {"fusion_sweep", kMeasures, "--quick 100 7 8", run, kArguments, true});
}
