#include "tests/passes/check_nest.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "passes/pipeline.h"
#include "tests/golden.h"

namespace emulsion {
namespace {

// Arguments of a graph and what its comprehensions make of them.
struct Sample {
  NestRun run;
  TensorValues expected;
};

Sample sample_of(const Graph& graph, const NestRun& run) {
  InterpretOptions options;
  options.sizes = run.sizes;
  return {run, interpret_graph(graph, run.arguments, options)};
}

Sample sample_of(const Graph& graph, const SizeValues& sizes, double tolerance) {
  return sample_of(graph, {sizes, integer_arguments(graph, sizes), tolerance, tolerance});
}

bool has_parallel_loop(const LoopNest& nest) {
  const auto is_parallel = [](const Node& node) {
    const Loop* loop = node.as<Loop>();
    return loop && loop->kind == LoopKind::parallel;
  };
  return any_node(*nest.root, is_parallel) ||
         std::any_of(nest.packs.begin(), nest.packs.end(),
                     [](const Pack& pack) { return has_parallel_loop(*pack.nest); });
}

testing::AssertionResult same_values(const LoopNest& nest, const Sample& sample) {
  const bool parallel = has_parallel_loop(nest);
  InterpretOptions options;
  const NestRun& run = sample.run;
  options.sizes = run.sizes;
  for (bool reverse : {false, true}) {
    if (reverse && !parallel) break;
    options.reverse_parallel = reverse;
    const TensorValues actual = interpret_nest(nest, run.arguments, options);
    for (const auto& [name, value] : sample.expected) {
      const auto difference = first_difference(value, actual.at(name), run.relative, run.absolute);
      if (difference) {
        return testing::AssertionFailure()
               << name << (reverse ? ", parallel loops backwards" : "") << *difference << "\n"
               << to_string(nest);
      }
    }
  }
  return testing::AssertionSuccess();
}

// The uOps that are issued and the points that are computed, step by step: what count_uops() and
// measure_work() work out by arithmetic.
class UopStepper : public NestVisitor {
 public:
  UopStepper(const LoopNest& nest, const SizeValues& sizes) : nest_(nest), values_(sizes) {}

  UopCounts counts;
  std::map<std::string, int64_t> points;  // of internal stages, by name

 private:
  void visit_alloc(const Alloc& alloc) override {
    const bool has_window = any_node(*alloc.body, [&](const Node& node) {
      return node.as<WindowNode>() && node.as<WindowNode>()->stage == alloc.stage;
    });
    if (!has_window) points[alloc.stage] += product_of(computed_extents(alloc));
    walk(*alloc.body);
  }

  void visit_window(const WindowNode& window) override {
    points[window.stage] += product_of(window.computed_extents());
    walk(*window.body);
  }

  // Of an axis as it is, as far as its loops go: in the last edge of a partitioned loop, only to
  // the end of the domain.
  std::vector<Expr> computed_extents(const Alloc& alloc) const {
    std::vector<Expr> extents = alloc.extents;
    std::vector<Expr> ends(extents.size(), int_constant(0));
    for_each_node(*alloc.body, [&](const Node& node) {
      const Loop* loop = node.as<Loop>();
      if (!loop || loop->stage != alloc.stage || loop->part == Part::init) return;
      if (joined_to(*loop)) return;  // takes all its steps, one in each of another loop
      const std::optional<size_t> axis = untransformed_axis(nest_, *loop);
      if (axis) ends[*axis] = max(ends[*axis], loop->min + loop->extent);
    });
    for (size_t d = 0; d < extents.size(); ++d) {
      if (ends[d]->op != ExprOp::constant || ends[d]->int_value > 0) {
        extents[d] = min(extents[d], ends[d]);
      }
    }
    return extents;
  }

  int64_t product_of(const std::vector<Expr>& extents) const {
    int64_t product = 1;
    for (const Expr& extent : extents) {
      product *= std::max<int64_t>(evaluate_index(extent, values_), 0);
    }
    return product;
  }

  void visit_branch(const Branch& branch) override { walk(*chosen_side(branch, values_)); }

  void visit_loop(const Loop& loop) override {
    const int64_t min = evaluate_index(loop.min, values_);
    const int64_t extent = evaluate_index(loop.extent, values_);
    const int64_t steps = loop.kind == LoopKind::tile ? std::min<int64_t>(extent, 1) : extent;
    if (steps <= 0) return;
    const std::string variable = loop.variable();
    int64_t& value = values_[variable];
    for (int64_t step = 0; step < steps; ++step) {
      value = min + step;
      walk(*loop.body);
    }
    values_.erase(variable);
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.kind == UopKind::load) ++counts.loads;
    if (uop.kind == UopKind::store) ++counts.stores;
    if (uop.kind == UopKind::execute) ++(uop.part == Part::init ? counts.inits : counts.executes);
  }

  const LoopNest& nest_;
  SizeValues values_;
};

bool sums_nothing(const Stage& stage, const SizeValues& sizes) {
  return std::any_of(stage.reduction_axes.begin(), stage.reduction_axes.end(),
                     [&](const Axis& axis) { return axis.extent().evaluate(sizes) == 0; });
}

testing::AssertionResult is_measured_right(const LoopNest& nest, const SizeValues& sizes) {
  // Stages are found by their names here, and buffers in measure_traffic by theirs: time of the
  // square of the stages.
  constexpr size_t kMostStages = 1000;
  if (nest.stages.size() > kMostStages) return testing::AssertionSuccess();
  UopStepper stepper(nest, sizes);
  stepper.walk(*nest.root);
  const UopCounts counted = count_uops(nest, sizes), &issued = stepper.counts;
  if (counted.loads == issued.loads && counted.inits == issued.inits &&
      counted.executes == issued.executes && counted.stores == issued.stores) {
    for (const StageWork& work : measure_work(nest, sizes).stages) {
      if (nest.buffer(work.stage).role == BufferRole::output) continue;
      const int64_t points = stepper.points[work.stage];
      // Of sums of nothing the start values are counted once, wherever they are computed.
      if (work.points == points || sums_nothing(nest.stage(work.stage), sizes)) continue;
      return testing::AssertionFailure() << "measure_work: expected " << points << " points of "
                                         << work.stage << ", got " << work.points << "\n"
                                         << to_string(nest);
    }
    for (TrafficModel model : {TrafficModel::pass, TrafficModel::uop}) {
      measure_traffic(nest, sizes, model);  // of any nest
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "count_uops: expected " << issued.loads << " loads, " << issued.inits << " inits, "
         << issued.executes << " executes and " << issued.stores << " stores, got " << counted.loads
         << ", " << counted.inits << ", " << counted.executes << " and " << counted.stores << "\n"
         << to_string(nest);
}

std::string text_of(const SizeValues& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += " " + name + " = " + std::to_string(value);
  return text;
}

testing::AssertionResult failure(const std::exception& error, const LoopNest& nest,
                                 const Graph& graph, const SizeValues& sizes) {
  return testing::AssertionFailure() << error.what() << "\nwith" << text_of(sizes) << "\n"
                                     << to_string(graph) << to_string(nest);
}

testing::AssertionResult verified_computes(const LoopNest& nest, const Graph& graph,
                                           const NestRun& run) {
  try {
    const testing::AssertionResult measured = is_measured_right(nest, run.sizes);
    if (!measured) return measured;
    return same_values(nest, sample_of(graph, run));
  } catch (const std::exception& error) {
    return failure(error, nest, graph, run.sizes);
  }
}

// The nest of a schedule, verified. The last one is kept: tests run one at many sizes in turn.
const LoopNest& lowered_and_verified(const Graph& graph, const Schedule& schedule) {
  struct Last {
    Graph graph;  // keeps its operations
    Schedule schedule;
    LoopNest nest;
  };
  static std::optional<Last> last;
  const bool is_same = last && last->graph.ops() == graph.ops() &&
                       last->graph.outputs() == graph.outputs() && last->schedule == schedule;
  if (!is_same) {
    last.reset();
    last = Last{graph, schedule, run_pipeline(graph, schedule)};
  }
  return last->nest;
}

}  // namespace

TensorValues integer_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments;
  for (const OpPtr& op : graph.arguments()) {
    const std::vector<int64_t> shape = evaluate_shape(op->name, op->shape, sizes);
    arguments[op->name] = op->dtype == DType::boolean
                              ? random_integers(op->dtype, shape, ++seed, 0, 1)
                              : random_integers(op->dtype, shape, ++seed, -3, 3);
  }
  return arguments;
}

testing::AssertionResult computes(const LoopNest& nest, const Graph& graph, const SizeValues& sizes,
                                  double tolerance) {
  return computes_with(nest, graph, {sizes, integer_arguments(graph, sizes), tolerance, tolerance});
}

testing::AssertionResult computes_with(const LoopNest& nest, const Graph& graph,
                                       const NestRun& run) {
  try {
    verify_nest(nest);
  } catch (const std::exception& error) {
    return failure(error, nest, graph, run.sizes);
  }
  return verified_computes(nest, graph, run);
}

testing::AssertionResult lowers(const Graph& graph, const Schedule& schedule,
                                const SizeValues& sizes, double tolerance) {
  try {
    const LoopNest& nest = lowered_and_verified(graph, schedule);
    const NestRun run{sizes, integer_arguments(graph, sizes), tolerance, tolerance};
    testing::AssertionResult result = verified_computes(nest, graph, run);
    return result ? result : result << "\n" << to_string(schedule);
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what() << "\n"
                                       << to_string(graph) << to_string(schedule);
  }
}

void expect_nest(const Schedule& schedule, const std::vector<int64_t>& batches) {
  const Graph& graph = schedule.graph();
  const LoopNest nest = lower(graph, schedule);
  EXPECT_TRUE(matches_golden(to_string(nest)));
  EXPECT_EQ(to_string(lower(graph, parse_schedule(to_string(schedule), graph))), to_string(nest));
  for (int64_t batch : batches) {
    SizeValues sizes;
    for (const std::string& size : graph.sizes()) sizes[size] = batch;
    EXPECT_TRUE(lowers(graph, schedule, sizes));
    if (sizes.empty()) break;
  }
}

testing::AssertionResult derives(const Graph& graph, const Target& target,
                                 const std::vector<int64_t>& batches, double tolerance) {
  Schedule schedule(graph);
  SizeValues sizes;
  try {
    // By text: where nothing is fused, both are one nest.
    std::map<std::string, std::pair<Schedule, LoopNest>> nests;
    for (bool fuse : {true, false}) {
      DeriveOptions options;
      options.fuse = fuse;
      schedule = derive_schedule(graph, target, options);
      if (!(parse_schedule(to_string(schedule), graph) == schedule)) {
        return testing::AssertionFailure() << "the text does not parse back to the schedule\n"
                                           << to_string(schedule);
      }
      const LoopNest nest = run_pipeline(graph, schedule);  // verified
      nests.try_emplace(to_string(nest), schedule, nest);
    }
    for (int64_t batch : batches) {
      for (const std::string& name : graph.sizes()) sizes[name] = batch;
      const Sample sample = sample_of(graph, sizes, tolerance);
      for (const auto& [text, derived] : nests) {
        schedule = derived.first;
        testing::AssertionResult result = same_values(derived.second, sample);
        if (!result) return result << "\n" << to_string(schedule) << "with" << text_of(sizes);
      }
      if (sizes.empty()) break;
    }
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what() << "\nwith" << text_of(sizes) << "\n"
                                       << to_string(graph) << to_string(schedule);
  }
  return testing::AssertionSuccess();
}

}  // namespace emulsion
