#include "passes/lower/check_loop_groups.h"

#include <map>
#include <string>
#include <unordered_map>

#include "dsl/error.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

class Checker : public NestVisitor {
 public:
  explicit Checker(const Graph& graph) {
    for (const LoopGroup& group : graph.loop_groups()) {
      const std::string& last = group.members.back()->name;
      for (const OpPtr& op : group.members) {
        if (op == group.members.back()) continue;
        last_of_[op->name] = last;
        for (const OpPtr& member : op->members) last_of_[member->name] = last;
      }
    }
  }

 private:
  void visit_loop(const Loop& loop) override {
    ++open_[loop.stage];
    NestVisitor::visit_loop(loop);
    --open_[loop.stage];
  }
  void visit_alloc(const Alloc& alloc) override {
    check(alloc);
    NestVisitor::visit_alloc(alloc);
  }
  void visit_hoisted_alloc(const HoistedAlloc& alloc) override {
    check(alloc);
    NestVisitor::visit_hoisted_alloc(alloc);
  }

  void check(const Storage& storage) {
    const auto last = last_of_.find(storage.stage);
    if (last == last_of_.end() || open_[last->second] > 0) return;
    fail(
        "lower: expected {} to be stored in the loops of {}, with which the graph fuses it, got "
        "storage outside of them; legal: a schedule that computes it there, or the graph without "
        "its loop groups, as unfuse gives it",
        storage.stage, last->second);
  }

  std::unordered_map<std::string, std::string> last_of_;
  std::map<std::string, int> open_;  // loops that are around, by their stage
};

}  // namespace

void check_loop_groups(const Graph& graph, const LoopNest& nest) {
  if (!graph.loop_groups().empty()) Checker(graph).walk(*nest.root);
}

}  // namespace emulsion
