#ifndef EMULSION_PASSES_NEST_LOOP_NEST_H_
#define EMULSION_PASSES_NEST_LOOP_NEST_H_

// The uOp loop nest: the only thing that a backend reads. What is printed is what runs.
//
//   nest  := buffers stages packs grids node
//   node  := block node...                     in this order
//          | loop stage.axis in extent: node   serial, parallel, vectorized, unrolled or tile; from
//                                              0 up, or "in min .. +extent"; "prefetching x 2
//                                              ahead": what step i + 2 reads of x is asked of
//                                              memory at step i; "2 ahead of y.m": what is read
//                                              here in that step of an outer loop; "a.m with b.m":
//                                              one loop of several stages, its variable a.m;
//                                              "partition": to become an interior and edges; "n in
//                                              C .. +D": inside is a piece of axis n, which is cut
//          | branch condition: node node       the first where it holds, else the second
//          | alloc buffer[min, extent...]      storage of an internal stage, live for the children;
//                                              "in output y": where y, an output, will have its
//                                              elements of the same index, and overwrites them;
//                                              or, where it is a copy, has them then
//          | hoisted_alloc buffer[extent...]   memory for the allocs of that stage inside
//          | window stage[min, extent...]     what is there once the children are done, when the
//                                              storage is kept over a loop between; "m slides along
//                                              y.m: 3 at first, then 1": what the steps before have
//                                              computed of axis m is not computed again
//          | part stage[min, extent...]        the same of a stage that is stored whole, an output
//                                              or not: each step computes another part of it, and
//                                              reads no other part
//          | load    stage[point] = read       a copy into a staged buffer; no arithmetic
//          | execute stage[point] (op)= expr   start value, update, or a value that stays inside
//                                              the kernel; "atomic (op)=" is an update whose
//                                              reduction loops may be vectorized or parallel;
//                                              "max_number=" leaves NaN out, "max=" keeps it
//          | store   stage[point] = expr       a pure value that goes to an output argument; or a
//                                              copy from the scratchpad to a stage on the heap
//
// A stage is a comprehension over its axes. Its buffer has its name; its loops are its axes taken
// through its transforms (splits and fuses, in order); its place in the tree is where it is
// computed. A reduction is two nests at that place: `init` (no reduction loops), then `update`.
// Loop variables are named "stage.axis"; `point` says what index each axis of the stage has there.
// Several loops of one variable, one right after another, are the parts of one loop: each goes on
// where the one before it ends, and all compute the same stages. Of an axis that is cut, each piece
// has such loops, which start anew.
//
// A node says its stage by name, and not by its position in the table: tests and passes write nests
// too, they add and drop stages, and the text of a nest, its verifier and a kernel's messages say
// names. Inside passes/lower, where nearly every step asks for a stage, stages are positions.
//
// Reads in a stage's body name a buffer and use the stage's plain axis names as variables; reads in
// `mins`, `extents`, `point` and `guards` do not occur: these are integer expressions over the
// enclosing loops' variables and the run-time sizes. Row-major everywhere.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/schedule.h"
#include "dsl/types.h"
#include "passes/nest/named_list.h"

namespace emulsion {

enum class BufferRole : uint8_t {
  input,     // argument
  weight,    // argument; when a Pack names it, in its packed shape
  output,    // argument, written by the stage of the same name
  constant,  // known values, part of the kernel
  internal,  // the storage of a stage, made by its Alloc
};

struct Buffer {
  std::string name;
  DType dtype;
  BufferRole role;
  // What an index may be: 0 <= index[d] < shape[d]. Of an internal one, the stage's whole domain.
  Shape shape;
  std::shared_ptr<const std::vector<uint8_t>> data;  // constant: dense row-major bytes
};

struct LoopTransform {
  enum class Kind : uint8_t {
    split,  // axis -> outer * factor + inner
    fuse,   // outer, inner -> axis = outer * extent(inner) + inner
    step,   // axis -> outer * factor: only the multiples of the factor (rfactor)
  };
  Kind kind;
  std::string axis, outer, inner;  // plain names, unique within the stage
  int64_t factor = 0;              // split, step
  // Of a split; never automatic. round_up also where the factor divides exactly.
  Tail tail = Tail::guard;
};

// An axis of a stage in two pieces, before and from an index that is inside it for all sizes.
struct AxisCut {
  std::string axis;
  Extent at;
};

// Other loops for a stage, where a condition over the run-time sizes holds.
struct Specialization {
  Expr condition;
  std::vector<LoopTransform> transforms;
  std::vector<AxisCut> cuts = {};
};

struct Stage {
  std::string name;
  DType dtype;
  std::vector<Axis> axes;            // with extents: the domain, row-major; the buffer's axes
  std::vector<Axis> reduction_axes;  // with extents
  Combiner combiner = Combiner::none;
  // Without a combiner the value; else combined over reduction_axes, starting from
  // identity_of(combiner).
  Expr body;
  std::vector<LoopTransform> transforms;  // those of reduction axes concern the update only
  // In order along each axis, none at an index of another. Each piece is taken through the
  // transforms by itself.
  std::vector<AxisCut> cuts = {};

  // In the order in which they are tried; the above are of the general case.
  std::vector<Specialization> specializations;

  bool is_reduction() const { return combiner != Combiner::none; }
};

enum class Part : uint8_t { pure, init, update };  // pure: a stage that is no reduction
enum class UopKind : uint8_t { load, execute, store };

// What of an instance of a uOp a guard leaves out where its condition does not hold. Only the
// uOps of stages that are no reductions mask one side: an update loads what it stores.
enum class GuardMask : uint8_t {
  instance,          // all of it: a branch around it
  loads_and_stores,  // all of it too, as a mask of its loads and its store
  loads,   // stores nevertheless: any value, at a place that its storage has and nobody reads
  stores,  // loads nevertheless, from places that are there
};
struct Guard {
  Expr condition;
  GuardMask mask = GuardMask::instance;
};

// Where the elements of an alloc are. Every list is empty or has one entry for each axis of the
// stage; empty is a plain row-major block.
struct StorageLayout {
  std::vector<int64_t> folds;  // n > 0: the axis starts at 0, is n long, and i lives at i mod n
  std::vector<int64_t> alignments;  // n > 1: the axis takes a multiple of n elements
  // n > 0: the axis takes n elements, its extent being no more wherever the storage is.
  std::vector<int64_t> rooms;
  std::vector<size_t> order;  // the axes, outermost first

  // How many indices the axis is folded to; 0: it is not.
  int64_t fold(size_t axis) const { return folds.empty() ? 0 : folds[axis]; }
  // How many elements the axis has room for, whatever its extent; 0: that decides.
  int64_t room(size_t axis) const { return rooms.empty() ? 0 : rooms[axis]; }
  // The elements that the axis takes in storage, given its extent.
  int64_t padded(size_t axis, int64_t extent) const;
  // The distance between neighbours along each axis, in elements.
  std::vector<int64_t> strides(const std::vector<int64_t>& extents) const;
};

// At each step of a loop: what the update, or the only part, of its stage reads of `buffer` at the
// step `distance` ahead, where there is one. Changes no value.
struct Prefetch {
  std::string buffer;
  int64_t distance = 1;
  // The variable of a loop around, of which the step is that is ahead; the loop itself when empty.
  // Then each step asks for what it will read itself in that one (spread_prefetches).
  std::string ahead_of = {};
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// Its children, one after another.
struct Block {
  std::vector<NodePtr> children;
};

// What is computed of an axis that is cut.
struct AxisPiece {
  std::string axis;
  Extent min, extent;

  bool operator==(const AxisPiece& other) const {
    return axis == other.axis && min == other.min && extent == other.extent;
  }
};

// Its body, once for each value of its variable from `min` on.
struct Loop : LoopMarks {
  std::string stage;
  Part part = Part::pure;
  std::string axis;            // plain name; the variable is stage + "." + axis
  Expr min = int_constant(0);  // over run-time sizes and the loops around it
  // Over run-time sizes, for example (B + 5) / 6, and conditions v == 0 of loops along which a
  // window of the stage slides.
  Expr extent;
  std::vector<Prefetch> prefetches;  // serial and parallel loops only
  std::vector<std::string> shared;   // other stages whose loop `axis` of `part` this one is too
  // Of the axes that the loop is made of and that are cut: inside it the stage has these. Those of
  // axes of which a loop around it has a piece are not there.
  std::vector<AxisPiece> pieces;
  NodePtr body;

  std::string variable() const { return stage + "." + axis; }
};

// One of two ways to do the same work. What only one side needs, only that side computes and
// stores.
struct Branch {
  std::string stage;
  Part part = Part::pure;
  Expr condition;            // over run-time sizes
  NodePtr holds, otherwise;  // where the condition holds, and where it does not
};

// The memory of a stage.
struct Storage {
  std::string stage;
  Memory memory = Memory::heap;  // never automatic
  std::vector<Expr> extents;     // for each axis of the stage, over run-time sizes only; a constant
                                 // wherever it can be
  StorageLayout layout;
};

// Storage that lives while the body runs: element [i0, i1, ...] of the stage is at [i0 - mins[0],
// i1 - mins[1], ...]. Inside a HoistedAlloc of the stage it is in that memory.
struct Alloc : Storage {
  std::vector<Expr> mins;
  // Not empty: no memory of its own. Element [i0, i1, ...] of the stage is where that output has
  // its element [i0, i1, ...]; `extents` says what part of it, and `memory` is heap. There are no
  // uOps of the output inside where it is a copy of the stage for the sizes of the branches around.
  std::string output;
  NodePtr body;
};

// Memory for the alloc of the stage that is inside: of the same memory, extents and layout.
struct HoistedAlloc : Storage {
  NodePtr body;
};

// How the part of a stage that is there slides along a loop: at the loop's step 0 all of it is
// computed; at every other step only what the step before did not leave there.
struct Window {
  size_t axis = 0;     // of the stage: the one along which it slides
  Expr loop = Expr();  // its variable
  int64_t length = 0;  // of the part along the axis
  int64_t step = 0;  // how far it moves with each step of the loop; below 0: towards lower indices

  int64_t fresh() const { return step < 0 ? -step : step; }  // how much of it is then computed
  int64_t kept() const { return length - fresh(); }
};

// Of a region along axis `window.axis`, which starts at `min`: where what is computed starts, and
// how long it is. The only expressions that know what a window is: select(loop == 0, all, fresh).
Expr computed_min(const Window& window, const Expr& min);
Expr computed_extent(const Window& window);

// The part of a stage that is there once the body has run, where the storage is kept over a loop
// between, and how much of it the body computes.
struct WindowNode {
  std::string stage;
  std::vector<Expr> mins;     // over run-time sizes and the loops around it
  std::vector<Expr> extents;  // over run-time sizes
  std::vector<Window> slides;
  NodePtr body;
  // A part of what is stored whole, an output or not: no other step computes any of it, and none
  // beyond the domain is computed.
  bool is_whole = false;

  // What the body computes.
  std::vector<Expr> computed_mins() const;
  std::vector<Expr> computed_extents() const;
};

// One element of a stage is loaded, computed or stored.
struct UopNode {
  UopKind kind = UopKind::execute;
  std::string stage;
  Part part = Part::pure;
  std::vector<Expr> point;    // one for each of axes, then (update) reduction_axes
  std::vector<Guard> guards;  // all must hold, or what they mask does not happen
  bool atomic = false;        // an update whose instances may run at once
  // What it evaluates in place of the body of its stage: the same but for indices of reads, which
  // have the same values wherever this uOp runs, and for selects, of which one branch is taken
  // there. Undefined: the body itself.
  Expr body = Expr();
};

// node.as<Loop>() is null where the node is no loop. passes/nest/visit_nest.h walks and rewrites.
struct Node {
  std::variant<Block, Loop, Branch, Alloc, HoistedAlloc, WindowNode, UopNode> kind;

  template <typename Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&kind);
  }
  template <typename Kind>
  Kind* as() {
    return std::get_if<Kind>(&kind);
  }
};

// Takes the node. Letting go of a deep tree takes no recursion.
NodePtr share_node(Node node);

template <typename Kind>
NodePtr make_node(Kind kind) {
  return share_node(Node{std::move(kind)});
}

struct LoopNest;

// How one weight argument is brought into the layout that the nest reads. `nest` has one argument
// (the weight as the user has it) and one output (the packed buffer, under the packed name).
struct Pack {
  std::string weight;  // the user's name
  std::string packed;  // the name of the buffer in the main nest
  std::shared_ptr<const LoopNest> nest;
};

// How a contraction is cut into tiles, each one Execute of a tile machine: batch x m x n x k tiles
// of tile_m x tile_n x tile_k points. m: all its row axes, n: its column axes, k: its reduction
// axes (recognise_op.h); an axis that is not cut counts its whole extent in tiles of 1. The tiles
// at the edges may be part empty.
struct TileGrid {
  std::string stage;  // the contraction
  // Whose tiles its tiles become: what is fused onto it, or its copy; or itself.
  std::string result;
  Expr batch, m, n, k;  // over run-time sizes only
  int64_t tile_m = 1, tile_n = 1, tile_k = 1;
};

struct LoopNest {
  std::string name;                // of the first output
  std::vector<std::string> sizes;  // sorted names of the run-time sizes
  NamedList<Buffer> buffers;       // arguments in the kernel's order (inputs and weights, then
                                   // outputs), then constants, then internal ones
  NamedList<Stage> stages;         // producers first
  NodePtr root;
  std::vector<Pack> packs;           // for the weights whose values are not known
  std::vector<TileGrid> tile_grids;  // of the contractions whose update is in tile loops

  const Stage& stage(const std::string& name) const;       // InternalError when it is not there
  const Buffer& buffer(const std::string& name) const;     // InternalError when it is not there
  int32_t buffer_position(const std::string& name) const;  // among `buffers`; the same
  std::vector<const Buffer*> arguments() const;            // inputs, weights and outputs, in order
  const Pack* find_pack(const std::string& packed) const;  // that makes this buffer, or null
};

// The axis that index d of a point of the stage is of: its axes, then its reduction axes.
const Axis& axis_at(const Stage& stage, size_t d);
// The axis of its stage that a loop is over as it is: neither split nor fused, in any case.
std::optional<size_t> untransformed_axis(const LoopNest& nest, const Loop& loop);
// The variable of a loop around it, of another stage, whose steps it takes, one at each: its only
// step is the one of that loop (compute_with of what a stage reads). Nothing where it has its own
// steps.
std::optional<std::string> joined_to(const Loop& loop);
// Whether a split of it, in the general case or in a specialization, starts its last tile earlier
// so as not to reach past the end.
bool shifts_inwards(const Stage& stage);
// The stage as it is in its specialization i: with its transforms.
Stage specialized(const Stage& stage, size_t i);
// What a uOp evaluates, over the axes of its stage.
const Expr& body_of(const Stage& stage, const UopNode& uop);
// The side of a branch that runs.
const NodePtr& chosen_side(const Branch& branch, const SizeValues& sizes);

std::string loop_variable(const std::string& stage, const std::string& axis);  // "stage.axis"

// The extent of each axis of a stage, pure and reduction, before its transforms; and those extents
// taken through one transform: what it consumes goes, what it makes comes. Over run-time sizes
// only.
std::map<std::string, Expr> axis_extents(const Stage& stage,
                                         const std::vector<Expr>& region_extents);
void apply_transform(const LoopTransform& transform, std::map<std::string, Expr>* extents);

// The extent of each loop axis of a stage (pure, reduction, and those that its transforms make),
// given the extents of the region that is computed. Over run-time sizes only.
std::map<std::string, Expr> loop_extents(const Stage& stage,
                                         const std::vector<Expr>& region_extents);

// The program as text (see the README for an example). Stable: goldens compare it.
std::string to_string(const LoopNest& nest);
std::string to_string(BufferRole role);
// "4 x 16 x 8 tiles of 32 x 32 x 32"; "B of 4 x ..." with a batch.
std::string to_string(const TileGrid& grid);

// Number of times each kind of uOp is issued (guards not counted out): arithmetic over the tree, so
// it takes microseconds whatever the extents are. Tile loops are inside the uOp and do not
// multiply.
struct UopCounts {
  int64_t loads = 0;
  int64_t inits = 0;     // executes that set a reduction's start value
  int64_t executes = 0;  // all others
  int64_t stores = 0;

  int64_t total() const { return loads + inits + executes + stores; }
};
UopCounts count_uops(const LoopNest& nest, const SizeValues& sizes = {});

// The value of an integer expression over loop variables, or axes, and sizes. Error: a name without
// a value. A size that an axis may share its name with is under size_key(name).
std::string size_key(const std::string& size);
int64_t evaluate_index(const Expr& expr, const std::map<std::string, int64_t>& variables);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_LOOP_NEST_H_
