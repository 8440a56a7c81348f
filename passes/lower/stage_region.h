#ifndef EMULSION_PASSES_LOWER_STAGE_REGION_H_
#define EMULSION_PASSES_LOWER_STAGE_REGION_H_

// How much of each stage is computed: what infer_regions() makes of the stages as they are
// scheduled (stage_plan.h), and what is refused of it. Private to passes/lower/.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/index/index_interval.h"
#include "passes/index/size_facts.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// How the part of an axis slides, as the nest says it; and along which loop.
struct AxisWindow : Window {
  LoopLevel along;
};

// What is needed and what is computed of one axis of a stage.
struct AxisRegion {
  // What is there each time: more than what is computed where a window slides.
  Expr needed_min, needed_extent;
  std::optional<AxisWindow> window;
  // The least and the greatest index over the whole run, when they are known and affine: a region
  // of constant size may reach past the domain.
  std::optional<Extent> lowest, highest;
  bool is_whole = false;  // the whole domain; else a part of constant size

  // What is computed each time.
  Expr min() const { return window ? computed_min(*window, needed_min) : needed_min; }
  Expr extent() const { return window ? computed_extent(*window) : needed_extent; }
};

struct StageRegion {
  Stage stage;  // as scheduled, but every tail is chosen, and reads are clamped to what is there
  std::vector<AxisRegion> axes;    // one for each of stage.axes
  std::vector<Expr> loop_extents;  // one for each of the stage's loops: over what is needed

  std::vector<Expr> mins() const;
  std::vector<Expr> extents() const;
  std::vector<Expr> needed_mins() const;
  std::vector<Expr> needed_extents() const;
  std::vector<Window> windows() const;
};

// The regions of all stages, in the order of nest.stages.
std::vector<StageRegion> infer_regions(const NestPlan& nest);

// A case of a stage: its loops, where a condition over the sizes holds.
struct StageCase {
  Stage stage;  // with the transforms of the case
  std::vector<ScheduledLoop> loops;
  std::vector<Expr> extents;  // of the region computed, in what the condition says of the sizes
  SizeFacts facts = {};       // what it says

  // The same of what is computed of the region in some pieces of its axes.
  std::vector<Expr> extents_in(const std::vector<AxisPiece>& pieces) const;
};
// The general case, then one for each of stage.specializations.
std::vector<StageCase> cases_of(const ScheduledStage& plan, const StageRegion& region);

// What of an axis, or of a loop that it is made into, is covered by the loops inside a place.
struct Coverage {
  enum class Kind : uint8_t {
    nothing,    // one index: all loops are around the place
    all,        // every index: all loops are inside
    tile,       // `size` indices, one after another
    scattered,  // others
  };
  Kind kind = Kind::nothing;
  int64_t size = 1;  // of a tile
};
// By axis, of the loops of a case behind the first `around`.
std::map<std::string, Coverage> coverage_of(const StageCase& one, size_t around);

// How many of the first axes of `walker`, in whose loops a stage with these axes is computed and
// stored whole, the stage has not: a step of these loops computes all of them, and what it computes
// a part of are the axes behind them.
size_t axes_before_kept(const std::vector<Axis>& kept, const std::vector<Axis>& walker,
                        const std::map<std::string, Coverage>& covered);

// The value of each axis of a stage, or of a case of it, in loop variables: `inside` its own loops
// what they compute; outside all that is there, also what earlier iterations computed.
std::map<std::string, Expr> axis_values(const Stage& stage, const StageRegion& region, bool inside);

// The steps of infer_regions, for one stage; `regions` has those of the stages behind it.

// Sliding windows: of a stage whose storage is kept over loops between, only what is new is
// computed.
void slide_window(const NestPlan& nest, const std::vector<StageRegion>& regions, StageId id,
                  StageRegion* region);
// What happens where a factor does not divide: open tails chosen, all of them checked, also those
// of specializations. A tail that rounds up makes the region larger. `condition`: only where it
// holds is the stage computed; undefined: always.
void resolve_tails(const ScheduledStage& plan, const Expr& condition, StageRegion* region);
// The body of a stage with clamps on the reads that its region, where it is beyond the domain,
// would take out of bounds, or out of what is computed of another stage. Once all regions are
// known.
Expr clamped_body(const NestPlan& nest, const std::vector<StageRegion>& regions, StageId id);

// What infer_regions refuses of a stage that is computed at a loop: an axis of which a part of
// constant size is computed, where there may be nothing to compute.
void check_partial_axis(const NestPlan& nest, StageId id, const Axis& axis);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_STAGE_REGION_H_
