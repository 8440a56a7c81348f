#include "backends/halide/nest_places.h"

#include <algorithm>

#include "dsl/error.h"

namespace emulsion {
namespace {

bool is_loop_of(const Node& loop, const std::string& stage) {
  return loop.stage == stage ||
         std::find(loop.shared.begin(), loop.shared.end(), stage) != loop.shared.end();
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
        place.stored_in = loops_.empty() ? nullptr : loops_.back();
        for (const NodePtr& child : node.children) walk(*child);
        return;
      }
      case NodeKind::reserve:
        places[node.stage].reserve = &node;
        places[node.stage].reserved_in = loops_.empty() ? nullptr : loops_.back();
        for (const NodePtr& child : node.children) walk(*child);
        return;
      case NodeKind::produce:
        places[node.stage].produce = &node;
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

  std::vector<const Node*> loops_;  // around the node at hand, outermost first
  const Node* special_ = nullptr;   // the branch whose special case this is
};

}  // namespace

const Node* PartLoops::innermost_shared() const {
  auto shared = std::find_if(loops.rbegin(), loops.rend(),
                             [&](const Node* loop) { return loop->stage != uop->stage; });
  return shared == loops.rend() ? nullptr : *shared;
}

std::map<std::string, std::set<std::string>> shrinking_axes(
    const LoopNest& nest, const std::map<std::string, StagePlace>& places) {
  std::map<std::string, std::set<std::string>> shrinking;
  for (size_t i = nest.stages.size(); i-- > 0;) {
    const Stage& reader = nest.stages[i];
    std::set<std::string> moving = shrinking[reader.name];
    if (const Node* produce = places.at(reader.name).produce) {
      for (size_t d = 0; d < reader.axes.size(); ++d) {
        const auto slid = first_iterations_in(produce->extents[d]);
        if (slid && !slid->empty()) moving.insert(reader.axes[d].name());
      }
    }
    visit(reader.body, [&](const Expr& e) {
      if (e->op != ExprOp::read || !places.count(e->name)) return;
      const Node* around = places.at(e->name).computed_in;
      if (around != nullptr && around->stage == reader.name) return;
      for (size_t d = 0; d < e->args.size(); ++d) {
        visit(e->args[d], [&](const Expr& index) {
          if (index->op != ExprOp::axis || !moving.count(index->name)) return;
          shrinking[e->name].insert(nest.stage(e->name).axes[d].name());
        });
      }
    });
  }
  return shrinking;
}

namespace {

// Loop variables along which each stage slides.
void note_slides(const Node& node, std::map<std::string, std::set<std::string>>* slides) {
  for (const Expr& extent : node.kind == NodeKind::produce ? node.extents : std::vector<Expr>()) {
    const auto variables = first_iterations_in(extent);
    if (variables) (*slides)[node.stage].insert(variables->begin(), variables->end());
  }
  for (const NodePtr& child : node.children) note_slides(*child, slides);
}

void note_early(const Node& node, const std::map<std::string, std::set<std::string>>& slides,
                std::vector<const Node*>* around, std::set<std::string>* early) {
  if (node.kind == NodeKind::loop) around->push_back(&node);
  for (const NodePtr& child : node.children) note_early(*child, slides, around, early);
  if (node.kind == NodeKind::loop) around->pop_back();
  if (!node.children.empty() || node.stage.empty()) return;
  for (const Node* loop : *around) {
    if (loop->stage == node.stage) continue;
    const std::string variable = loop_variable(loop->stage, loop->axis);
    for (const auto& [stage, variables] : slides) {
      if (stage != node.stage && variables.count(variable)) early->insert(node.stage);
    }
  }
}

}  // namespace

std::set<std::string> stages_started_early(const LoopNest& nest) {
  std::map<std::string, std::set<std::string>> slides;
  note_slides(*nest.root, &slides);
  std::set<std::string> early;
  std::vector<const Node*> around;
  note_early(*nest.root, slides, &around, &early);
  return early;
}

std::map<std::string, StagePlace> find_places(const LoopNest& nest) {
  EMULSION_CHECK(nest.root != nullptr, "nest {}: no tree", nest.name);
  Walker walker;
  walker.walk(*nest.root);
  for (const Stage& stage : nest.stages) {
    auto found = walker.places.find(stage.name);
    EMULSION_CHECK(found != walker.places.end() && found->second.pure.uop, "stage {}: not computed",
                   stage.name);
    EMULSION_CHECK(found->second.update.has_value() == stage.is_reduction(),
                   "stage {}: expected an update exactly for a reduction", stage.name);
  }
  EMULSION_CHECK(walker.places.size() == nest.stages.size(), "nest {}: unknown stages", nest.name);
  return std::move(walker.places);
}

}  // namespace emulsion
