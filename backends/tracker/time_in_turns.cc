#include "backends/tracker/time_in_turns.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "backends/entry/bind_buffers.h"
#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/error.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {
namespace {

using Clock = std::function<double()>;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A kernel with its arguments.
class Way {
 public:
  Way(const Lowered& lowered, const Target& target, const TensorValues& arguments)
      : kernel_(lowered.nest, target), values_(apply_packs(lowered.nest, arguments)) {
    for (const Buffer* argument : lowered.nest.arguments()) {
      TensorValue& value = values_.at(argument->name);
      buffers_[argument->name] = {value.dtype, value.shape, value.bytes.data()};
    }
    measured_.kernel_calls =
        std::count_if(lowered.grouped.ops().begin(), lowered.grouped.ops().end(),
                      [](const OpPtr& op) { return is_computed(*op); });
    for (const LoopGroup& group : lowered.grouped.loop_groups()) {
      measured_.kernel_calls -= static_cast<int64_t>(group.members.size()) - 1;
    }
    for (const FusionDecision& decision : lowered.fusion.decisions) {
      const bool is_one_less = decision.pattern == kSiblings || is_read_through(decision);
      if (decision.fused && is_one_less) --measured_.kernel_calls;
    }
    measured_.bytes_allocated = measure_work(lowered.nest).peak_bytes;
    measured_.traffic = measure_traffic(lowered.nest).bytes();
  }

  const TensorValue& value(const std::string& name) const { return values_.at(name); }
  void run() const { kernel_.run(buffers_); }

  void choose_calls(const Clock& clock) {
    constexpr double kLeastSeconds = 1e-3, kMostCalls = 1000;
    calls_ = 1;
    const double one = seconds(clock);
    const double wanted = one > 0 ? kLeastSeconds / one : 1;
    calls_ = static_cast<int>(std::clamp(wanted, 1.0, kMostCalls));
  }
  void sample(const Clock& clock) { samples_.push_back(seconds(clock)); }

  WayMeasured measured() const {
    WayMeasured result = measured_;
    result.seconds = median(samples_);
    return result;
  }

 private:
  double seconds(const Clock& clock) const {
    const double start = clock();
    for (int call = 0; call < calls_; ++call) run();
    return (clock() - start) / calls_;
  }

  JitKernel kernel_;
  TensorValues values_;
  std::map<std::string, JitBuffer> buffers_;
  int calls_ = 1;
  std::vector<double> samples_;
  WayMeasured measured_;
};

// Whole numbers from 1 to 4 for what is read, none of which is divided by 0.
TensorValues values_of(const Graph& graph) {
  TensorValues values;
  uint64_t seed = 0;
  const auto shape_of = [](const Op& op) { return evaluate_shape(op.name, op.shape, {}); };
  for (const OpPtr& op : graph.arguments()) {
    values.emplace(op->name, random_integers(op->dtype, shape_of(*op), ++seed, 1, 4));
  }
  for (const OpPtr& output : graph.outputs()) {
    values.emplace(output->name, zeros(output->dtype, shape_of(*output)));
  }
  return values;
}

void check_same_results(const std::string& what, const Graph& graph, const Way& unfused,
                        const Way& fused) {
  constexpr double kTolerance = 1e-4;  // exp() and the order of sums
  for (const OpPtr& output : graph.outputs()) {
    const auto difference = first_difference(unfused.value(output->name), fused.value(output->name),
                                             kTolerance, kTolerance);
    if (difference) fail("{}: fused and unfused differ: {}", what, *difference);
  }
}

}  // namespace

std::pair<WayMeasured, WayMeasured> time_in_turns(const std::string& what, const Lowered& unfused,
                                                  const Lowered& fused, const Target& target,
                                                  int repeats,
                                                  const std::function<double()>& clock) {
  if (repeats < 1) fail("{}: expected at least one repeat, got {}", what, repeats);
  const TensorValues values = values_of(unfused.grouped);
  Way first(unfused, target, values), second(fused, target, values);
  first.run();
  second.run();
  check_same_results(what, unfused.grouped, first, second);

  const Clock now = clock ? clock : steady_seconds;
  first.choose_calls(now);
  second.choose_calls(now);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    first.sample(now);
    second.sample(now);
  }
  const std::pair<WayMeasured, WayMeasured> result(first.measured(), second.measured());
  if (!(result.first.seconds > 0) || !(result.second.seconds > 0)) {
    fail("{}: expected times above 0, got {} s and {} s", what, result.first.seconds,
         result.second.seconds);
  }
  return result;
}

}  // namespace emulsion
