#ifndef EMULSION_PASSES_STAGE_PLAN_H_
#define EMULSION_PASSES_STAGE_PLAN_H_

// What lower() knows about each stage between the schedule and the tree: the stage, its loops in
// order, and where it goes. Filled in by plan_stages (the graph), apply_structure (directives that
// change what the stages are), apply_directives (directives on loops) and infer_regions (how much
// of each stage is computed); read by build_tree. Private to passes/.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/schedule.h"
#include "passes/loop_nest.h"
#include "passes/refusal.h"

namespace emulsion {

struct StagePlan {
  enum class Place : uint8_t { root, at, inlined };

  Stage stage;
  bool is_output = false;
  std::vector<Directive> directives;      // those on loops and places, as they were written
  std::vector<std::string> loops;         // plain names, outermost first; an update's loops
  std::map<std::string, LoopKind> kinds;  // those that are not serial
  std::set<std::string> reduction_loops;  // loops of reduction axes: not in the start value's nest
  bool atomic = false;                    // its update
  std::vector<Directive> prefetches;
  std::string with_stage, with_loop;  // compute_with; empty: none
  Place place = Place::root;
  std::string at_stage, at_loop;        // place == at
  std::string store_stage, store_loop;  // empty: where it is computed
  Memory memory = Memory::automatic;
  std::vector<Expr> mins, extents;  // the region computed each time, one for each axis
  // The least and the greatest index of each axis over the whole run, when they are known and
  // affine: a region of constant size may reach past the domain.
  std::vector<std::optional<Extent>> lowest, highest;
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

// The rest: loops, their kinds, places and memories. Checks each directive as it comes.
void apply_directives(NestPlan* plan);
// What prefetch and compute_with ask of the loops of several stages. Called by apply_directives.
void check_loops(NestPlan* plan);
// The same as apply_directives of one stage, without the checks that concern several.
void apply_directives_of(StagePlan* plan);

// The region of each stage that its place needs, and clamps on the reads that a region beyond the
// domain would take out of bounds. Consumers first.
void infer_regions(NestPlan* plan);

// The value of each axis of a stage at its innermost point, in loop variables: the axis counted
// from the region's start, and the guards that keep it inside the region.
struct PointMap {
  std::map<std::string, Expr> local;
  std::vector<Expr> guards;
};
PointMap map_point(const Stage& stage, Part part, const std::vector<Expr>& region_extents);

NodePtr build_tree(const NestPlan& plan);

}  // namespace emulsion

#endif  // EMULSION_PASSES_STAGE_PLAN_H_
