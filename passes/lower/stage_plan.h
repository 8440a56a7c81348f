#ifndef EMULSION_PASSES_LOWER_STAGE_PLAN_H_
#define EMULSION_PASSES_LOWER_STAGE_PLAN_H_

// The stages of a nest: as they were written, with the directives on each (WrittenNest), and as
// they are scheduled, each with its loops in order and where it goes (NestPlan). The first of the
// values that lower() makes one of another; the regions of the stages (stage_region.h) and their
// storage (stage_storage.h) follow. Private to passes/lower/.
//
// In a WrittenNest stages come and go, and have names. In a NestPlan they stay: a stage is its
// position there, a loop its position in its stage, an axis its position in the stage's axes. Names
// are left where names are what is asked for: in directives, expressions and messages.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/schedule.h"
#include "dsl/schedule_axes.h"
#include "dsl/stage_loops.h"
#include "passes/lower/refusal.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// A directive, and the loops of its stage that it found (schedule_axes.h).
struct WrittenDirective : Directive {
  WrittenDirective(const Directive& directive, StageLoops before)
      : Directive(directive), loops(std::move(before)) {}

  StageLoops loops;
};

// What is known of the condition of an alternative where one of the two is read.
struct DecidedCondition {
  Expr condition;
  bool holds;
  std::string other;  // of an output, which itself takes the other where the condition holds
};

// A stage and its directives, as they were written; those that change what the stages are go when
// apply_structure has honoured them.
struct WrittenStage {
  Stage stage;  // tails as they were asked for, also automatic ones
  bool is_output = false;
  std::vector<DecidedCondition> decided;
  std::string alternative_of;  // the stage in whose stead it is, where one has alternatives
  std::vector<WrittenDirective> directives;

  // The last directive of that kind, on these axes when some are given; null when there is none.
  const Directive* find_directive(DirectiveKind kind,
                                  const std::vector<std::string>& on_axes = {}) const;
  // The same; when there is none, what would say it. What a refusal names that comes after the
  // directives were applied.
  Directive source_directive(DirectiveKind kind,
                             const std::vector<std::string>& on_axes = {}) const;
  Directive source_directive(const LoopTransform& transform) const;
};

// What a nest has beside its stages.
struct NestTables {
  std::string name;
  std::vector<std::string> sizes;
  std::vector<Buffer> buffers;  // arguments, outputs, constants
  std::vector<Pack> packs;

  const Buffer* find_buffer(const std::string& wanted) const;
};

struct WrittenNest : NestTables {
  std::vector<WrittenStage> stages;  // producers first

  const WrittenStage* find(const std::string& wanted) const;
};

// A stage of a NestPlan: its position among the stages.
using StageId = size_t;

// A place: inside that loop of that stage.
struct LoopLevel {
  StageId stage;
  size_t loop;  // its position in LoopedStage::loops

  bool operator==(const LoopLevel& other) const {
    return stage == other.stage && loop == other.loop;
  }
  bool operator<(const LoopLevel& other) const {
    return std::tie(stage, loop) < std::tie(other.stage, other.loop);
  }
};

// A stage and what its own directives say: its loops, and how it is kept.
struct LoopedStage : WrittenStage {
  std::vector<ScheduledLoop> loops;  // of a reduction, of the update
  // The loops of each of stage.specializations.
  std::vector<std::vector<ScheduledLoop>> specialized_loops;
  bool atomic = false;  // its update
  std::vector<Directive> prefetches;
  bool store_root = false;
  StorageLayout layout;               // as it was asked for
  Memory memory = Memory::automatic;  // as it was asked for

  Directive source_storage_directive() const;  // store_root or store_at
};

// What its directives say of other stages.
struct StagePlaces {
  // The innermost loop that is shared: the loops of both stages are the same up to there.
  std::optional<LoopLevel> compute_with;
  // compute_with of what it reads: the innermost loop of that stage that its own loops take a step
  // of first (join_loops.h).
  std::optional<LoopLevel> joins;
  std::optional<LoopLevel> compute_at;  // nothing: the root
  std::optional<LoopLevel> store_at;    // nothing: where it is computed, or store_root
  std::optional<LoopLevel> hoist_at;    // nothing: the allocation is where it is stored
  std::optional<StageId> in_output;     // the output in whose memory it is stored
};

// The stages that its body reads, those that read it, and those that share its loops
// (compute_with); each once.
struct StageLinks {
  std::vector<StageId> producers, readers, sharing;
};

struct ScheduledStage : LoopedStage, StagePlaces, StageLinks {  // NOLINT: three values, by name
  // Computed at a loop, each step its part, and stored whole: an output, or with store_root what
  // others read once the loops are done (keep_whole.cc).
  bool kept_whole = false;

  // Whether its memory ends with its domain, so that nothing is computed beyond that, though a part
  // may reach there.
  bool ends_at_domain() const { return kept_whole || in_output; }

  bool outlives_compute_loop() const {  // stored outside the loop where it is computed
    return store_root || (store_at && !(store_at == compute_at));
  }
};

template <typename AnyStage>
struct NumberedStages : NestTables {
  std::vector<AnyStage> stages;        // producers first
  std::map<std::string, StageId> ids;  // by name

  std::optional<StageId> find(const std::string& wanted) const {
    const auto found = ids.find(wanted);
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  }
  const std::string& name_of(StageId id) const { return stages[id].stage.name; }
};

using LoopedNest = NumberedStages<LoopedStage>;

struct NestPlan : NumberedStages<ScheduledStage> {
  bool keeps_whole = false;  // whether any stage is kept whole

  const ScheduledLoop& loop(const LoopLevel& level) const {
    return stages[level.stage].loops[level.loop];
  }
  std::string variable(const LoopLevel& level) const;  // "y.m"
  // Whose loops it has: its own, but for compute_with.
  StageId leader_of(StageId id) const {
    return stages[id].compute_with ? stages[id].compute_with->stage : id;
  }
  // A stage with loops of its own, and those that share them.
  std::vector<StageId> group_of(StageId leader) const;
};

// The names of the stages, in their order.
template <typename AnyStage>
std::vector<std::string> stage_names(const std::vector<AnyStage>& stages) {
  std::vector<std::string> names;
  names.reserve(stages.size());
  for (const AnyStage& plan : stages) names.push_back(plan.stage.name);
  return names;
}
// "m, n, k", for error messages.
std::string joined(const std::vector<std::string>& names);

// The loops around the place where a stage is computed, outermost first.
std::vector<LoopLevel> loops_around(const NestPlan& nest, StageId id);
// Where a loop is among them; nothing when it is not around the stage.
std::optional<size_t> position_of(const std::vector<LoopLevel>& around, const LoopLevel& level);
// How many of them are outside the storage of the stage. The loops between: the others.
size_t loops_outside_storage(const ScheduledStage& plan, const std::vector<LoopLevel>& around);

// Whether the first `count` loops of a specialization are those of the general case, made by the
// general directives.
bool keeps_loops(const ScheduledStage& plan, size_t specialization, size_t count);

// What of the loops of a stage another may share where the loop at a position is none of these: the
// compute_with of the one outside it, if there is one.
std::string loops_outside(const ScheduledStage& plan, size_t loop, const std::string& leader);

// The reads of that buffer or stage in a stage's body.
std::vector<Expr> reads_of(const Stage& stage, const std::string& buffer);
std::set<std::string> buffers_read_by(const Stage& stage);
// What is to be there before a stage is computed: what it reads, and what has the loops in which
// that is computed and kept.
std::vector<StageId> needed_before(const NestPlan& nest, StageId stage);
// Whether `other` is needed before `stage`, by itself or for something else that is.
bool depends_on(const NestPlan& nest, StageId stage, StageId other);

// The stages of a graph, members of fused operations included, with what a schedule says of each.
// Constants of one element become literals.
WrittenNest plan_stages(const Graph& graph);

// exp(e) of f32 becomes exp(min(e, 0)) where e is proved never to be above 0: x[i] - m, where m is
// the maximum of all x[i], as in a softmax; -|x|, -x * x. The same value, of which a backend then
// sees that it cannot overflow. In a step of its own because no later one could prove it: rfactor
// makes several stages of a reduction.
WrittenNest bound_exponents(WrittenNest nest);

// max of floats becomes max_number, and min min_number, where each output that a NaN among the
// values would reach is NaN without it, too: in a softmax of x the sum of exp(x[i] - m) is NaN
// where an x[i] is, and every element is divided by it. One instruction a step instead of three,
// and no mask. In a step of its own for the same reason.
WrittenNest skip_nan(WrittenNest nest);

// a % n, with n a run-time size, becomes select(a < n, a, a - n) and the like where a is proved to
// be no further than n from the ends of [0, n): x((i + 1) % n). The same value without a division,
// and loops are cut where the choice changes (split_choices.h).
WrittenNest choose_remainders(WrittenNest nest);

// Whether a directive is about the loops of its operation.
bool is_loop_directive(const Directive& d);

// The stage that rfactor makes of `plan`, which reduces what is left of it.
//   s = sum({ko, ki}, e)  ->  partial[.., ki] = sum(ko, e); s = sum(ki, partial)
WrittenStage rfactor(WrittenStage* plan, const WrittenDirective& d);

// Honours cache_write, rfactor, copy_in, alternative, pack and compute_inline, which change what
// the stages are. The other directives of the schedule are then those of the stages that there are.
// `loops`: those of the schedule.
WrittenNest apply_structure(WrittenNest nest, const Schedule& schedule, const ScheduleLoops& loops);

// One of them, pack: the weight becomes a buffer in another layout, which every stage then reads.
void pack_weight(WrittenNest* nest, const WrittenStage& stage, const Directive& d);
// The name of a packed weight's buffer.
std::string packed_name(const std::string& weight);
// Refuses what is too large for a buffer, as every tensor of the graph would be.
void require_size(const std::string& stage, const Directive& d, const Shape& shape, DType dtype);

// What may be inside what, of the loops that a stage has after its first `applied` directives: a
// later one can mend an earlier one.
void check_kinds(const WrittenStage& plan, const std::vector<ScheduledLoop>& loops, size_t applied);
// Adds what the directive says to the cuts of a case of the stage, in their order. `condition`: of
// the case.
void add_cut(const WrittenStage& plan, const Directive& d, const Expr& condition,
             std::vector<AxisCut>* cuts);
// What cuts ask of the loops of a case, once all of its directives are known. `one`: the stage with
// the transforms and the cuts of the case.
void check_cut_loops(const WrittenStage& plan, const Stage& one,
                     const std::vector<ScheduledLoop>& loops);
// That nothing is computed in the loops of an axis that is cut, and none of them is shared.
void check_cuts(const NestPlan& nest);
// Whether the steps of a reduction loop may be taken together, as directive `d` asks.
void check_carried(const WrittenStage& plan, const Directive& d, LoopKind kind);

// Of a stage that is computed at a part of a loop over neighbouring axes (fuse), such axes of its
// own are one axis, where all that reads it goes through them as one, too: for i: for j of m[i, j]
// is for ij of m[ij]. The same values; a part of that loop is one part of the storage. `loops`: of
// each stage after the whole schedule.
WrittenNest merge_fused_axes(WrittenNest nest, const LoopsOfStages& loops);

// The directives on loops, their kinds, places and memories. Checks each as it comes. `loops`: of
// each stage after the whole schedule.
NestPlan apply_directives(WrittenNest nest, const LoopsOfStages& loops);
// The same of one stage, without what concerns several.
LoopedStage apply_directives_of(WrittenStage written, const StageLoops& loops);

// The loops and the outputs that the directives of each stage name: refused where they are not
// there.
std::vector<StagePlaces> find_places(const LoopedNest& nest);
// The loop of `consumer` around everything that a stage computes there; nothing when the stage is
// not inside.
std::optional<size_t> loop_around(const NestPlan& nest, StageId id, StageId consumer);
// Whether a stage is computed at a loop and stored whole, and what that asks of it, of the stage
// whose loop it is, and of what reads it.
bool is_kept_whole(const NestPlan& nest, StageId id);
// Whether a stage is that one, or computed at that loop of it or inside it.
bool is_inside_place(const NestPlan& nest, StageId id, const LoopLevel& place);
void check_kept_whole(const NestPlan& nest);
// Where every stage is computed, stored and allocated: checked, now that all loops are known.
void check_places(const NestPlan& nest);
// What prefetch and compute_with ask of the loops of several stages.
void check_loops(const NestPlan& nest);

// What is read inside a loop of a stage: by it, and by what is computed there.
std::set<std::string> buffers_read_inside(const NestPlan& nest, const LoopLevel& place);
// The buffer that a prefetch of the stage names: a packed weight by its new name.
std::string prefetched_buffer(const NestPlan& nest, StageId id, const Directive& d);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_STAGE_PLAN_H_
