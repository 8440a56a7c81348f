#include "backends/halide/emit_nest.h"

#include <utility>

#include "backends/entry/contracts_with_fma.h"
#include "backends/halide/emit_places.h"
#include "backends/halide/emit_prefetch.h"
#include "backends/halide/emit_uop.h"
#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"
#include "dsl/stack_room.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

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

class NestEmitter {
 public:
  NestEmitter(const LoopNest& nest, bool has_fma, const CompileOptions& options)
      : nest_(nest), has_fma_(has_fma), options_(options) {}

  EmittedNest emit() {
    EMULSION_CHECK(nest_.root != nullptr, "nest {}: no tree", nest_.name);
    for (const std::string& size : nest_.sizes) {
      const std::string name = size_argument(size);
      scope_.variables.emplace(size, hi::Variable::make(Halide::Int(32), name));
      result_.arguments.emplace_back(name, Halide::Argument::InputScalar, Halide::Int(32), 0,
                                     Halide::ArgumentEstimates{});
    }
    std::vector<const Place*> dense;
    for (const Buffer& buffer : nest_.buffers)
      if (const Place* place = declare(buffer)) dense.push_back(place);
    Stmt& statement = result_.statement = closed(*nest_.root);
    for (size_t i = dense.size(); i-- > 0;) statement = with_pointer(*dense[i], statement);
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
      result_.arguments.push_back(buffer_argument(buffer, place.memory));
    }
    if (buffer.role == BufferRole::output) result_.outputs[place.memory] = place.parameter;
    Halide::Expr elements = 1;
    for (const Halide::Expr& extent : extents) elements *= extent;
    result_.elements[place.memory] = hi::simplify(elements);
    return &scope_.places.insert_or_assign(buffer.name, std::move(place)).first->second;
  }

  // Of an argument without elements the pointer may be null, and a read that a select leaves out
  // goes to element 0: let that be the descriptor of the argument.
  static Stmt with_pointer(const Place& place, const Stmt& rest) {
    Halide::Expr host = host_pointer(place.memory);
    if (place.has_elements.defined() && place.role != BufferRole::constant) {
      const Halide::Expr handle = buffer_handle(place.memory);
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
    Guarded made;
    with_stack_room(
        [&] { std::visit([&](const auto& kind) { made = emit_kind(kind); }, node.kind); });
    return made;
  }

  Guarded emit_kind(const Block& block) {
    std::vector<Stmt> children;
    for (const NodePtr& child : block.children) children.push_back(closed(*child));
    return {hi::Block::make(children), {}};
  }

  Guarded emit_kind(const Loop& loop) {
    const std::string variable = loop.variable();
    const std::string name = unique(halide_name(variable));
    const Halide::Expr min = hi::simplify(scope_.index(loop.min));
    const Halide::Expr extent = loop_extent(loop.extent);
    const auto steps = hi::as_const_int(extent);
    if (steps && *steps <= 0) return {hi::Evaluate::make(0), {}};
    scope_.variables[variable] = hi::Variable::make(Halide::Int(32), name);
    ends_[variable] = hi::is_const_zero(min) ? extent : min + extent;
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
      const std::string& other = loop.prefetches[i].ahead_of;
      const Halide::Expr& end = ends_.at(other.empty() ? variable : other);
      const Stmt prefetch = emit_prefetch(nest_, loop, loop.prefetches[i], end, scope_);
      if (prefetch.defined()) statement = hi::Block::make(prefetch, statement);
    }
    scope_.variables.erase(variable);
    hi::ForType type = for_type(loop.kind);
    // Halide makes no vector of one step.
    if (steps && *steps == 1) type = hi::ForType::Serial;
    Halide::Expr count = extent;
    Stmt last;
    if (type == hi::ForType::Vectorized && *steps % 2 == 1 && is_masked(statement)) {
      count = static_cast<int32_t>(*steps - 1);
      last = last_lane(loop, hi::simplify(min + count));
    }
    EMULSION_CHECK(steps || type == hi::ForType::Serial || type == hi::ForType::Parallel,
                   "stage {}: the loop {} of {}", loop.stage, loop.axis, to_string(loop.extent));
    statement = hi::For::make(name, min, count, type, Halide::Partition::Auto,
                              Halide::DeviceAPI::None, statement);
    return {last.defined() ? hi::Block::make(statement, last) : statement, outside};
  }

  // Halide 21 stores and loads masked vectors in parts of the machine's length, and cannot a last
  // part of one lane: LLVM would end the process. Of an odd number of lanes the last is apart.
  Stmt last_lane(const Loop& loop, const Halide::Expr& last) {
    scope_.variables[loop.variable()] = last;
    Stmt statement = closed(*loop.body);
    scope_.variables.erase(loop.variable());
    return statement;
  }

  Guarded emit_kind(const WindowNode& window) {
    for (const Window& slide : window.slides) slid_along_.push_back(slide.loop->name);
    Guarded made = emit(*window.body);
    slid_along_.resize(slid_along_.size() - window.slides.size());
    return made;
  }

  // Where a window slides along loop v, all of it is computed at v == 0 and less in every other
  // step: that is where the loop is to be fast. `first`: of slid_along_, still to be told.
  Halide::Expr loop_extent(const Expr& extent, size_t first = 0) const {
    for (size_t i = first; i < slid_along_.size(); ++i) {
      const std::string& loop = slid_along_[i];
      if (!mentions(extent, loop)) continue;
      const auto at = [&](int64_t step) {
        const auto value = [&](const std::string& name) {
          return name == loop ? int_constant(step) : Expr();
        };
        return loop_extent(substitute_axes(extent, value), i + 1);
      };
      return Halide::select(scope_.variables.at(loop) > 0, Halide::likely(at(1)), at(0));
    }
    return hi::simplify(scope_.index(extent));
  }

  Guarded emit_kind(const Branch& branch) {
    const Halide::Expr condition = scope_.index(branch.condition);
    return {hi::IfThenElse::make(condition, closed(*branch.holds), closed(*branch.otherwise)), {}};
  }

  Guarded emit_kind(const Alloc& alloc) {
    const auto hoisted = hoisted_.find(alloc.stage);
    const bool in_output = !alloc.output.empty(), is_hoisted = hoisted != hoisted_.end();
    Place place = in_output ? scope_.place(alloc.output) : Place();
    Halide::Expr elements;
    if (!in_output) {
      place.type = halide_type(nest_.buffer(alloc.stage).dtype);
      place.shape = nest_.buffer(alloc.stage).shape;
      place.mins = simplified(alloc.mins);
      place.extents = simplified(alloc.extents);
      place.strides = storage_strides(alloc.layout, place.extents, &elements);
      place.folds = alloc.layout.folds;
      place.memory = is_hoisted ? hoisted->second : unique(halide_name(alloc.stage));
    }
    place.buffer = alloc.stage;
    scope_.places.insert_or_assign(alloc.stage, place);
    Stmt body = closed(*alloc.body);
    scope_.places.erase(alloc.stage);
    if (in_output || is_hoisted) return {body, {}};
    return {allocate(alloc, place.memory, elements, body), {}};
  }

  Guarded emit_kind(const HoistedAlloc& hoisted) {
    const std::string memory = unique(halide_name(hoisted.stage));
    Halide::Expr elements;
    storage_strides(hoisted.layout, simplified(hoisted.extents), &elements);
    hoisted_.emplace(hoisted.stage, memory);
    const Stmt body = closed(*hoisted.body);
    hoisted_.erase(hoisted.stage);
    return {allocate(hoisted, memory, elements, body), {}};
  }

  std::vector<Halide::Expr> simplified(const std::vector<Expr>& indices) const {
    std::vector<Halide::Expr> result = scope_.indices(indices);
    for (Halide::Expr& index : result) index = hi::simplify(index);
    return result;
  }

  Stmt allocate(const Storage& storage, const std::string& memory, const Halide::Expr& elements,
                const Stmt& body) const {
    const Halide::Type type = type_in_memory(halide_type(nest_.buffer(storage.stage).dtype));
    const bool near = storage.memory == Memory::stack || storage.memory == Memory::registers;
    EMULSION_CHECK(near || storage.memory == Memory::heap, "memory {}", to_string(storage.memory));
    // LLVM takes what it can from the stack to the registers.
    const auto kind = near ? Halide::MemoryType::Stack : Halide::MemoryType::Heap;
    return hi::Allocate::make(memory, type, kind, {elements}, hi::const_true(), body);
  }

  Guarded emit_kind(const UopNode& uop) {
    const Stage& stage = nest_.stage(uop.stage);
    std::vector<EmittedGuard> guards, masks;
    for (const Guard& guard : uop.guards) {
      const bool of_one_side = guard.mask == GuardMask::loads || guard.mask == GuardMask::stores;
      (of_one_side ? masks : guards).push_back({scope_.index(guard.condition), guard.mask});
    }
    const bool fma = has_fma_ && contracts_with_fma(stage, uop, loops_);
    const auto [own, is_new] = own_reads_.try_emplace(uop.stage);
    if (is_new) own->second = own_reads_of(stage);
    UopContext context{nest_, stage, scope_, own->second, has_fma_, fma, options_.checked, {}};
    context.innermost = innermost();
    return {emit_uop(uop, masks, context), guards};
  }

  // The variable of the loop that the node is in when there are vectors and copies.
  Halide::Expr innermost() const {
    for (size_t at = loops_.size(); at-- > 0;) {
      const Loop& loop = *loops_[at];
      const bool is_loop = loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel;
      if (is_loop && constant_value(loop.extent) != 1) return scope_.variables.at(loop.variable());
    }
    return {};
  }

  // Halide's passes take equal names for equal things.
  std::string unique(const std::string& name) {
    const int uses = ++uses_[name];
    return uses == 1 ? name : name + "." + std::to_string(uses);
  }

  const LoopNest& nest_;
  const bool has_fma_;
  const CompileOptions& options_;
  EmittedNest result_;
  EmitScope scope_;
  std::vector<const Loop*> loops_;              // around the node at hand, outermost first
  std::map<std::string, Halide::Expr> ends_;    // of the variables of these
  std::vector<std::string> slid_along_;         // loops, by the windows around it
  std::map<std::string, std::string> hoisted_;  // memory by stage
  std::map<std::string, OwnReads> own_reads_;   // by stage
  std::map<std::string, int> uses_;
};

}  // namespace

std::string size_argument(const std::string& size) { return "size_" + size; }

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

EmittedNest emit_nest(const LoopNest& nest, bool has_fma, const CompileOptions& options) {
  return NestEmitter(nest, has_fma, options).emit();
}

}  // namespace emulsion
