#ifndef EMULSION_PASSES_LOWER_STAGE_PLAN_H_
#define EMULSION_PASSES_LOWER_STAGE_PLAN_H_

// The stages of a nest as they are scheduled: each with its loops in order and where it goes. The
// first of the values that lower() makes one of another; the regions of the stages (stage_region.h)
// and their storage (stage_storage.h) follow. Private to passes/lower/.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/schedule.h"
#include "dsl/stage_loops.h"
#include "passes/lower/refusal.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// "m, n, k", for error messages.
std::string joined(const std::vector<std::string>& names);

// A place: inside that loop of that stage.
struct LoopLevel {
  std::string stage, loop;

  std::string variable() const { return loop_variable(stage, loop); }
  bool operator==(const LoopLevel& other) const {
    return stage == other.stage && loop == other.loop;
  }
};

struct ScheduledStage {
  Stage stage;                       // tails as they were asked for, also automatic ones
  std::vector<ScheduledLoop> loops;  // made by apply_directives; of a reduction, of the update
  bool is_output = false;
  std::vector<Directive> directives;  // those on loops and places, as they were written
  std::vector<std::vector<ScheduledLoop>>
      specialized_loops;  // the loops of each of stage.specializations
  bool atomic = false;    // its update
  std::vector<Directive> prefetches;
  std::optional<LoopLevel> compute_with;  // the innermost loop that is shared
  std::optional<LoopLevel> compute_at;    // nothing: the root
  std::optional<LoopLevel> store_at;      // nothing: where it is computed, or store_root
  bool store_root = false;
  std::optional<LoopLevel> hoist_at;  // nothing: the allocation is where it is stored
  std::map<std::string, int64_t> fold_sizes, alignments;  // by axis
  std::vector<std::string> storage_order;                 // innermost first
  Memory memory = Memory::automatic;                      // as it was asked for

  // The last directive of that kind, on these axes when some are given, as it was written: what a
  // refusal names that comes after the directives were applied.
  Directive source_directive(DirectiveKind kind,
                             const std::vector<std::string>& on_axes = {}) const;
  Directive source_directive(const LoopTransform& transform) const;
  Directive source_storage_directive() const;  // store_root or store_at

  bool outlives_compute_loop() const {  // stored outside the loop where it is computed
    return store_root || (store_at && !(store_at == compute_at));
  }
};

struct NestPlan {
  std::string name;
  std::vector<std::string> sizes;
  std::vector<Buffer> buffers;         // arguments, outputs, constants
  std::vector<ScheduledStage> stages;  // producers first
  std::vector<Pack> packs;

  ScheduledStage* find(const std::string& name);
  const ScheduledStage* find(const std::string& name) const;
  size_t position(const std::string& name) const;  // InternalError when it is not there
  const Buffer* find_buffer(const std::string& name) const;
  // Names of the stages, for error messages: "mm, y".
  std::string stage_names() const;
};

// One loop around the place where a stage is computed.
struct EnclosingLoop {
  size_t position;  // of its stage
  const ScheduledStage* stage;
  ScheduledLoop loop;

  LoopLevel level() const { return {stage->stage.name, loop.name}; }
  std::string variable() const { return level().variable(); }
};
// Those loops, outermost first.
std::vector<EnclosingLoop> loops_around(const NestPlan& nest, const ScheduledStage& plan);
// Where a loop is among them; nothing when it is not around the stage.
std::optional<size_t> position_of(const std::vector<EnclosingLoop>& loops, const LoopLevel& level);
// How many of them are outside the storage of the stage. The loops between: the others.
size_t loops_outside_storage(const ScheduledStage& plan, const std::vector<EnclosingLoop>& loops);
// Which stages read each buffer or stage, by name, as positions in `stages`.
std::map<std::string, std::vector<size_t>> readers_of(const NestPlan& plan);

// The reads of that buffer or stage in a stage's body.
std::vector<Expr> reads_of(const Stage& stage, const std::string& buffer);
// Whether `stage` reads `other`, or a stage that does.
bool depends_on(const NestPlan& plan, const std::string& stage, const std::string& other);

// The stages of a graph, members of fused operations included, each computed at the root in the
// order of its axes. Constants of one element become literals.
NestPlan plan_stages(const Graph& graph);

// cache_write, rfactor, copy_in, pack and compute_inline: directives that change what the stages
// are.
void apply_structure(const Schedule& schedule, NestPlan* plan);

// One of them, pack: the weight becomes a buffer in another layout, which every stage then reads.
void pack_weight(NestPlan* plan, const ScheduledStage& stage, const Directive& d);
// The name of a packed weight's buffer.
std::string packed_name(const std::string& weight);
std::set<std::string> buffers_read_by(const Stage& stage);
// Refuses what is too large for a buffer, as every tensor of the graph would be.
void require_size(const std::string& stage, const Directive& d, const Shape& shape, DType dtype);

// What may be inside what, of the loops that a stage has after its first `applied` directives: a
// later one can mend an earlier one.
void check_kinds(const ScheduledStage& plan, const std::vector<ScheduledLoop>& loops,
                 size_t applied);
// Whether the steps of a reduction loop may be taken together, as directive `d` asks. `has_atomic`:
// whether the stage has that directive, anywhere.
void check_carried(const ScheduledStage& plan, const Directive& d, LoopKind kind, bool has_atomic);

// The rest: loops, their kinds, places and memories. Checks each directive as it comes.
void apply_directives(NestPlan* plan);
// What prefetch and compute_with ask of the loops of several stages. Called by apply_directives.
void check_loops(NestPlan* plan);
// The same as apply_directives of one stage, without the checks that concern several.
void apply_directives_of(ScheduledStage* plan);

// Where every stage is computed, stored and allocated: checked, now that all loops are known.
void check_places(const NestPlan& plan);

// For each transform of a stage, whether it is of a reduction axis.
std::vector<bool> reduction_transforms(const Stage& stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_STAGE_PLAN_H_
