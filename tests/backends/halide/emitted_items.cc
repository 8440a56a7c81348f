#include "tests/backends/halide/emitted_items.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "backends/halide/emit_places.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

bool has_no_elements(const Buffer& buffer) {
  return buffer.role == BufferRole::constant && buffer.data && buffer.data->empty();
}

class NestWalk : public NestVisitor {
 public:
  NestWalk(const LoopNest& nest, const std::vector<StatementItem>& found)
      : nest_(nest), found_(found) {}

  NestItems items() {
    for (const Buffer& buffer : nest_.buffers) {
      if (buffer.role == BufferRole::internal || has_no_elements(buffer)) continue;
      add(ItemKind::pointer, halide_name(buffer.name));
    }
    walk(*nest_.root);
    return std::move(result_);
  }

 private:
  NestItem& add(ItemKind kind, const std::string& name) {
    NestItem item;
    item.kind = kind;
    item.name = name;
    item.depth = depth_;
    item.loops = loops_;
    item.loop_items = loop_items_;
    item.branches = branches_;
    item.live = live_;
    item.in_outputs = in_outputs_;
    result_.items.push_back(std::move(item));
    return result_.items.back();
  }

  void visit_uop(const UopNode& uop) override {
    add(ItemKind::uop, memory_of(uop.stage)).uop = &uop;
  }

  std::string memory_of(const std::string& buffer) const {
    const auto output = in_outputs_.find(buffer);
    return halide_name(output == in_outputs_.end() ? buffer : output->second);
  }

  void inside(const Node& child) {
    ++depth_;
    walk(child);
    --depth_;
  }

  void visit_loop(const Loop& loop) override {
    if (never_runs(loop.extent)) {
      ++result_.empty_loops;
      return;
    }
    const size_t position = result_.items.size();
    const bool apart = last_lane_is_apart(loop, position);
    NestItem& item = add(ItemKind::loop, halide_name(loop.variable()));
    item.loop = &loop;
    item.last_lane_apart = apart;
    loop_items_.push_back(position);
    loops_.push_back(&loop);
    ++depth_;
    for (const Prefetch& prefetch : loop.prefetches) {
      const Buffer& buffer = nest_.buffer(prefetch.buffer);
      if (has_no_elements(buffer)) {
        ++result_.empty_prefetches;
        continue;
      }
      NestItem& ahead = add(ItemKind::prefetch, memory_of(prefetch.buffer));
      ahead.loop = &loop;
      ahead.prefetch = &prefetch;
      ahead.stepped = loop_named(prefetch.ahead_of.empty() ? loop.variable() : prefetch.ahead_of);
    }
    --depth_;
    inside(*loop.body);
    if (apart) {
      ++result_.last_lanes;
      loop_items_.back() = kLastLane;
      walk(*loop.body);
    }
    loops_.pop_back();
    loop_items_.pop_back();
  }

  const Loop* loop_named(const std::string& variable) const {
    const auto found = std::find_if(loops_.rbegin(), loops_.rend(),
                                    [&](const Loop* loop) { return loop->variable() == variable; });
    return found == loops_.rend() ? nullptr : *found;
  }

  // Whether the item there is a loop of all lanes but the last of an odd number.
  bool last_lane_is_apart(const Loop& loop, size_t position) const {
    if (loop.kind != LoopKind::vectorized || loop.extent->op != ExprOp::constant) return false;
    const int64_t lanes = loop.extent->int_value;
    if (lanes % 2 == 0 || lanes == 1 || position >= found_.size()) return false;
    const auto* found = found_[position].statement.as<hi::For>();
    return found != nullptr && hi::is_const(found->extent, lanes - 1);
  }

  static bool never_runs(const Expr& extent) {
    bool constant = true;
    visit(extent, [&](const Expr& e) {
      constant = constant && e->op != ExprOp::axis && e->op != ExprOp::size;
    });
    return constant && evaluate_index(extent, {}) <= 0;
  }

  void visit_branch(const Branch& branch) override {
    add(ItemKind::branch, "").branch = &branch;
    branches_.emplace_back(&branch, true);
    inside(*branch.holds);
    branches_.pop_back();
    add(ItemKind::otherwise, "").branch = &branch;
    branches_.emplace_back(&branch, false);
    inside(*branch.otherwise);
    branches_.pop_back();
  }

  void visit_alloc(const Alloc& alloc) override {
    if (!alloc.output.empty()) {  // in memory that is there already
      in_outputs_[alloc.stage] = alloc.output;
      walk(*alloc.body);
      in_outputs_.erase(alloc.stage);
      return;
    }
    auto hoisted = hoisted_.find(alloc.stage);
    const bool has_memory = hoisted != hoisted_.end();
    LiveAlloc live{&alloc, &alloc, result_.items.size()};
    if (has_memory) {
      live.memory = hoisted->second.memory;
      live.item = hoisted->second.item;
    } else {
      add(ItemKind::alloc, halide_name(alloc.stage)).storage = &alloc;
    }
    live_[alloc.stage] = live;
    has_memory ? walk(*alloc.body) : inside(*alloc.body);
    live_.erase(alloc.stage);
  }

  void visit_hoisted_alloc(const HoistedAlloc& hoisted) override {
    hoisted_[hoisted.stage] = {nullptr, &hoisted, result_.items.size()};
    add(ItemKind::alloc, halide_name(hoisted.stage)).storage = &hoisted;
    inside(*hoisted.body);
    hoisted_.erase(hoisted.stage);
  }

  const LoopNest& nest_;
  const std::vector<StatementItem>& found_;
  NestItems result_;
  int depth_ = 0;
  std::vector<const Loop*> loops_;
  std::vector<size_t> loop_items_;
  std::vector<std::pair<const Branch*, bool>> branches_;
  std::map<std::string, LiveAlloc> live_, hoisted_;
  std::map<std::string, std::string> in_outputs_;
};

std::string without_number(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot + 1 == name.size()) return name;
  const bool number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return number ? name.substr(0, dot) : name;
}

class StatementWalk {
 public:
  std::vector<StatementItem> items(const Stmt& statement) {
    walk(statement);
    return std::move(items_);
  }

 private:
  void add(ItemKind kind, const std::string& name, const Stmt& statement) {
    StatementItem item;
    item.kind = kind;
    item.name = without_number(name);
    item.depth = depth_;
    item.statement = statement;
    item.full_name = name;
    item.guards = guards_;
    item.atomic = atomic_;
    items_.push_back(std::move(item));
  }

  void inside(const Stmt& statement) {
    ++depth_;
    walk(statement);
    --depth_;
  }

  void walk(const Stmt& statement) {
    if (!statement.defined()) return;
    if (const auto* block = statement.as<hi::Block>()) {
      walk(block->first);
      return walk(block->rest);
    }
    if (const auto* let = statement.as<hi::LetStmt>()) {
      add(ItemKind::pointer, let->name, statement);
      return walk(let->body);
    }
    if (const hi::Call* prefetch = prefetch_in(statement)) {
      const auto* pointer = prefetch->args.at(0).as<hi::Variable>();
      if (pointer == nullptr) throw std::runtime_error("a prefetch of no pointer");
      return add(ItemKind::prefetch, pointer->name, statement);
    }
    if (const auto* loop = statement.as<hi::For>()) {
      add(ItemKind::loop, loop->name, statement);
      return inside(loop->body);
    }
    if (const auto* allocate = statement.as<hi::Allocate>()) {
      add(ItemKind::alloc, allocate->name, statement);
      return inside(allocate->body);
    }
    if (const auto* condition = statement.as<hi::IfThenElse>()) {
      return walk_condition(*condition, statement);
    }
    if (const auto* atomic = statement.as<hi::Atomic>()) {
      atomic_ = atomic->producer_name;
      walk(atomic->body);
      atomic_.clear();
      return;
    }
    if (const auto* store = statement.as<hi::Store>()) {
      return add(ItemKind::uop, store->name, statement);
    }
    if (statement.as<hi::AssertStmt>() != nullptr) return;  // of checked code
    const auto* evaluate = statement.as<hi::Evaluate>();
    if (evaluate != nullptr && hi::is_const(evaluate->value)) return;
    std::ostringstream text;
    text << "a statement that no nest becomes: " << statement;
    throw std::runtime_error(text.str());
  }

  void walk_condition(const hi::IfThenElse& condition, const Stmt& statement) {
    if (condition.else_case.defined()) {
      add(ItemKind::branch, "", statement);
      inside(condition.then_case);
      add(ItemKind::otherwise, "", statement);
      return inside(condition.else_case);
    }
    guards_.push_back(condition.condition);
    walk(condition.then_case);
    guards_.pop_back();
  }

  std::vector<StatementItem> items_;
  int depth_ = 0;
  std::vector<Halide::Expr> guards_;
  std::string atomic_;
};

}  // namespace

const hi::Call* prefetch_in(Stmt statement) {
  while (const auto* loop = statement.as<hi::For>()) statement = loop->body;
  const auto* evaluate = statement.as<hi::Evaluate>();
  const hi::Call* call = evaluate == nullptr ? nullptr : evaluate->value.as<hi::Call>();
  return call != nullptr && call->is_intrinsic(hi::Call::prefetch) ? call : nullptr;
}

std::string to_string(const Item& item) {
  static const char* const kNames[] = {"pointer", "loop",   "prefetch", "alloc",
                                       "uop",     "branch", "otherwise"};
  return std::string(kNames[static_cast<size_t>(item.kind)]) +
         (item.name.empty() ? "" : " " + item.name) + " at depth " + std::to_string(item.depth);
}

NestItems items_of(const LoopNest& nest, const std::vector<StatementItem>& found) {
  return NestWalk(nest, found).items();
}

std::vector<StatementItem> items_of(const Stmt& statement) {
  return StatementWalk().items(statement);
}

}  // namespace emulsion
