#include "passes/nest/verify_nest_written.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/nest/verify_nest_storage.h"

namespace emulsion {
namespace {

using Values = std::map<std::string, int64_t>;

// Values that every run-time size takes in turn.
constexpr int64_t kSizes[] = {0, 1, 7, 37};
// Iterations of the loops inside an alloc: all first, all last, and mixtures of both.
constexpr unsigned kMixtures = 6;

struct Range {
  int64_t low, high;  // both are in it
};
using Ranges = std::map<std::string, Range>;
using Box = std::vector<std::optional<Range>>;  // for each axis; nothing: it may be any index

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// A range that holds all values of the expression, whichever its variables have in theirs.
std::optional<Range> range_of(const Expr& e, const Ranges& variables) {
  if (e->op == ExprOp::constant) return Range{e->int_value, e->int_value};
  if (e->op == ExprOp::axis || e->op == ExprOp::size) {
    auto found = variables.find(e->name);
    return found == variables.end() ? std::nullopt : std::optional<Range>(found->second);
  }
  const bool choice = e->op == ExprOp::select;
  if (e->args.size() != (choice ? 3u : 2u)) return std::nullopt;
  const auto a = range_of(e->args[choice ? 1 : 0], variables);
  const auto b = range_of(e->args[choice ? 2 : 1], variables);
  if (!a || !b) return std::nullopt;
  const bool divides = b->low == b->high && b->low > 0;
  switch (e->op) {
    case ExprOp::add:
      return Range{a->low + b->low, a->high + b->high};
    case ExprOp::sub:
      return Range{a->low - b->high, a->high - b->low};
    case ExprOp::mul: {
      const auto [low, high] =
          std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
      return Range{low, high};
    }
    case ExprOp::div:
      if (!divides) return std::nullopt;
      return Range{floor_quotient(a->low, b->low), floor_quotient(a->high, b->low)};
    case ExprOp::mod: {
      if (!divides) return std::nullopt;
      const int64_t first = floor_quotient(a->low, b->low) * b->low;
      if (a->high - first >= b->low) return Range{0, b->low - 1};
      return Range{a->low - first, a->high - first};
    }
    case ExprOp::min:
      return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
    case ExprOp::max:
      return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
    case ExprOp::select:
      return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
    default:
      return std::nullopt;
  }
}

void include(const Box& added, Box* box) {
  for (size_t d = 0; d < added.size(); ++d) {
    std::optional<Range>& range = (*box)[d];
    if (!range || !added[d]) {
      range.reset();
      continue;
    }
    range->low = std::min(range->low, added[d]->low);
    range->high = std::max(range->high, added[d]->high);
  }
}

// One alloc, where the loops around it and the sizes have these values.
class WrittenRegion {
 public:
  WrittenRegion(const LoopNest& nest, const Node& alloc, const Values& values)
      : nest_(nest), alloc_(alloc), values_(values) {}

  void verify() {
    Ranges ranges;
    for (const auto& [name, value] : values_) ranges[name] = {value, value};
    collect(*alloc_.children[0], &ranges);
    for (mixture_ = 0; mixture_ < kMixtures; ++mixture_) check(*alloc_.children[0], 0);
  }

 private:
  // The writes, guards or none: what is outside of them is written by nobody.
  void collect(const Node& node, Ranges* ranges) {
    if (node.kind == NodeKind::branch) return collect(*chosen_side(node, values_), ranges);
    if (node.kind == NodeKind::loop) {
      const auto extent = range_of(node.extent, *ranges);
      if (extent && extent->high <= 0) return;
      const std::string variable = loop_variable(node.stage, node.axis);
      if (extent) (*ranges)[variable] = {0, extent->high - 1};
      collect(*node.children[0], ranges);
      ranges->erase(variable);
      return;
    }
    if (node.stage == alloc_.stage && !node.point.empty()) {
      Box box;
      for (size_t d = 0; d < alloc_.extents.size(); ++d) {
        box.push_back(range_of(node.point[d], *ranges));
      }
      auto [found, first] = written_.emplace(node.part, box);
      if (!first) include(box, &found->second);
    }
    for (const NodePtr& child : node.children) collect(*child, ranges);
  }

  void check(const Node& node, unsigned depth) {
    if (node.kind == NodeKind::branch) return check(*chosen_side(node, values_), depth);
    if (node.kind == NodeKind::loop) {
      const int64_t extent = evaluate_index(node.extent, values_);
      if (extent <= 0) return;
      // All first, all last, then by bits that differ from loop to loop.
      const unsigned bits = mixture_ * 0x9e3779b9u >> (depth % 16 + 8);
      const bool last = mixture_ == 1 || (mixture_ > 1 && bits % 2 == 1);
      const std::string variable = loop_variable(node.stage, node.axis);
      values_[variable] = last ? extent - 1 : 0;
      check(*node.children[0], depth + 1);
      values_.erase(variable);
      return;
    }
    if (!node.point.empty()) check_uop(node);
    for (const NodePtr& child : node.children) check(*child, depth);
  }

  void check_uop(const Node& uop) const {
    const bool runs = std::all_of(uop.guards.begin(), uop.guards.end(), [&](const Expr& guard) {
      return evaluate_index(guard, values_) != 0;
    });
    if (!runs || uop.part == Part::init) return;
    const Stage& stage = nest_.stage(uop.stage);
    Values axes;
    for (const std::string& size : nest_.sizes) axes[size] = values_.at(size);
    std::vector<int64_t> target;
    for (size_t i = 0; i < uop.point.size(); ++i) {
      const int64_t index = evaluate_index(uop.point[i], values_);
      const bool pure = i < stage.axes.size();
      if (pure) target.push_back(index);
      axes[(pure ? stage.axes[i] : stage.reduction_axes[i - stage.axes.size()]).name()] = index;
    }
    if (stage.name == alloc_.stage) {
      if (uop.part == Part::update) check_read(stage, target, Part::init);
      return;
    }
    visit_reads(stage.body, axes, [&](const Expr& read, const std::vector<int64_t>& index) {
      if (read->name != alloc_.stage) return;
      if (!nest_.stage(alloc_.stage).is_reduction()) return check_read(stage, index, Part::whole);
      check_read(stage, index, Part::init);
      check_read(stage, index, Part::update);
    });
  }

  void check_read(const Stage& reader, const std::vector<int64_t>& index, Part part) const {
    static const char* const kParts[] = {"value", "start value", "update"};
    auto found = written_.find(part);
    // A sum of nothing is its start value.
    if (found == written_.end() && part == Part::update) return;
    bool inside = found != written_.end();
    for (size_t d = 0; inside && d < index.size(); ++d) {
      const std::optional<Range>& range = found->second[d];
      inside = !range || alloc_.layout.fold(d) > 0 ||
               (index[d] >= range->low && index[d] <= range->high);
    }
    EMULSION_CHECK(inside, "nest {}: {} reads {}[{}], of which no {} is written", nest_.name,
                   reader.name, alloc_.stage, fmt::join(index, ", "),
                   kParts[static_cast<int>(part)]);
  }

  const LoopNest& nest_;
  const Node& alloc_;
  Values values_;
  std::map<Part, Box> written_;
  unsigned mixture_ = 0;
};

class WrittenVerifier {
 public:
  explicit WrittenVerifier(const LoopNest& nest) : nest_(nest) {}

  void verify() {
    for (int64_t size : kSizes) {
      for (bool last : {false, true}) {
        values_.clear();
        for (const std::string& name : nest_.sizes) values_[name] = size;
        walk(*nest_.root, last);
      }
      if (nest_.sizes.empty()) return;
    }
  }

 private:
  void walk(const Node& node, bool last) {
    if (node.kind == NodeKind::branch) return walk(*chosen_side(node, values_), last);
    if (node.kind == NodeKind::loop) {
      const int64_t extent = evaluate_index(node.extent, values_);
      if (extent <= 0) return;
      const std::string variable = loop_variable(node.stage, node.axis);
      values_[variable] = last ? extent - 1 : 0;
      walk(*node.children[0], last);
      values_.erase(variable);
      return;
    }
    if (node.kind == NodeKind::alloc) WrittenRegion(nest_, node, values_).verify();
    for (const NodePtr& child : node.children) walk(*child, last);
  }

  const LoopNest& nest_;
  Values values_;
};

}  // namespace

void verify_nest_written(const LoopNest& nest) { WrittenVerifier(nest).verify(); }

}  // namespace emulsion
