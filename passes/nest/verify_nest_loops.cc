#include "passes/nest/verify_nest_loops.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/index/index_table.h"
#include "passes/nest/map_point.h"
#include "passes/nest/verify_nest_context.h"

namespace emulsion {
namespace {

// ", at B = 3, y.mo = 0"
std::string place_of(const IndexTable& table, size_t point) {
  std::string place;
  for (const auto& [name, values] : table.variables()) {
    place += fmt::format("{}{} = {}", place.empty() ? ", at " : ", ", name, values[point]);
  }
  return place;
}

// Whether two bodies are the same but for indices of reads; those, pairwise.
bool same_but_for_indices(const Expr& a, const Expr& b,
                          std::vector<std::pair<Expr, Expr>>* indices) {
  if (a.same_as(b)) return true;
  const bool reads = a->op == ExprOp::read;
  if (a->op != b->op || a->dtype != b->dtype || a->name != b->name ||
      a->args.size() != b->args.size()) {
    return false;
  }
  if (a->args.empty()) return equal(a, b);
  for (size_t i = 0; i < a->args.size(); ++i) {
    const Expr &x = a->args[i], &y = b->args[i];
    const bool index = reads && is_index(x) && is_index(y);
    if (index && !equal(x, y)) indices->emplace_back(x, y);
    if (!index && !same_but_for_indices(x, y, indices)) return false;
  }
  return true;
}

class LoopsVerifier : public ContextVisitor {
 public:
  explicit LoopsVerifier(const LoopNest& nest) : ContextVisitor(nest) {}

  void verify() { walk(*nest_.root); }

 private:
  void visit_block(const Block& block) override {
    for (size_t first = 0; first < block.children.size();) {
      const size_t count = parts_from(block, first);
      std::vector<const Loop*> parts;
      for (size_t i = first; i < first + count; ++i) {
        if (const Loop* loop = block.children[i]->as<Loop>()) parts.push_back(loop);
      }
      if (parts.empty()) {
        walk(*block.children[first]);
      } else {
        visit_parts(parts);
      }
      first += count;
    }
  }

  void visit_loop(const Loop& loop) override { visit_parts({&loop}); }

  void visit_parts(const std::vector<const Loop*>& parts) {
    verify_parts(parts);
    for (const Loop* part : parts) ContextVisitor::visit_loop(*part);
  }

  // The extents of what is computed of a stage at once.
  std::vector<Expr> region_of(const Stage& stage) const {
    if (auto window = windows_.find(stage.name); window != windows_.end()) {
      return window->second->computed_extents();
    }
    if (auto alloc = allocs_.find(stage.name); alloc != allocs_.end()) {
      return alloc->second->extents;
    }
    std::vector<Expr> extents;
    for (const Axis& axis : stage.axes) extents.push_back(extent_value(axis.extent()));
    return extents;
  }

  // With predicate_loads, storage is wider than the region, for what is stored past its end: how
  // long the region is, only the guards say.
  static bool is_widened(const Stage& stage) {
    return std::any_of(stage.transforms.begin(), stage.transforms.end(),
                       [](const LoopTransform& t) { return t.tail == Tail::predicate_loads; });
  }

  void verify_parts(const std::vector<const Loop*>& parts) const {
    const Loop& loop = *parts.front();
    const Stage& stage = stage_here(loop.stage);
    LoopSamples here = samples();
    const IndexColumn whole =
        here.table.values(loop_extents(stage, region_of(stage)).at(loop.axis), here.runs);
    IndexColumn next(here.table.points(), 0);  // the step that the next part is to begin with
    const std::string name = "nest " + nest_.name + ": loop " + loop.variable();
    for (const Loop* part : parts) {
      const IndexColumn mins = here.table.values(part->min, here.runs);
      const IndexColumn& extents = here.table.values(part->extent, here.runs);
      for (size_t i = 0; i < next.size(); ++i) {
        if (!here.runs[i] || extents[i] <= 0) continue;
        EMULSION_CHECK(mins[i] >= next[i], "{}: step {} is taken twice{}", name, mins[i],
                       place_of(here.table, i));
        EMULSION_CHECK(mins[i] == next[i], "{}: step {} is left out{}", name, next[i],
                       place_of(here.table, i));
        next[i] = mins[i] + extents[i];
      }
    }
    const bool at_most = is_widened(stage);
    for (size_t i = 0; i < next.size(); ++i) {
      const int64_t steps = std::max<int64_t>(0, whole[i]);
      EMULSION_CHECK(!here.runs[i] || (at_most ? next[i] <= steps : next[i] == steps),
                     "{}: {} steps, expected {}{}", name, next[i], whole[i],
                     place_of(here.table, i));
    }
  }

  void visit_uop(const UopNode& uop) override {
    LoopSamples here = samples();
    // In loops that several stages share, each has variables of its own.
    for (const Loop* loop : loops_) {
      for (const std::string& other : loop->shared) {
        here.table.set(loop_variable(other, loop->axis),
                       here.table.variables().at(loop->variable()));
      }
    }
    PointMask expected = here.runs, found = here.runs;
    const Stage& stage = stage_here(uop.stage);
    for (const Guard& guard : map_point(stage, uop.part, region_of(stage)).guards) {
      restrict_to(here.table.values(guard.condition, here.runs), &expected);
    }
    for (const Guard& guard : uop.guards) {
      restrict_to(here.table.values(guard.condition, here.runs), &found);
    }
    const bool or_less = is_widened(stage);
    for (size_t i = 0; i < found.size(); ++i) {
      EMULSION_CHECK(or_less ? found[i] <= expected[i] : found[i] == expected[i],
                     "nest {}: the guards of {} {} it out{}", nest_.name, uop.stage,
                     expected[i] ? "leave" : "do not leave", place_of(here.table, i));
    }
    if (uop.body.defined()) verify_body(uop, stage, found, &here.table);
  }

  static void restrict_to(const IndexColumn& condition, PointMask* mask) {
    for (size_t i = 0; i < mask->size(); ++i) (*mask)[i] &= condition[i] != 0 ? 1 : 0;
  }

  void verify_body(const UopNode& uop, const Stage& stage, const PointMask& runs,
                   IndexTable* table) const {
    std::vector<std::pair<Expr, Expr>> indices;
    EMULSION_CHECK(uop.part != Part::init && same_but_for_indices(uop.body, stage.body, &indices),
                   "nest {}: a uOp of {} evaluates {}, its stage {}", nest_.name, uop.stage,
                   to_string(uop.body), to_string(stage.body));
    IndexTable axes(table->points());
    for (const std::string& size : nest_.sizes) axes.set(size, table->variables().at(size));
    for (size_t i = 0; i < uop.point.size(); ++i) {
      const bool pure = i < stage.axes.size();
      const Axis& axis = pure ? stage.axes[i] : stage.reduction_axes[i - stage.axes.size()];
      axes.set(axis.name(), table->values(uop.point[i], runs));
    }
    for (const auto& [own, of_stage] : indices) {
      const IndexColumn x = axes.values(own, runs);
      const IndexColumn& y = axes.values(of_stage, runs);
      for (size_t i = 0; i < runs.size(); ++i) {
        EMULSION_CHECK(!runs[i] || x[i] == y[i],
                       "nest {}: a uOp of {} reads at {} = {}, its stage at {} = {}{}", nest_.name,
                       uop.stage, to_string(own), x[i], to_string(of_stage), y[i],
                       place_of(*table, i));
      }
    }
  }
};

}  // namespace

void verify_nest_loops(const LoopNest& nest) { LoopsVerifier(nest).verify(); }

}  // namespace emulsion
