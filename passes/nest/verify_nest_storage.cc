#include "passes/nest/verify_nest_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/index/index_table.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/verify_nest_values.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// Iterations of each loop between: the first of all, and enough for what it computed to be
// overwritten where a folded axis is one too short.
constexpr int64_t kIterations = 4;

bool has_window(const Node& root, const std::string& stage) {
  return any_node(root, [&](const Node& node) {
    const WindowNode* window = node.as<WindowNode>();
    return window && window->stage == stage;
  });
}

// The storage of one stage, and what of it has been computed, oldest first.
class KeptStorage : public ValueVisitor {
 public:
  KeptStorage(const LoopNest& nest, const Alloc& alloc, const IndexValues& values)
      : ValueVisitor(nest, values), alloc_(alloc) {
    for_each_node(*alloc.body, [&](const Node& node) {
      if (const Block* block = node.as<Block>()) record_parts(*block);
    });
  }

 private:
  struct Region {
    std::vector<int64_t> mins, extents;
  };

  void visit_window(const WindowNode& window) override {
    if (window.stage == alloc_.stage) return compute(region_of(window));
    walk(*window.body);
  }

  void compute(Region region) {
    for (size_t d = 0; d < region.extents.size(); ++d) {
      const int64_t fold = alloc_.layout.fold(d);
      EMULSION_CHECK(fold == 0 || region.extents[d] <= fold,
                     "nest {}: {} indices of {} at once in storage folded to {}", nest_.name,
                     region.extents[d], alloc_.stage, fold);
    }
    computed_.push_back(std::move(region));
  }

  Region region_of(const WindowNode& window) const {
    Region region;
    for (const Expr& min : window.computed_mins()) region.mins.push_back(value_of(min));
    for (const Expr& extent : window.computed_extents()) {
      region.extents.push_back(value_of(extent));
    }
    return region;
  }

  void record_parts(const Block& block) {
    for (size_t first = 0; first < block.children.size();) {
      const size_t count = parts_from(block, first);
      if (count > 1) in_parts_.insert(block.children[first]->as<Loop>()->variable());
      first += count;
    }
  }

  void visit_loop(const Loop& loop) override {
    const int64_t min = value_of(loop.min), extent = value_of(loop.extent);
    const bool between = has_window(*loop.body, alloc_.stage);
    const bool all_steps = in_parts_.count(loop.variable()) > 0;
    const int64_t most = !between ? 1 : all_steps ? extent : kIterations;
    std::vector<int64_t> iterations;  // in order
    for (int64_t i = 0; i < std::min(extent, most); ++i) {
      iterations.push_back(i);
    }
    if (!between && extent > 1) iterations.push_back(extent - 1);
    for (int64_t i : iterations) walk_at(loop, min + i);
  }

  void visit_uop(const UopNode& uop) override {
    const Stage& stage = nest_.stage(uop.stage);
    if (uop.part == Part::init || !reads(stage.body, alloc_.stage) || !runs(uop)) return;
    visit_reads(body_of(stage, uop), axes_at(stage, uop),
                [&](const Expr& read, const std::vector<int64_t>& index) {
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

  const Alloc& alloc_;
  std::vector<Region> computed_;
  // Loops that are in parts somewhere: all of their steps are taken everywhere, since each part
  // builds upon what the one before has computed, and the interior of a loop around them upon the
  // edge of that.
  std::set<std::string> in_parts_;
};

class StorageVerifier : public ValueVisitor {
 public:
  explicit StorageVerifier(const LoopNest& nest) : ValueVisitor(nest) {
    for_each_node(*nest.root, [&](const Node& node) {
      const WindowNode* window = node.as<WindowNode>();
      if (window != nullptr && !window->is_whole) slides_.insert(window->stage);
    });
  }

  void verify() {
    if (!slides_.empty()) walk_for_all_sizes();
  }

 private:
  void visit_alloc(const Alloc& alloc) override {
    for (size_t d = 0; d < alloc.extents.size(); ++d) {
      const int64_t room = alloc.layout.room(d);
      EMULSION_CHECK(room == 0 || value_of(alloc.extents[d]) <= room,
                     "nest {}: storage of {} with room for {} along axis {}, got {}", nest_.name,
                     alloc.stage, room, d, value_of(alloc.extents[d]));
    }
    if (keeps(alloc)) {
      KeptStorage(nest_, alloc, values_).walk(*alloc.body);
    }
    walk(*alloc.body);
  }

  // The loops around an alloc are at their first iterations, then at their second ones.
  void visit_loop(const Loop& loop) override {
    const bool any = any_node(*loop.body, [&](const Node& node) {
      const Alloc* alloc = node.as<Alloc>();
      return alloc && (keeps(*alloc) || !alloc->layout.rooms.empty());
    });
    if (!any) return;
    const int64_t min = value_of(loop.min), extent = value_of(loop.extent);
    for (int64_t i = 0; i < std::min<int64_t>(extent, 2); ++i) walk_at(loop, min + i);
  }

  bool keeps(const Alloc& alloc) const {
    return slides_.count(alloc.stage) > 0 && has_window(*alloc.body, alloc.stage);
  }

  std::set<std::string> slides_;  // stages that have a window somewhere
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

void verify_layout(const LoopNest& nest, const Storage& storage) {
  const size_t rank = nest.stage(storage.stage).axes.size();
  const StorageLayout& layout = storage.layout;
  EMULSION_CHECK((layout.folds.empty() || layout.folds.size() == rank) &&
                     (layout.alignments.empty() || layout.alignments.size() == rank) &&
                     (layout.rooms.empty() || layout.rooms.size() == rank) &&
                     (layout.order.empty() || layout.order.size() == rank),
                 "nest {}: storage of {} with a layout that is not one of {} axes", nest.name,
                 storage.stage, rank);
  for (size_t d = 0; d < rank; ++d) {
    EMULSION_CHECK(layout.order.empty() || std::count(layout.order.begin(), layout.order.end(), d),
                   "nest {}: storage of {} in an order without axis {}", nest.name, storage.stage,
                   d);
    const int64_t fold = layout.fold(d);
    EMULSION_CHECK(fold == 0 || (fold > 0 && storage.extents[d]->op == ExprOp::constant &&
                                 storage.extents[d]->int_value == fold),
                   "nest {}: storage of {} folded to {}, the extent is {}", nest.name,
                   storage.stage, fold, to_string(storage.extents[d]));
  }
}

void verify_fits(const LoopNest& nest, const Alloc& alloc, const HoistedAlloc& hoisted) {
  bool same = alloc.memory == hoisted.memory && alloc.extents.size() == hoisted.extents.size();
  for (size_t d = 0; same && d < alloc.extents.size(); ++d) {
    same = equal(alloc.extents[d], hoisted.extents[d]);
  }
  EMULSION_CHECK(same, "nest {}: an alloc of {} that its hoisted alloc does not fit", nest.name,
                 alloc.stage);
}

void verify_nest_storage(const LoopNest& nest) { StorageVerifier(nest).verify(); }

}  // namespace emulsion
