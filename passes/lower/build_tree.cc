#include <algorithm>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/alternatives.h"
#include "passes/lower/inline_reads.h"
#include "passes/lower/stage_storage.h"
#include "passes/nest/axis_pieces.h"
#include "passes/nest/map_point.h"
#include "passes/nest/prefetch_box.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

NodePtr make_block(std::vector<NodePtr> children) {
  if (children.size() == 1) return children.front();
  return make_node(Block{std::move(children)});
}

// Takes some loop variables for others.
class VariableChanger : public NestMutator {
 public:
  explicit VariableChanger(const std::map<std::string, std::string>& variables)
      : variables_(variables) {}

 private:
  Expr mutate_expr(const Expr& expr) override {
    return substitute_axes(expr, [&](const std::string& name) {
      auto found = variables_.find(name);
      return found == variables_.end() ? Expr() : axis_value(found->second);
    });
  }

  const std::map<std::string, std::string>& variables_;
};

class TreeBuilder {
 public:
  TreeBuilder(const NestPlan& nest, const std::vector<StageRegion>& regions,
              const std::vector<StageStorage>& storage)
      : nest_(nest), regions_(regions), storage_(storage), parts_of_cases_(parts_of_cases(nest)) {
    for (StageId id = 0; id < nest.stages.size(); ++id) {
      const ScheduledStage& plan = nest.stages[id];
      const auto part = parts_of_cases_.find(id);
      const bool is_beside = part != parts_of_cases_.end() &&
                             plan.compute_at == nest.stages[part->second.reader].compute_at;
      if (is_beside) {
        beside_[part->second.reader].push_back(id);
      } else {
        computed_at_[plan.compute_at].push_back(id);
      }
      if (plan.outlives_compute_loop()) stored_at_[plan.store_at].push_back(id);
      if (plan.hoist_at) hoisted_at_[plan.hoist_at].push_back(id);
    }
  }

  NodePtr root() { return with_places(std::nullopt, 0, nullptr); }

 private:
  // The stages that something is done with at a loop, or at the root.
  using StagesByPlace = std::map<std::optional<LoopLevel>, std::vector<StageId>>;

  // What is inside a loop of that case of its stage, or the root: the stages that are computed
  // there, then `rest`, in the storage that begins there.
  NodePtr with_places(const std::optional<LoopLevel>& place, size_t number, const NodePtr& rest) {
    NodePtr inside = with_stages(grouped(of_case(computed_at_[place], number)), rest);
    for (StageId id : stored_at_[place]) inside = alloc(id, std::move(inside));
    for (StageId id : hoisted_at_[place]) {
      HoistedAlloc hoisted;
      set_storage(id, &hoisted);
      hoisted.body = std::move(inside);
      inside = make_node(std::move(hoisted));
    }
    return inside;
  }

  // Of the stages at one place those that this case needs.
  std::vector<StageId> of_case(std::vector<StageId> stages, size_t number) const {
    const auto is_left_out = [&](StageId id) {
      const auto part = parts_of_cases_.find(id);
      return part != parts_of_cases_.end() && is_at(id, part->second.reader) &&
             part->second.cases.count(number) == 0;
    };
    stages.erase(std::remove_if(stages.begin(), stages.end(), is_left_out), stages.end());
    return stages;
  }

  // Whether it is computed beside that stage, or in a loop of its own.
  bool is_at(StageId id, StageId reader) const {
    const std::optional<LoopLevel>& place = nest_.stages[id].compute_at;
    return place == nest_.stages[reader].compute_at || (place && place->stage == reader);
  }

  // Stages that share loops, one after another: first those that use the loops of another, whose
  // storage is around these loops, then that other. Everything after what it needs, and after the
  // loops in which that is kept.
  std::vector<StageId> grouped(std::vector<StageId> waiting) const {
    const bool any = std::any_of(waiting.begin(), waiting.end(), [&](StageId id) {
      return nest_.stages[id].compute_with.has_value();
    });
    if (!any && !nest_.keeps_whole) return waiting;
    std::vector<StageId> result;
    while (!waiting.empty()) {
      std::vector<StageId> group;
      for (size_t i = 0; group.empty(); ++i) {
        EMULSION_CHECK(i < waiting.size(), "stages that share loops and need each other");
        const StageId leader = nest_.leader_of(waiting[i]);
        group = nest_.stages[leader].sharing;
        group.push_back(leader);
        if (depends_on_any(group, waiting)) group.clear();
      }
      for (StageId member : group) {
        waiting.erase(std::find(waiting.begin(), waiting.end(), member));
        result.push_back(member);
      }
    }
    return result;
  }

  bool depends_on_any(const std::vector<StageId>& group, const std::vector<StageId>& others) const {
    for (StageId other : others) {
      if (std::find(group.begin(), group.end(), other) != group.end()) continue;
      for (StageId member : group) {
        if (depends_on(nest_, member, other)) return true;
      }
    }
    return false;
  }

  // The nests of the stages, then `rest`, each internal one inside its Alloc, which holds all that
  // comes behind it: from the last stage on.
  NodePtr with_stages(const std::vector<StageId>& stages, const NodePtr& rest) {
    std::vector<NodePtr> behind;
    if (rest) behind.push_back(rest);
    for (size_t i = stages.size(); i-- > 0;) {
      const ScheduledStage& plan = nest_.stages[stages[i]];
      std::vector<NodePtr> nests = nests_of(stages[i]);
      if (plan.is_output) {
        behind.insert(behind.begin(), nests.begin(), nests.end());
        continue;
      }
      if (!behind.empty()) nests.push_back(make_block(std::move(behind)));
      NodePtr block = make_block(std::move(nests));
      behind = {plan.outlives_compute_loop() ? std::move(block)
                                             : alloc(stages[i], std::move(block))};
    }
    return behind.empty() ? nullptr : make_block(std::move(behind));
  }

  NodePtr alloc(StageId id, NodePtr body) const {
    Alloc alloc;
    set_storage(id, &alloc);
    alloc.mins = storage_[id].mins;
    alloc.output = storage_[id].output;
    alloc.body = std::move(body);
    return make_node(std::move(alloc));
  }

  void set_storage(StageId id, Storage* storage) const {
    storage->stage = nest_.name_of(id);
    storage->memory = storage_[id].memory;
    storage->extents = storage_[id].extents;
    storage->layout = storage_[id].layout;
  }

  // Nothing of a stage that shares the loops of another: it is inside the nests of that one.
  std::vector<NodePtr> nests_of(StageId id) {
    const ScheduledStage& plan = nest_.stages[id];
    if (plan.compute_with) return {};
    std::vector<NodePtr> nests = branches_of(id);
    if (!plan.outlives_compute_loop() && !plan.kept_whole) return nests;
    const StageRegion& region = regions_[id];
    return {make_node(WindowNode{plan.stage.name, region.needed_mins(), region.needed_extents(),
                                 region.windows(), make_block(std::move(nests)), plan.kept_whole})};
  }

  // Those of a case, behind what it alone needs.
  std::vector<NodePtr> parts_of(StageId id, const StageCase& one, size_t number) {
    cases_around_.emplace_back(&regions_[id].stage, number);
    std::vector<NodePtr> parts = parts_in_case(id, one, number);
    cases_around_.pop_back();
    return parts;
  }

  std::vector<NodePtr> parts_in_case(StageId id, const StageCase& one, size_t number) {
    const std::vector<StageId> needed = of_case(beside_[id], number);
    if (is_copy_of_any(id, needed)) return {with_stages(needed, nullptr)};
    std::vector<NodePtr> parts;
    if (!one.stage.is_reduction()) {
      parts = {nest_of(id, one, number, Part::pure)};
    } else {
      parts = {nest_of(id, one, number, Part::init), nest_of(id, one, number, Part::update)};
    }
    if (needed.empty()) return parts;
    return {with_stages(needed, make_block(std::move(parts)))};
  }

  // Whether an output is, in the case at hand, a copy of a stage that is in its memory.
  bool is_copy_of_any(StageId id, const std::vector<StageId>& needed) const {
    const Expr body = body_here(regions_[id].stage);
    const std::optional<StageId> copied =
        body->op == ExprOp::read ? nest_.find(body->name) : std::nullopt;
    const bool is_there = copied && std::count(needed.begin(), needed.end(), *copied) > 0;
    return is_there && nest_.stages[*copied].in_output == id &&
           are_own_indices(nest_.stages[id].stage.axes, body->args);
  }

  // The body of a stage in the cases that are around the node at hand.
  Expr body_here(const Stage& stage) const { return body_in_cases(stage.body, cases_around_); }

  // if the first condition: its nests; else if the second: ...; else the general nests
  std::vector<NodePtr> branches_of(StageId id) {
    const Stage& stage = nest_.stages[id].stage;
    const std::vector<StageCase> cases = cases_of(nest_.stages[id], regions_[id]);
    std::vector<NodePtr> nests = parts_of(id, cases.front(), 0);
    for (size_t i = cases.size(); i-- > 1;) {
      Branch branch;
      branch.stage = stage.name;
      branch.part = stage.is_reduction() ? Part::update : Part::pure;
      branch.condition = stage.specializations[i - 1].condition;
      branch.holds = make_block(parts_of(id, cases[i], i));
      branch.otherwise = make_block(std::move(nests));
      nests = {make_node(std::move(branch))};
    }
    return nests;
  }

  // From loop `outermost` on.
  NodePtr nest_of(StageId id, const StageCase& one, size_t number, Part part,
                  size_t outermost = 0) {
    std::vector<ScheduledLoop> loops;
    for (const ScheduledLoop& loop : one.loops) {
      if (part != Part::init || !loop.is_reduction) loops.push_back(loop);
    }
    return loops_from(outermost, {id, one, number, part, loops, {}});
  }

  // The loops of a case of a stage, or of its start value.
  struct LoopsOfPart {
    StageId id;
    const StageCase& one;
    size_t number;
    Part part;
    const std::vector<ScheduledLoop>& loops;
    std::vector<AxisPiece> pieces;  // of axes that are cut: those at hand
  };

  // Those from one on. The first that is made of an axis that is cut is there for each piece.
  NodePtr loops_from(size_t outermost, const LoopsOfPart& of) {
    size_t end = outermost;
    std::optional<std::string> axis;
    while (end < of.loops.size() && !axis) {
      axis = next_cut_axis(of, of.loops[end].name);
      if (!axis) ++end;
    }
    if (!axis) return in_loops(uop(of.id, of.one, of.part, of.pieces), outermost, end, of);
    std::vector<NodePtr> all;
    for (const AxisPiece& piece : pieces_of(of.one.stage, *axis)) {
      LoopsOfPart inside = of;
      inside.pieces.push_back(piece);
      all.push_back(loops_from(end, inside));
    }
    return in_loops(make_block(with_blocks_dissolved(all)), outermost, end, of);
  }

  // The first cut axis that the loop is made of, of those whose piece is not decided.
  static std::optional<std::string> next_cut_axis(const LoopsOfPart& of, const std::string& loop) {
    if (of.one.stage.cuts.empty()) return std::nullopt;
    const std::set<std::string> made_of = axes_of_loop(of.one.stage, loop);
    for (const std::string& axis : cut_axes(of.one.stage)) {
      const bool is_decided =
          std::any_of(of.pieces.begin(), of.pieces.end(),
                      [&](const AxisPiece& piece) { return piece.axis == axis; });
      if (!is_decided && made_of.count(axis) > 0) return axis;
    }
    return std::nullopt;
  }

  // All pieces of a loop go into one block.
  static std::vector<NodePtr> with_blocks_dissolved(const std::vector<NodePtr>& nodes) {
    std::vector<NodePtr> result;
    for (const NodePtr& node : nodes) {
      const Block* block = node->as<Block>();
      const std::vector<NodePtr> one = {node};
      const std::vector<NodePtr>& added = block ? block->children : one;
      result.insert(result.end(), added.begin(), added.end());
    }
    return result;
  }

  // Of the axes that are cut, the pieces of those that the loop is the outermost of.
  static std::vector<AxisPiece> pieces_at(size_t loop, const LoopsOfPart& of) {
    std::vector<AxisPiece> result;
    for (const AxisPiece& piece : of.pieces) {
      const auto is_of_axis = [&](const ScheduledLoop& one) {
        return axes_of_loop(of.one.stage, one.name).count(piece.axis) > 0;
      };
      const auto first = std::find_if(of.loops.begin(), of.loops.end(), is_of_axis);
      if (first - of.loops.begin() == static_cast<std::ptrdiff_t>(loop)) result.push_back(piece);
    }
    return result;
  }

  // The node in the loops from `outermost` on, before `end`.
  NodePtr in_loops(NodePtr node, size_t outermost, size_t end, const LoopsOfPart& of) {
    const auto& [id, one, number, part, loops, pieces] = of;
    const ScheduledStage& plan = nest_.stages[id];
    auto extents = loop_extents(one.stage, one.extents_in(pieces));
    std::vector<std::string> shared;
    // Where anything is placed or shared, each case has the loops of the general one.
    for (size_t i = end; i-- > outermost;) {
      const std::string& name = loops[i].name;
      if (part != Part::init) node = with_places(LoopLevel{id, i}, number, node);
      for (StageId sharing : plan.sharing) {
        if (nest_.stages[sharing].compute_with->loop != i) continue;
        node = make_block({node, inside_shared(sharing, part, id, i + 1)});
        shared.push_back(nest_.name_of(sharing));
      }
      Loop loop;
      loop.shared = shared;
      loop.pieces = pieces_at(i, of);
      loop.stage = plan.stage.name;
      loop.part = part;
      loop.axis = name;
      static_cast<LoopMarks&>(loop) = loops[i];
      loop.extent = simplify_index(extents.at(name));
      for (const Directive& d : plan.prefetches) {
        if (part == Part::init || d.axes[0] != name) continue;
        const std::string buffer = prefetched_buffer(nest_, id, d);
        const auto stage_of = [&](const std::string& stage) -> const Stage& {
          return nest_.stages[*nest_.find(stage)].stage;
        };
        if (reads_inside(*node, buffer, stage_of)) loop.prefetches.push_back({buffer, d.factor});
      }
      loop.body = std::move(node);
      node = make_node(std::move(loop));
    }
    return node;
  }

  // A copy from the scratchpad to main memory is a Store, as an output is.
  bool stores_a_tile(StageId id) const {
    const Expr& body = nest_.stages[id].stage.body;
    if (storage_[id].memory != Memory::heap || body->op != ExprOp::read) return false;
    const std::optional<StageId> source = nest_.find(body->name);
    return source && storage_[*source].memory == Memory::scratchpad;
  }

  // The nest of a stage inside the first `count` loops of `leader`, which are its own too.
  NodePtr inside_shared(StageId id, Part part, StageId leader, size_t count) {
    std::map<std::string, std::string> variables;
    for (size_t i = 0; i < count; ++i) {
      variables[nest_.variable({id, i})] = nest_.variable({leader, i});
    }
    const StageCase general = cases_of(nest_.stages[id], regions_[id]).front();
    return VariableChanger(variables).mutate(nest_of(id, general, 0, part, count));
  }

  // `pieces`: of the axes that are cut, what it computes.
  NodePtr uop(StageId id, const StageCase& one, Part part,
              const std::vector<AxisPiece>& pieces) const {
    const ScheduledStage& plan = nest_.stages[id];
    const Stage& stage = one.stage;
    UopNode node;
    node.stage = stage.name;
    node.part = part;
    if (part == Part::pure && (plan.is_output || stores_a_tile(id))) {
      node.kind = UopKind::store;
    } else if (part == Part::pure && stage.body->op == ExprOp::read) {
      node.kind = UopKind::load;
    }
    PointMap map = map_point(stage, part, one.extents_in(pieces));
    const std::vector<Expr> mins = starts_in_pieces(stage, regions_[id].mins(), pieces);
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      node.point.push_back(simplify_index(mins[i] + map.local.at(stage.axes[i].name())));
    }
    if (part == Part::update) {
      for (const Axis& axis : stage.reduction_axes) {
        node.point.push_back(map.local.at(axis.name()));
      }
    }
    node.guards = std::move(map.guards);
    if (plan.ends_at_domain()) guard_domain(regions_[id], &node);
    node.atomic = part == Part::update && plan.atomic;
    const Expr body = part == Part::init
                          ? stage.body
                          : body_in_pieces(stage, body_here(stage), pieces,
                                           [&](const auto& name) { return shape_of(name); });
    if (!body.same_as(stage.body)) node.body = body;
    return make_node(std::move(node));
  }

  Shape shape_of(const std::string& buffer) const {
    const std::optional<StageId> made = nest_.find(buffer);
    if (!made) return nest_.find_buffer(buffer)->shape;
    Shape shape;
    for (const Axis& axis : nest_.stages[*made].stage.axes) shape.push_back(axis.extent());
    return shape;
  }

  // A tile may reach past the end of the domain.
  static void guard_domain(const StageRegion& region, UopNode* node) {
    for (size_t d = 0; d < region.axes.size(); ++d) {
      const Extent& extent = region.stage.axes[d].extent();
      const std::optional<Extent>& highest = region.axes[d].highest;
      const Extent spare = highest ? extent - Extent(1) - *highest : Extent(-1);
      if (never_negative(spare)) continue;
      node->guards.push_back({node->point[d] < extent_value(extent), GuardMask::instance});
    }
  }

  const NestPlan& nest_;
  const std::vector<StageRegion>& regions_;
  const std::vector<StageStorage>& storage_;
  const std::map<StageId, PartOfCases> parts_of_cases_;
  StagesByPlace computed_at_, stored_at_, hoisted_at_;
  // Computed in some cases of that stage alone, in front of it: not in computed_at_.
  std::map<StageId, std::vector<StageId>> beside_;
  StageCases cases_around_;  // the node that is built
};

}  // namespace

NodePtr build_tree(const NestPlan& nest, const std::vector<StageRegion>& regions,
                   const std::vector<StageStorage>& storage) {
  return TreeBuilder(nest, regions, storage).root();
}

}  // namespace emulsion
