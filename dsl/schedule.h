#ifndef EMULSION_DSL_SCHEDULE_H_
#define EMULSION_DSL_SCHEDULE_H_

// How to compute a graph: for each operation, by name, a list of directives; nothing else. A
// schedule is a value: it prints as text, one directive a line, and that text parses back to the
// same schedule.
//
// A Schedule only records. Whether a directive can be honoured is decided by lower()
// (passes/lower/lower.h), which throws ScheduleError naming the directive, the operation, what was
// found and what would be legal; nothing is silently replaced. An operation without directives is
// computed at the root, its loops in the order of its axes, reductions innermost.
//
// A reduction is two nests: the start value over the pure axes, then the update over pure and
// reduction axes. Directives speak of both; the start value's nest simply has no reduction loops.
//
// Every combiner (sum, product, min, max) is associative and commutative, so the loops of a
// reduction may be put in any order. Of integers the result is the same bits. A float sum or
// product is rounded in the order that the nest says (loops outermost first; rfactor: partial
// results, then theirs), the same for every number of threads; what would leave the order open is
// refused. A float min or max differs at most in which of two equal zeros or NaNs is kept.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {

// What happens where a split factor does not divide the extent.
enum class Tail : uint8_t {
  automatic,         // exact where it divides, else guard
  guard,             // an if around the body (Halide: GuardWithIf)
  predicate,         // masked loads and stores (Halide: Predicate)
  round_up,          // compute past the end; only for what is not an output (Halide: RoundUp)
  shift_inwards,     // the last tile starts earlier; pure operations of at least `factor` points
  predicate_loads,   // only the loads are masked: what is stored past the end is never read, and
                     // the storage is widened for it; not for outputs (Halide: PredicateLoads)
  predicate_stores,  // only the stores are masked: what is loaded past the end is clamped into the
                     // buffer (Halide: PredicateStores)
};

constexpr int kTails = static_cast<int>(Tail::predicate_stores) + 1;

enum class Memory : uint8_t {
  automatic,
  heap,
  stack,
  registers,
  scratchpad,  // the SRAM of a tile machine (dsl/target.h); a CPU has none
};
constexpr int kMemories = static_cast<int>(Memory::scratchpad) + 1;

enum class LoopKind : uint8_t {
  serial,
  parallel,
  vectorized,
  unrolled,
  tile,  // inside ONE uOp of a tile machine: holds nothing but tile loops and that uOp
};
// In messages, after "which is": "serial", "a tile's".
std::string to_string(LoopKind kind);

// What directives say of a loop, which the nest says of it too.
struct LoopMarks {
  LoopKind kind = LoopKind::serial;
  bool partition = false;  // to become several loops where that spares guards or clamps
};

// What each looks like: dsl/directive_table.cc.
enum class DirectiveKind : uint8_t {
  split,       // axes: axis, outer, inner; factor; tail
  fuse,        // axes: outer, inner, fused
  reorder,     // axes: innermost first, as in Halide
  vectorize,   // axes: axis
  unroll,      // axes: axis
  parallel,    // axes: axis
  compute_at,  // target op; axes: its loop
  store_at,    // target op; axes: its loop
  compute_root,
  compute_inline,
  store_in,     // memory
  pack,         // target: the weight; axes: the axis of this operation; factor
  cache_write,  // target: name of the new stage that computes; this operation copies
  rfactor,      // axes: reduction loop; target: name of the new stage
  tensorize,    // axes: the outermost loop of the tile
  copy_in,      // operand: what is copied; target: name of the new stage
  atomic,
  prefetch,      // target: the buffer; axes: loop; factor: the distance
  compute_with,  // target op; axes: the innermost loop that is shared
  store_root,
  hoist_storage,    // target op; axes: its loop
  fold_storage,     // axes: axis of the operation as it was written; factor
  reorder_storage,  // axes of the operation as it was written: innermost first
  align_storage,    // axes: axis of the operation as it was written; factor
  specialize,       // condition: over run-time sizes; what follows holds only there
  partition,        // axes: axis
  store_in_output,  // target op: an output
  alternative,      // condition: over run-time sizes; target: name of the new stage
  cut,              // axes: axis of the operation as it was written; at
  precompute,       // axes: axis of the operation as it was written; target: name of the new stage
};
constexpr size_t kDirectiveKinds = static_cast<size_t>(DirectiveKind::precompute) + 1;

struct Directive {
  DirectiveKind kind;
  std::vector<std::string> axes;
  int64_t factor = 0;
  Tail tail = Tail::automatic;
  Memory memory = Memory::automatic;
  std::string target;   // another operation, or the name of a new one
  std::string operand;  // an input, a weight or an operation that this one reads

  Expr condition;  // over run-time sizes
  Extent at;       // an index of an axis

  // Where it was read from, for errors: "line 4", "schedule y.schedule: line 4",
  // "schedule JSON: /directives/3".
  // Two directives that say the same are equal wherever they stand.
  std::string place;

  bool operator==(const Directive& other) const;
};

// Throws ScheduleError when `condition` is not one that specialize, or another directive of that
// name, takes: a boolean expression over numbers and at least one run-time size.
void check_condition(const Expr& condition, const std::string& directive = "specialize");

// "split(m, mo, mi, 6, guard)": what stands behind "y." in the text form.
std::string to_string(const Directive& directive);
std::string to_string(Tail tail);
std::string to_string(Memory memory);
std::string to_string(DirectiveKind kind);

class Schedule;

// The directives of one operation, appended in the order of the calls. Every call returns *this.
class StageSchedule {
 public:
  // for m in M            ->  for mo in M/factor: for mi in factor
  StageSchedule& split(const Axis& axis, const Axis& outer, const Axis& inner, int64_t factor,
                       Tail tail = Tail::automatic);
  // for m: for n          ->  for mo: for no: for mi: for ni     (two splits and a reorder)
  StageSchedule& tile(const Axis& m, const Axis& n, const Axis& mo, const Axis& no, const Axis& mi,
                      const Axis& ni, int64_t m_factor, int64_t n_factor,
                      Tail tail = Tail::automatic);
  // for mo: for no        ->  for t in mo*no
  StageSchedule& fuse(const Axis& outer, const Axis& inner, const Axis& fused);
  // for m: for n: for k   ->  for k: for m: for n     by reorder({n, m, k})
  StageSchedule& reorder(const std::vector<Axis>& innermost_first);
  // for n in N            ->  vectorized n: all lanes at once; N must be a number
  StageSchedule& vectorize(const Axis& axis);
  // for n in N            ->  for n in N/lanes: vectorized n_v in lanes
  StageSchedule& vectorize(const Axis& axis, int64_t lanes, Tail tail = Tail::automatic);
  // for m in M            ->  the body M times; M must be a number
  StageSchedule& unroll(const Axis& axis);
  // for m in M            ->  for m in M/factor: unrolled m_u in factor
  StageSchedule& unroll(const Axis& axis, int64_t factor, Tail tail = Tail::automatic);
  // for m                 ->  parallel m
  StageSchedule& parallel(const Axis& axis);
  // for m in 17: .. if m*8 + i < 130
  //                       ->  for m in 16: ..; for m in 16 .. +1: .. if m*8 + i < 130
  // The loop, serial or parallel, becomes its interior, without the guards and the clamps that only
  // its ends need, and edges that keep them; and before, where a select decides by its steps what
  // is computed (concat, pad), pieces with one choice each. Where nothing can be spared it stays as
  // it is. Halide: partition(m, Partition::Always).
  StageSchedule& partition(const Axis& axis);
  // for n in N            ->  for n in C: ..; for n in N - C: ..     by cut(n, C)
  // The axis in two pieces, before and from index `at`, which is inside it whatever the sizes are;
  // again, in more. Whatever else is said of the axis, before or behind, holds for the loops of
  // each piece: by split(n, no, ni, 8) each has tiles of its own. What a select decides by the
  // piece is decided, and clamps that do nothing there are left out. Nothing else is computed in
  // these loops. Of an operation that is no reduction. Halide has no such directive (Exo:
  // cut_loop).
  StageSchedule& cut(const Axis& axis, const Extent& at);
  // for mo: for mi: for ni  ->  for mo: tile mi: tile ni    by tensorize(mi)
  // The loop and all of this operation's loops inside it are one uOp of a tile machine: one Load,
  // Execute or Store of a tile. Their extents are numbers, and nothing else is computed inside.
  // Halide has no such directive (TVM: tensorize).
  StageSchedule& tensorize(const Axis& axis);
  // for m: for n: p; for m: for n: y
  //                       ->  for m: p's part that this m of y needs; for n: y
  // by p.compute_at(y, m): computed inside loop `axis` of `consumer`, only what it reads there.
  // An output is stored whole all the same. So is, with store_root, what others read behind the
  // loops of y. Each step of the loops around it computes one part: along the axes that these loops
  // are made of, the indices that y has in that step; along all others, everything. y is computed
  // at the root. In that step it reads no other part, or nothing. Threads may share these loops.
  //   for r.m: r; for y.m: y; z reads r  ->  for y.m: r[y.m], y; z reads r
  StageSchedule& compute_at(const Tensor& consumer, const Axis& axis);
  // By name: also inside an operation that a directive makes.
  StageSchedule& compute_at(const std::string& consumer, const Axis& axis);
  // Stored at a loop around the one of compute_at, and kept over the loops between: along a serial
  // loop over which the region slides, only what is new is computed (the first iteration: all).
  //   for y: alloc p[3 rows]: 3 rows of p; use p
  //                         ->  alloc p[fold 4]: for y: p's new row (y == 0: 3 rows); use p
  // A parallel loop between is refused: its iterations would share what they write.
  StageSchedule& store_at(const Tensor& consumer, const Axis& axis);
  StageSchedule& store_at(const std::string& consumer, const Axis& axis);
  // for y: alloc p: ..    ->  alloc p: for y: ..
  // The same around all loops. What others read behind these loops is stored whole (compute_at).
  StageSchedule& store_root();
  // Only the allocation moves out, to a loop around the one of store_at; nothing is kept in it.
  //   for y: alloc p: ...   ->  hoisted_alloc p: for y: alloc p in hoisted: ...
  StageSchedule& hoist_storage(const Tensor& consumer, const Axis& axis);
  StageSchedule& hoist_storage(const std::string& consumer, const Axis& axis);
  // alloc p[0 .. +64]     ->  alloc p[fold 4]                 by fold_storage(m, 4)
  // Index i of `axis` lives at i modulo `size`: at least what one iteration keeps. Storage that
  // slides folds by itself, at the least power of two; this says another size.
  StageSchedule& fold_storage(const Axis& axis, int64_t size);
  // The layout of an internal operation's storage; by default that of its axes, row-major.
  //   p[m, n]: n contiguous ->  m contiguous, by reorder_storage({m, n})
  StageSchedule& reorder_storage(const std::vector<Axis>& innermost_first);
  // alloc p[.., +30]      ->  alloc p[.., +30 align 16]       by align_storage(n, 16)
  // The storage's extent of `axis` rounded up to a multiple of `multiple`.
  StageSchedule& align_storage(const Axis& axis, int64_t multiple);
  // for m: p's part; y    ->  alloc p: for m: p; for m: y
  // Computed whole, ahead of all that read it: the default.
  StageSchedule& compute_root();
  // for m: p = a; for m: y = p + 1  ->  for m: y = a + 1
  // Written into the expressions of its readers; a reduction has no expression to write.
  StageSchedule& compute_inline();
  // alloc p in heap       ->  alloc p in registers
  // Stack and registers take a region of a small constant size. Registers are a wish: what LLVM
  // cannot keep there stays on the stack. Halide: store_in(MemoryType::Register).
  StageSchedule& store_in(Memory memory);
  // alloc p in heap       ->  alloc p in output y
  // No memory of its own: each element is where y will have its element of the same index, and y
  // overwrites it. For a p of the type and the extents of y, which y reads at its own index alone
  // and no other operation reads once y is being computed. A part of p that may reach past the end
  // of y is computed up to there. `output` may be what is stored in an output itself. Halide has no
  // such directive.
  StageSchedule& store_in_output(const Tensor& output);
  StageSchedule& store_in_output(const std::string& output);
  // The weight as this operation reads it: w[k, n] -> w_packed[n/factor, k, n%factor], zero-padded,
  // made once: at build time when the values are known, else by a generated pack function. `axis`
  // is the axis of this operation that indexes the weight. Operations between the two
  // (transpose(w)) must be computed inline. Halide has no such directive.
  StageSchedule& pack(const Tensor& weight, const Axis& axis, int64_t factor);
  StageSchedule& pack(const std::string& weight, const Axis& axis, int64_t factor);
  // y = reduce(...)       ->  acc = reduce(...); y = acc     so acc can be at a tile of y
  // Halide: two Funcs from the start, since y.in() cannot wrap an output (TVM: cache_write).
  StageSchedule& cache_write(const std::string& accumulator);
  // y = f(x[m, k])        ->  x_tile = x;  y = f(x_tile[m, k])
  // so that an operand can be staged at a loop of this operation, in other storage or another
  // order:
  //   s["x_tile"].compute_at(y, mo): only the part of x that an iteration of mo reads, by `load`.
  // `operand` is an input, a weight or an operation that this one reads, by itself or, if not so,
  // through operations that are computed inline; its other readers keep it.
  // The new stage's axes are those of the operand; of an input, weight or constant i0, i1, ...
  // A weight is packed through its copy: copy_in(w, "w_tile"), then w_tile.pack(w, i1, 64).
  // Halide: operand.in(this).
  StageSchedule& copy_in(const Tensor& operand, const std::string& copy);
  // By name: also an operation that another directive makes.
  StageSchedule& copy_in(const std::string& operand, const std::string& copy);
  // y = x[n, c] / sqrt(v[c])  ->  s[c] = sqrt(v[c]); y = x[n, c] / s[c]   by precompute(c, "s")
  // What takes long and depends on one axis alone is computed once for each step of it: the first
  // part of this operation, as large as it can be, that reads no other axis and has a division, a
  // square root or a series (exp, log, tanh, erf, pow) of floats in it. The same bits. No part that
  // a select or a condition guards, for what it reads may not be there otherwise. Again for the
  // next such part. Halide has no such directive (TACO: precompute).
  StageSchedule& precompute(const Axis& axis, const std::string& part);
  // p = reduce(...); y = p  ->  p = reduce(...); few = reduce(...); y = select(K <= 3, few, p)
  // What is computed twice is scheduled twice: where the condition holds, all that reads this
  // operation reads the new stage. A reader that has a specialization with that condition, or one
  // that is joined to others by &&, computes in each case only what that case reads. An output
  // chooses itself: y = f(..)  ->  few = f(..); y = select(K <= 3, few, f(..)). One that reduces
  // does not: cache_write makes of it what is read. Halide has no such directive.
  StageSchedule& alternative(const Expr& condition, const std::string& other);
  // s = sum({ko, ki}, e)  ->  partial[.., ki] = sum(ko, e); s = sum(ki, partial)
  // `axis` is a reduction axis or a loop that splits and fuses made of some; the loops that are
  // left stay reduced in `partial`. Before it on this operation: only such splits and fuses, which
  // become axes. k in lanes of 8: split(k, k, lane, 8).rfactor(lane, "partial"). The order of a
  // float sum changes. Again on the same operation, for the loop that is left: by halves of the
  // lanes, split(lane, lane, half, 4).rfactor(half, "halves").
  StageSchedule& rfactor(const Axis& axis, const std::string& partial);
  // for k: s += e         ->  for k: s atomic += e
  // Allows vectorize and parallel on the loops of reduction axes, of integers: their result does
  // not depend on the order, so it is exact. (parallel: not of a product, which no processor has as
  // an atomic operation.) Without it such a loop is refused, for it carries a dependence. A float
  // reduction is refused with it too, for the nest would not say in what order it is rounded:
  // rfactor does.
  StageSchedule& atomic();
  // for m in M            ->  for m in M, prefetching x 2 ahead      by prefetch(x, m, 2)
  // At each step of the loop, serial or parallel, what the step `distance` ahead will read of
  // `buffer` is asked of memory (prefetcht0 of x86). Changes no result. The buffer: an input, a
  // weight, or an operation that is no output and complete before the loop; read by this operation,
  // or by one that is computed inside the loop. Where a loop inside walks over all of it, its steps
  // ask for a share each, and the nest says so: "for y.n in 4, prefetching x 2 ahead of y.m".
  StageSchedule& prefetch(const Tensor& buffer, const Axis& axis, int64_t distance);
  StageSchedule& prefetch(const std::string& buffer, const Axis& axis, int64_t distance);

  // for a.m: a; for b.m: b -> for a.m with b.m: a; b                 by s[b].compute_with(a, m)
  // The loops from the outermost to `axis` are the sibling's. Both have the same ones there (names,
  // extents, kinds: serial or parallel), of axes that are not reduced; are computed at one place;
  // neither needs the other; both are reductions (start values together, updates together) or none.
  // Or this operation reads the other one, which is no reduction: then each step of its loops,
  // which may be those of a reduction and have other names outside `axis`, computes first what the
  // other has there. It reads of the other what that step has computed, or an earlier one. What
  // else reads the other comes behind these loops; its storage is where it would be anyway. Serial
  // loops.
  StageSchedule& compute_with(const Tensor& sibling, const Axis& axis);
  StageSchedule& compute_with(const std::string& sibling, const Axis& axis);

  // for m: y = ..         ->  if B == 1: <loops of the specialization>  else: for m: y = ..
  // What stands behind it holds only where `condition` does; that case starts from a copy of what
  // stands in front of the first specialize. Of several, the first that holds is taken. Only
  // directives on loops may stand behind it: split, tile, fuse, reorder, vectorize, unroll,
  // parallel, partition, cut. In the specialization a size is what the condition says: after B == 4
  // a loop in B may be unrolled, after B >= 16 a split by 16 may shift inwards, after B % 8 == 0 a
  // split by 8 needs no tail. `condition`: comparisons of run-time sizes, as expressions
  // (size_value("B") == 1). Halide: y.specialize(condition), which returns the specialization.
  StageSchedule& specialize(const Expr& condition);

  StageSchedule& add(Directive directive);
  const std::vector<Directive>& directives() const { return directives_; }

 private:
  friend class Schedule;
  const Schedule* owner_ = nullptr;
  std::vector<Directive> directives_;
};

class Schedule {
 public:
  explicit Schedule(const Graph& graph);
  explicit Schedule(const Tensor& output) : Schedule(Graph(output)) {}
  explicit Schedule(const Func& output) : Schedule(Graph(output)) {}
  Schedule(const Schedule& other);
  Schedule& operator=(const Schedule& other);

  // The directives of an operation of the graph (Error when it is not there) or, by name, also of a
  // stage that cache_write, rfactor, copy_in, alternative or precompute makes (checked by
  // lower()).
  StageSchedule& operator[](const Tensor& tensor);
  StageSchedule& operator[](const Func& func) { return (*this)[func.tensor()]; }
  StageSchedule& operator[](const std::string& name);
  const StageSchedule* find(const std::string& name) const;
  const std::map<std::string, StageSchedule>& stages() const { return stages_; }
  const Graph& graph() const { return *graph_; }
  // One without directives, of the same graph.
  Schedule without_directives() const;
  bool operator==(const Schedule& other) const;
  std::string name_of(const Tensor& tensor) const;

 private:
  explicit Schedule(std::shared_ptr<const Graph> graph);

  std::shared_ptr<const Graph> graph_;  // copies share it
  std::map<std::string, StageSchedule> stages_;
};

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_H_
