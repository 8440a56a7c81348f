#include "passes/nest/verify_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/nest/map_point.h"
#include "passes/nest/prefetch_box.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/verify_nest_bounds.h"
#include "passes/nest/verify_nest_loops.h"
#include "passes/nest/verify_nest_outputs.h"
#include "passes/nest/verify_nest_parts.h"
#include "passes/nest/verify_nest_storage.h"
#include "passes/nest/verify_nest_tables.h"
#include "passes/nest/verify_nest_written.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// Every legal form of a uOp: a new one is not done until it has a line here.
struct LegalUop {
  UopKind kind;
  Part part;
  BufferRole target;
  const char* form;
};
constexpr LegalUop kLegalUops[] = {
    {UopKind::load, Part::pure, BufferRole::internal, "load of one read, into storage"},
    {UopKind::execute, Part::pure, BufferRole::internal, "value that stays in the kernel"},
    {UopKind::execute, Part::init, BufferRole::internal, "start value of an inner reduction"},
    {UopKind::execute, Part::update, BufferRole::internal, "update of an inner reduction"},
    {UopKind::execute, Part::init, BufferRole::output,
     "start value of a reduction that is an output"},
    {UopKind::execute, Part::update, BufferRole::output, "update of a reduction that is an output"},
    {UopKind::store, Part::pure, BufferRole::output, "value that goes to an output"},
    {UopKind::store, Part::pure, BufferRole::internal, "tile copied from the scratchpad to memory"},
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string name_of(UopKind kind) {
  static const char* const kNames[] = {"load", "execute", "store"};
  return kNames[static_cast<int>(kind)];
}

std::string name_of(Part part) {
  static const char* const kNames[] = {"pure", "init", "update"};
  return kNames[static_cast<int>(part)];
}

using StagePart = std::pair<std::string, Part>;

class TreeVerifier : public NestVisitor {
 public:
  explicit TreeVerifier(const LoopNest& nest) : nest_(nest) {}

  void verify() {
    EMULSION_CHECK(nest_.root != nullptr, "nest {}: no root", nest_.name);
    check_children(*nest_.root);
    walk(*nest_.root);
    for (const Stage& stage : nest_.stages) {
      for (Part part : parts_of(stage)) {
        EMULSION_CHECK(written_.count({stage.name, part}), "nest {}: stage {} has no {} uOp",
                       nest_.name, stage.name, name_of(part));
      }
    }
  }

 private:
  static std::vector<Part> parts_of(const Stage& stage) {
    if (stage.is_reduction()) return {Part::init, Part::update};
    return {Part::pure};
  }

  void check_children(const Node& root) {
    for_each_node(root, [&](const Node& node) {
      for_each_child(node, [&](const NodePtr& child) {
        EMULSION_CHECK(child != nullptr, "nest {}: a child that is null", nest_.name);
      });
    });
  }

  void visit_block(const Block& block) override {
    for (size_t first = 0; first < block.children.size();) {
      const size_t parts = parts_from(block, first);
      walk_parts(block, first, parts);
      first += parts;
    }
  }

  // Each part of a loop does for its steps what the others do for theirs.
  void walk_parts(const Block& block, size_t first, size_t count) {
    if (count == 1) return walk(*block.children[first]);
    const auto allocated = allocated_;
    const auto written = written_;
    walk(*block.children[first]);
    for (size_t i = 1; i < count; ++i) {
      const auto written_before = std::exchange(written_, written);
      const auto allocated_before = std::exchange(allocated_, allocated);
      walk(*block.children[first + i]);
      EMULSION_CHECK(written_ == written_before && allocated_ == allocated_before,
                     "nest {}: loop {} whose parts do not compute the same stages", nest_.name,
                     block.children[first]->as<Loop>()->variable());
    }
  }

  // The specializations of a stage in their order, and last the general case. All sides do the same
  // work: what is written on one side is so on the other, but for what is stored there alone.
  void visit_branch(const Branch& branch) override {
    const Stage& stage = nest_.stage(branch.stage);
    check_part(stage, "branch", branch.part);
    const size_t index = case_[stage.name];
    EMULSION_CHECK(index < stage.specializations.size() &&
                       equal(branch.condition, stage.specializations[index].condition),
                   "nest {}: branch of {} where its specialization {} is not", nest_.name,
                   stage.name, index);
    const auto allocated = allocated_;
    const auto written = written_;
    specialized_.emplace(stage.name, specialized(stage, index));
    walk(*branch.holds);
    specialized_.erase(stage.name);
    const auto written_then = std::exchange(written_, written);
    const auto allocated_then = std::exchange(allocated_, allocated);
    case_[stage.name] = index + 1;
    walk(*branch.otherwise);
    case_[stage.name] = index;
    std::vector<StagePart> on_one_side;
    std::set_symmetric_difference(written_.begin(), written_.end(), written_then.begin(),
                                  written_then.end(), std::back_inserter(on_one_side));
    for (const StagePart& part : on_one_side) {
      EMULSION_CHECK(allocated_.count(part.first) != allocated_then.count(part.first),
                     "nest {}: branch of {} whose sides do not compute the same stages", nest_.name,
                     stage.name);
    }
    written_.insert(written_then.begin(), written_then.end());
    allocated_.insert(allocated_then.begin(), allocated_then.end());
  }

  // A stage as it is where the walk is: in a specialization, or in general.
  const Stage& stage_here(const std::string& name) const {
    auto found = specialized_.find(name);
    return found == specialized_.end() ? nest_.stage(name) : found->second;
  }

  void visit_loop(const Loop& loop) override {
    const Stage& stage = stage_here(loop.stage);
    const std::string variable = loop.variable();
    check_part(stage, "loop", loop.part);
    std::set<std::string> legal = loop_axes(stage, loop.part);
    EMULSION_CHECK(legal.count(loop.axis), "nest {}: loop {} is not a loop of {} ({}): {}",
                   nest_.name, variable, stage.name, name_of(loop.part), fmt::join(legal, ", "));
    EMULSION_CHECK(!in_scope(variable), "nest {}: loop {} inside itself", nest_.name, variable);
    check_index(loop.min, "the min of loop " + variable);
    check_extent(loop);
    check_loop_kind(loop, variable);
    for (const std::string& name : loop.shared) check_shared(loop, nest_.stage(name));
    for (const Prefetch& prefetch : loop.prefetches) check_prefetch(loop, prefetch);
    loops_.push_back(&loop);
    walk(*loop.body);
    loops_.pop_back();
    std::vector<std::string> owners = loop.shared;
    owners.push_back(loop.stage);
    for (const std::string& owner : owners) {
      EMULSION_CHECK(written_.count({owner, loop.part}), "nest {}: loop {} with no {} uOp of {}",
                     nest_.name, variable, name_of(loop.part), owner);
    }
  }

  void check_part(const Stage& stage, const std::string& what, Part part) {
    EMULSION_CHECK(stage.is_reduction() == (part != Part::pure),
                   "nest {}: {} of {} with part {}, the stage is {} reduction", nest_.name, what,
                   stage.name, name_of(part), stage.is_reduction() ? "a" : "no");
  }

  void check_loop_kind(const Loop& loop, const std::string& variable) {
    const bool constant = loop.extent->op == ExprOp::constant;
    const bool vectorized = loop.kind == LoopKind::vectorized;
    const bool unrolled = loop.kind == LoopKind::unrolled;
    const bool parallel = loop.kind == LoopKind::parallel;
    if (loop.kind == LoopKind::tile) check_tile_loop(loop, variable);
    EMULSION_CHECK(constant || !vectorized, "nest {}: vectorized loop {} without a constant extent",
                   nest_.name, variable);
    EMULSION_CHECK(constant || !unrolled, "nest {}: unrolled loop {} without a constant extent",
                   nest_.name, variable);
    for (const Loop* outer : loops_) {
      EMULSION_CHECK(outer->kind != LoopKind::vectorized || !(vectorized || parallel),
                     "nest {}: {} loop {} inside the vectorized loop {}", nest_.name,
                     vectorized ? "vectorized" : "parallel", variable, outer->variable());
    }
  }

  // One uOp: nothing around it but tile loops, down to it.
  void check_tile_loop(const Loop& loop, const std::string& variable) {
    EMULSION_CHECK(loop.min->op == ExprOp::constant && loop.extent->op == ExprOp::constant,
                   "nest {}: tile loop {} without a constant extent", nest_.name, variable);
    const Loop* inner = loop.body->as<Loop>();
    const UopNode* uop = loop.body->as<UopNode>();
    const bool tile = inner && inner->kind == LoopKind::tile && inner->stage == loop.stage;
    EMULSION_CHECK(tile || (uop && uop->stage == loop.stage),
                   "nest {}: {} in tile loop {}, expected a tile loop or a uOp of {}", nest_.name,
                   inner ? "another loop" : "no loop", variable, loop.stage);
  }

  void check_shared(const Loop& loop, const Stage& stage) {
    const std::string variable = loop_variable(stage.name, loop.axis);
    check_part(stage, "loop", loop.part);
    const bool reduced = loop.part == Part::update && reduction_loop_axes(stage).count(loop.axis);
    EMULSION_CHECK(
        stage.name != loop.stage && !reduced && loop_axes(stage, loop.part).count(loop.axis),
        "nest {}: loop {} with {}, which is no loop to share", nest_.name, loop.variable(),
        variable);
    EMULSION_CHECK(loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel,
                   "nest {}: loop {} with {}, neither serial nor parallel", nest_.name,
                   loop.variable(), variable);
    check_loop_kind(loop, variable);
  }

  void check_prefetch(const Loop& loop, const Prefetch& prefetch) {
    const std::string at = fmt::format("nest {}: a prefetch at {}", nest_.name, loop.variable());
    const std::string& buffer = prefetch.buffer;
    const bool is_in_turn = loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel;
    EMULSION_CHECK(is_in_turn && loop.part != Part::init, "{}, no loop that reads in turn", at);
    EMULSION_CHECK(prefetch.distance > 0, "{}, {} ahead", at, prefetch.distance);
    EMULSION_CHECK(prefetch.ahead_of.empty() || in_scope(prefetch.ahead_of),
                   "{}, ahead of {}, which is not around it", at, prefetch.ahead_of);
    EMULSION_CHECK(reads_inside(nest_, *loop.body, buffer), "{} of {}, which nothing inside reads",
                   at, buffer);
    const BufferRole role = nest_.buffer(buffer).role;
    EMULSION_CHECK(role != BufferRole::internal || live_.count(buffer),
                   "{} of {}, which is stored inside", at, buffer);
    EMULSION_CHECK(role != BufferRole::output && role != BufferRole::constant, "{} of the {} {}",
                   at, to_string(role), buffer);
  }

  void visit_alloc(const Alloc& alloc) override {
    const Stage& stage = nest_.stage(alloc.stage);
    const Buffer& buffer = nest_.buffer(alloc.stage);
    EMULSION_CHECK(buffer.role == BufferRole::internal,
                   "nest {}: alloc of {}, which is not internal", nest_.name, alloc.stage);
    EMULSION_CHECK(allocated_.insert(alloc.stage).second, "nest {}: a second alloc of {}",
                   nest_.name, alloc.stage);
    EMULSION_CHECK(
        alloc.mins.size() == stage.axes.size() && alloc.extents.size() == stage.axes.size(),
        "nest {}: alloc of {} with {} mins and {} extents for {} axes", nest_.name, alloc.stage,
        alloc.mins.size(), alloc.extents.size(), stage.axes.size());
    EMULSION_CHECK(alloc.memory != Memory::automatic, "nest {}: alloc of {} in automatic memory",
                   nest_.name, alloc.stage);
    for (const Expr& min : alloc.mins) check_index(min, "a min of alloc " + alloc.stage);
    verify_layout(nest_, alloc);
    auto hoisted = hoisted_.find(alloc.stage);
    if (hoisted != hoisted_.end()) verify_fits(nest_, alloc, *hoisted->second);
    for (size_t d = 0; d < alloc.extents.size(); ++d) {
      const Expr& extent = alloc.extents[d];
      check_sizes_only(extent, "an extent of alloc " + alloc.stage);
      const bool is_known = extent->op == ExprOp::constant || alloc.layout.room(d) > 0;
      EMULSION_CHECK(alloc.memory == Memory::heap || is_known,
                     "nest {}: alloc of {} in {} without constant extents", nest_.name, alloc.stage,
                     to_string(alloc.memory));
    }
    live_.insert(alloc.stage);
    walk(*alloc.body);
    live_.erase(alloc.stage);
    // Where the output is a copy of what is in it (verify_nest_outputs), nothing is left to do.
    if (!alloc.output.empty()) written_.insert({alloc.output, Part::pure});
  }

  void visit_hoisted_alloc(const HoistedAlloc& hoisted) override {
    const Stage& stage = nest_.stage(hoisted.stage);
    EMULSION_CHECK(hoisted.extents.size() == stage.axes.size(),
                   "nest {}: hoisted alloc of {} with {} extents for {} axes", nest_.name,
                   stage.name, hoisted.extents.size(), stage.axes.size());
    EMULSION_CHECK(hoisted_.emplace(stage.name, &hoisted).second && !allocated_.count(stage.name),
                   "nest {}: a hoisted alloc of {} that is not around its alloc", nest_.name,
                   stage.name);
    verify_layout(nest_, hoisted);
    walk(*hoisted.body);
    EMULSION_CHECK(allocated_.count(stage.name), "nest {}: a hoisted alloc of {} without an alloc",
                   nest_.name, stage.name);
    hoisted_.erase(stage.name);
  }

  void visit_window(const WindowNode& window) override {
    const Stage& stage = nest_.stage(window.stage);
    EMULSION_CHECK(live_.count(stage.name) || is_part_of_output(nest_, window),
                   "nest {}: window of {} outside its alloc", nest_.name, stage.name);
    EMULSION_CHECK(
        window.mins.size() == stage.axes.size() && window.extents.size() == stage.axes.size(),
        "nest {}: window of {} with {} mins and {} extents for {} axes", nest_.name, stage.name,
        window.mins.size(), window.extents.size(), stage.axes.size());
    for (const Expr& min : window.mins) check_index(min, "a min of window " + stage.name);
    for (const Expr& e : window.extents) check_sizes_only(e, "an extent of window " + stage.name);
    std::set<size_t> axes;
    for (const Window& slide : window.slides) check_slide(window, slide, &axes);
    windows_.emplace(stage.name, &window);
    walk(*window.body);
    windows_.erase(stage.name);
  }

  // `axes`: of the windows of the same node before it.
  void check_slide(const WindowNode& window, const Window& slide, std::set<size_t>* axes) const {
    EMULSION_CHECK(slide.axis < window.extents.size() && axes->insert(slide.axis).second,
                   "nest {}: window of {} that slides twice along axis {}, or has no such axis",
                   nest_.name, window.stage, slide.axis);
    EMULSION_CHECK(slide.loop.defined() && slide.loop->op == ExprOp::axis,
                   "nest {}: window of {} that slides along no loop", nest_.name, window.stage);
    EMULSION_CHECK(in_scope(slide.loop->name),
                   "nest {}: window of {} that slides along {}, which is not around it", nest_.name,
                   window.stage, slide.loop->name);
    const Expr& extent = window.extents[slide.axis];
    EMULSION_CHECK(extent->op == ExprOp::constant && extent->int_value == slide.length &&
                       slide.fresh() > 0 && slide.kept() > 0,
                   "nest {}: window of {} of {} that slides by {} of {}", nest_.name, window.stage,
                   to_string(extent), slide.step, slide.length);
  }

  void visit_uop(const UopNode& uop) override {
    const Stage& stage = stage_here(uop.stage);
    auto cases = case_.find(uop.stage);
    const size_t passed = cases == case_.end() ? 0 : cases->second;
    EMULSION_CHECK(specialized_.count(uop.stage) || passed == stage.specializations.size(),
                   "nest {}: the {} part of {} behind {} of its {} specializations", nest_.name,
                   name_of(uop.part), uop.stage, passed, stage.specializations.size());
    const Buffer& buffer = nest_.buffer(uop.stage);
    check_part(stage, name_of(uop.kind), uop.part);
    check_form(uop, stage, buffer);
    const size_t arity =
        stage.axes.size() + (uop.part == Part::update ? stage.reduction_axes.size() : 0);
    EMULSION_CHECK(uop.point.size() == arity,
                   "nest {}: {} of {} ({}) at a point of {}, expected {}", nest_.name,
                   name_of(uop.kind), stage.name, name_of(uop.part), uop.point.size(), arity);
    for (const Expr& index : uop.point) check_index(index, "the point of " + stage.name);
    for (const Guard& guard : uop.guards) {
      EMULSION_CHECK(guard.condition.defined() && guard.condition.dtype() == DType::boolean,
                     "nest {}: a guard of {} that is no condition", nest_.name, stage.name);
      check_scope(guard.condition, "a guard of " + stage.name);
      check_mask(guard.mask, uop);
    }
    check_own_loops(uop, stage);
    if (buffer.role == BufferRole::internal) check_live(stage.name, stage);
    if (uop.part == Part::update) {
      EMULSION_CHECK(written_.count({stage.name, Part::init}),
                     "nest {}: the update of {} before its start value", nest_.name, stage.name);
    }
    if (uop.part != Part::init) check_reads(stage, body_of(stage, uop));
    EMULSION_CHECK(written_.insert({stage.name, uop.part}).second, "nest {}: a second {} uOp of {}",
                   nest_.name, name_of(uop.part), stage.name);
  }

  void check_mask(GuardMask mask, const UopNode& uop) const {
    const bool of_one_side = mask == GuardMask::loads || mask == GuardMask::stores;
    EMULSION_CHECK(!of_one_side || uop.part == Part::pure,
                   "nest {}: a mask of one side of the {} of {}, which loads what it stores",
                   nest_.name, name_of(uop.part), uop.stage);
    EMULSION_CHECK(mask != GuardMask::loads || !windows_.count(uop.stage),
                   "nest {}: a mask of the loads of {}, whose storage is kept: it stores any value "
                   "over what is needed",
                   nest_.name, uop.stage);
  }

  void check_form(const UopNode& uop, const Stage& stage, const Buffer& buffer) {
    bool legal = false;
    for (const LegalUop& form : kLegalUops) {
      legal =
          legal || (form.kind == uop.kind && form.part == uop.part && form.target == buffer.role);
    }
    EMULSION_CHECK(legal, "nest {}: no legal form: {} of {} ({}) into {} {}", nest_.name,
                   name_of(uop.kind), stage.name, name_of(uop.part), to_string(buffer.role),
                   buffer.name);
    const bool copies = uop.kind == UopKind::load ||
                        (uop.kind == UopKind::store && buffer.role == BufferRole::internal);
    EMULSION_CHECK(!copies || stage.body->op == ExprOp::read, "nest {}: {} of {} computes: {}",
                   nest_.name, name_of(uop.kind), stage.name, to_string(stage.body));
  }

  // The loops of the stage around its uOp are exactly what its transforms leave, each once.
  void check_own_loops(const UopNode& uop, const Stage& stage) {
    std::set<std::string> expected = loop_axes(stage, uop.part);
    const std::set<std::string> carrying = reduction_loop_axes(stage);
    EMULSION_CHECK(uop.part == Part::update || !uop.atomic,
                   "nest {}: an atomic {} of {} that is no update", nest_.name, name_of(uop.kind),
                   stage.name);
    for (const Loop* loop : loops_) {
      if (loop->stage != stage.name && !contains(loop->shared, stage.name)) continue;
      const bool together = loop->kind == LoopKind::vectorized || loop->kind == LoopKind::parallel;
      EMULSION_CHECK(uop.atomic || !together || !carrying.count(loop->axis),
                     "nest {}: {} loop {} over a reduction axis, and the update is not atomic",
                     nest_.name, loop->kind == LoopKind::vectorized ? "vectorized" : "parallel",
                     loop->variable());
      EMULSION_CHECK(loop->part == uop.part, "nest {}: the {} part of {} inside its {} loop {}",
                     nest_.name, name_of(uop.part), stage.name, name_of(loop->part), loop->axis);
      expected.erase(loop->axis);
    }
    EMULSION_CHECK(expected.empty(), "nest {}: the {} part of {} outside its loop {}", nest_.name,
                   name_of(uop.part), stage.name, *expected.begin());
  }

  // A stage has one alloc, so that is where it was written to.
  void check_live(const std::string& buffer, const Stage& user) const {
    EMULSION_CHECK(live_.count(buffer), "nest {}: {} uses {} outside its alloc", nest_.name,
                   user.name, buffer);
  }

  void check_reads(const Stage& stage, const Expr& body) {
    visit(body, [&](const Expr& e) {
      if (e->op != ExprOp::read) return;
      const Buffer& buffer = nest_.buffer(e->name);
      if (buffer.role != BufferRole::internal && buffer.role != BufferRole::output) return;
      for (Part part : parts_of(nest_.stage(e->name))) {
        EMULSION_CHECK(written_.count({e->name, part}), "nest {}: {} reads {} before its {}",
                       nest_.name, stage.name, e->name, name_of(part));
      }
      if (buffer.role == BufferRole::internal) check_live(e->name, stage);
    });
  }

  bool in_scope(const std::string& variable) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const Loop* loop) { return loop->variable() == variable; });
  }

  void check_index(const Expr& expr, const std::string& what) {
    EMULSION_CHECK(expr.defined() && expr.dtype() == DType::i32, "nest {}: {} is no integer",
                   nest_.name, what);
    check_scope(expr, what);
  }

  void check_scope(const Expr& expr, const std::string& what) {
    visit(expr, [&](const Expr& e) {
      EMULSION_CHECK(e->op != ExprOp::read, "nest {}: {} reads {}", nest_.name, what, e->name);
      EMULSION_CHECK(e->op != ExprOp::axis || in_scope(e->name),
                     "nest {}: {} uses {}, which is not in scope", nest_.name, what, e->name);
      EMULSION_CHECK(
          e->op != ExprOp::size || std::count(nest_.sizes.begin(), nest_.sizes.end(), e->name),
          "nest {}: {} uses the unknown size {}", nest_.name, what, e->name);
    });
  }

  // Over sizes, and the loops along which a window of the stage slides.
  void check_extent(const Loop& loop) {
    const std::string what = "the extent of loop " + loop.variable();
    check_index(loop.extent, what);
    auto window = windows_.find(loop.stage);
    visit(loop.extent, [&](const Expr& e) {
      if (e->op != ExprOp::axis) return;
      const bool slides =
          window != windows_.end() &&
          std::any_of(window->second->slides.begin(), window->second->slides.end(),
                      [&](const Window& slide) { return slide.loop->name == e->name; });
      EMULSION_CHECK(slides, "nest {}: {} depends on the loop variable {}", nest_.name, what,
                     e->name);
    });
  }

  void check_sizes_only(const Expr& expr, const std::string& what) {
    EMULSION_CHECK(expr.defined() && expr.dtype() == DType::i32, "nest {}: {} is no integer",
                   nest_.name, what);
    visit(expr, [&](const Expr& e) {
      EMULSION_CHECK(e->op != ExprOp::axis, "nest {}: {} depends on the loop variable {}",
                     nest_.name, what, e->name);
    });
    check_scope(expr, what);
  }

  const LoopNest& nest_;
  std::vector<const Loop*> loops_;                    // around the node that is looked at
  std::set<std::string> live_;                        // stages whose alloc is around it
  std::map<std::string, const WindowNode*> windows_;  // around it, by stage
  std::map<std::string, const HoistedAlloc*> hoisted_;
  std::set<std::string> allocated_;
  std::map<std::string, Stage> specialized_;  // stages that are in a specialization here
  std::map<std::string, size_t> case_;        // specializations that the branches around left out
  std::set<StagePart> written_;               // uOps that came before it
};

}  // namespace

void verify_nest(const LoopNest& nest) {
  verify_nest_tables(nest);
  TreeVerifier(nest).verify();
  verify_nest_bounds(nest);
  verify_nest_storage(nest);
  verify_nest_outputs(nest);
  verify_nest_parts(nest);
  verify_nest_written(nest);
  verify_nest_loops(nest);
  for (const Pack& pack : nest.packs) verify_nest(*pack.nest);
}

}  // namespace emulsion
