#include <algorithm>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_storage.h"
#include "passes/nest/guard_tails.h"
#include "passes/nest/map_point.h"
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
  NodePtr mutate_window(const NodePtr& node, const WindowNode& window) override {
    WindowNode changed = window;
    for (Window& slide : changed.slides) {
      auto found = variables_.find(slide.loop);
      if (found != variables_.end()) slide.loop = found->second;
    }
    return mutate_inside(changed.slides.empty() ? node : make_node(std::move(changed)));
  }

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
      : nest_(nest), regions_(regions), storage_(storage) {
    for (const ScheduledStage& plan : nest.stages) {
      if (plan.compute_with) sharing_[plan.compute_with->stage].push_back(&plan);
      if (!plan.compute_at) continue;
      at_loop_[plan.compute_at->variable()].push_back(&plan);
      if (plan.outlives_compute_loop()) {
        stored_at_[plan.store_root ? "" : plan.store_at->variable()].push_back(&plan);
      }
      if (plan.hoist_at) hoisted_at_[plan.hoist_at->variable()].push_back(&plan);
    }
  }

  NodePtr root() {
    std::vector<const ScheduledStage*> at_root;
    for (const ScheduledStage& plan : nest_.stages) {
      if (!plan.compute_at) at_root.push_back(&plan);
    }
    return with_storage("", with_stages(at_root, nullptr));
  }

 private:
  // The nests of the stages from `first` on, then `rest`, each internal one inside its Alloc.
  NodePtr with_stages(const std::vector<const ScheduledStage*>& stages, const NodePtr& rest) {
    return with_stages(grouped(stages), 0, rest);
  }

  // Stages that share loops, one after another: first those that use the loops of another, whose
  // storage is around these loops, then that other. Everything after what it needs.
  std::vector<const ScheduledStage*> grouped(std::vector<const ScheduledStage*> waiting) const {
    const bool any = std::any_of(waiting.begin(), waiting.end(), [](const ScheduledStage* plan) {
      return plan->compute_with.has_value();
    });
    if (!any) return waiting;
    std::vector<const ScheduledStage*> result;
    while (!waiting.empty()) {
      std::vector<const ScheduledStage*> group;
      for (size_t i = 0; group.empty(); ++i) {
        EMULSION_CHECK(i < waiting.size(), "stages that share loops and need each other");
        group = group_of(*waiting[i]);
        if (needs_any(group, waiting)) group.clear();
      }
      for (const ScheduledStage* member : group) {
        waiting.erase(std::find(waiting.begin(), waiting.end(), member));
        result.push_back(member);
      }
    }
    return result;
  }

  std::vector<const ScheduledStage*> group_of(const ScheduledStage& member) const {
    const ScheduledStage* leader =
        member.compute_with ? nest_.find(member.compute_with->stage) : &member;
    std::vector<const ScheduledStage*> group = stages_sharing(*leader);
    group.push_back(leader);
    return group;
  }

  std::vector<const ScheduledStage*> stages_sharing(const ScheduledStage& leader) const {
    auto found = sharing_.find(leader.stage.name);
    return found == sharing_.end() ? std::vector<const ScheduledStage*>() : found->second;
  }

  bool needs_any(const std::vector<const ScheduledStage*>& group,
                 const std::vector<const ScheduledStage*>& others) const {
    for (const ScheduledStage* other : others) {
      if (std::find(group.begin(), group.end(), other) != group.end()) continue;
      for (const ScheduledStage* member : group) {
        if (depends_on(nest_, member->stage.name, other->stage.name)) return true;
      }
    }
    return false;
  }

  NodePtr with_stages(const std::vector<const ScheduledStage*>& stages, size_t first,
                      const NodePtr& rest) {
    std::vector<NodePtr> children;
    for (size_t i = first; i < stages.size(); ++i) {
      if (!stages[i]->is_output) {
        std::vector<NodePtr> inside = nests_of(*stages[i]);
        if (NodePtr following = with_stages(stages, i + 1, rest)) inside.push_back(following);
        NodePtr block = make_block(std::move(inside));
        children.push_back(stages[i]->outlives_compute_loop() ? block : alloc(*stages[i], block));
        return make_block(std::move(children));
      }
      for (NodePtr& nest : nests_of(*stages[i])) children.push_back(std::move(nest));
    }
    if (rest) children.push_back(rest);
    if (children.empty()) return nullptr;
    return make_block(std::move(children));
  }

  // What is inside a loop (or the root), inside the storage that begins there.
  NodePtr with_storage(const std::string& loop, NodePtr inside) {
    for (const ScheduledStage* plan : stored_at_[loop]) inside = alloc(*plan, std::move(inside));
    for (const ScheduledStage* plan : hoisted_at_[loop]) {
      HoistedAlloc hoisted;
      set_storage(*plan, &hoisted);
      hoisted.body = std::move(inside);
      inside = make_node(std::move(hoisted));
    }
    return inside;
  }

  const StageRegion& region_of(const ScheduledStage& plan) const {
    return regions_[nest_.position(plan.stage.name)];
  }

  const StageStorage& storage_of(const ScheduledStage& plan) const {
    return storage_[nest_.position(plan.stage.name)];
  }

  NodePtr alloc(const ScheduledStage& plan, NodePtr body) const {
    Alloc alloc;
    set_storage(plan, &alloc);
    alloc.mins = storage_of(plan).mins;
    alloc.body = std::move(body);
    return make_node(std::move(alloc));
  }

  void set_storage(const ScheduledStage& plan, Storage* storage) const {
    const StageStorage& stored = storage_of(plan);
    storage->stage = plan.stage.name;
    storage->memory = stored.memory;
    storage->extents = stored.extents;
    storage->layout = stored.layout;
  }

  // Nothing of a stage that shares the loops of another: it is inside the nests of that one.
  std::vector<NodePtr> nests_of(const ScheduledStage& plan) {
    if (plan.compute_with) return {};
    std::vector<NodePtr> nests = branches_of(plan);
    if (!plan.outlives_compute_loop()) return nests;
    const StageRegion& region = region_of(plan);
    return {make_node(WindowNode{plan.stage.name, region.needed_mins(), region.needed_extents(),
                                 region.windows(), make_block(std::move(nests))})};
  }

  std::vector<NodePtr> parts_of(const ScheduledStage& plan, const StageCase& one) {
    if (!plan.stage.is_reduction()) return {nest_of(plan, one, Part::pure)};
    return {nest_of(plan, one, Part::init), nest_of(plan, one, Part::update)};
  }

  // if the first condition: its nests; else if the second: ...; else the general nests
  std::vector<NodePtr> branches_of(const ScheduledStage& plan) {
    const std::vector<StageCase> cases = cases_of(plan, region_of(plan));
    std::vector<NodePtr> nests = parts_of(plan, cases.front());
    for (size_t i = plan.specialized_loops.size(); i-- > 0;) {
      Branch branch;
      branch.stage = plan.stage.name;
      branch.part = plan.stage.is_reduction() ? Part::update : Part::pure;
      branch.condition = plan.stage.specializations[i].condition;
      branch.holds = make_block(parts_of(plan, cases[i + 1]));
      branch.otherwise = make_block(std::move(nests));
      nests = {make_node(std::move(branch))};
    }
    return nests;
  }

  // From loop `outermost` on.
  NodePtr nest_of(const ScheduledStage& plan, const StageCase& one, Part part,
                  size_t outermost = 0) {
    std::vector<ScheduledLoop> loops;
    for (const ScheduledLoop& loop : one.loops) {
      if (part != Part::init || !loop.is_reduction) loops.push_back(loop);
    }
    NodePtr node = uop(plan, one, part);
    auto extents = loop_extents(one.stage, one.extents);
    std::vector<std::string> shared;
    for (size_t i = loops.size(); i-- > outermost;) {
      const std::string& name = loops[i].name;
      if (part != Part::init) {
        auto here = at_loop_.find(loop_variable(plan.stage.name, name));
        if (here != at_loop_.end()) node = with_stages(here->second, node);
        node = with_storage(loop_variable(plan.stage.name, name), node);
      }
      for (const ScheduledStage* sharing : stages_sharing(plan)) {
        if (sharing->compute_with->loop != name) continue;
        node = make_block({node, inside_shared(*sharing, part, plan, loops, i + 1)});
        shared.push_back(sharing->stage.name);
      }
      Loop loop;
      loop.shared = shared;
      loop.stage = plan.stage.name;
      loop.part = part;
      loop.axis = name;
      static_cast<LoopMarks&>(loop) = loops[i];
      loop.extent = simplify_index(extents.at(name));
      for (const Directive& d : plan.prefetches) {
        if (part == Part::init || d.axes[0] != name) continue;
        loop.prefetches.push_back({d.target, d.factor});
      }
      loop.body = std::move(node);
      node = make_node(std::move(loop));
    }
    return node;
  }

  // A copy from the scratchpad to main memory is a Store, as an output is.
  bool stores_a_tile(const ScheduledStage& plan) const {
    const bool in_heap = storage_of(plan).memory == Memory::heap;
    if (!in_heap || plan.stage.body->op != ExprOp::read) return false;
    const ScheduledStage* source = nest_.find(plan.stage.body->name);
    return source && storage_of(*source).memory == Memory::scratchpad;
  }

  // The nest of `plan` inside the first `count` of these loops of `leader`, which are its own too.
  NodePtr inside_shared(const ScheduledStage& plan, Part part, const ScheduledStage& leader,
                        const std::vector<ScheduledLoop>& loops, size_t count) {
    std::map<std::string, std::string> variables;
    for (size_t i = 0; i < count; ++i) {
      variables[loop_variable(plan.stage.name, loops[i].name)] =
          loop_variable(leader.stage.name, loops[i].name);
    }
    const StageCase general = cases_of(plan, region_of(plan)).front();
    return VariableChanger(variables).mutate(nest_of(plan, general, part, count));
  }

  NodePtr uop(const ScheduledStage& plan, const StageCase& one, Part part) const {
    const Stage& stage = one.stage;
    UopNode node;
    node.stage = stage.name;
    node.part = part;
    if (part == Part::pure && (plan.is_output || stores_a_tile(plan))) {
      node.kind = UopKind::store;
    } else if (part == Part::pure && stage.body->op == ExprOp::read) {
      node.kind = UopKind::load;
    }
    PointMap map = map_point(stage, part, one.extents);
    const std::vector<Expr> mins = region_of(plan).mins();
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      node.point.push_back(simplify_index(mins[i] + map.local.at(stage.axes[i].name())));
    }
    if (part == Part::update) {
      for (const Axis& axis : stage.reduction_axes) {
        node.point.push_back(map.local.at(axis.name()));
      }
    }
    const std::vector<Tail> tails = guard_tails(stage, part);
    for (size_t i = 0; i < map.guards.size(); ++i) {
      node.guards.push_back({map.guards[i], mask_of(tails.at(i))});
    }
    node.atomic = part == Part::update && plan.atomic;
    return make_node(std::move(node));
  }

  const NestPlan& nest_;
  const std::vector<StageRegion>& regions_;
  const std::vector<StageStorage>& storage_;
  std::map<std::string, std::vector<const ScheduledStage*>>
      at_loop_;  // computed there, by loop variable
  std::map<std::string, std::vector<const ScheduledStage*>> sharing_;  // its loops, by stage
  // Kept from there on, and allocated there; at the root: by the empty name.
  std::map<std::string, std::vector<const ScheduledStage*>> stored_at_, hoisted_at_;
};

}  // namespace

NodePtr build_tree(const NestPlan& nest, const std::vector<StageRegion>& regions,
                   const std::vector<StageStorage>& storage) {
  return TreeBuilder(nest, regions, storage).root();
}

}  // namespace emulsion
