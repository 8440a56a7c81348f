#include "passes/nest/end_guarded_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "dsl/affine.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/loop_steps.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

class GuardedEndFinder : public NestVisitor {
 public:
  GuardedEndFinder(const std::string& variable, const Expr& step)
      : variable_(variable), step_(step) {}

  std::map<std::string, GuardedEnd> find(const Node& body) {
    walk(body);
    for (const std::string& loop : others_) ends_.erase(loop);
    return std::move(ends_);
  }

 private:
  struct Around {
    const Loop* loop;
    std::set<std::string> stored_inside;  // stages
  };

  void visit_loop(const Loop& loop) override {
    const bool may_end = loop.kind == LoopKind::serial && loop.shared.empty() && !loop.partition &&
                         constant_value(loop.min) == 0 && kept_.count(loop.stage) == 0;
    if (!may_end) others_.insert(loop.variable());
    around_.push_back({&loop, {}});
    NestVisitor::visit_loop(loop);
    around_.pop_back();
  }

  void visit_alloc(const Alloc& alloc) override {
    for (Around& one : around_) one.stored_inside.insert(alloc.stage);
    NestVisitor::visit_alloc(alloc);
    for (Around& one : around_) one.stored_inside.erase(alloc.stage);
  }

  // What it keeps, a later step may read. Of what is stored whole no step computes any but once.
  void visit_window(const WindowNode& window) override {
    if (window.is_whole) return NestVisitor::visit_window(window);
    for (const Around& one : around_) others_.insert(one.loop->variable());
    kept_.insert(window.stage);
    NestVisitor::visit_window(window);
    kept_.erase(window.stage);
  }

  void visit_uop(const UopNode& uop) override {
    for (const Around& one : around_) {
      const std::string name = one.loop->variable();
      if (one.stored_inside.count(uop.stage) > 0 || others_.count(name) > 0) continue;
      const std::optional<GuardedEnd> end = end_of(*one.loop, uop);
      const auto known = ends_.find(name);
      if (!end || (known != ends_.end() && !is_same(known->second, *end))) {
        others_.insert(name);
      } else {
        ends_.emplace(name, *end);
      }
    }
  }

  std::optional<GuardedEnd> end_of(const Loop& loop, const UopNode& uop) const {
    for (const Guard& guard : uop.guards) {
      const bool is_all =
          guard.mask == GuardMask::instance || guard.mask == GuardMask::loads_and_stores;
      if (!is_all || guard.condition->op != ExprOp::lt) continue;
      const Expr index = without_single_steps(guard.condition->args[0], loop);
      const Expr& extent = guard.condition->args[1];
      const std::optional<Affine> affine = affine_of(index);
      const std::optional<Extent> domain = as_extent(extent);
      if (!affine || !domain) continue;
      const auto found = affine->coefficients.find(loop.variable());
      if (found == affine->coefficients.end() || found->second != 1) continue;
      const Expr start = simplify_index(substitute_axes(index, [&](const std::string& name) {
        if (name == loop.variable()) return int_constant(0);
        return name == variable_ ? step_ : Expr();
      }));
      if (depends_on_loops(start)) continue;
      const Expr steps = steps_left(*domain, start);
      if (!at_least(steps, loop.extent)) return GuardedEnd{index, extent, steps};
    }
    return std::nullopt;
  }

  // Other loops that take one step are there as 0.
  Expr without_single_steps(const Expr& index, const Loop& loop) const {
    return simplify_index(substitute_axes(index, [&](const std::string& name) {
      const bool is_single = std::any_of(around_.begin(), around_.end(), [&](const Around& one) {
        return one.loop != &loop && one.loop->variable() == name &&
               constant_value(one.loop->min) == 0 && constant_value(one.loop->extent) == 1;
      });
      return is_single ? int_constant(0) : Expr();
    }));
  }

  static bool is_same(const GuardedEnd& a, const GuardedEnd& b) {
    const Affine of_a = affine_of(a.index).value(), of_b = affine_of(b.index).value();
    return equal(a.steps, b.steps) && of_a.coefficients == of_b.coefficients &&
           of_a.offset == of_b.offset && equal(a.extent, b.extent);
  }

  const std::string& variable_;
  const Expr& step_;
  std::vector<Around> around_;
  std::map<std::string, GuardedEnd> ends_;
  std::set<std::string> others_;  // loops that do not end so
  std::set<std::string> kept_;    // stages of windows around
};

}  // namespace

std::map<std::string, GuardedEnd> guarded_ends(const NodePtr& body, const std::string& variable,
                                               const Expr& step) {
  return GuardedEndFinder(variable, step).find(*body);
}

}  // namespace emulsion
