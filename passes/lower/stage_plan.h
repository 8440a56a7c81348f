#ifndef EMULSION_PASSES_LOWER_STAGE_PLAN_H_
#define EMULSION_PASSES_LOWER_STAGE_PLAN_H_

// What lower() knows about each stage between the schedule and the tree: the stage, its loops in
// order, and where it goes. Filled in by plan_stages (the graph), apply_structure (directives that
// change what the stages are), apply_directives (directives on loops) and infer_regions (how much
// of each stage is computed); read by build_tree. Private to passes/lower/.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/schedule.h"
#include "passes/index/index_interval.h"
#include "passes/lower/refusal.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// The loops of one case of a stage.
struct LoopOrder {
  std::vector<std::string> loops;         // plain names, outermost first; an update's loops
  std::map<std::string, LoopKind> kinds;  // those that are not serial
  std::set<std::string> reduction_loops;  // loops of reduction axes: not in the start value's nest
};

struct StagePlan : LoopOrder {
  enum class Place : uint8_t { root, at, inlined };

  Stage stage;
  bool is_output = false;
  std::vector<Directive> directives;     // those on loops and places, as they were written
  std::vector<LoopOrder> special_cases;  // one for each of stage.specializations
  bool atomic = false;                   // its update
  std::vector<Directive> prefetches;
  std::string with_stage, with_loop;  // compute_with; empty: none
  Place place = Place::root;
  std::string at_stage, at_loop;        // place == at
  std::string store_stage, store_loop;  // empty: where it is computed, or store_root
  bool store_root = false;
  std::string hoist_stage, hoist_loop;  // empty: the allocation is where it is stored
  std::map<std::string, int64_t> fold_sizes, alignments;  // by axis
  std::vector<std::string> storage_order;                 // innermost first
  Memory memory = Memory::automatic;
  std::vector<Expr> mins, extents;  // the region computed each time, one for each axis
  // The region that is then there: more than what is computed where a window slides.
  std::vector<Expr> needed_mins, needed_extents;
  std::vector<std::string> slides;  // the loop variable along which each axis slides; empty: none
  // What is stored, when that is kept over loops between (is_kept); else the region computed.
  std::vector<Expr> stored_mins, stored_extents;
  StorageLayout layout;
  // The least and the greatest index of each axis over the whole run, when they are known and
  // affine: a region of constant size may reach past the domain.
  std::vector<std::optional<Extent>> lowest, highest;

  // The last directive of that kind, on these axes when some are given, as it was written: what a
  // refusal names that comes after the directives were applied.
  Directive written(DirectiveKind kind, const std::vector<std::string>& on_axes = {}) const;
  Directive written(const LoopTransform& transform) const;
  Directive written_store() const;  // store_root or store_at

  bool is_kept() const {  // stored outside the loop where it is computed
    return store_root ||
           (!store_stage.empty() && (store_stage != at_stage || store_loop != at_loop));
  }
};

struct NestPlan {
  std::string name;
  std::vector<std::string> sizes;
  std::vector<Buffer> buffers;    // arguments, outputs, constants
  std::vector<StagePlan> stages;  // producers first
  std::vector<Pack> packs;

  StagePlan* find(const std::string& name);
  const StagePlan* find(const std::string& name) const;
  const Buffer* find_buffer(const std::string& name) const;
  // Names of the stages, for error messages: "mm, y".
  std::string stage_names() const;
};

// One loop around the place where a stage is computed.
struct LoopAround {
  const StagePlan* stage;
  std::string axis;  // plain name

  std::string variable() const { return loop_variable(stage->stage.name, axis); }
  LoopKind kind() const;
};
// Those loops, outermost first.
std::vector<LoopAround> loops_around(const NestPlan& nest, const StagePlan& plan);
// Where a loop is among them; nothing when it is not around the stage.
std::optional<size_t> position_of(const std::vector<LoopAround>& loops, const std::string& stage,
                                  const std::string& axis);
// How many of them are outside the storage of the stage. The loops between: the others.
size_t loops_outside_storage(const StagePlan& plan, const std::vector<LoopAround>& loops);
// The plan as it is in the stage's special case i: its transforms, its loops, and in its extents
// what the condition says of the sizes.
StagePlan specialized(const StagePlan& plan, size_t i);

// Which stages read each buffer or stage, by name, as positions in `stages`.
std::map<std::string, std::vector<size_t>> readers_of(const NestPlan& plan);

// Whether `stage` reads `other`, or a stage that does.
bool needs(const NestPlan& plan, const std::string& stage, const std::string& other);

// The stages of a graph, members of fused operations included, each computed at the root in the
// order of its axes. Constants of one element become literals.
NestPlan plan_stages(const Graph& graph);

// cache_write, rfactor, copy_in, pack and compute_inline: directives that change what the stages
// are.
void apply_structure(const Schedule& schedule, NestPlan* plan);

// One of them, pack: the weight becomes a buffer in another layout, which every stage then reads.
void pack_weight(NestPlan* plan, const StagePlan& stage, const Directive& d);
// The name of a packed weight's buffer.
std::string packed_name(const std::string& weight);
std::set<std::string> buffers_read_by(const Stage& stage);
// Refuses what is too large for a buffer, as every tensor of the graph would be.
void require_size(const std::string& stage, const Directive& d, const Shape& shape, DType dtype);

// What may be inside what, as far as the first `applied` directives of a stage say: a later one can
// mend an earlier one.
void check_kinds(const StagePlan& plan, size_t applied);
// Whether the steps of a reduction loop may be taken together, as directive `d` asks. `has_atomic`:
// whether the stage has that directive, anywhere.
void check_carried(const StagePlan& plan, const Directive& d, LoopKind kind, bool has_atomic);

// The rest: loops, their kinds, places and memories. Checks each directive as it comes.
void apply_directives(NestPlan* plan);
// What prefetch and compute_with ask of the loops of several stages. Called by apply_directives.
void check_loops(NestPlan* plan);
// The same as apply_directives of one stage, without the checks that concern several.
void apply_directives_of(StagePlan* plan);

// Where every stage is computed, stored and allocated: checked, now that all loops are known.
void check_places(const NestPlan& plan);

// The region of each stage that its place needs, and clamps on the reads that a region beyond the
// domain would take out of bounds. Consumers first.
void infer_regions(NestPlan* plan);

// What infer_regions refuses of a stage that is computed at a loop: an axis of which a part of
// constant size is computed, where there may be nothing to compute.
void check_partial_axis(const NestPlan& nest, const StagePlan& plan, const Axis& axis);

// How much storage the regions come to, once all are known: no more than an index of 32 bits
// reaches.
void check_growth(const NestPlan& nest);

// What happens where a factor does not divide: open tails chosen, all of them checked, also those
// of special cases. A tail that rounds up makes the region larger.
void resolve_tails(StagePlan* plan);

// Sliding windows: of a stage whose storage is kept over loops between, only what is new is
// computed. From `mins` and `extents`, the region needed, to the region computed, and the needed
// one.
void slide_window(const NestPlan& nest, StagePlan* plan);
// What is stored and how it is laid out, once all regions of the stage are known. `range`: how a
// loop variable ranges. `vectorized`: the axes along which vectors are read or written.
void infer_storage(const NestPlan& nest, const VariableRange& range,
                   const std::set<std::string>& vectorized, StagePlan* plan);

// The value of each axis of a stage at its innermost point, in loop variables: the axis counted
// from the region's start, and the guards that keep it inside the region.
struct PointMap {
  std::map<std::string, Expr> local;
  std::vector<Expr> guards;
};
// For each transform of a stage, whether it is of a reduction axis.
std::vector<bool> reduction_transforms(const Stage& stage);
PointMap map_point(const Stage& stage, Part part, const std::vector<Expr>& region_extents);

NodePtr build_tree(const NestPlan& plan);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_STAGE_PLAN_H_
