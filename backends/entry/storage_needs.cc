#include "backends/entry/storage_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

class NeedCollector : public NestVisitor {
 public:
  explicit NeedCollector(const LoopNest& nest) : nest_(nest) {}

  std::vector<StorageNeed> take() { return std::move(needs_); }

 private:
  void visit_alloc(const Alloc& alloc) override {
    if (hoisted_.count(alloc.stage) == 0 && alloc.output.empty()) add(alloc);
    walk(*alloc.body);
  }

  void visit_hoisted_alloc(const HoistedAlloc& hoisted) override {
    add(hoisted);
    hoisted_.insert(hoisted.stage);
    walk(*hoisted.body);
    hoisted_.erase(hoisted.stage);
  }

  // What is inside a loop without steps is not needed.
  void visit_loop(const Loop& loop) override {
    const bool is_known = constant_value(loop.extent).has_value() || mentions_loop(loop.extent);
    if (!is_known) conditions_.push_back(loop.extent > int_constant(0));
    walk(*loop.body);
    if (!is_known) conditions_.pop_back();
  }

  void visit_branch(const Branch& branch) override {
    conditions_.push_back(branch.condition);
    walk(*branch.holds);
    conditions_.back() = !branch.condition;
    walk(*branch.otherwise);
    conditions_.pop_back();
  }

  static bool mentions_loop(const Expr& extent) {
    return any_part(extent, [](const Expr& e) { return e->op == ExprOp::axis; });
  }

  void add(const Storage& storage) {
    StorageNeed need;
    need.stage = storage.stage;
    need.dtype = nest_.buffer(storage.stage).dtype;
    bool is_known = true;
    for (size_t i = 0; i < storage.extents.size(); ++i) {
      need.extents.push_back(padded(storage, i));
      is_known = is_known && constant_value(need.extents.back()).has_value();
    }
    if (is_known) return;
    for (const Expr& condition : conditions_) {
      need.when = need.when.defined() ? need.when && condition : condition;
    }
    std::string text = need.stage + (need.when.defined() ? to_string(need.when) : "");
    for (const Expr& extent : need.extents) text += ", " + to_string(extent);
    if (seen_.insert(text).second) needs_.push_back(std::move(need));
  }

  static Expr padded(const Storage& storage, size_t axis) {
    if (storage.layout.room(axis) > 0) return int_constant(storage.layout.room(axis));
    const std::vector<int64_t>& alignments = storage.layout.alignments;
    const int64_t multiple = alignments.empty() ? 1 : alignments[axis];
    const Expr& extent = storage.extents[axis];
    if (multiple <= 1) return extent;
    const Expr m = int_constant(multiple);
    return simplify_index((extent + int_constant(multiple - 1)) / m * m);
  }

  const LoopNest& nest_;
  std::vector<Expr> conditions_;   // of the node at hand
  std::set<std::string> hoisted_;  // stages whose memory is around the node at hand
  std::set<std::string> seen_;
  std::vector<StorageNeed> needs_;
};

}  // namespace

std::vector<StorageNeed> storage_needs(const LoopNest& nest) {
  NeedCollector collector(nest);
  if (nest.root) collector.walk(*nest.root);
  return collector.take();
}

void check_storage(const std::string& kernel, const std::vector<StorageNeed>& needs,
                   const SizeValues& sizes) {
  constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();
  for (const StorageNeed& need : needs) {
    if (need.when.defined() && evaluate_index(need.when, sizes) == 0) continue;
    int64_t bytes = size_in_bytes(need.dtype);
    std::vector<int64_t> extents;
    extents.reserve(need.extents.size());
    for (const Expr& extent : need.extents) {
      extents.push_back(std::max<int64_t>(1, evaluate_index(extent, sizes)));
      bytes = saturated_product(bytes, extents.back());
    }
    if (bytes <= kMostBytes) continue;
    fail(
        "kernel {}: storage of {}: expected at most {} bytes, got {} for shape [{}] of {}; legal: "
        "smaller run-time sizes, or a schedule that stores less",
        kernel, need.stage, kMostBytes, bytes, fmt::join(extents, ", "), to_string(need.dtype));
  }
}

}  // namespace emulsion
