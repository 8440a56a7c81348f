#include "passes/analyse/measure_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/checked_arithmetic.h"
#include "passes/nest/verify_nest_tables.h"

namespace emulsion {
namespace {

using Values = std::map<std::string, int64_t>;
using Steps = std::map<std::string, int64_t>;  // by stage: how often its body is evaluated

// Operators that work on values: none inside an index, and no condition that indices decide.
int64_t operations_in(const Expr& e) {
  bool reads = false;
  visit(e, [&](const Expr& part) {
    reads = reads || part->op == ExprOp::read || is_float(part->dtype);
  });
  if (!reads || e->op == ExprOp::read || e->args.empty()) return 0;
  int64_t count = e->op == ExprOp::cast ? 0 : 1;
  for (const Expr& argument : e->args) count += operations_in(argument);
  return count;
}

class WorkMeter {
 public:
  WorkMeter(const LoopNest& nest, const SizeValues& sizes) : nest_(nest), sizes_(sizes) {
    for (const Stage& stage : nest.stages) {
      per_step_[stage.name] = operations_in(stage.body) + (stage.is_reduction() ? 1 : 0);
    }
    find_places(*nest.root);
  }

  Work run() {
    Values values = sizes_;
    Steps all = steps_of(*nest_.root, &values);
    Work work;
    for (const Stage& stage : nest_.stages) {
      StageWork one;
      one.stage = stage.name;
      one.needed = domain_of(stage);
      if (nest_.buffer(stage.name).role == BufferRole::output) {
        all[stage.name] = checked_mul(one.needed, reduction_steps(stage));
      }
      const int64_t reduced = reduction_steps(stage);
      one.points = reduced == 0 ? one.needed : all[stage.name] / reduced;
      one.operations = checked_mul(all[stage.name], per_step_[stage.name]);
      measure_place(stage, &one);
      work.stages.push_back(one);
    }
    work.peak_bytes = peak_bytes(*nest_.root, {});
    return work;
  }

 private:
  // Where a stage is in the tree: the loops around its uOps, and around its storage.
  struct Place {
    std::vector<const Node*> loops;  // around the update, or the only uOp; outermost first
    const Node* alloc = nullptr;
    const Node* produce = nullptr;
    size_t loops_around_alloc = 0, loops_around_produce = 0;
  };

  void find_places(const Node& node) {
    Place& place = places_[node.stage];
    if (node.kind == NodeKind::branch) return find_places(*chosen_side(node, sizes_));
    if (node.kind == NodeKind::alloc) {
      place.alloc = &node;
      place.loops_around_alloc = around_.size();
    }
    if (node.kind == NodeKind::produce) {
      place.produce = &node;
      place.loops_around_produce = around_.size();
    }
    if (node.children.empty() && node.part != Part::init) place.loops = around_;
    for (const Expr& extent : node.kind == NodeKind::produce ? node.extents : std::vector<Expr>()) {
      const auto slides = first_iterations_in(extent);
      if (slides) slid_along_.insert(slides->begin(), slides->end());
    }
    if (node.kind == NodeKind::loop) around_.push_back(&node);
    for (const NodePtr& child : node.children) find_places(*child);
    if (node.kind == NodeKind::loop) around_.pop_back();
  }

  static std::string variable_of(const Node& loop) { return loop_variable(loop.stage, loop.axis); }

  int64_t reduction_steps(const Stage& stage) const {
    int64_t result = 1;
    for (const Axis& axis : stage.reduction_axes) {
      result = checked_mul(result, axis.extent().evaluate(sizes_));
    }
    return result;
  }

  int64_t domain_of(const Stage& stage) const {
    int64_t result = 1;
    for (const Axis& axis : stage.axes)
      result = checked_mul(result, axis.extent().evaluate(sizes_));
    return result;
  }

  // How often each body under a node is evaluated. What an alloc or a produce says is computed
  // counts, not the loops inside: they may go past it, guarded. `values`: of the loops around 0 in
  // the first iteration, 1 in all others.
  Steps steps_of(const Node& node, Values* values) {
    if (node.kind == NodeKind::branch) return steps_of(*chosen_side(node, *values), values);
    if (node.kind == NodeKind::loop) return steps_of_loop(node, values);
    Steps steps;
    if (node.children.empty() && node.kind != NodeKind::block && node.part != Part::init) {
      steps[node.stage] = 1;
    }
    for (const NodePtr& child : node.children) add(steps_of(*child, values), 1, &steps);
    const bool computes = node.kind == NodeKind::produce ||
                          (node.kind == NodeKind::alloc && !places_[node.stage].produce);
    if (computes) {
      int64_t region = reduction_steps(nest_.stage(node.stage));
      for (const Expr& extent : node.extents) {
        region = checked_mul(region, std::max<int64_t>(0, evaluate_index(extent, *values)));
      }
      steps[node.stage] = region;
    }
    return steps;
  }

  Steps steps_of_loop(const Node& loop, Values* values) {
    const int64_t extent = evaluate_index(loop.extent, *values);
    Steps steps;
    if (extent <= 0) return steps;
    const std::string variable = variable_of(loop);
    if (!slid_along_.count(variable)) {
      add(steps_of(*loop.children[0], values), extent, &steps);
      return steps;
    }
    (*values)[variable] = 0;
    add(steps_of(*loop.children[0], values), 1, &steps);
    if (extent > 1) {
      (*values)[variable] = 1;
      add(steps_of(*loop.children[0], values), extent - 1, &steps);
    }
    values->erase(variable);
    return steps;
  }

  static void add(const Steps& more, int64_t factor, Steps* steps) {
    for (const auto& [stage, count] : more) {
      (*steps)[stage] = checked_add((*steps)[stage], checked_mul(count, factor));
    }
  }

  // Operations of one pass through a node, in the steady state of the loops around it.
  int64_t operations_of(const Node& node, const std::vector<const Node*>& around) {
    int64_t result = 0;
    Values values = steady(around);
    for (const auto& [stage, steps] : steps_of(node, &values)) {
      result = checked_add(result, checked_mul(steps, per_step_[stage]));
    }
    return result;
  }

  Values steady(const std::vector<const Node*>& around) const {
    Values values = sizes_;
    for (const Node* loop : around) values[variable_of(*loop)] = 1;
    return values;
  }

  void measure_place(const Stage& stage, StageWork* work) {
    const Place& place = places_[stage.name];
    if (place.alloc) {
      work->bytes = bytes_of(*place.alloc);
      work->reuse_distance = reuse_distance(place);
    }
    const std::set<std::string> reduced = reduction_loop_axes(stage);
    std::vector<const Node*> around;
    for (const Node* loop : place.loops) {
      const Values values = steady(around);
      const int64_t extent = std::max<int64_t>(0, evaluate_index(loop->extent, values));
      around.push_back(loop);
      const bool own = loop->stage == stage.name;
      if (loop->loop_kind == LoopKind::parallel)
        work->parallel = checked_mul(work->parallel, extent);
      if (loop->loop_kind == LoopKind::vectorized && own)
        work->lanes = checked_mul(work->lanes, extent);
      if (own && reduced.count(loop->axis)) continue;
      if (!carries_window(*loop)) work->span = checked_mul(work->span, extent);
    }
  }

  // Whether storage from outside a loop is filled inside it: its iterations need their order.
  bool carries_window(const Node& loop) const {
    for (const auto& [stage, place] : places_) {
      if (!place.produce) continue;
      for (size_t i = place.loops_around_alloc; i < place.loops_around_produce; ++i) {
        if (loops_around(stage)[i] == &loop) return true;
      }
    }
    return false;
  }

  const std::vector<const Node*>& loops_around(const std::string& stage) const {
    return places_.at(stage).loops;
  }

  int64_t reuse_distance(const Place& place) {
    const std::vector<const Node*>& loops = place.loops;
    if (!place.produce) {
      return operations_of(*place.alloc->children[0],
                           {loops.begin(), loops.begin() + place.loops_around_alloc});
    }
    // The outermost loop along which the window slides, and for how many of its steps a value
    // lives.
    for (size_t i = place.loops_around_alloc; i < place.loops_around_produce; ++i) {
      for (const Expr& extent : place.produce->extents) {
        const auto slides = first_iterations_in(extent);
        if (!slides || !slides->count(variable_of(*loops[i]))) continue;
        Values first = steady({loops.begin(), loops.begin() + place.loops_around_produce});
        const int64_t fresh = evaluate_index(extent, first);
        first[variable_of(*loops[i])] = 0;
        const int64_t window = evaluate_index(extent, first);
        const int64_t lives = (window + fresh - 1) / fresh;
        return checked_mul(lives, one_iteration(loops, i));
      }
    }
    return one_iteration(loops, place.loops_around_produce - 1);
  }

  int64_t one_iteration(const std::vector<const Node*>& loops, size_t position) {
    return operations_of(*loops[position]->children[0],
                         {loops.begin(), loops.begin() + position + 1});
  }

  int64_t bytes_of(const Node& node) const {
    std::vector<int64_t> padded;
    int64_t bytes = size_in_bytes(nest_.stage(node.stage).dtype);
    for (size_t d = 0; d < node.extents.size(); ++d) {
      const int64_t extent = std::max<int64_t>(0, evaluate_index(node.extents[d], sizes_));
      bytes = checked_mul(bytes, node.layout.padded(d, extent));
    }
    return bytes;
  }

  int64_t peak_bytes(const Node& node, const std::set<std::string>& reserved) {
    if (node.kind == NodeKind::branch) return peak_bytes(*chosen_side(node, sizes_), reserved);
    std::set<std::string> inside = reserved;
    int64_t here = 0;
    if (node.kind == NodeKind::reserve) {
      inside.insert(node.stage);
      here = bytes_of(node);
    } else if (node.kind == NodeKind::alloc && !reserved.count(node.stage)) {
      here = bytes_of(node);
    }
    int64_t most = 0;
    for (const NodePtr& child : node.children) most = std::max(most, peak_bytes(*child, inside));
    return checked_add(here, most);
  }

  const LoopNest& nest_;
  const SizeValues& sizes_;
  std::map<std::string, int64_t> per_step_;
  std::map<std::string, Place> places_;
  std::vector<const Node*> around_;  // while places are found
  std::set<std::string> slid_along_;
};

std::string bytes_text(int64_t bytes) {
  if (bytes < 10240) return fmt::format("{} B", bytes);
  if (bytes < int64_t{10} << 20)
    return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

template <typename Value>
std::string row(const std::string& name, const Value& points, const Value& needed,
                const std::string& redundancy, const Value& distance, const std::string& bytes,
                const Value& span, const Value& parallel, const Value& lanes) {
  return fmt::format("{:<16} {:>14} {:>14} {:>10} {:>16} {:>11} {:>14} {:>9} {:>6}\n", name, points,
                     needed, redundancy, distance, bytes, span, parallel, lanes);
}

}  // namespace

double StageWork::redundancy() const {
  return needed == 0 ? 1 : static_cast<double>(points) / static_cast<double>(needed);
}

int64_t Work::operations() const {
  int64_t sum = 0;
  for (const StageWork& stage : stages) sum = checked_add(sum, stage.operations);
  return sum;
}

int64_t Work::reuse_distance() const {
  int64_t longest = 0;
  for (const StageWork& stage : stages) longest = std::max(longest, stage.reuse_distance);
  return longest;
}

int64_t Work::span() const {
  int64_t least = stages.empty() ? 1 : stages[0].span;
  for (const StageWork& stage : stages) least = std::min(least, stage.span);
  return least;
}

int64_t Work::parallel() const {
  int64_t least = stages.empty() ? 1 : stages[0].parallel;
  for (const StageWork& stage : stages) least = std::min(least, stage.parallel);
  return least;
}

Work measure_work(const LoopNest& nest, const SizeValues& sizes) {
  if (!nest.root) return Work();
  return WorkMeter(nest, sizes).run();
}

std::string to_string(const Work& work) {
  std::string text = row<std::string>("stage", "points", "needed", "redundancy", "reuse distance",
                                      "storage", "span", "parallel", "lanes");
  for (const StageWork& stage : work.stages) {
    text += row<int64_t>(stage.stage, stage.points, stage.needed,
                         fmt::format("{:.3f}x", stage.redundancy()), stage.reuse_distance,
                         stage.bytes > 0 ? bytes_text(stage.bytes) : "-", stage.span,
                         stage.parallel, stage.lanes);
  }
  return text + fmt::format("{} operations; reuse distance {}; at most {} of storage; span {}\n",
                            work.operations(), work.reuse_distance(), bytes_text(work.peak_bytes),
                            work.span());
}

std::string summary(const Work& work, const Work& least) {
  const double amplification =
      least.operations() == 0
          ? 1
          : static_cast<double>(work.operations()) / static_cast<double>(least.operations());
  return fmt::format("work {:.3f}x, reuse distance {}, span {}, {} parallel, {}", amplification,
                     work.reuse_distance(), work.span(), work.parallel(),
                     bytes_text(work.peak_bytes));
}

}  // namespace emulsion
