#include "passes/nest/verify_nest_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/extent.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/verify_nest_values.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

using Point = std::vector<int64_t>;

// Of storage with more elements only the first and the last ones are looked at.
constexpr int64_t kMostPoints = 4096;

bool has_uop_of(const Node& node, const std::string& stage) {
  return any_node(node, [&](const Node& inner) {
    const UopNode* uop = inner.as<UopNode>();
    return uop && uop->stage == stage;
  });
}

// What comes when: all that writes or reads the stage elsewhere, before the first uOp of the
// output and in no loop with it.
class OrderVerifier : public NestVisitor {
 public:
  OrderVerifier(const LoopNest& nest, const Alloc& alloc) : nest_(nest), alloc_(alloc) {}

  void verify() {
    walk(*alloc_.body);
    EMULSION_CHECK(output_began_, "nest {}: {} is in output {}, which is computed elsewhere",
                   nest_.name, alloc_.stage, alloc_.output);
  }

 private:
  void visit_loop(const Loop& loop) override {
    if (has_uop_of(*loop.body, alloc_.output)) ++loops_of_output_;
    walk(*loop.body);
    if (has_uop_of(*loop.body, alloc_.output)) --loops_of_output_;
  }

  void visit_window(const WindowNode& window) override {
    EMULSION_CHECK(window.stage != alloc_.stage, "nest {}: {} is in output {} and kept over a loop",
                   nest_.name, alloc_.stage, alloc_.output);
    walk(*window.body);
  }

  void visit_alloc(const Alloc& alloc) override {
    EMULSION_CHECK(alloc.output != alloc_.output, "nest {}: {} and {} are both in output {}",
                   nest_.name, alloc_.stage, alloc.stage, alloc.output);
    walk(*alloc.body);
  }

  void visit_uop(const UopNode& uop) override {
    const Stage& stage = nest_.stage(uop.stage);
    if (uop.stage == alloc_.output) {
      output_began_ = true;
      for (const Expr& body : {stage.body, body_of(stage, uop)}) verify_own_reads(stage, body);
      return;
    }
    const bool uses = uop.stage == alloc_.stage || reads(body_of(stage, uop), alloc_.stage);
    EMULSION_CHECK(!uses || (!output_began_ && loops_of_output_ == 0),
                   "nest {}: {} uses {}, which output {} overwrites", nest_.name, uop.stage,
                   alloc_.stage, alloc_.output);
  }

  void verify_own_reads(const Stage& stage, const Expr& body) const {
    visit(body, [&](const Expr& e) {
      if (e->op != ExprOp::read || e->name != alloc_.stage) return;
      for (size_t d = 0; d < e->args.size(); ++d) {
        const Expr index = simplify_index(e->args[d]);
        const bool own = index->op == ExprOp::axis && index->name == stage.axes[d].name();
        EMULSION_CHECK(own, "nest {}: {} reads {}, which it has overwritten elsewhere", nest_.name,
                       stage.name, to_string(e));
      }
    });
  }

  const LoopNest& nest_;
  const Alloc& alloc_;
  bool output_began_ = false;
  int loops_of_output_ = 0;
};

// The points that the output stores inside an alloc.
class PointCollector : public ValueVisitor {
 public:
  PointCollector(const LoopNest& nest, const Alloc& alloc, const IndexValues& values, bool all)
      : ValueVisitor(nest, values), alloc_(alloc), all_(all) {
    walk(*alloc.body);
  }

  std::set<Point> points;

 private:
  void visit_loop(const Loop& loop) override {
    if (!has_uop_of(*loop.body, alloc_.output)) return;
    const int64_t min = value_of(loop.min), extent = value_of(loop.extent);
    for (int64_t i = 0; i < extent; i += all_ ? 1 : std::max<int64_t>(extent - 1, 1)) {
      walk_at(loop, min + i);
    }
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.stage != alloc_.output || !runs(uop)) return;
    Point point;
    for (const Expr& index : uop.point) point.push_back(value_of(index));
    points.insert(std::move(point));
  }

  const Alloc& alloc_;
  const bool all_;
};

class OutputsVerifier : public EndsVisitor {
 public:
  explicit OutputsVerifier(const LoopNest& nest) : EndsVisitor(nest) {}

 private:
  void visit_hoisted_alloc(const HoistedAlloc& hoisted) override {
    hoisted_.insert(hoisted.stage);
    walk(*hoisted.body);
    hoisted_.erase(hoisted.stage);
  }

  void visit_alloc(const Alloc& alloc) override {
    if (!alloc.output.empty()) {
      verify_memory(alloc);
      if (has_uop_of(*alloc.body, alloc.output)) {
        OrderVerifier(nest_, alloc).verify();
        verify_points(alloc);
      } else {
        verify_copy(alloc);
      }
    }
    const bool is_new = !alloc.output.empty() && in_outputs_.insert(alloc.stage).second;
    walk(*alloc.body);
    if (is_new) in_outputs_.erase(alloc.stage);
  }

  void verify_memory(const Alloc& alloc) const {
    const Buffer &stored = nest_.buffer(alloc.stage), &output = nest_.buffer(alloc.output);
    EMULSION_CHECK(output.role == BufferRole::output || in_outputs_.count(alloc.output) > 0,
                   "nest {}: {} is in {}, which is no output and in none", nest_.name, alloc.stage,
                   alloc.output);
    EMULSION_CHECK(stored.dtype == output.dtype && stored.shape == output.shape,
                   "nest {}: {} is in output {}, which is of another type or shape", nest_.name,
                   alloc.stage, alloc.output);
    const StorageLayout& layout = alloc.layout;
    const bool plain = layout.folds.empty() && layout.alignments.empty() && layout.order.empty();
    EMULSION_CHECK(alloc.memory == Memory::heap && plain && hoisted_.count(alloc.stage) == 0,
                   "nest {}: {} is in output {} and has a memory or a layout of its own",
                   nest_.name, alloc.stage, alloc.output);
    const Stage& stage = nest_.stage(alloc.output);
    EMULSION_CHECK(!stage.is_reduction(), "nest {}: {} is in output {}, which is a reduction",
                   nest_.name, alloc.stage, alloc.output);
    EMULSION_CHECK(!shifts_inwards(stage),
                   "nest {}: {} is in output {}, which computes some elements again", nest_.name,
                   alloc.stage, alloc.output);
  }

  // An output that is not computed there is a copy of the stage, of all of it, for these sizes.
  void verify_copy(const Alloc& alloc) const {
    const Stage& output = nest_.stage(alloc.output);
    Expr body = output.body;
    while (body->op == ExprOp::select && is_over_sizes(body->args[0])) {
      body = body->args[value_of(body->args[0]) != 0 ? 1 : 2];
    }
    bool is_copy = body->op == ExprOp::read && body->name == alloc.stage;
    for (size_t d = 0; is_copy && d < output.axes.size(); ++d) {
      const Expr& index = body->args[d];
      is_copy = index->op == ExprOp::axis && index->name == output.axes[d].name() &&
                value_of(alloc.mins[d]) == 0 &&
                value_of(alloc.extents[d]) == value_of(extent_value(output.axes[d].extent()));
    }
    EMULSION_CHECK(is_copy,
                   "nest {}: {} is in output {}, which is computed elsewhere and no copy of it",
                   nest_.name, alloc.stage, alloc.output);
  }

  static bool is_over_sizes(const Expr& condition) {
    return !any_part(condition, [](const Expr& e) {
      return e->op == ExprOp::axis || e->op == ExprOp::read || e->op == ExprOp::cast;
    });
  }

  // Each element of the stage, up to the end of its domain, is one that the output stores inside,
  // or another iteration of the loops around would lose one.
  void verify_points(const Alloc& alloc) const {
    Point mins, ends;
    int64_t elements = 1;
    for (size_t d = 0; d < alloc.extents.size(); ++d) {
      mins.push_back(value_of(alloc.mins[d]));
      const Extent& domain = nest_.stage(alloc.output).axes[d].extent();
      const int64_t extent =
          std::min(value_of(alloc.extents[d]), value_of(extent_value(domain)) - mins.back());
      if (extent <= 0) return;
      ends.push_back(mins.back() + extent);
      elements = std::min(elements, kMostPoints + 1) * std::min(extent, kMostPoints + 1);
    }
    const bool all = elements <= kMostPoints;
    const PointCollector stored(nest_, alloc, values_, all);
    EMULSION_CHECK(!all || static_cast<int64_t>(stored.points.size()) == elements,
                   "nest {}: {} has {} elements in output {}, which stores {} there", nest_.name,
                   alloc.stage, elements, alloc.output, stored.points.size());
    for (const Point& point : stored.points) {
      for (size_t d = 0; d < point.size(); ++d) {
        EMULSION_CHECK(point[d] >= mins[d] && point[d] < ends[d],
                       "nest {}: {}[{}] is computed where {} is in it from {} to {}", nest_.name,
                       alloc.output, fmt::join(point, ", "), alloc.stage, fmt::join(mins, ", "),
                       fmt::join(ends, ", "));
      }
    }
  }

  // Around the node at hand:
  std::set<std::string> hoisted_;     // stages that have memory of their own
  std::set<std::string> in_outputs_;  // stages that have that of an output
};

}  // namespace

void verify_nest_outputs(const LoopNest& nest) {
  const bool any = any_node(*nest.root, [](const Node& node) {
    const Alloc* alloc = node.as<Alloc>();
    return alloc && !alloc->output.empty();
  });
  if (any) OutputsVerifier(nest).verify();
}

}  // namespace emulsion
