#include "passes/nest/verify_nest_context.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace emulsion {
namespace {

// Values that every run-time size takes in turn: none, small, odd, and around the usual tile sizes.
constexpr int64_t kSizes[] = {0, 1, 3, 16, 37};

// The numbers in a condition are where one side takes over from the other.
void add_sizes_around(const Expr& condition, std::set<int64_t>* sizes) {
  constexpr int64_t kMostSize = 1024;  // a sample, not a proof
  visit(condition, [&](const Expr& e) {
    if (e->op != ExprOp::constant || e->int_value < 1 || e->int_value > kMostSize) return;
    sizes->insert({e->int_value - 1, e->int_value, e->int_value + 1});
  });
}

}  // namespace

ContextVisitor::ContextVisitor(const LoopNest& nest) : nest_(nest) {
  if (nest.sizes.empty()) {
    sizes_ = {0};
    return;
  }
  std::set<int64_t> sizes(std::begin(kSizes), std::end(kSizes));
  for (const Stage& stage : nest.stages) {
    for (const Specialization& specialization : stage.specializations) {
      add_sizes_around(specialization.condition, &sizes);
    }
  }
  sizes_.assign(sizes.begin(), sizes.end());
}

void ContextVisitor::visit_loop(const Loop& loop) {
  loops_.push_back(&loop);
  walk_at_place(*loop.body);
  loops_.pop_back();
}

void ContextVisitor::visit_alloc(const Alloc& alloc) {
  allocs_[alloc.stage] = &alloc;
  walk(*alloc.body);
  allocs_.erase(alloc.stage);
}

void ContextVisitor::visit_window(const WindowNode& window) {
  windows_[window.stage] = &window;
  walk(*window.body);
  windows_.erase(window.stage);
}

void ContextVisitor::visit_branch(const Branch& branch) {
  for (const NodePtr* side : {&branch.holds, &branch.otherwise}) {
    std::vector<int64_t> here;
    std::copy_if(sizes_.begin(), sizes_.end(), std::back_inserter(here), [&](int64_t size) {
      SizeValues values;
      for (const std::string& name : nest_.sizes) values[name] = size;
      return &chosen_side(branch, values) == side;
    });
    if (here.empty()) continue;
    std::swap(sizes_, here);
    const bool holds = side == &branch.holds;
    size_t& passed = passed_[branch.stage];
    if (holds) specialized_.emplace(branch.stage, specialized(nest_.stage(branch.stage), passed));
    passed += holds ? 0 : 1;
    walk_at_place(**side);
    passed_[branch.stage] -= holds ? 0 : 1;
    specialized_.erase(branch.stage);
    std::swap(sizes_, here);
  }
}

void ContextVisitor::walk_at_place(const Node& node) {
  places_.emplace_back();
  walk(node);
  places_.pop_back();
}

LoopSamples& ContextVisitor::samples() {
  constexpr int kMostUses = 64;  // the table keeps all that was computed
  Place& here = places_.back();
  if (here.uses++ % kMostUses == 0) here.samples = sample_loops(loops_, nest_.sizes, sizes_);
  return *here.samples;
}

const Stage& ContextVisitor::stage_here(const std::string& name) const {
  auto found = specialized_.find(name);
  return found == specialized_.end() ? nest_.stage(name) : found->second;
}

}  // namespace emulsion
