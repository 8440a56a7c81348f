#include "backends/halide/lower_statement.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/clamped_vectors.h"
#include "backends/halide/emit_nest.h"
#include "backends/halide/emit_places.h"
#include "backends/halide/emit_prefetch.h"
#include "backends/halide/even_bytes.h"
#include "backends/halide/interleavings.h"
#include "backends/halide/llvm_options.h"
#include "backends/halide/masked_places.h"
#include "backends/halide/masked_stores.h"
#include "backends/halide/masked_sums.h"
#include "backends/halide/nan_bits.h"
#include "backends/halide/narrow_masks.h"
#include "backends/halide/odd_vectors.h"
#include "backends/halide/one_step_loops.h"
#include "backends/halide/ramp_indices.h"
#include "backends/halide/scalar_ops.h"
#include "backends/halide/set_apart.h"
#include "backends/halide/shuffled_loads.h"
#include "backends/halide/simplify_statement.h"
#include "backends/halide/split_vectors.h"
#include "backends/halide/summed_vectors.h"
#include "backends/halide/transpose_parts.h"
#include "backends/halide/transpose_rows.h"
#include "backends/halide/wrapped_vectors.h"
#include "dsl/error.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// A vectorized loop around a store.
struct Lanes {
  std::string variable;
  Halide::Expr min;
  int64_t count;
};

// Halide's vectorizer takes the lanes of a load from its index, and cannot give a load of one
// element a mask of many. Such a load is needed when any of the lanes is.
class MasksOfOneElement : public hi::IRGraphMutator {
 public:
  explicit MasksOfOneElement(const std::vector<Lanes>& lanes) : lanes_(lanes) {}

 private:
  using hi::IRGraphMutator::visit;

  Halide::Expr visit(const hi::Load* op) override {
    const Halide::Expr index = mutate(op->index);  // what says where is loaded under a mask, too
    Halide::Expr mask = op->predicate;
    for (const Lanes& lanes : lanes_) {
      const bool of_lanes = hi::expr_uses_var(mask, lanes.variable);
      if (of_lanes && !hi::expr_uses_var(index, lanes.variable)) mask = any(mask, lanes);
    }
    if (index.same_as(op->index) && mask.same_as(op->predicate)) return op;
    return hi::Load::make(op->type, op->name, index, op->image, op->param, mask, op->alignment);
  }

  // Whether the mask holds in any lane: where it only falls, as below an end, in the first one.
  static Halide::Expr any(const Halide::Expr& mask, const Lanes& lanes) {
    auto at = [&](int64_t lane) {
      return hi::substitute(lanes.variable, lanes.min + static_cast<int32_t>(lane), mask);
    };
    Halide::Expr result = at(0);
    if (hi::is_monotonic(mask, lanes.variable) == hi::Monotonic::Decreasing) return result;
    for (int64_t lane = 1; lane < lanes.count; ++lane) result = result || at(lane);
    return result;
  }

  const std::vector<Lanes>& lanes_;
};

// Names what the value of a store uses more than once, before Halide's passes walk it: an emitted
// value is a graph (a maximum uses its operand twice), and the passes would walk a chain of maxima
// as a tree of 2^n operations. Halide does this where a Func is defined. Atomic updates are found
// by their form and stay as they are.
class NameSharedValues : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    // A name for the mask of several loads would hide it from the partition of loops, which then
    // makes an interior without it (random schedule 1848 of seed 770001 read past the end).
    if (is_masked(hi::Evaluate::make(op->value))) return op;
    return hi::Store::make(op->name, hi::common_subexpression_elimination(op->value), op->index,
                           op->param, op->predicate, op->alignment);
  }
  Stmt visit(const hi::Atomic* op) override { return op; }
};

// In the loops that are about to become vectors: simplification has left the lanes out of the
// indices by then that do not depend on them.
class MaskVectors : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::For* op) override {
    const auto count = hi::as_const_int(op->extent);
    if (op->for_type != hi::ForType::Vectorized || !count) return hi::IRMutator::visit(op);
    lanes_.push_back({op->name, op->min, *count});
    Stmt result = hi::IRMutator::visit(op);
    lanes_.pop_back();
    return result;
  }
  Stmt visit(const hi::Store* op) override {
    return hi::Store::make(op->name, MasksOfOneElement(lanes_).mutate(op->value), op->index,
                           op->param, op->predicate, op->alignment);
  }
  // In checked code: of an index that is data.
  Stmt visit(const hi::AssertStmt* op) override {
    MasksOfOneElement masks(lanes_);
    return hi::AssertStmt::make(masks.mutate(op->condition), masks.mutate(op->message));
  }

  std::vector<Lanes> lanes_;  // outermost first
};

// What the code generator is to see, and the passes are not.
class PrepareForCode : public hi::IRMutator {
 public:
  explicit PrepareForCode(const EmittedNest& nest) : nest_(nest) {}

  using hi::IRMutator::mutate;
  Stmt mutate(const Stmt& statement) override {
    std::vector<std::pair<std::string, Halide::Expr>> outside;
    outside.swap(named_);
    Stmt made = hi::IRMutator::mutate(statement);
    for (const auto& [name, value] : named_) made = hi::LetStmt::make(name, value, made);
    named_ = std::move(outside);
    return made;
  }

 private:
  using hi::IRMutator::visit;

  // Without its Parameter, a load of an output would be taken to be aligned. With it, the passes
  // took two loads between which there is a store for one: the maxima of an unrolled loop.
  Halide::Expr visit(const hi::Load* op) override {
    const auto output = nest_.outputs.find(op->name);
    const Halide::Parameter& parameter = output == nest_.outputs.end() ? op->param : output->second;
    const auto load_at = [&](const Halide::Expr& index) {
      return hi::Load::make(op->type, op->name, index, op->image, parameter, mutate(op->predicate),
                            op->alignment);
    };
    const hi::Ramp* ramp = starts_below_zero(op->index);
    return load_at(ramp == nullptr ? mutate(op->index) : at_variable(*ramp));
  }

  Stmt visit(const hi::Store* op) override {
    const hi::Ramp* ramp = starts_below_zero(op->index);
    if (ramp == nullptr) return hi::IRMutator::visit(op);
    return hi::Store::make(op->name, mutate(op->value), at_variable(*ramp), op->param,
                           mutate(op->predicate), op->alignment);
  }

  // Nor does code generation take a number below zero for the place of the first lane in memory,
  // the last one of what is read backwards. Such a lane is masked out, or stands in a case that no
  // size comes to.
  static const hi::Ramp* starts_below_zero(const Halide::Expr& index) {
    const auto* ramp = index.as<hi::Ramp>();
    const auto base = ramp == nullptr ? std::nullopt : hi::as_const_int(ramp->base);
    if (!base) return nullptr;
    const int64_t stride = hi::as_const_int(ramp->stride).value_or(0);
    return *base + std::min<int64_t>(stride, 0) * (ramp->lanes - 1) < 0 ? ramp : nullptr;
  }

  // Named in front of the statement: code generation simplifies some expressions, and puts a number
  // that has a name inside of them back.
  Halide::Expr at_variable(const hi::Ramp& ramp) {
    named_.emplace_back(hi::unique_name("before"), ramp.base);
    const Halide::Expr name = hi::Variable::make(ramp.base.type(), named_.back().first);
    return hi::Ramp::make(name, ramp.stride, ramp.lanes);
  }

  // Where it knows that a number is within i32, Halide makes one cast of two: u32(i32(x)) is
  // u32(x), of which the processor makes anything at all for a number below zero. i32 holds all
  // that is cast (float_to_integer() in scalar_ops.cc).
  Halide::Expr visit(const hi::Cast* op) override {
    const Halide::Type type = op->type, whole = Halide::Int(32, type.lanes());
    Halide::Expr value = mutate(op->value);
    const bool is_integer = type.is_int_or_uint() && !type.is_bool();
    if (is_integer && value.type().is_float()) value = hi::Cast::make(whole, value);
    return value.type() == type ? value : hi::Cast::make(type, value);
  }

  // Halide refuses a division by a zero that it can see. A masked load of which no lane is left has
  // become one.
  Halide::Expr visit(const hi::Call* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    if (!op->is_intrinsic(hi::Call::strict_div)) return made;
    const std::vector<Halide::Expr>& args = made.as<hi::Call>()->args;
    return halide_binary(ExprOp::div, args[0], args[1]);
  }

  const EmittedNest& nest_;
  std::vector<std::pair<std::string, Halide::Expr>> named_;  // for the statement at hand
};

// A condition that always holds, which LLVM cannot prove: no program of x86-64 has memory at an
// address with the highest bit set. The address is that of an output.
Halide::Expr hidden_truth(const EmittedNest& nest) {
  const Halide::Expr address =
      hi::Reinterpret::make(Halide::Int(64), host_pointer(nest.outputs.begin()->first));
  return address >= hi::make_zero(address.type());
}

// What frees memory early that is allocated around a statement, taken out of it.
class FreesOfOthers : public hi::IRMutator {
 public:
  std::vector<Stmt> taken;

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::Allocate* op) override {
    own_.insert(op->name);
    return hi::IRMutator::visit(op);
  }
  Stmt visit(const hi::Free* op) override {
    if (own_.count(op->name) > 0) return op;
    taken.emplace_back(op);
    return hi::Evaluate::make(0);
  }

  std::set<std::string> own_;
};

// LLVM takes longer for each loop of a function that has many. So of a block of many every few are
// a function of their own: the body of a parallel loop of one step, which runs on the same thread.
class SeparateLoops : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::Block* op) override {
    constexpr int kMost = 64;
    std::vector<Stmt> part;
    Stmt rest = op;
    for (int loops = 0; loops < kMost; loops += part.back().as<hi::For>() ? 1 : 0) {
      const auto* list = rest.as<hi::Block>();
      part.push_back(mutate(list ? list->first : rest));
      if (list == nullptr) return hi::Block::make(part);
      rest = list->rest;
    }
    FreesOfOthers frees;  // a function cannot free what another one allocates
    std::vector<Stmt> made = {hi::For::make("part", 0, 1, hi::ForType::Parallel,
                                            Halide::Partition::Auto, Halide::DeviceAPI::None,
                                            frees.mutate(hi::Block::make(part)))};
    made.insert(made.end(), frees.taken.begin(), frees.taken.end());
    made.push_back(mutate(rest));
    return hi::Block::make(made);
  }
};

// The names in an expression, and its choices by one condition for all lanes (clamped_vectors.h),
// as names. What is left stands in place of the expression.
struct Names : hi::IRMutator {
  using hi::IRMutator::visit;
  std::vector<std::pair<std::string, Halide::Expr>> taken;  // in the order in which they are needed
  std::map<std::string, std::string> renamed;

  // Under a name of its own, for the same may be there twice, side by side.
  Halide::Expr visit(const hi::Let* op) override {
    const Halide::Expr value = mutate(op->value);
    const std::string name = hi::unique_name("named");
    taken.emplace_back(name, value);
    const std::string outer = std::exchange(renamed[op->name], name);
    Halide::Expr body = mutate(op->body);
    renamed[op->name] = outer;
    return body;
  }
  Halide::Expr visit(const hi::Variable* op) override {
    const auto found = renamed.find(op->name);
    if (found == renamed.end() || found->second.empty()) return op;
    return hi::Variable::make(op->type, found->second);
  }
  Halide::Expr visit(const hi::Call* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    if (!op->is_intrinsic(hi::Call::if_then_else)) return made;
    for (const auto& [name, value] : taken) {
      if (hi::equal(value, made)) return hi::Variable::make(op->type, name);
    }
    taken.emplace_back(hi::unique_name("chosen"), made);
    return hi::Variable::make(op->type, taken.back().first);
  }

  Stmt in_front_of(Stmt statement) const {
    for (auto name = taken.rbegin(); name != taken.rend(); ++name) {
      statement = hi::LetStmt::make(name->first, name->second, statement);
    }
    return statement;
  }
};

// The names and the choices of a statement stand in front of it. What is in a choice may be no
// place of the memory where the condition does not hold: of two choices in one expression Halide
// would take what both load out of the conditions, and so does find_intrinsics, which takes named
// values apart, with what has a name inside of them. Nor does Halide find bounds of an index with a
// choice.
//   y[i] = x[if_then_else(c, a, b)]  ->  let chosen = if_then_else(c, a, b); y[i] = x[chosen]
//   let a = f32(let b = v in e)      ->  let named = v; let a = f32(e)
class NamesInFront : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    Names names;
    const Halide::Expr value = names.mutate(op->value), index = names.mutate(op->index);
    if (names.taken.empty()) return op;
    return names.in_front_of(
        hi::Store::make(op->name, value, index, op->param, op->predicate, op->alignment));
  }
  Stmt visit(const hi::LetStmt* op) override {
    Names names;
    const Halide::Expr value = names.mutate(op->value);
    return names.in_front_of(hi::LetStmt::make(op->name, value, mutate(op->body)));
  }
  // Found by its form.
  Stmt visit(const hi::Atomic* op) override { return op; }
};

// Of the smallest elements of which the instruction set has masks: a masked load of others is a
// branch for each lane.
constexpr int kNoMasks = 1024;
int least_masked_bits(const Halide::Target& target) {
  if (target.has_feature(Halide::Target::AVX512_Skylake)) return 8;
  return target.has_feature(Halide::Target::AVX) ? 32 : kNoMasks;
}

// The same of stores. Those of AVX take some processors as long as a dozen whole ones.
int least_masked_bits_to_store(const Halide::Target& target) {
  return target.has_feature(Halide::Target::AVX512_Skylake) ? 8 : kNoMasks;
}

// Halide's pass looks for bounds of all that has a name, and finds none of an index that lanes
// choose inside of a choice by one condition for all lanes: it ends with an error.
class ChoicesApart : public SetApart {
  using SetApart::visit;

  Halide::Expr visit(const hi::Call* op) override {
    const bool chooses = op->is_intrinsic(hi::Call::if_then_else);
    return chooses ? set_apart(Halide::Expr(op)) : SetApart::visit(op);
  }
};

Stmt with_small_allocations(const Stmt& statement) {
  return ChoicesApart().run(hi::bound_small_allocations, statement);
}

// The passes of Halide's Lower.cpp (v21.0.0) behind storage flattening, in its order. Left out are
// those that look for what an emitted nest never has (GPU loops, asynchronous producers, tuples,
// tracing, prefetches of boxes).
// When Halide is upgraded, compare this list with that file.
Stmt run_passes(Stmt s, const Halide::Target& target,
                const std::map<std::string, Halide::Expr>& elements) {
  s = one_step_loops(s);
  s = NameSharedValues().mutate(s);
  s = hi::rebase_loops_to_zero(s);  // what is known of a loop is known from its first step on
  s = simplify_statement(s);
  s = hi::unify_duplicate_lets(s);
  s = hi::simplify_correlated_differences(s);
  s = hi::bound_constant_extent_loops(s);
  s = unroll_steps(s);
  s = MaskVectors().mutate(s);
  s = hi::vectorize_loops(s, {});
  s = simplify_statement(s);
  s = with_interleavings(s);
  s = simplify_statement(s);
  s = ramp_indices(s);
  const int least_bits = least_masked_bits(target);
  s = mask_wrapped_vectors(s, least_bits);
  s = mask_clamped_vectors(s, least_bits);
  // After vectors: what is likely is then known for whole vectors. Must run wherever something is
  // marked as likely, since code generation does not know the mark.
  s = hi::partition_loops(s);
  s = hi::rebase_loops_to_zero(s);
  s = simplify_statement(s);
  s = transpose_rows(s);
  s = shuffle_loads(s);
  s = hi::stage_strided_loads(s);
  s = split_vectors(s);
  s = transpose_parts(s, !target.has_feature(Halide::Target::AVX512_Skylake));
  s = trim_guarded(s);
  s = hi::rebase_loops_to_zero(s);
  s = hi::hoist_loop_invariant_if_statements(s);
  s = hi::inject_early_frees(s);
  s = hi::simplify_correlated_differences(s);
  s = with_small_allocations(s);
  s = keep_masked_sums(s);
  s = load_wrapped_vectors(s, least_bits, elements);
  s = load_whole_vectors(s, least_bits, elements);
  s = define_masked_places(s);
  s = store_masked_parts(s, least_masked_bits_to_store(target));
  s = narrow_masks(s);
  s = NamesInFront().mutate(s);
  s = hi::common_subexpression_elimination(s);
  s = hi::lower_unsafe_promises(s, target);
  s = hi::flatten_nested_ramps(s);
  s = hi::remove_dead_allocations(s);
  s = simplify_statement(s);
  s = hi::hoist_loop_invariant_values(s);
  s = hi::hoist_loop_invariant_if_statements(s);
  // After the last simplification, which would make products and divisions of the shifts again.
  s = double_bytes_in_pairs(s);
  if (!target.has_feature(Halide::Target::AVX512_Skylake)) s = nan_bits(s);
  s = hi::find_intrinsics(NamesInFront().mutate(s));
  return near_prefetches(hi::hoist_prefetches(s));
}

}  // namespace

Halide::Target kernel_target(const Target& target) {
  const std::string text = target.to_string();
  if (!Halide::Target::validate_target_string(text)) {
    fail("target \"{}\": expected a target that Halide knows", text);
  }
  return Halide::Target(text)
      .with_feature(Halide::Target::StrictFloat)
      .with_feature(Halide::Target::NoBoundsQuery);
}

Halide::Module kernel_module(const LoopNest& nest, const std::string& function,
                             const Halide::Target& target, Halide::LinkageType linkage,
                             const CompileOptions& options) {
  set_llvm_options();
  verify_nest(nest);
  EmittedNest emitted = emit_nest(nest, target.has_feature(Halide::Target::FMA), options);
  const Stmt lowered = run_passes(emitted.statement, target, emitted.elements);
  Stmt statement = PrepareForCode(emitted).mutate(lowered);
  if (target.has_feature(Halide::Target::AVX512_Skylake)) {
    std::set<std::string> outputs;
    for (const auto& [name, parameter] : emitted.outputs) outputs.insert(name);
    statement = mask_odd_vectors(statement, outputs, 512);
  }
  statement = keep_summed_vectors(statement, hidden_truth(emitted));
  statement = SeparateLoops().mutate(statement);
  std::vector<hi::LoweredFunc> closures;  // the bodies of parallel loops
  statement = hi::lower_parallel_tasks(statement, closures, function, target);
  std::vector<hi::LoweredArgument> arguments = std::move(emitted.arguments);
  if (target.has_feature(Halide::Target::UserContext)) {
    arguments.insert(arguments.begin(),
                     hi::LoweredArgument("__user_context", Halide::Argument::InputScalar,
                                         Halide::type_of<void*>(), 0, Halide::ArgumentEstimates{}));
  }
  Halide::Module module(function, target);
  module.set_any_strict_float(true);
  for (const Halide::Buffer<>& constant : emitted.constants) module.append(constant);
  for (const hi::LoweredFunc& closure : closures) module.append(closure);
  module.append(hi::LoweredFunc(function, arguments, statement, linkage));
  return module;
}

}  // namespace emulsion
