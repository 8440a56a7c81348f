#include "backends/halide/define_stages.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "backends/halide/scalar_ops.h"
#include "backends/halide/translate_expr.h"
#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Halide::Internal::ReductionDomain;
using Halide::Internal::ReductionVariable;

// Deeper chains of calls than this LLVM no longer makes vectors of.
constexpr int64_t kLongestFmaChain = 8;

template <typename T>
std::vector<T> reversed(std::vector<T> list) {
  std::reverse(list.begin(), list.end());
  return list;
}

bool is_empty_constant(const Buffer& buffer) {
  return buffer.role == BufferRole::constant && buffer.data && buffer.data->empty();
}

Halide::Buffer<> constant_buffer(const Buffer& buffer) {
  std::vector<int> extents;
  for (const Extent& extent : buffer.shape) extents.push_back(static_cast<int>(extent.constant()));
  Halide::Buffer<> result(halide_type(buffer.dtype), reversed(extents), halide_name(buffer.name));
  EMULSION_CHECK(buffer.data && buffer.data->size() == result.size_in_bytes(),
                 "constant {}: {} bytes", buffer.name, buffer.data ? buffer.data->size() : 0);
  std::memcpy(result.data(), buffer.data->data(), buffer.data->size());
  return result;
}

ExprOp combining_op(Combiner combiner) {
  switch (combiner) {
    case Combiner::sum:
      return ExprOp::add;
    case Combiner::product:
      return ExprOp::mul;
    case Combiner::min:
      return ExprOp::min;
    case Combiner::max:
      return ExprOp::max;
    case Combiner::none:
      break;
  }
  EMULSION_CHECK(false, "an update without a combiner");
  return ExprOp::add;
}

// Dense and row-major, from 0: what the check of the arguments has made sure of.
template <typename Dimensions>
void constrain(const std::vector<Halide::Expr>& extents, Dimensions dimension) {
  Halide::Expr stride = 1;
  const int rank = static_cast<int>(extents.size());
  for (int d = 0; d < rank; ++d) {
    const Halide::Expr& extent = extents[static_cast<size_t>(rank - 1 - d)];
    dimension(d).set_bounds(0, extent).set_stride(stride);
    stride = Halide::Internal::simplify(stride * extent);
  }
}

// The variables of the loops that carry the reduction: those that its axes are made of.
std::set<std::string> carrying_variables(const Stage& stage, const Node& update) {
  std::set<std::string> carrying;
  for (size_t i = stage.axes.size(); i < update.point.size(); ++i) {
    visit(update.point[i], [&](const Expr& e) {
      if (e->op == ExprOp::axis) carrying.insert(e->name);
    });
  }
  return carrying;
}

// Whether an index of a reduction axis is the variable of a loop that is as long as the axis.
bool is_whole_loop(const Expr& index, const Axis& axis, const PartLoops& update) {
  return std::any_of(update.loops.begin(), update.loops.end(), [&](const Node* loop) {
    return index->op == ExprOp::axis && index->name == loop_variable(loop->stage, loop->axis) &&
           equal(loop->extent, extent_value(axis.extent()));
  });
}

// Halide takes the bounds of f % 4 for 0 and 3 even in one step of a loop f. Of f - f / 4 * 4 it
// finds the one value that it has there; the promise is for those around the loop.
class RemaindersOfOneStep : public Halide::Internal::IRMutator {
  using IRMutator::visit;

  Halide::Expr visit(const Halide::Internal::Mod* op) override {
    Halide::Expr a = mutate(op->a);
    if (!Halide::Internal::is_const(op->b)) return a % op->b;
    return Halide::unsafe_promise_clamped(a - a / op->b * op->b, 0, op->b - 1);
  }
};

// Whether a condition over sizes holds where they are 0, and only there as far as tried.
bool holds_for_nothing_only(const Expr& condition) {
  std::map<std::string, int64_t> sizes;
  visit(condition, [&](const Expr& e) {
    if (e->op == ExprOp::size) sizes[e->name] = 0;
  });
  if (evaluate_index(condition, sizes) == 0) return false;
  for (int64_t value : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 100, 128, 1000, 1024, 4096}) {
    for (auto& [name, size] : sizes) size = value;
    if (evaluate_index(condition, sizes) != 0) return false;
  }
  return true;
}

bool speaks_of_domain(const Halide::Expr& e) {
  class Finder : public Halide::Internal::IRGraphVisitor {
   public:
    bool found = false;

   private:
    using IRGraphVisitor::visit;
    void visit(const Halide::Internal::Variable* op) override {
      found = found || op->reduction_domain.defined();
    }
  } finder;
  e.accept(&finder);
  return finder.found;
}

std::vector<Expr> reduction_guards(const Stage& stage, const Node& update) {
  const std::set<std::string> carrying = carrying_variables(stage, update);
  std::vector<Expr> guards;
  for (const Expr& guard : update.guards) {
    bool about_reduction = true;
    visit(guard, [&](const Expr& e) {
      if (e->op == ExprOp::axis && !carrying.count(e->name)) about_reduction = false;
    });
    if (about_reduction) guards.push_back(guard);
  }
  return guards;
}

}  // namespace

bool has_fused_loops(const Stage& stage) {
  auto fuses = [](const std::vector<LoopTransform>& transforms) {
    return std::any_of(transforms.begin(), transforms.end(),
                       [](const LoopTransform& t) { return t.kind == LoopTransform::Kind::fuse; });
  };
  const std::vector<Specialization>& cases = stage.specializations;
  return fuses(stage.transforms) ||
         std::any_of(cases.begin(), cases.end(),
                     [&](const Specialization& special) { return fuses(special.transforms); });
}

StageDefiner::StageDefiner(const LoopNest& nest, const std::map<std::string, StagePlace>& places,
                           bool has_fma)
    : nest_(nest),
      places_(places),
      has_fma_(has_fma),
      early_(axes_started_early(nest)),
      beside_windows_(stages_beside_windows(nest)) {
  for (const std::string& size : nest.sizes) {
    sizes_.emplace(size, Halide::Param<int32_t>("size_" + size));
  }
  for (const Buffer& buffer : nest.buffers) declare_buffer(buffer);
  for (const Stage& stage : nest.stages) define(stage);
  for (const Buffer& buffer : nest.buffers) {
    if (buffer.role == BufferRole::output) constrain_output(buffer);
  }
}

Halide::Expr StageDefiner::extent(const Extent& extent) const {
  EMULSION_CHECK(extent.constant() >= INT32_MIN && extent.constant() <= INT32_MAX, "extent {}",
                 extent.to_string());
  Halide::Expr result = static_cast<int32_t>(extent.constant());
  for (const auto& [name, coefficient] : extent.coefficients()) {
    result =
        Halide::Expr(static_cast<int32_t>(coefficient)) * Halide::Expr(sizes_.at(name)) + result;
  }
  return Halide::Internal::simplify(result);
}

Halide::Expr StageDefiner::promise_inside(const Halide::Expr& index, const Extent& axis) const {
  return Halide::unsafe_promise_clamped(index, 0, extent(axis) - 1);
}

const Halide::ImageParam* StageDefiner::input(const std::string& name) const {
  auto found = inputs_by_name_.find(name);
  return found == inputs_by_name_.end() ? nullptr : &found->second;
}

// Halide takes for granted what a condition says where it holds, and the opposite where it does
// not. Of a case that computes nothing it would find just that, and then miss what its memory was
// for, or what was bounded. What always holds, though Halide does not know it, keeps it from that:
// no square is 2 modulo 4, or 3 modulo 8. A special case may know its condition, unless that is one
// of empty tensors.
Halide::Expr StageDefiner::condition(const Expr& condition) const {
  const Halide::Expr size = Halide::cast<uint32_t>(sizes_.begin()->second);
  Halide::Expr holds = translate_expr(condition, index_scope({}));
  if (holds_for_nothing_only(condition)) holds = holds || size * size % 8 == 3;
  return holds && size * size % 4 != 2;
}

void StageDefiner::declare_buffer(const Buffer& buffer) {
  switch (buffer.role) {
    case BufferRole::input:
    case BufferRole::weight: {
      Halide::ImageParam param(halide_type(buffer.dtype), static_cast<int>(buffer.shape.size()),
                               halide_name(buffer.name));
      std::vector<Halide::Expr> extents;
      for (const Extent& e : buffer.shape) extents.push_back(extent(e));
      constrain(extents, [&](int d) { return param.dim(d); });
      inputs_.push_back(param);
      inputs_by_name_.emplace(buffer.name, param);
      return;
    }
    case BufferRole::constant:
      if (!is_empty_constant(buffer)) constants_.emplace(buffer.name, constant_buffer(buffer));
      return;
    case BufferRole::output:
    case BufferRole::internal:
      return;
  }
}

void StageDefiner::constrain_output(const Buffer& buffer) {
  Halide::OutputImageParam output = stages_.at(buffer.name).func.output_buffer();
  std::vector<Halide::Expr> extents;
  for (const Extent& e : buffer.shape) extents.push_back(extent(e));
  constrain(extents, [&](int d) { return output.dim(d); });
}

void StageDefiner::define(const Stage& stage) {
  // Not Func(name): that would number a name that this process has used before, and with it the
  // symbols of the object file.
  Halide::Func func{Halide::Internal::Function(halide_name(stage.name))};
  StageFunc& made = stages_.emplace(stage.name, StageFunc{func, {}}).first->second;
  std::vector<Halide::Var> vars;
  std::map<std::string, Halide::Expr> axes;
  for (const Axis& axis : stage.axes) {
    vars.emplace_back(halide_name(axis.name()));
    axes.emplace(axis.name(), vars.back());
  }
  if (!stage.is_reduction()) {
    made.func(reversed(vars)) = body(stage, stage.body, axes);
    return;
  }
  Expr identity = identity_of(stage.combiner, stage.dtype);
  made.func(reversed(vars)) = translate_expr(identity, HalideScope{});
  define_update(stage, *places_.at(stage.name).update);
}

// The reduction domain: exactly the loops of the nest that carry the reduction, innermost first,
// and the guards that speak of them.
Halide::RDom StageDefiner::reduction_domain(const Stage& stage, const PartLoops& update,
                                            std::map<std::string, Halide::Expr>* loop_values) {
  const std::set<std::string> carrying = carrying_variables(stage, *update.uop);
  HalideScope scope = index_scope(*loop_values);
  std::vector<ReductionVariable> variables;
  std::vector<std::string> names;
  for (size_t i = update.loops.size(); i-- > 0;) {
    const Node& loop = *update.loops[i];
    if (!carrying.count(loop_variable(stage.name, loop.axis))) continue;
    EMULSION_CHECK(update.uop->atomic || loop.loop_kind == LoopKind::serial ||
                       loop.loop_kind == LoopKind::unrolled,
                   "stage {}: the loop {} carries a reduction", stage.name, loop.axis);
    // Halide takes what follows a $ for its own, and does not number names that differ there.
    const std::string variable = halide_name(loop.axis) + "$" + stage.name;
    variables.push_back({variable, 0, translate_expr(loop.extent, scope)});
    names.push_back(loop.axis);
  }
  EMULSION_CHECK(!variables.empty(), "stage {}: an update without reduction loops", stage.name);
  Halide::RDom domain{ReductionDomain(variables)};
  for (size_t i = 0; i < names.size(); ++i) {
    Halide::RVar variable = domain[static_cast<int>(i)];
    loop_values->emplace(loop_variable(stage.name, names[i]), variable);
    stages_.at(stage.name).reduction_loops.emplace(names[i], variable);
  }
  const std::vector<Expr> guards = reduction_guards(stage, *update.uop);
  // Vectors of an atomic update need a loop of their own, without the guard: likely() makes it. And
  // Halide would put two guards together, max(a, b) < n, and then not see the bound of either.
  const bool apart = update.uop->atomic || guards.size() > 1;
  for (const Expr& guard : guards) {
    Halide::Expr inside = translate_expr(guard, scope);
    domain.where(apart ? Halide::likely(inside) : inside);
  }
  return domain;
}

// f(pure axes) = combine(f(pure axes), body)
void StageDefiner::define_update(const Stage& stage, const PartLoops& update) {
  std::map<std::string, Halide::Expr> loop_values, axes;
  Halide::RDom domain = reduction_domain(stage, update, &loop_values);
  const bool guarded = !reduction_guards(stage, *update.uop).empty();
  HalideScope scope = index_scope(loop_values);
  std::vector<Halide::Expr> point;
  for (const Axis& axis : stage.axes) {
    point.push_back(Halide::Var(halide_name(axis.name())));
    axes.emplace(axis.name(), point.back());
  }
  for (size_t i = 0; i < stage.reduction_axes.size(); ++i) {
    const Axis& axis = stage.reduction_axes[i];
    const Expr& index = update.uop->point[stage.axes.size() + i];
    Halide::Expr value = RemaindersOfOneStep().mutate(translate_expr(index, scope));
    // The guards keep it inside, but Halide does not ask them how much of an operand is read.
    if (guarded && !is_whole_loop(index, axis, update))
      value = promise_inside(value, axis.extent());
    axes.emplace(axis.name(), value);
  }
  Halide::Func func = stages_.at(stage.name).func;
  point = reversed(std::move(point));
  Halide::Expr before = func(point);
  // A domain that nothing speaks of Halide would not run through.
  auto in_domain = [&](const Halide::Expr& value, const Halide::Expr& otherwise) {
    return speaks_of_domain(value) ? value : Halide::select(domain[0] >= 0, value, otherwise);
  };
  Halide::Expr after;
  if (contracts_with_fma(stage, update)) {
    // The factors apart, so that their product is not rounded.
    Halide::Expr a = body(stage, stage.body->args[0], axes);
    Halide::Expr b = body(stage, stage.body->args[1], axes);
    if (!speaks_of_domain(b)) a = in_domain(a, Halide::Internal::make_zero(a.type()));
    after = fused_multiply_add(a, b, before);
  } else {
    const Expr identity = identity_of(stage.combiner, stage.dtype);
    const Halide::Expr value =
        in_domain(body(stage, stage.body, axes), translate_expr(identity, HalideScope{}));
    after = halide_binary(combining_op(stage.combiner), before, value);
  }
  func(point) = after;
}

// A sum of products, on a target that has the instruction, unless so many reduction steps are
// unrolled that LLVM would not find the vectors again.
bool StageDefiner::contracts_with_fma(const Stage& stage, const PartLoops& update) const {
  if (!has_fma_ || stage.combiner != Combiner::sum || !is_float(stage.dtype)) return false;
  if (stage.body->op != ExprOp::mul) return false;
  const std::map<std::string, Halide::RVar>& carrying = stages_.at(stage.name).reduction_loops;
  int64_t unrolled = 1;
  for (const Node* loop : update.loops) {
    if (loop->loop_kind != LoopKind::unrolled || !carrying.count(loop->axis)) continue;
    unrolled *= std::max<int64_t>(1, evaluate_index(loop->extent, {}));
  }
  return unrolled <= kLongestFmaChain;
}

// Integers over names that `values` knows, and sizes.
HalideScope StageDefiner::index_scope(const std::map<std::string, Halide::Expr>& values) const {
  HalideScope scope;
  scope.axis = [&values](const std::string& name) {
    auto found = values.find(name);
    EMULSION_CHECK(found != values.end(), "no value for {}", name);
    return found->second;
  };
  scope.size = [this](const std::string& name) { return Halide::Expr(sizes_.at(name)); };
  return scope;
}

Halide::Expr StageDefiner::body(const Stage& stage, const Expr& expr,
                                const std::map<std::string, Halide::Expr>& axes) const {
  HalideScope scope = index_scope(axes);
  scope.read = [&](const ExprNode& node, const std::vector<Halide::Expr>& indices) {
    return read(stage, node, indices);
  };
  return translate_expr(expr, scope);
}

// Whether the index of a read may be one that the nest never has. Where Halide slides in its own
// way, a window is read only where the nest does, and Halide would not see through a clamp what of
// it is new.
bool StageDefiner::starts_early(const Stage& stage, const std::string& buffer,
                                const Expr& index) const {
  auto place = places_.find(buffer);
  if (place != places_.end() && place->second.produce != nullptr) {
    return beside_windows_.count(stage.name) > 0;
  }
  auto found = early_.find(stage.name);
  return found != early_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const std::string& axis) { return mentions(index, axis); });
}

// A read is of memory, whatever the select around it says: an index that is not proved to be inside
// its buffer is brought inside. Its value is then not used. The same where the proof speaks of
// fewer iterations than Halide runs.
Halide::Expr StageDefiner::read(const Stage& stage, const ExprNode& node,
                                const std::vector<Halide::Expr>& indices) const {
  const Buffer& buffer = nest_.buffer(node.name);
  // What has no values is read by no step that runs, or by one whose select leaves it out: Halide
  // has then no region of it to check.
  if (is_empty_constant(buffer)) return Halide::Internal::make_zero(halide_type(buffer.dtype));
  AxisExtents domain;
  for (const Axis& axis : stage.axes) domain.emplace(axis.name(), axis.extent());
  for (const Axis& axis : stage.reduction_axes) domain.emplace(axis.name(), axis.extent());
  std::vector<Halide::Expr> args;
  bool proved = true;
  Halide::Expr has_elements = Halide::Internal::const_true();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!proves_in_bounds(int_constant(0), buffer.shape[i], domain)) {
      has_elements = has_elements && extent(buffer.shape[i]) > 0;
    }
    if (!starts_early(stage, node.name, node.args[i]) &&
        proves_in_bounds(node.args[i], buffer.shape[i], domain)) {
      args.push_back(indices[i]);
    } else {
      proved = false;
      args.push_back(Halide::max(Halide::min(indices[i], extent(buffer.shape[i]) - 1), 0));
    }
  }
  if (!proved && !Halide::Internal::is_const_one(has_elements)) {
    // One element is there even of an empty buffer: see strip_argument_checks.h.
    for (Halide::Expr& arg : args) arg = Halide::select(has_elements, arg, 0);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const bool follows_loops = proved && affine_of(node.args[i]) && !has_fused_loops(stage);
    if (follows_loops || buffer.shape[i].is_constant()) continue;
    // Halide finds that a clamped index, or one out of a fused loop, needs an element even where
    // there is none. It would ask for one and go on from there: a kernel for at least one.
    args[i] = promise_inside(args[i], buffer.shape[i]);
  }
  args = reversed(std::move(args));
  auto input = inputs_by_name_.find(node.name);
  if (input != inputs_by_name_.end()) return input->second(args);
  auto known = constants_.find(node.name);
  if (known != constants_.end()) return known->second(args);
  auto made = stages_.find(node.name);
  EMULSION_CHECK(made != stages_.end(), "stage {}: reads {} before it is defined", stage.name,
                 node.name);
  for (Halide::Expr& arg : args) arg = RemaindersOfOneStep().mutate(arg);
  return Halide::Func(made->second.func)(args);
}

}  // namespace emulsion
