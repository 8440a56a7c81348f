#include "passes/nest/end_vectors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/loop_steps.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// The first transform behind `from` that takes a loop; null where there is none.
const LoopTransform* first_of(const Stage& stage, const std::string& loop, size_t from = 0) {
  for (size_t i = from; i < stage.transforms.size(); ++i) {
    const LoopTransform& t = stage.transforms[i];
    const bool takes =
        t.kind == LoopTransform::Kind::fuse ? t.outer == loop || t.inner == loop : t.axis == loop;
    if (takes) return &t;
  }
  return nullptr;
}

size_t behind(const Stage& stage, const LoopTransform& t) {
  return static_cast<size_t>(&t - stage.transforms.data()) + 1;
}

// Whether every case of it has the loops of the general one: a case starts with these.
bool has_same_loops_in_all_cases(const Stage& stage) {
  return std::all_of(
      stage.specializations.begin(), stage.specializations.end(),
      [&](const Specialization& one) { return one.transforms.size() == stage.transforms.size(); });
}

struct EndingVectors {
  VectorsAcross vectors;
  Expr rows;  // that are in the domain
};

class VectorEnder : public NestMutator {
 public:
  VectorEnder(const LoopNest& nest, const std::string& variable, const Expr& step,
              const std::set<std::string>& whole)
      : nest_(nest), variable_(variable), step_(step), whole_(whole) {
    for (const Stage& stage : nest.stages) add_own(stage);
  }

  std::map<std::string, size_t> take_masked() { return std::move(masked_); }

 private:
  // The stage whose loop is partitioned: its guards leave out what is beyond the domain anyway.
  void add_own(const Stage& stage) {
    const std::string prefix = loop_variable(stage.name, "");
    if (variable_.compare(0, prefix.size(), prefix) != 0) return;
    if (!has_same_loops_in_all_cases(stage)) return;
    const auto vectors = vectors_across_tiles(stage, variable_.substr(prefix.size()));
    if (!vectors) return;
    const Expr start = simplify_index(step_ * int_constant(vectors->tile->factor));
    const Expr rows = steps_left(stage.axes[vectors->axis].extent(), start);
    endings_.emplace(stage.name, EndingVectors{*vectors, rows});
  }

  NodePtr mutate_alloc(const NodePtr& node, const Alloc& alloc) override {
    const bool may_end =
        alloc.output.empty() && alloc.memory != Memory::registers && !is_in_grid(alloc.stage);
    if (may_end && whole_.count(alloc.stage) == 0) {
      if (auto ending = ending_of(nest_.stage(alloc.stage), alloc)) {
        endings_.emplace(alloc.stage, *std::move(ending));
      }
    }
    NodePtr result = mutate_inside(node);
    endings_.erase(alloc.stage);
    return result;
  }

  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    const auto found = endings_.find(loop.stage);
    if (found == endings_.end()) return mutate_inside(node);
    const auto& [vectors, rows] = found->second;
    const bool is_vector = loop.axis == vectors.vector && loop.kind == LoopKind::vectorized;
    if (is_vector) in_vectors_.insert(loop.stage);
    NodePtr inside = mutate_inside(node);
    if (is_vector) in_vectors_.erase(loop.stage);
    const bool is_plain = loop.kind == LoopKind::serial && loop.shared.empty() &&
                          constant_value(loop.min) == 0 && constant_value(loop.extent);
    const bool is_guarded = vectors.tile != nullptr || inside != node;
    if (loop.axis != vectors.outer || !is_plain || !is_guarded) return inside;
    Loop made = *inside->as<Loop>();
    made.extent = least_of(vectors.vectors_of(rows), loop.extent);
    return make_node(std::move(made));
  }

  NodePtr mutate_uop(const NodePtr& node, const UopNode& uop) override {
    if (in_vectors_.count(uop.stage) == 0) return node;
    const VectorsAcross& vectors = endings_.at(uop.stage).vectors;
    if (vectors.tile != nullptr) return node;
    UopNode made = uop;
    const Extent& extent = nest_.stage(uop.stage).axes[vectors.axis].extent();
    const Expr is_inside = uop.point[vectors.axis] < extent_value(extent);
    made.guards.push_back({is_inside, GuardMask::loads_and_stores});
    masked_.emplace(uop.stage, vectors.axis);
    const Expr& body = body_of(nest_.stage(uop.stage), uop);
    Expr unclamped = without_clamps(body, nest_.stage(uop.stage).axes[vectors.axis]);
    if (!unclamped.same_as(body)) made.body = std::move(unclamped);
    return make_node(std::move(made));
  }

  // The body without the clamps that bring an axis back to its last step, of which the guard leaves
  // none out: elements that lie in a row would be gathered.
  static Expr without_clamps(const Expr& body, const Axis& axis) {
    const auto is_clamped = [&](const Expr& e) {
      const std::optional<Clamp> clamp = clamp_of(e);
      return clamp && clamp->is_most && clamp->bound == axis.extent() - Extent(1) &&
             clamp->value->op == ExprOp::axis && clamp->value->name == axis.name();
    };
    return with_indices(body, [&](const Expr& read) {
      std::vector<Expr> indices = read->args;
      for (Expr& index : indices) {
        index =
            transform(index, [&](const Expr& e) { return is_clamped(e) ? Expr(axis) : Expr(); });
      }
      return indices;
    });
  }

  // A grid counts all the tiles of its stages.
  bool is_in_grid(const std::string& stage) const {
    return std::any_of(nest_.tile_grids.begin(), nest_.tile_grids.end(), [&](const TileGrid& grid) {
      return grid.stage == stage || grid.result == stage;
    });
  }

  std::optional<EndingVectors> ending_of(const Stage& stage, const Alloc& alloc) const {
    if (stage.is_reduction() || !has_same_loops_in_all_cases(stage)) return std::nullopt;
    for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
      const Expr start =
          simplify_index(substitute_axes(alloc.mins[axis], [&](const std::string& name) {
            return name == variable_ ? step_ : Expr();
          }));
      if (equal(start, alloc.mins[axis]) || depends_on_loops(start)) continue;
      const Expr rows = steps_left(stage.axes[axis].extent(), start);
      if (at_least(rows, alloc.extents[axis])) continue;
      const auto vectors = vectors_across(stage, axis, nullptr, alloc.extents);
      return vectors ? std::optional(EndingVectors{*vectors, rows}) : std::nullopt;
    }
    return std::nullopt;
  }

  const LoopNest& nest_;
  const std::string& variable_;
  const Expr& step_;
  const std::set<std::string>& whole_;
  std::map<std::string, size_t> masked_;
  std::map<std::string, EndingVectors>
      endings_;                       // of stages that are allocated around, and of its own
  std::set<std::string> in_vectors_;  // stages whose vectors are around
};

}  // namespace

Expr VectorsAcross::vectors_of(const Expr& rows) const {
  const Expr elements = rows * int_constant(of_row);
  return simplify_index((elements + int_constant(lanes - 1)) / int_constant(lanes));
}

std::optional<VectorsAcross> vectors_across(const Stage& stage, size_t axis,
                                            const LoopTransform* tile,
                                            const std::vector<Expr>& extents) {
  const auto is_cut = [](const auto& one) { return !one.cuts.empty(); };
  if (is_cut(stage) ||
      std::any_of(stage.specializations.begin(), stage.specializations.end(), is_cut)) {
    return std::nullopt;
  }
  const std::string& row = tile != nullptr ? tile->inner : stage.axes[axis].name();
  VectorsAcross across;
  across.axis = axis;
  across.tile = tile;
  const LoopTransform* next = first_of(stage, row, tile != nullptr ? behind(stage, *tile) : 0);
  if (next != nullptr && next->kind == LoopTransform::Kind::fuse) {
    const std::optional<size_t> inner = axis_index(stage.axes, next->inner);
    const int64_t of_row = inner ? constant_value(extents[*inner]).value_or(0) : 0;
    if (next->outer != row || of_row < 1) return std::nullopt;
    if (first_of(stage, next->inner) != next) return std::nullopt;
    across.of_row = of_row;
    next = first_of(stage, next->axis, behind(stage, *next));
  }
  const bool is_split = next != nullptr && next->kind == LoopTransform::Kind::split;
  if (!is_split || next->tail != Tail::round_up) return std::nullopt;
  across.outer = next->outer;
  across.vector = next->inner;
  across.lanes = next->factor;
  return across;
}

std::optional<VectorsAcross> vectors_across_tiles(const Stage& stage, const std::string& outer) {
  if (stage.is_reduction()) return std::nullopt;
  std::vector<Expr> extents;
  for (const Axis& axis : stage.axes) extents.push_back(extent_value(axis.extent()));
  for (const LoopTransform& t : stage.transforms) {
    if (t.kind != LoopTransform::Kind::split || t.outer != outer) continue;
    const std::optional<size_t> axis = axis_index(stage.axes, t.axis);
    const bool is_guarded = t.tail == Tail::guard || t.tail == Tail::predicate;
    if (!axis || !is_guarded || first_of(stage, t.axis) != &t) return std::nullopt;
    return vectors_across(stage, *axis, &t, extents);
  }
  return std::nullopt;
}

EndedVectors end_vectors(const LoopNest& nest, const NodePtr& body, const std::string& variable,
                         const Expr& step, const std::set<std::string>& whole) {
  VectorEnder ender(nest, variable, step, whole);
  NodePtr ended = ender.mutate(body);
  return {std::move(ended), ender.take_masked()};
}

}  // namespace emulsion
