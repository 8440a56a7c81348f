#include "passes/nest/verify_nest_storage.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/index/index_table.h"

namespace emulsion {
namespace {

using Values = std::map<std::string, int64_t>;

// Values that every run-time size takes in turn: none, one, and enough for a window to move.
constexpr int64_t kSizes[] = {0, 1, 7, 37};
// Iterations of each loop between: the first of all, and enough for what it computed to be
// overwritten where a folded axis is one too short.
constexpr int64_t kIterations = 4;

bool produces(const Node& node, const std::string& stage) {
  if (node.kind == NodeKind::produce && node.stage == stage) return true;
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const NodePtr& child) { return produces(*child, stage); });
}

bool reads(const Stage& stage, const std::string& buffer) {
  bool found = false;
  visit(stage.body,
        [&](const Expr& e) { found = found || (e->op == ExprOp::read && e->name == buffer); });
  return found;
}

// The storage of one stage, and what of it has been computed, oldest first.
class KeptStorage {
 public:
  KeptStorage(const LoopNest& nest, const Node& alloc) : nest_(nest), alloc_(alloc) {}

  void walk(const Node& node, Values* values) {
    if (node.kind == NodeKind::branch) return walk(*chosen_side(node, *values), values);
    switch (node.kind) {
      case NodeKind::loop:
        return walk_loop(node, values);
      case NodeKind::produce:
        if (node.stage != alloc_.stage) break;
        return produce(region_of(node, *values));
      case NodeKind::load:
      case NodeKind::execute:
      case NodeKind::store:
        return check_uop(node, *values);
      case NodeKind::branch:
        return walk(*chosen_side(node, *values), values);
      default:
        break;
    }
    for (const NodePtr& child : node.children) walk(*child, values);
  }

 private:
  struct Region {
    std::vector<int64_t> mins, extents;
  };

  void produce(Region region) {
    for (size_t d = 0; d < region.extents.size(); ++d) {
      const int64_t fold = alloc_.layout.fold(d);
      EMULSION_CHECK(fold == 0 || region.extents[d] <= fold,
                     "nest {}: {} indices of {} at once in storage folded to {}", nest_.name,
                     region.extents[d], alloc_.stage, fold);
    }
    computed_.push_back(std::move(region));
  }

  Region region_of(const Node& node, const Values& values) const {
    Region region;
    for (const Expr& min : node.mins) region.mins.push_back(evaluate_index(min, values));
    for (const Expr& extent : node.extents) {
      region.extents.push_back(evaluate_index(extent, values));
    }
    return region;
  }

  void walk_loop(const Node& loop, Values* values) {
    const int64_t extent = evaluate_index(loop.extent, *values);
    const std::string variable = loop_variable(loop.stage, loop.axis);
    const bool between = produces(loop, alloc_.stage);
    std::vector<int64_t> iterations;  // in order
    for (int64_t i = 0; i < std::min(extent, between ? kIterations : 1); ++i) {
      iterations.push_back(i);
    }
    if (!between && extent > 1) iterations.push_back(extent - 1);
    for (int64_t i : iterations) {
      (*values)[variable] = i;
      walk(*loop.children[0], values);
    }
    values->erase(variable);
  }

  void check_uop(const Node& uop, const Values& values) const {
    const Stage& stage = nest_.stage(uop.stage);
    if (uop.part == Part::init || !reads(stage, alloc_.stage)) return;
    for (const Expr& guard : uop.guards) {
      if (evaluate_index(guard, values) == 0) return;
    }
    Values axes;
    for (const std::string& size : nest_.sizes) axes[size] = values.at(size);
    for (size_t i = 0; i < uop.point.size(); ++i) {
      const bool pure = i < stage.axes.size();
      const Axis& axis = pure ? stage.axes[i] : stage.reduction_axes[i - stage.axes.size()];
      axes[axis.name()] = evaluate_index(uop.point[i], values);
    }
    visit_reads(stage.body, axes, [&](const Expr& read, const std::vector<int64_t>& index) {
      if (read->name == alloc_.stage) check_read(stage, index);
    });
  }

  // The newest region that covers the place of an element must cover the element itself.
  void check_read(const Stage& reader, const std::vector<int64_t>& index) const {
    for (auto region = computed_.rbegin(); region != computed_.rend(); ++region) {
      if (!covers_place(*region, index)) continue;
      EMULSION_CHECK(covers(*region, index),
                     "nest {}: {} reads {}[{}], whose place was taken by another element of its "
                     "folded storage",
                     nest_.name, reader.name, alloc_.stage, fmt::join(index, ", "));
      return;
    }
    EMULSION_CHECK(false, "nest {}: {} reads {}[{}] before it is computed", nest_.name, reader.name,
                   alloc_.stage, fmt::join(index, ", "));
  }

  static bool covers(const Region& region, const std::vector<int64_t>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t from = index[d] - region.mins[d];
      if (from < 0 || from >= region.extents[d]) return false;
    }
    return true;
  }

  bool covers_place(const Region& region, const std::vector<int64_t>& index) const {
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t from = index[d] - region.mins[d];
      const int64_t fold = alloc_.layout.fold(d);
      if (fold > 0) from = (from % fold + fold) % fold;
      if (from < 0 || from >= region.extents[d]) return false;
    }
    return true;
  }

  const LoopNest& nest_;
  const Node& alloc_;
  std::vector<Region> computed_;
};

class StorageVerifier {
 public:
  explicit StorageVerifier(const LoopNest& nest) : nest_(nest) {}

  void verify() {
    for (int64_t size : kSizes) {
      values_.clear();
      for (const std::string& name : nest_.sizes) values_[name] = size;
      walk(*nest_.root);
      if (nest_.sizes.empty()) return;
    }
  }

 private:
  // The loops around an alloc are at their first iterations, then at their second ones.
  void walk(const Node& node) {
    if (node.kind == NodeKind::branch) return walk(*chosen_side(node, values_));
    if (node.kind == NodeKind::alloc && produces(node, node.stage)) {
      Values values = values_;
      KeptStorage(nest_, node).walk(*node.children[0], &values);
    }
    if (node.kind != NodeKind::loop) {
      for (const NodePtr& child : node.children) walk(*child);
      return;
    }
    const std::string variable = loop_variable(node.stage, node.axis);
    const int64_t extent = evaluate_index(node.extent, values_);
    if (!std::any_of(node.children.begin(), node.children.end(), keeps_storage)) return;
    for (int64_t i = 0; i < std::min<int64_t>(extent, 2); ++i) {
      values_[variable] = i;
      walk(*node.children[0]);
    }
    values_.erase(variable);
  }

  static bool keeps_storage(const NodePtr& node) {
    if (node->kind == NodeKind::alloc && produces(*node, node->stage)) return true;
    return std::any_of(node->children.begin(), node->children.end(), keeps_storage);
  }

  const LoopNest& nest_;
  Values values_;
};

}  // namespace

void visit_reads(
    const Expr& body, const std::map<std::string, int64_t>& axes,
    const std::function<void(const Expr& read, const std::vector<int64_t>& index)>& visit) {
  if (body->op == ExprOp::select) {
    visit_reads(body->args[0], axes, visit);
    if (!is_index(body->args[0])) return;  // which branch runs, only data decide
    bool chosen = evaluate_index(body->args[0], axes) != 0;
    visit_reads(body->args[chosen ? 1 : 2], axes, visit);
    return;
  }
  for (const Expr& argument : body->args) visit_reads(argument, axes, visit);
  if (body->op != ExprOp::read) return;
  if (!std::all_of(body->args.begin(), body->args.end(), is_index)) return;
  std::vector<int64_t> index;
  for (const Expr& argument : body->args) index.push_back(evaluate_index(argument, axes));
  visit(body, index);
}

void verify_layout(const LoopNest& nest, const Node& node) {
  const size_t rank = nest.stage(node.stage).axes.size();
  const StorageLayout& layout = node.layout;
  EMULSION_CHECK((layout.folds.empty() || layout.folds.size() == rank) &&
                     (layout.alignments.empty() || layout.alignments.size() == rank) &&
                     (layout.order.empty() || layout.order.size() == rank),
                 "nest {}: storage of {} with a layout that is not one of {} axes", nest.name,
                 node.stage, rank);
  for (size_t d = 0; d < rank; ++d) {
    EMULSION_CHECK(layout.order.empty() || std::count(layout.order.begin(), layout.order.end(), d),
                   "nest {}: storage of {} in an order without axis {}", nest.name, node.stage, d);
    const int64_t fold = layout.fold(d);
    EMULSION_CHECK(fold == 0 || (fold > 0 && node.extents[d]->op == ExprOp::constant &&
                                 node.extents[d]->int_value == fold),
                   "nest {}: storage of {} folded to {}, the extent is {}", nest.name, node.stage,
                   fold, to_string(node.extents[d]));
  }
}

void verify_fits(const LoopNest& nest, const Node& alloc, const Node& reserve) {
  bool same = alloc.memory == reserve.memory && alloc.extents.size() == reserve.extents.size();
  for (size_t d = 0; same && d < alloc.extents.size(); ++d) {
    same = equal(alloc.extents[d], reserve.extents[d]);
  }
  EMULSION_CHECK(same, "nest {}: an alloc of {} that its reserve does not fit", nest.name,
                 alloc.stage);
}

void verify_nest_storage(const LoopNest& nest) { StorageVerifier(nest).verify(); }

}  // namespace emulsion
