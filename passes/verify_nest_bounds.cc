#include "passes/verify_nest_bounds.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "dsl/error.h"

namespace emulsion {
namespace {

using Values = std::map<std::string, int64_t>;

// Values that every run-time size takes in turn: none, small, odd, and around the usual tile sizes.
constexpr int64_t kSizes[] = {0, 1, 3, 16, 37};
// Loops are sampled at 0, at their last value and between, all combinations up to this many, else
// at random.
constexpr int kMaximumSamples = 81;

// Whether the value follows from loop variables and sizes alone.
bool is_index(const Expr& expr) {
  bool result = true;
  visit(expr,
        [&](const Expr& e) { result = result && e->op != ExprOp::read && !is_float(e->dtype); });
  return result;
}

std::string brackets(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

class BoundsVerifier {
 public:
  explicit BoundsVerifier(const LoopNest& nest) : nest_(nest) {}

  void verify() {
    std::set<int64_t> sizes(std::begin(kSizes), std::end(kSizes));
    for (const Stage& stage : nest_.stages) {
      for (const Specialization& special : stage.specializations) {
        add_sizes_around(special.condition, &sizes);
      }
    }
    for (int64_t size : sizes) {
      values_.clear();
      for (const std::string& name : nest_.sizes) values_[name] = size;
      walk(*nest_.root);
      if (nest_.sizes.empty()) return;
    }
  }

 private:
  // The numbers in a condition are where one side takes over from the other.
  static void add_sizes_around(const Expr& condition, std::set<int64_t>* sizes) {
    constexpr int64_t kMostSize = 1024;  // a sample, not a proof
    visit(condition, [&](const Expr& e) {
      if (e->op != ExprOp::constant || e->int_value < 1 || e->int_value > kMostSize) return;
      sizes->insert({e->int_value - 1, e->int_value, e->int_value + 1});
    });
  }

  void walk(const Node& node) {
    if (node.kind == NodeKind::branch) return walk(*chosen_side(node, values_));
    switch (node.kind) {
      case NodeKind::block:
      case NodeKind::reserve:
      case NodeKind::produce:
      case NodeKind::branch:
        break;
      case NodeKind::loop:
        loops_.push_back(&node);
        break;
      case NodeKind::alloc:
        allocs_[node.stage] = &node;
        break;
      case NodeKind::load:
      case NodeKind::execute:
      case NodeKind::store:
        sample(node);
        break;
    }
    for (const NodePtr& child : node.children) walk(*child);
    if (node.kind == NodeKind::loop) loops_.pop_back();
    if (node.kind == NodeKind::alloc) allocs_.erase(node.stage);
  }

  static std::string variable_of(const Node& loop) { return loop_variable(loop.stage, loop.axis); }

  void sample(const Node& uop) {
    // A window that slides makes extents that differ in the first iteration of a loop: a loop's
    // choices follow from the values of the loops around it, and there are at most as many as here.
    int64_t combinations = 1;
    for (const Node* loop : loops_) {
      int64_t longest = 0;
      for (int64_t at : {0, 1}) {
        for (const Node* around : loops_) values_[variable_of(*around)] = at;
        longest = std::max(longest, evaluate_index(loop->extent, values_));
      }
      if (longest <= 0) return;  // never runs
      combinations =
          std::min(combinations * std::min<int64_t>(longest, 3), int64_t{kMaximumSamples} + 1);
    }
    const bool all = combinations <= kMaximumSamples;
    const int samples = all ? static_cast<int>(combinations) : kMaximumSamples;
    uint64_t state = 1;
    for (int i = 0; i < samples; ++i) {
      int64_t rest = i;
      bool runs = true;
      for (const Node* loop : loops_) {
        const int64_t extent = evaluate_index(loop->extent, values_);
        runs = runs && extent > 0;
        int64_t choices = std::clamp<int64_t>(extent, 1, 3);
        int64_t choice = 0;
        if (all) {
          choice = rest % choices;
          rest /= choices;
        } else if (i > 0) {  // the first two samples are all first and all last iterations
          state = state * 6364136223846793005ULL + 1442695040888963407ULL;
          choice = i == 1 ? 1 : static_cast<int64_t>((state >> 33) % choices);
        }
        values_[variable_of(*loop)] = choice == 0 ? 0 : choice == 1 ? extent - 1 : extent / 2;
      }
      if (!runs) continue;
      check_point(uop);
    }
  }

  void check_point(const Node& uop) {
    for (const Expr& guard : uop.guards) {
      if (is_index(guard) && evaluate_index(guard, values_) == 0) return;
    }
    const Stage& stage = nest_.stage(uop.stage);
    Values axes;
    for (const std::string& name : nest_.sizes) axes[name] = values_[name];
    std::vector<int64_t> target;
    for (size_t i = 0; i < uop.point.size(); ++i) {
      int64_t index = evaluate_index(uop.point[i], values_);
      const bool pure = i < stage.axes.size();
      axes[pure ? stage.axes[i].name() : stage.reduction_axes[i - stage.axes.size()].name()] =
          index;
      if (pure) target.push_back(index);
    }
    check_access(stage, "writes", stage.name, target);
    if (uop.part == Part::init) return;
    visit_reads(stage.body, axes, [&](const Expr& read, const std::vector<int64_t>& index) {
      check_access(stage, "reads", read->name, index);
    });
  }

  void check_access(const Stage& stage, const char* action, const std::string& buffer,
                    const std::vector<int64_t>& index) {
    std::vector<int64_t> mins, extents;
    auto alloc = allocs_.find(buffer);
    if (alloc != allocs_.end()) {
      for (const Expr& min : alloc->second->mins) mins.push_back(evaluate_index(min, values_));
      for (const Expr& extent : alloc->second->extents) {
        extents.push_back(evaluate_index(extent, values_));
      }
    } else {
      for (const Extent& extent : nest_.buffer(buffer).shape) {
        mins.push_back(0);
        extents.push_back(extent.evaluate(values_));
      }
    }
    for (size_t d = 0; d < index.size(); ++d) {
      if (alloc != allocs_.end() && alloc->second->layout.fold(d) > 0) continue;
      EMULSION_CHECK(index[d] >= mins[d] && index[d] - mins[d] < extents[d],
                     "nest {}: {} {} {}{}, outside what is stored: from {}, {} on each axis{}",
                     nest_.name, stage.name, action, buffer, brackets(index), brackets(mins),
                     brackets(extents), where());
    }
  }

  std::string where() const {
    std::string text;
    for (const auto& [name, value] : values_) {
      text += fmt::format("{}{} = {}", text.empty() ? ", at " : ", ", name, value);
    }
    return text;
  }

  const LoopNest& nest_;
  std::vector<const Node*> loops_;
  std::map<std::string, const Node*> allocs_;
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

void verify_nest_bounds(const LoopNest& nest) { BoundsVerifier(nest).verify(); }

}  // namespace emulsion
