#include "backends/halide/emit_nest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/halide/emit_prefetch.h"
#include "backends/halide/emit_uop.h"
#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Deeper chains of calls than this LLVM no longer makes vectors of.
constexpr int64_t kLongestFmaChain = 8;

Stmt nothing() { return hi::Evaluate::make(0); }

Halide::Expr handle_of(const Place& place) {
  return hi::Variable::make(Halide::type_of<halide_buffer_t*>(), place.memory + ".buffer");
}

hi::ForType for_type(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return hi::ForType::Serial;
    case LoopKind::parallel:
      return hi::ForType::Parallel;
    case LoopKind::vectorized:
      return hi::ForType::Vectorized;
    case LoopKind::unrolled:
      return hi::ForType::Unrolled;
    case LoopKind::tile:
      break;
  }
  EMULSION_CHECK(false, "a loop of a tile");
  return hi::ForType::Serial;
}

Halide::MemoryType memory_type(Memory memory) {
  const bool near = memory == Memory::stack || memory == Memory::registers;
  EMULSION_CHECK(near || memory == Memory::heap, "memory {}", static_cast<int>(memory));
  // LLVM takes what it can from the stack to the registers.
  return near ? Halide::MemoryType::Stack : Halide::MemoryType::Heap;
}

// A statement and the guards that are still to stand around it: each goes as far out as the loops
// that it speaks of let it.
struct Guarded {
  Stmt statement;
  std::vector<EmittedGuard> guards;
};

Stmt inside(const std::vector<EmittedGuard>& guards, Stmt statement) {
  for (size_t i = guards.size(); i-- > 0;) {
    // The case in which all hold is the one to be fast.
    statement = hi::IfThenElse::make(Halide::likely(guards[i].condition), statement);
  }
  return statement;
}

// Whether any of it is left out for some steps.
bool is_masked(const Stmt& statement) {
  class Finder : public hi::IRGraphVisitor {
   public:
    bool found = false;

   private:
    using IRGraphVisitor::visit;
    void visit(const hi::IfThenElse*) override { found = true; }
    void visit(const hi::Load* op) override {
      found = found || !hi::is_const_one(op->predicate);
      IRGraphVisitor::visit(op);
    }
    void visit(const hi::Store* op) override {
      found = found || !hi::is_const_one(op->predicate);
      IRGraphVisitor::visit(op);
    }
  } finder;
  statement.accept(&finder);
  return finder.found;
}

class NestEmitter {
 public:
  NestEmitter(const LoopNest& nest, const EmitOptions& options) : nest_(nest), options_(options) {}

  EmittedNest emit() {
    EMULSION_CHECK(nest_.root != nullptr, "nest {}: no tree", nest_.name);
    for (const std::string& size : nest_.sizes) {
      const std::string name = size_argument(size);
      scope_.variables.emplace(size, hi::Variable::make(Halide::Int(32), name));
      result_.arguments.emplace_back(name, Halide::Argument::InputScalar, Halide::Int(32), 0,
                                     Halide::ArgumentEstimates{});
    }
    std::vector<const Place*> dense;
    for (const Buffer& buffer : nest_.buffers) {
      if (const Place* place = declare(buffer)) dense.push_back(place);
    }
    Stmt statement = closed(*nest_.root);
    for (size_t i = dense.size(); i-- > 0;) statement = with_pointer(*dense[i], statement);
    result_.statement = statement;
    return std::move(result_);
  }

 private:
  const Place* declare(const Buffer& buffer) {
    if (buffer.role == BufferRole::internal) return nullptr;
    if (buffer.role == BufferRole::constant && buffer.data && buffer.data->empty()) return nullptr;
    std::vector<Halide::Expr> extents;
    for (const Extent& extent : buffer.shape) extents.push_back(scope_.extent(extent));
    Place place = dense_place(buffer, extents);
    if (buffer.role == BufferRole::constant) {
      result_.constants.push_back(place.image);
    } else {
      const auto kind = buffer.role == BufferRole::output ? Halide::Argument::OutputBuffer
                                                          : Halide::Argument::InputBuffer;
      result_.arguments.emplace_back(place.memory, kind, place.type,
                                     static_cast<uint8_t>(buffer.shape.size()),
                                     Halide::ArgumentEstimates{});
    }
    return &scope_.places.insert_or_assign(buffer.name, std::move(place)).first->second;
  }

  // Of an argument without elements the pointer may be null, and a read that a select leaves out
  // goes to element 0: let that be the descriptor of the argument.
  static Stmt with_pointer(const Place& place, const Stmt& rest) {
    const Halide::Expr handle = handle_of(place);
    Halide::Expr host = hi::Call::make(Halide::type_of<void*>(), hi::Call::buffer_get_host,
                                       {handle}, hi::Call::Extern);
    if (place.has_elements.defined() && place.role != BufferRole::constant) {
      host = hi::Select::make(place.has_elements, host, hi::Reinterpret::make(host.type(), handle));
    }
    return hi::LetStmt::make(place.memory, host, rest);
  }

  // The node with all its guards around it.
  Stmt closed(const Node& node) {
    Guarded made = emit(node);
    return inside(made.guards, made.statement);
  }

  Guarded emit(const Node& node) {
    if (const Loop* loop = node.as<Loop>()) return emit_loop(*loop);
    if (const UopNode* uop = node.as<UopNode>()) return emit_instance(*uop);
    if (const WindowNode* window = node.as<WindowNode>()) return emit_window(*window);
    if (const Branch* branch = node.as<Branch>()) return {emit_branch(*branch), {}};
    if (const Alloc* alloc = node.as<Alloc>()) return {emit_alloc(*alloc), {}};
    if (const auto* hoisted = node.as<HoistedAlloc>()) return {emit_hoisted(*hoisted), {}};
    std::vector<Stmt> children;
    for_each_child(node, [&](const NodePtr& child) { children.push_back(closed(*child)); });
    return {hi::Block::make(children), {}};
  }

  Guarded emit_loop(const Loop& loop) {
    const std::string variable = loop.variable();
    const std::string name = unique(halide_name(variable));
    const Halide::Expr min = hi::simplify(scope_.index(loop.min));
    const Halide::Expr extent = loop_extent(loop);
    const auto steps = hi::as_const_int(extent);
    if (steps && *steps <= 0) return {nothing(), {}};
    scope_.variables[variable] = hi::Variable::make(Halide::Int(32), name);
    loops_.push_back(&loop);
    Guarded body = emit(*loop.body);
    loops_.pop_back();
    std::vector<EmittedGuard> here, outside;
    for (EmittedGuard& guard : body.guards) {
      const bool about = hi::stmt_or_expr_uses_var(guard.condition, name);
      (about ? here : outside).push_back(std::move(guard));
    }
    Stmt statement = inside(here, body.statement);
    for (size_t i = loop.prefetches.size(); i-- > 0;) {
      const Halide::Expr end = hi::is_const_zero(min) ? extent : min + extent;
      const Stmt prefetch = emit_prefetch(nest_, loop, loop.prefetches[i], end, scope_);
      if (prefetch.defined()) statement = hi::Block::make(prefetch, statement);
    }
    scope_.variables.erase(variable);
    hi::ForType type = for_type(loop.kind);
    // Halide makes no vector of one step.
    if (steps && *steps == 1) type = hi::ForType::Serial;
    if (type == hi::ForType::Vectorized && *steps % 2 == 1 && is_masked(statement)) {
      const auto even = static_cast<int32_t>(*steps - 1);
      return {hi::Block::make(for_loop(name, min, even, type, statement),
                              last_lane(loop, hi::simplify(min + even))),
              outside};
    }
    EMULSION_CHECK(steps || type == hi::ForType::Serial || type == hi::ForType::Parallel,
                   "stage {}: the loop {} of {}", loop.stage, loop.axis, to_string(loop.extent));
    return {for_loop(name, min, extent, type, statement), outside};
  }

  static Stmt for_loop(const std::string& name, const Halide::Expr& min, const Halide::Expr& extent,
                       hi::ForType type, const Stmt& body) {
    return hi::For::make(name, min, extent, type, Halide::Partition::Auto, Halide::DeviceAPI::None,
                         body);
  }

  // Halide 21 stores and loads masked vectors in parts of the machine's length, and cannot a last
  // part of one lane: LLVM would end the process. Of an odd number of lanes the last is apart.
  Stmt last_lane(const Loop& loop, const Halide::Expr& last) {
    scope_.variables[loop.variable()] = last;
    Stmt statement = closed(*loop.body);
    scope_.variables.erase(loop.variable());
    return statement;
  }

  Guarded emit_window(const WindowNode& window) {
    windows_[window.stage] = &window;
    Guarded made = emit(*window.body);
    windows_.erase(window.stage);
    return made;
  }

  Halide::Expr loop_extent(const Loop& loop) const {
    auto window = windows_.find(loop.stage);
    return window == windows_.end() ? hi::simplify(scope_.index(loop.extent))
                                    : extent_in(*window->second, 0, loop.extent);
  }

  // Where a window slides along loop v, all of it is computed at v == 0 and less in every other
  // step: that is where the loop is to be fast. `first`: of the slides that are still to be told.
  Halide::Expr extent_in(const WindowNode& window, size_t first, const Expr& extent) const {
    for (size_t i = first; i < window.slides.size(); ++i) {
      const std::string& loop = window.slides[i].loop;
      if (!mentions(extent, loop)) continue;
      const auto at = [&](int64_t step) {
        return extent_in(window, i + 1, substitute_axes(extent, [&](const std::string& name) {
                           return name == loop ? int_constant(step) : Expr();
                         }));
      };
      return Halide::select(scope_.variables.at(loop) > 0, Halide::likely(at(1)), at(0));
    }
    return hi::simplify(scope_.index(extent));
  }

  Stmt emit_branch(const Branch& branch) {
    const Halide::Expr condition = scope_.index(branch.condition);
    const Stage& stage = nest_.stage(branch.stage);
    size_t& passed = passed_[branch.stage];
    specialized_.insert_or_assign(branch.stage, specialized(stage, passed));
    const Stmt holds = closed(*branch.holds);
    specialized_.erase(branch.stage);
    ++passed;
    const Stmt otherwise = closed(*branch.otherwise);
    --passed_[branch.stage];
    return hi::IfThenElse::make(condition, holds, otherwise);
  }

  Stmt emit_alloc(const Alloc& alloc) {
    Place place;
    place.buffer = alloc.stage;
    const Buffer& buffer = nest_.buffer(alloc.stage);
    place.type = halide_type(buffer.dtype);
    place.shape = buffer.shape;
    for (size_t d = 0; d < alloc.extents.size(); ++d) {
      place.mins.push_back(hi::simplify(scope_.index(alloc.mins[d])));
      place.extents.push_back(hi::simplify(scope_.index(alloc.extents[d])));
    }
    Halide::Expr elements;
    place.strides = storage_strides(alloc.layout, place.extents, &elements);
    place.folds = alloc.layout.folds;
    auto hoisted = hoisted_.find(alloc.stage);
    const bool has_memory = hoisted != hoisted_.end();
    place.memory = has_memory ? hoisted->second : unique(halide_name(alloc.stage));
    const std::string memory = place.memory;
    scope_.places.insert_or_assign(alloc.stage, std::move(place));
    Stmt body = closed(*alloc.body);
    scope_.places.erase(alloc.stage);
    return has_memory ? body : allocate(alloc, memory, elements, body);
  }

  Stmt emit_hoisted(const HoistedAlloc& hoisted) {
    const std::string memory = unique(halide_name(hoisted.stage));
    std::vector<Halide::Expr> extents;
    for (const Expr& extent : hoisted.extents) {
      extents.push_back(hi::simplify(scope_.index(extent)));
    }
    Halide::Expr elements;
    storage_strides(hoisted.layout, extents, &elements);
    hoisted_.emplace(hoisted.stage, memory);
    const Stmt body = closed(*hoisted.body);
    hoisted_.erase(hoisted.stage);
    return allocate(hoisted, memory, elements, body);
  }

  Stmt allocate(const Storage& storage, const std::string& memory, const Halide::Expr& elements,
                const Stmt& body) const {
    const Halide::Type type = type_in_memory(halide_type(nest_.buffer(storage.stage).dtype));
    return hi::Allocate::make(memory, type, memory_type(storage.memory), {elements},
                              hi::const_true(), body);
  }

  const Stage& stage_here(const std::string& name) const {
    auto found = specialized_.find(name);
    return found == specialized_.end() ? nest_.stage(name) : found->second;
  }

  Guarded emit_instance(const UopNode& uop) {
    const Stage& stage = stage_here(uop.stage);
    std::vector<EmittedGuard> guards, masks;
    for (const Guard& guard : uop.guards) {
      const bool of_one_side = guard.mask == GuardMask::loads || guard.mask == GuardMask::stores;
      (of_one_side ? masks : guards).push_back({scope_.index(guard.condition), guard.mask});
    }
    const UopContext context{nest_, stage, scope_, contracts_with_fma(stage, uop),
                             options_.checked};
    return {emit_uop(uop, masks, context), guards};
  }

  // A sum of products, on a target that has the instruction, unless so many reduction steps are
  // unrolled that LLVM would not find the vectors again.
  bool contracts_with_fma(const Stage& stage, const UopNode& uop) const {
    if (!options_.has_fma || uop.part != Part::update || stage.combiner != Combiner::sum)
      return false;
    if (!is_float(stage.dtype) || stage.body->op != ExprOp::mul) return false;
    int64_t unrolled = 1;
    for (const Loop* loop : loops_) {
      if (loop->kind != LoopKind::unrolled) continue;
      const std::string variable = loop->variable();
      const bool carries = std::any_of(
          uop.point.begin() + static_cast<std::ptrdiff_t>(stage.axes.size()), uop.point.end(),
          [&](const Expr& index) { return mentions(index, variable); });
      if (carries) unrolled *= std::max<int64_t>(1, evaluate_index(loop->extent, {}));
    }
    return unrolled <= kLongestFmaChain;
  }

  // Halide's passes take equal names for equal things.
  std::string unique(const std::string& name) {
    const int uses = ++uses_[name];
    return uses == 1 ? name : name + "." + std::to_string(uses);
  }

  const LoopNest& nest_;
  const EmitOptions& options_;
  EmittedNest result_;
  EmitScope scope_;
  std::vector<const Loop*> loops_;                    // around the node at hand, outermost first
  std::map<std::string, const WindowNode*> windows_;  // around it, by stage
  std::map<std::string, Stage> specialized_;          // stages that are in a specialization here
  std::map<std::string, size_t> passed_;        // specializations that the branches around left out
  std::map<std::string, std::string> hoisted_;  // memory by stage
  std::map<std::string, int> uses_;
};

}  // namespace

std::string size_argument(const std::string& size) { return "size_" + size; }

EmittedNest emit_nest(const LoopNest& nest, const EmitOptions& options) {
  return NestEmitter(nest, options).emit();
}

}  // namespace emulsion
