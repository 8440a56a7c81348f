#include "backends/halide/nest_places.h"

#include <algorithm>
#include <functional>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

bool is_loop_of(const Node& loop, const std::string& stage) {
  return loop.stage == stage ||
         std::find(loop.shared.begin(), loop.shared.end(), stage) != loop.shared.end();
}

// Where among the loops around a window that is stored inside the first `stored` of them the values
// that one iteration leaves for the next begin to matter: the outermost loop along which it slides.
size_t first_sliding(const Node& produce, const std::vector<const Node*>& around, size_t stored) {
  std::set<std::string> slides;
  for (const Expr& extent : produce.extents) {
    if (const auto found = first_iterations_in(extent)) slides.insert(found->begin(), found->end());
  }
  for (size_t i = stored; i < around.size(); ++i) {
    if (slides.count(loop_variable(around[i]->stage, around[i]->axis))) return i;
  }
  return around.size();
}

bool is_empty(const Node* loop) {
  return loop->extent->op == ExprOp::constant && loop->extent->int_value <= 0;
}

class Walker {
 public:
  std::map<std::string, StagePlace> places;

  void walk(const Node& node) {
    switch (node.kind) {
      case NodeKind::block:
        for (const NodePtr& child : node.children) walk(*child);
        return;
      case NodeKind::branch:
        walk_special_case(node);
        walk(*node.children[1]);
        return;
      case NodeKind::loop:
        loops_.push_back(&node);
        for (const NodePtr& child : node.children) walk(*child);
        loops_.pop_back();
        return;
      case NodeKind::alloc: {
        if (special_) return walk(*node.children[0]);
        StagePlace& place = places[node.stage];
        EMULSION_CHECK(place.alloc == nullptr, "stage {}: two allocs", node.stage);
        place.alloc = &node;
        place.kept_in = innermost(loops_.size());
        if (!place.reserved) place.allocated_in = place.kept_in;
        stored_[node.stage] = loops_.size();
        for (const NodePtr& child : node.children) walk(*child);
        return;
      }
      case NodeKind::reserve:
        places[node.stage].reserved = true;
        places[node.stage].allocated_in = innermost(loops_.size());
        for (const NodePtr& child : node.children) walk(*child);
        return;
      case NodeKind::produce:
        places[node.stage].produce = &node;
        places[node.stage].kept_in = innermost(first_sliding(node, loops_, stored_.at(node.stage)));
        for (const NodePtr& child : node.children) walk(*child);
        return;
      case NodeKind::load:
      case NodeKind::execute:
      case NodeKind::store:
        note_uop(node);
        return;
    }
  }

 private:
  // Of a special case, only the loops of its stage are new: what is computed inside them is
  // computed in the same way inside those of the general case.
  void walk_special_case(const Node& branch) {
    if (special_) return;
    special_ = &branch;
    walk(*branch.children[0]);
    special_ = nullptr;
  }

  void note_uop(const Node& uop) {
    if (special_ && uop.stage != special_->stage) return;
    auto own = std::find_if(loops_.begin(), loops_.end(),
                            [&](const Node* loop) { return is_loop_of(*loop, uop.stage); });
    PartLoops part;
    part.uop = &uop;
    part.loops.assign(own, loops_.end());
    part.is_empty = std::any_of(loops_.begin(), loops_.end(), is_empty);
    for (const Node* loop : part.loops) {
      EMULSION_CHECK(is_loop_of(*loop, uop.stage) && loop->part == uop.part,
                     "stage {}: a loop of {} among its own", uop.stage, loop->stage);
    }
    const Node* around = own == loops_.begin() ? nullptr : *(own - 1);
    StagePlace& place = places[uop.stage];
    if (special_) {
      part.condition = special_->condition;
      (uop.part == Part::update ? place.update_cases : place.pure_cases).push_back(std::move(part));
      return;
    }
    const bool seen = place.pure.uop != nullptr || place.update.has_value();
    EMULSION_CHECK(!seen || place.computed_in == around, "stage {}: computed in two places",
                   uop.stage);
    place.computed_in = around;
    if (uop.part == Part::update) {
      EMULSION_CHECK(!place.update, "stage {}: two updates", uop.stage);
      place.update = std::move(part);
    } else {
      EMULSION_CHECK(!place.pure.uop, "stage {}: two nests", uop.stage);
      place.pure = std::move(part);
    }
  }

  // Of the first `count` loops around the node at hand.
  const Node* innermost(size_t count) const { return count == 0 ? nullptr : loops_[count - 1]; }

  std::vector<const Node*> loops_;        // around the node at hand, outermost first
  std::map<std::string, size_t> stored_;  // the loops around a stage's Alloc
  const Node* special_ = nullptr;         // the branch whose special case this is
};

}  // namespace

const Node* PartLoops::innermost_shared() const {
  auto shared = std::find_if(loops.rbegin(), loops.rend(),
                             [&](const Node* loop) { return loop->stage != uop->stage; });
  return shared == loops.rend() ? nullptr : *shared;
}

namespace {

// What Halide does along the loops over which storage is kept: which it may start before 0.
class EarlyLoops {
 public:
  explicit EarlyLoops(const LoopNest& nest) {
    find_clamped(*nest.root);
    for (const Stage& stage : nest.stages) {
      const auto& splits = stage.transforms;
      if (std::any_of(splits.begin(), splits.end(),
                      [](const LoopTransform& t) { return t.tail == Tail::shift_inwards; })) {
        clamped_.insert(stage.name);
      }
    }
    find_loops(*nest.root);
  }

  // Whether indices out of `loop` may be before the start in the body of `stage`.
  bool reach(const std::string& stage, const Node& loop) const {
    if (loop.stage == stage) return false;
    return for_all_.count(loop_variable(loop.stage, loop.axis)) || moves_a_window(stage, loop);
  }

  // Whether another stage's window slides along `loop`.
  bool moves_a_window(const std::string& stage, const Node& loop) const {
    if (loop.stage == stage) return false;
    const std::string variable = loop_variable(loop.stage, loop.axis);
    return std::any_of(slides_.begin(), slides_.end(), [&](const auto& window) {
      return window.first != stage && window.second.count(variable);
    });
  }

 private:
  void find_clamped(const Node& node) {
    if (!node.guards.empty()) clamped_.insert(node.stage);
    for (const NodePtr& child : node.children) find_clamped(*child);
  }

  void find_loops(const Node& node) {
    if (node.kind == NodeKind::alloc) stored_[node.stage] = around_.size();
    if (node.kind == NodeKind::produce) note_window(node);
    if (node.kind == NodeKind::loop) around_.push_back(&node);
    for (const NodePtr& child : node.children) find_loops(*child);
    if (node.kind == NodeKind::loop) around_.pop_back();
  }

  void note_window(const Node& produce) {
    for (const Expr& extent : produce.extents) {
      const auto variables = first_iterations_in(extent);
      if (variables) slides_[produce.stage].insert(variables->begin(), variables->end());
    }
    const size_t kept = first_sliding(produce, around_, stored_.at(produce.stage));
    for (size_t i = kept; i < around_.size(); ++i) {
      const std::string variable = loop_variable(around_[i]->stage, around_[i]->axis);
      const bool as_in_nest = slides_[produce.stage].count(variable) > 0;
      if (clamped_.count(around_[i]->stage) || !as_in_nest) for_all_.insert(variable);
    }
  }

  std::set<std::string> clamped_;  // stages with a tail that clamps or guards an index
  std::map<std::string, size_t> stored_;
  std::vector<const Node*> around_;
  std::map<std::string, std::set<std::string>> slides_;  // by the stage that slides
  std::set<std::string> for_all_;
};

// Each uOp with each loop around it.
void for_each_loop_around(const Node& node, std::vector<const Node*>* around,
                          const std::function<void(const Node& uop, const Node& loop)>& note) {
  if (node.kind == NodeKind::loop) around->push_back(&node);
  for (const NodePtr& child : node.children) for_each_loop_around(*child, around, note);
  if (node.kind == NodeKind::loop) around->pop_back();
  if (node.point.empty()) return;
  for (const Node* loop : *around) note(node, *loop);
}

}  // namespace

std::set<std::string> stages_beside_windows(const LoopNest& nest) {
  const EarlyLoops loops(nest);
  std::set<std::string> beside;
  std::vector<const Node*> around;
  for_each_loop_around(*nest.root, &around, [&](const Node& uop, const Node& loop) {
    if (loops.moves_a_window(uop.stage, loop)) beside.insert(uop.stage);
  });
  return beside;
}

std::map<std::string, std::set<std::string>> axes_started_early(const LoopNest& nest) {
  const EarlyLoops loops(nest);
  std::map<std::string, std::set<std::string>> early;
  std::vector<const Node*> around;
  for_each_loop_around(*nest.root, &around, [&](const Node& uop, const Node& loop) {
    if (!loops.reach(uop.stage, loop)) return;
    const std::vector<Axis>& axes = nest.stage(uop.stage).axes;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (!mentions(uop.point[d], loop_variable(loop.stage, loop.axis))) continue;
      early[uop.stage].insert(axes[d].name());
    }
  });
  return early;
}

namespace {

// Whether the index of a reader's axis moves while the stage computed in `around` stays: with a
// loop of the reader that is not around that stage.
bool moves_inside(const StagePlace& reader, size_t axis, const Node* around) {
  const bool of_update = reader.update && std::count(reader.update->loops.begin(),
                                                     reader.update->loops.end(), around) > 0;
  const PartLoops& part = of_update ? *reader.update : reader.pure;
  auto inner = std::find(part.loops.begin(), part.loops.end(), around);
  inner = inner == part.loops.end() ? part.loops.begin() : inner + 1;
  return std::any_of(inner, part.loops.end(), [&](const Node* loop) {
    return mentions(part.uop->point[axis], loop_variable(loop->stage, loop->axis));
  });
}

// Of a window that is read through a clamp the nest has all that the index can be around it.
bool is_clamped(const Expr& index) {
  bool found = false;
  visit(index,
        [&](const Expr& e) { found = found || e->op == ExprOp::min || e->op == ExprOp::max; });
  return found;
}

// The axes of a window along which it moves.
std::set<std::string> moving_axes(const Stage& stage, const StagePlace& place,
                                  std::set<std::string> early) {
  if (place.produce == nullptr) return {};
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    const auto slid = first_iterations_in(place.produce->extents[d]);
    if (slid && !slid->empty()) early.insert(stage.axes[d].name());
  }
  return early;
}

}  // namespace

std::map<std::string, std::set<std::string>> shrinking_axes(
    const LoopNest& nest, const std::map<std::string, StagePlace>& places) {
  std::map<std::string, std::set<std::string>> shrinking, early = axes_started_early(nest);
  for (size_t i = nest.stages.size(); i-- > 0;) {
    const Stage& reader = nest.stages[i];
    const StagePlace& place = places.at(reader.name);
    for (const LoopTransform& t : reader.transforms) {
      if (t.tail == Tail::predicate_loads) shrinking[reader.name].insert(t.axis);
    }
    std::set<std::string> moving = moving_axes(reader, place, early[reader.name]);
    moving.insert(shrinking[reader.name].begin(), shrinking[reader.name].end());
    visit(reader.body, [&](const Expr& e) {
      if (e->op != ExprOp::read || !places.count(e->name)) return;
      const Node* around = places.at(e->name).computed_in;
      const bool slides = places.at(e->name).kept_in != around;
      for (size_t d = 0; d < e->args.size(); ++d) {
        if (slides && is_clamped(e->args[d])) {
          shrinking[e->name].insert(nest.stage(e->name).axes[d].name());
        }
        for (size_t axis = 0; axis < reader.axes.size(); ++axis) {
          const std::string& name = reader.axes[axis].name();
          if (!moving.count(name) || !mentions(e->args[d], name)) continue;
          if (!moves_inside(place, axis, around)) continue;
          shrinking[e->name].insert(nest.stage(e->name).axes[d].name());
        }
      }
    });
  }
  return shrinking;
}

std::map<std::string, StagePlace> find_places(const LoopNest& nest) {
  EMULSION_CHECK(nest.root != nullptr, "nest {}: no tree", nest.name);
  Walker walker;
  walker.walk(*nest.root);
  for (const Stage& stage : nest.stages) {
    auto found = walker.places.find(stage.name);
    EMULSION_CHECK(found != walker.places.end() && found->second.pure.uop, "stage {}: not computed",
                   stage.name);
    // Halide leaves out what is never computed, and then misses what its memory was for.
    if (found->second.is_empty()) found->second.allocated_in = found->second.kept_in;
    EMULSION_CHECK(found->second.update.has_value() == stage.is_reduction(),
                   "stage {}: expected an update exactly for a reduction", stage.name);
  }
  EMULSION_CHECK(walker.places.size() == nest.stages.size(), "nest {}: unknown stages", nest.name);
  return std::move(walker.places);
}

}  // namespace emulsion
