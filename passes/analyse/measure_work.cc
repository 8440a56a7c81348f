#include "passes/analyse/measure_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/checked_arithmetic.h"
#include "dsl/stack_room.h"
#include "passes/nest/map_point.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

using Values = std::map<std::string, int64_t>;

// Operators that work on values: none inside an index, and no condition that indices decide.
int64_t operations_in(const Expr& e) {
  const bool reads = any_part(
      e, [](const Expr& part) { return part->op == ExprOp::read || is_float(part->dtype); });
  if (!reads || e->op == ExprOp::read || e->args.empty()) return 0;
  int64_t count = e->op == ExprOp::cast ? 0 : 1;
  for (const Expr& argument : e->args) count += operations_in(argument);
  return count;
}

int64_t bytes_of(const LoopNest& nest, const Storage& storage, const SizeValues& sizes) {
  int64_t bytes = size_in_bytes(nest.stage(storage.stage).dtype);
  for (size_t d = 0; d < storage.extents.size(); ++d) {
    const int64_t extent = std::max<int64_t>(0, evaluate_index(storage.extents[d], sizes));
    bytes = checked_mul(bytes, storage.layout.padded(d, extent));
  }
  return bytes;
}

// What happens under a node.
struct Steps {
  std::map<std::string, int64_t> by_stage;  // how often its body is evaluated
  int64_t operations = 0;                   // of all stages together
};

// Where a stage is in the tree: the loops around its uOps, and around its storage. Of a partitioned
// loop the first part that has the stage: in the last edge its loops may end early.
struct StagePlace {
  std::vector<const Loop*> loops;  // around the update, or the only uOp; outermost first
  const Alloc* alloc = nullptr;
  const WindowNode* window = nullptr;
  size_t loops_around_alloc = 0, loops_around_window = 0;
};

class PlaceFinder : public NestVisitor {
 public:
  PlaceFinder(const LoopNest& nest, const SizeValues& sizes) : nest_(nest), sizes_(sizes) {}
  std::map<std::string, StagePlace> places;
  std::set<std::string> slid_along;  // loop variables
  // The loops of which each is a part; not there: it is all of its loop.
  std::map<const Loop*, std::vector<const Loop*>> parts;
  // Of an alloc, the loops over axes of its stage: they may end before its region does.
  std::map<const Alloc*, std::map<size_t, const Loop*>> loops_over_axes;

 private:
  void visit_branch(const Branch& branch) override { walk(*chosen_side(branch, sizes_)); }

  void visit_alloc(const Alloc& alloc) override {
    StagePlace& place = places[alloc.stage];
    if (!place.alloc) {
      place.alloc = &alloc;
      place.loops_around_alloc = around_.size();
    }
    allocs_[alloc.stage] = &alloc;
    walk(*alloc.body);
    allocs_.erase(alloc.stage);
  }

  void visit_window(const WindowNode& window) override {
    StagePlace& place = places[window.stage];
    if (!place.window) {
      place.window = &window;
      place.loops_around_window = around_.size();
    }
    for (const Window& slide : window.slides) slid_along.insert(slide.loop->name);
    walk(*window.body);
  }

  void visit_block(const Block& block) override {
    for (size_t first = 0; first < block.children.size();) {
      const size_t count = parts_from(block, first);
      std::vector<const Loop*> loops;
      for (size_t i = first; count > 1 && i < first + count; ++i) {
        loops.push_back(block.children[i]->as<Loop>());
      }
      for (const Loop* loop : loops) parts[loop] = loops;
      for (size_t i = first; i < first + count; ++i) walk(*block.children[i]);
      first += count;
    }
  }

  void visit_loop(const Loop& loop) override {
    const auto alloc = allocs_.find(loop.stage);
    const std::optional<size_t> axis = untransformed_axis(nest_, loop);
    if (alloc != allocs_.end() && axis && !parts.count(&loop) && !joined_to(loop)) {
      loops_over_axes[alloc->second][*axis] = &loop;
    }
    around_.push_back(&loop);
    walk(*loop.body);
    around_.pop_back();
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.part == Part::init) return;
    StagePlace& place = places[uop.stage];
    if (place.loops.empty()) place.loops = around_;
  }

  const LoopNest& nest_;
  const SizeValues& sizes_;
  std::vector<const Loop*> around_;
  std::map<std::string, const Alloc*> allocs_;  // around the node at hand
};

// The most storage that is live at once.
class PeakFinder : public NestVisitor {
 public:
  PeakFinder(const LoopNest& nest, const SizeValues& sizes) : nest_(nest), sizes_(sizes) {}

  int64_t find() {
    walk(*nest_.root);
    return most_;
  }

 private:
  void visit_branch(const Branch& branch) override { walk(*chosen_side(branch, sizes_)); }

  void visit_alloc(const Alloc& alloc) override {
    const bool has_memory = hoisted_.count(alloc.stage) > 0 || !alloc.output.empty();
    hold(has_memory ? 0 : bytes_of(nest_, alloc, sizes_), *alloc.body);
  }

  void visit_hoisted_alloc(const HoistedAlloc& hoisted) override {
    hoisted_.insert(hoisted.stage);
    hold(bytes_of(nest_, hoisted, sizes_), *hoisted.body);
    hoisted_.erase(hoisted.stage);
  }

  void hold(int64_t bytes, const Node& body) {
    live_ = checked_add(live_, bytes);
    most_ = std::max(most_, live_);
    walk(body);
    live_ -= bytes;
  }

  const LoopNest& nest_;
  const SizeValues& sizes_;
  std::set<std::string> hoisted_;
  int64_t live_ = 0, most_ = 0;
};

class WorkMeter {
 public:
  WorkMeter(const LoopNest& nest, const SizeValues& sizes) : nest_(nest), sizes_(sizes) {
    for (const Stage& stage : nest.stages) {
      per_step_[stage.name] = operations_in(stage.body) + (stage.is_reduction() ? 1 : 0);
    }
    PlaceFinder finder(nest, sizes);
    finder.walk(*nest.root);
    places_ = std::move(finder.places);
    loops_over_axes_ = std::move(finder.loops_over_axes);
    slid_along_ = std::move(finder.slid_along);
    parts_ = std::move(finder.parts);
    // Storage from outside a loop is filled inside it: its iterations need their order.
    for (const auto& [stage, place] : places_) {
      if (!place.window || place.window->is_whole) continue;
      for (size_t i = place.loops_around_alloc; i < place.loops_around_window; ++i) {
        carrying_.insert(place.loops[i]);
      }
    }
  }

  Work run() {
    Values values = sizes_;
    std::map<std::string, int64_t> all = steps_of(*nest_.root, &values).by_stage;
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
    work.peak_bytes = PeakFinder(nest_, sizes_).find();
    return work;
  }

 private:
  int64_t reduction_steps(const Stage& stage) const {
    int64_t result = 1;
    for (const Axis& axis : stage.reduction_axes) {
      const auto step = std::find_if(
          stage.transforms.begin(), stage.transforms.end(), [&](const LoopTransform& t) {
            return t.kind == LoopTransform::Kind::step && t.axis == axis.name();
          });
      const int64_t extent = axis.extent().evaluate(sizes_);
      const int64_t factor = step == stage.transforms.end() ? 1 : step->factor;
      result = checked_mul(result, (extent + factor - 1) / factor);
    }
    return result;
  }

  int64_t domain_of(const Stage& stage) const {
    int64_t result = 1;
    for (const Axis& axis : stage.axes)
      result = checked_mul(result, axis.extent().evaluate(sizes_));
    return result;
  }

  // What happens under a node. What an alloc or a window says is computed counts, not the loops
  // inside: they may go past it, guarded. `values`: of the loops around 0 in the first iteration, 1
  // in all others.
  Steps steps_of(const Node& node, Values* values) {
    Steps steps;
    with_stack_room([&] { steps = steps_of_kind(node, values); });
    if (is_steady(*values)) operations_[&node] = steps.operations;
    return steps;
  }

  // Whether the loops around that matter are past their first iterations.
  bool is_steady(const Values& values) const {
    return std::all_of(slid_along_.begin(), slid_along_.end(), [&](const std::string& variable) {
      const auto value = values.find(variable);
      return value == values.end() || value->second == 1;
    });
  }

  Steps steps_of_kind(const Node& node, Values* values) {
    if (const Branch* branch = node.as<Branch>()) {
      return steps_of(*chosen_side(*branch, *values), values);
    }
    if (const Loop* loop = node.as<Loop>()) return steps_of_loop(*loop, values);
    Steps steps;
    if (const UopNode* uop = node.as<UopNode>()) {
      if (uop->part != Part::init) set(uop->stage, 1, &steps);
    }
    for_each_child(node, [&](const NodePtr& child) { add(steps_of(*child, values), 1, &steps); });
    if (const WindowNode* window = node.as<WindowNode>()) {
      set(window->stage, steps_of_region(window->stage, window->computed_extents(), *values),
          &steps);
    }
    const Alloc* alloc = node.as<Alloc>();
    if (alloc && !places_[alloc->stage].window) {
      set(alloc->stage, steps_of_region(alloc->stage, computed_extents(*alloc), *values), &steps);
    }
    return steps;
  }

  void set(const std::string& stage, int64_t count, Steps* steps) {
    int64_t& known = steps->by_stage[stage];
    const int64_t each = per_step_[stage];
    steps->operations =
        checked_add(steps->operations - checked_mul(known, each), checked_mul(count, each));
    known = count;
  }

  // What is computed of an alloc each time: all of it, or as far as the loops over its axes go.
  std::vector<Expr> computed_extents(const Alloc& alloc) const {
    std::vector<Expr> extents = alloc.extents;
    const auto loops = loops_over_axes_.find(&alloc);
    if (loops == loops_over_axes_.end()) return extents;
    for (const auto& [axis, loop] : loops->second) {
      extents[axis] = min(extents[axis], loop->extent);
    }
    return extents;
  }

  int64_t steps_of_region(const std::string& stage, const std::vector<Expr>& extents,
                          const Values& values) const {
    int64_t region = reduction_steps(nest_.stage(stage));
    for (const Expr& extent : extents) {
      region = checked_mul(region, std::max<int64_t>(0, evaluate_index(extent, values)));
    }
    return region;
  }

  Steps steps_of_loop(const Loop& loop, Values* values) {
    const int64_t extent = evaluate_index(loop.extent, *values);
    Steps steps;
    if (extent <= 0) return steps;
    const std::string variable = loop.variable();
    if (!slid_along_.count(variable)) {
      add(steps_of(*loop.body, values), extent, &steps);
      return steps;
    }
    // A part of a loop may start behind the first iteration.
    const int64_t first = evaluate_index(loop.min, *values) == 0 ? 1 : 0;
    for (int64_t value : {0, 1}) {
      const int64_t count = value == 0 ? first : extent - first;
      (*values)[variable] = value;
      if (count > 0) add(steps_of(*loop.body, values), count, &steps);
    }
    values->erase(variable);
    return steps;
  }

  // Of all parts of a loop together.
  int64_t steps_of_parts(const Loop& loop, const Values& values) const {
    auto found = parts_.find(&loop);
    if (found == parts_.end()) return std::max<int64_t>(0, evaluate_index(loop.extent, values));
    int64_t steps = 0;
    for (const Loop* part : found->second) {
      steps += std::max<int64_t>(0, evaluate_index(part->extent, values));
    }
    return steps;
  }

  // The longer list takes in the shorter one.
  static void add(Steps more, int64_t factor, Steps* steps) {
    if (factor != 1) {
      for (auto& [stage, count] : more.by_stage) count = checked_mul(count, factor);
      more.operations = checked_mul(more.operations, factor);
    }
    if (more.by_stage.size() > steps->by_stage.size()) std::swap(more, *steps);
    for (const auto& [stage, count] : more.by_stage) {
      int64_t& sum = steps->by_stage[stage];
      sum = checked_add(sum, count);
    }
    steps->operations = checked_add(steps->operations, more.operations);
  }

  // Operations of one pass through a node, in the steady state of the loops around it. Nearly
  // always run() has met it so.
  int64_t operations_of(const Node& node, const std::vector<const Loop*>& around) {
    const auto known = operations_.find(&node);
    if (known != operations_.end()) return known->second;
    Values values = steady(around);
    return steps_of(node, &values).operations;
  }

  Values steady(const std::vector<const Loop*>& around) const {
    Values values = sizes_;
    for (const Loop* loop : around) values[loop->variable()] = 1;
    return values;
  }

  void measure_place(const Stage& stage, StageWork* work) {
    const StagePlace& place = places_[stage.name];
    if (place.alloc) {
      work->bytes = bytes_of(nest_, *place.alloc, sizes_);
      work->reuse_distance = reuse_distance(place);
    }
    const std::set<std::string> reduced = reduction_loop_axes(stage);
    std::vector<const Loop*> around;
    for (const Loop* loop : place.loops) {
      const int64_t extent = steps_of_parts(*loop, steady(around));
      around.push_back(loop);
      const bool own = loop->stage == stage.name;
      if (loop->kind == LoopKind::parallel) work->parallel = checked_mul(work->parallel, extent);
      if (loop->kind == LoopKind::vectorized && own) work->lanes = checked_mul(work->lanes, extent);
      if (own && reduced.count(loop->axis)) continue;
      if (!carrying_.count(loop)) work->span = checked_mul(work->span, extent);
    }
  }

  int64_t reuse_distance(const StagePlace& place) {
    const std::vector<const Loop*>& loops = place.loops;
    if (!place.window || place.window->is_whole) {
      return operations_of(*place.alloc->body,
                           {loops.begin(), loops.begin() + place.loops_around_alloc});
    }
    // The outermost loop along which the window slides, and for how many of its steps a value
    // lives.
    for (size_t i = place.loops_around_alloc; i < place.loops_around_window; ++i) {
      for (const Window& slide : place.window->slides) {
        if (slide.loop->name != loops[i]->variable()) continue;
        const int64_t lives = (slide.length + slide.fresh() - 1) / slide.fresh();
        return checked_mul(lives, one_iteration(loops, i));
      }
    }
    return one_iteration(loops, place.loops_around_window - 1);
  }

  int64_t one_iteration(const std::vector<const Loop*>& loops, size_t position) {
    return operations_of(*loops[position]->body, {loops.begin(), loops.begin() + position + 1});
  }

  const LoopNest& nest_;
  const SizeValues& sizes_;
  std::map<std::string, int64_t> per_step_;
  std::map<std::string, StagePlace> places_;
  std::set<std::string> slid_along_;
  std::map<const Loop*, std::vector<const Loop*>> parts_;
  std::map<const Alloc*, std::map<size_t, const Loop*>> loops_over_axes_;
  std::set<const Loop*> carrying_;                       // whose iterations need their order
  std::unordered_map<const Node*, int64_t> operations_;  // in the steady state
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
