#include <algorithm>
#include <map>

#include "dsl/error.h"
#include "passes/index/index_interval.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/index/simplify_quotients.h"
#include "passes/index/size_facts.h"
#include "passes/lower/alternatives.h"
#include "passes/lower/stage_region.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// One case of a stage that reads the stage at hand.
struct Reader {
  StageCase one;
  const StageRegion* region;
  std::map<std::string, Range> ranges;  // of its loops, by variable, when it is a specialization
  std::map<std::string, Expr> values;   // of its axes, as they are seen from the place at hand
  std::vector<Expr> reads;
};

bool lies_inside(const Interval& inner, const Interval& outer) {
  const bool same = std::equal(inner.fixed.begin(), inner.fixed.end(), outer.fixed.begin(),
                               outer.fixed.end(), [](const auto& a, const auto& b) {
                                 return a.first == b.first && a.second.second == b.second.second;
                               });
  return same && never_negative(inner.low - outer.low) && never_negative(outer.high - inner.high);
}

// The smallest interval around all; nothing when one of them is unknown, or there is none.
std::optional<Interval> unite_all(const std::vector<std::optional<Interval>>& parts) {
  if (parts.empty()) return std::nullopt;
  std::optional<Interval> result = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) result = unite(result, parts[i]);
  return result;
}

class Inferrer {
 public:
  explicit Inferrer(const NestPlan& nest)
      : nest_(nest), parts_(parts_of_cases(nest)), regions_(nest.stages.size()) {}

  std::vector<StageRegion> infer() {
    for (size_t i = nest_.stages.size(); i-- > 0;) {  // consumers first
      regions_[i] = region_of(i);
      record_ranges(i);
    }
    for (StageId id = 0; id < regions_.size(); ++id) check_shared(id);
    for (size_t i = 0; i < regions_.size(); ++i) {
      regions_[i].stage.body = clamped_body(nest_, regions_, i);
    }
    return std::move(regions_);
  }

 private:
  StageRegion region_of(StageId id) {
    const ScheduledStage& plan = nest_.stages[id];
    StageRegion region;
    region.stage = plan.stage;
    region.axes.resize(plan.stage.axes.size());
    if (plan.kept_whole) {
      set_part(id, &region);
    } else if (plan.compute_at) {
      set_needed(id, &region);
    } else {
      for (size_t d = 0; d < region.axes.size(); ++d)
        set_whole(plan.stage.axes[d], &region.axes[d]);
    }
    slide_window(nest_, regions_, id, &region);
    resolve_tails(plan, condition_of(id), &region);
    const auto extents = loop_extents(region.stage, region.needed_extents());
    for (const ScheduledLoop& loop : plan.loops) {
      region.loop_extents.push_back(simplify_index(extents.at(loop.name)));
    }
    return region;
  }

  // The condition without which a stage is not computed, if there is one.
  Expr condition_of(StageId id) const {
    const auto part = parts_.find(id);
    if (part == parts_.end()) return Expr();
    const std::vector<Expr> conditions = conditions_of(nest_, part->second);
    return conditions.size() == 1 ? conditions.front() : Expr();
  }

  static void set_whole(const Axis& axis, AxisRegion* region) {
    region->needed_min = int_constant(0);
    region->needed_extent = extent_value(axis.extent());
    region->lowest = Extent(0);
    region->highest = axis.extent() - Extent(1);
    region->is_whole = true;
  }

  // What the readers of a stage need of it where it is computed.
  void set_needed(StageId id, StageRegion* region) {
    std::set<std::string> around;  // variables
    for (const LoopLevel& level : loops_around(nest_, id)) around.insert(nest_.variable(level));
    const std::vector<Reader> readers = readers_seen_from(around, id);
    for (size_t d = 0; d < region->axes.size(); ++d) {
      std::vector<std::optional<Interval>> parts;
      for (const Reader& reader : readers) {
        for (const Expr& read : reader.reads) {
          parts.push_back(indices_of(reader, read->args[d], around));
        }
      }
      set_axis(id, region->stage.axes[d], unite_all(parts), &region->axes[d]);
    }
  }

  // Of what is stored whole: the part of its axes that a step of the loops around it has of the
  // axes at the same positions of the stage whose loops they are, or behind those that it has in
  // front, and all of the others. All that is read inside these loops is to be in that part.
  void set_part(StageId id, StageRegion* region) {
    const LoopLevel& place = *nest_.stages[id].compute_at;
    const StageRegion& walker = regions_[place.stage];
    const StageCase general = cases_of(nest_.stages[place.stage], walker).front();
    const std::map<std::string, Coverage> covered = coverage_of(general, place.loop + 1);
    const std::map<std::string, Expr> values = axis_values(general.stage, walker, true);
    std::set<std::string> around;
    for (const LoopLevel& level : loops_around(nest_, id)) around.insert(nest_.variable(level));
    const std::vector<Axis>& theirs = general.stage.axes;
    const size_t before = axes_before_kept(region->stage.axes, theirs, covered);
    const auto is_partial = [&](size_t d) {
      return before + d < theirs.size() &&
             covered.at(theirs[before + d].name()).kind != Coverage::Kind::all;
    };
    for (size_t d = 0; d < region->axes.size(); ++d) {
      const Axis& axis = region->stage.axes[d];
      if (!is_partial(d)) {
        set_whole(axis, &region->axes[d]);
        continue;
      }
      const std::optional<Interval> part =
          indices_around(values.at(theirs[before + d].name()), around);
      EMULSION_CHECK(part, "{}: the part of {} is not known", region->stage.name, axis.name());
      set_axis(id, axis, part, &region->axes[d]);
      check_needed_inside(id, d, *part, around);
    }
  }

  // The values of an expression over loop variables, some of which are fixed.
  std::optional<Interval> indices_around(const Expr& index,
                                         const std::set<std::string>& fixed) const {
    return interval_of(simplified(index), [&](const std::string& variable) -> std::optional<Range> {
      if (fixed.count(variable)) return std::nullopt;
      return range_of(variable);
    });
  }

  void check_needed_inside(StageId id, size_t d, const Interval& part,
                           const std::set<std::string>& around) const {
    for (const Reader& reader : readers_seen_from(around, id)) {
      for (const Expr& read : reader.reads) {
        const std::optional<Interval> needed = indices_of(reader, read->args[d], around);
        if (needed && lies_inside(*needed, part)) continue;
        const ScheduledStage& plan = nest_.stages[id];
        refuse(plan.stage.name, plan.source_directive(DirectiveKind::compute_at),
               fmt::format("expected all that is read of {} inside {} to be the part that a step "
                           "computes, got {} of {}; legal: compute_root()",
                           plan.stage.name, nest_.variable(*plan.compute_at), to_string(read),
                           reader.one.stage.name));
      }
    }
  }

  void set_axis(StageId id, const Axis& axis, const std::optional<Interval>& needed,
                AxisRegion* region) {
    if (!needed || !(needed->high - needed->low).is_constant() || surrounds(*needed, axis)) {
      set_whole(axis, region);
      return;
    }
    check_partial_axis(nest_, id, axis);
    const Extent length = needed->high - needed->low + Extent(1);
    region->needed_min = start_of(*needed);
    region->needed_extent = extent_value(length);
    const std::optional<Interval> starts = starts_of(region->needed_min, condition_of(id));
    if (!starts || !starts->fixed.empty()) return;
    region->lowest = starts->low;
    region->highest = starts->high + length - Extent(1);
  }

  // All values of a start, where a condition over the sizes holds. Those of a tile that starts
  // earlier where it would end behind the domain, min(t * 16, N - 16), are known where the
  // condition says that N is at least 16: from 0 to N - 16.
  std::optional<Interval> starts_of(const Expr& start, const Expr& condition) const {
    const SizeFacts facts = facts_of(condition);
    std::map<std::string, Range> of_tiles;
    const auto range = [&](const std::string& name) {
      const auto tile = of_tiles.find(name);
      return tile == of_tiles.end() ? range_of(name) : tile->second;
    };
    const Expr with_tiles = transform(start, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::min) return Expr();
      const std::optional<Extent> last = as_extent(e->args[1]);
      const std::optional<Interval> tiles = interval_of(e->args[0], range);
      if (!last || last->is_constant() || !tiles || !tiles->fixed.empty()) return Expr();
      if (facts.lower_bound(*last - tiles->low).value_or(-1) < 0) return Expr();
      const std::string name = fmt::format("tile {}", of_tiles.size());  // no loop's
      of_tiles.emplace(name, Range{tiles->low, *last});
      return axis_value(name);
    });
    return interval_of(with_tiles, range);
  }

  // Whether these are all indices of an axis and more: what reads beyond it is clamped.
  static bool surrounds(const Interval& needed, const Axis& axis) {
    if (!needed.fixed.empty()) return false;
    const int64_t before = (Extent(0) - needed.low).lower_bound().value_or(-1);
    const int64_t behind = (needed.high + Extent(1) - axis.extent()).lower_bound().value_or(-1);
    return before >= 0 && behind >= 0 && before + behind > 0;
  }

  // The general case of each reader, then its specializations, each with its own loops. What is
  // computed inside a reader is computed for all of them; so sizes are not narrowed to a case here.
  std::vector<Reader> readers_seen_from(const std::set<std::string>& around, StageId id) const {
    std::vector<Reader> readers;
    const ScheduledStage& plan = nest_.stages[id];
    for (StageId reader_id : plan.readers) {
      if (plan.kept_whole && !is_inside_place(nest_, reader_id, *plan.compute_at)) continue;
      const StageRegion& region = regions_[reader_id];
      for (StageCase& one : cases_of(nest_.stages[reader_id], region)) {
        const bool general = readers.empty() || readers.back().region != &region;
        Reader reader;
        if (!general) reader.ranges = ranges_of_loops(one.stage, region.extents());
        const bool inside = is_inside(around, one);
        reader.values = axis_values(one.stage, region, inside);
        if (!inside) see_whole_windows(reader_id, around, &reader.values);
        reader.reads = reads_of(one.stage, nest_.name_of(id));
        reader.region = &region;
        reader.one = std::move(one);
        readers.push_back(std::move(reader));
      }
    }
    return readers;
  }

  // A stage that is computed in the loops of one whose window slides computes what that has still
  // to compute: of the first step more than of the others. Outside of these loops all that the
  // window holds is as good, and moves by the same distance in each step, so that what is read
  // there can slide, too.
  void see_whole_windows(StageId reader, const std::set<std::string>& around,
                         std::map<std::string, Expr>* values) const {
    std::set<StageId> enclosing;
    for (const LoopLevel& level : loops_around(nest_, reader)) enclosing.insert(level.stage);
    for (const StageId id : enclosing) {
      if (is_any_around(id, around)) continue;
      for (const AxisRegion& axis : regions_[id].axes) {
        if (!axis.window) continue;
        const Expr moved = simplify_index(computed_min(*axis.window, int_constant(0)));
        for (auto& [name, value] : *values) {
          value = simplify_index(transform(value, [&](const Expr& e) {
            return e->op == ExprOp::select && equal(e, moved) ? int_constant(0) : Expr();
          }));
        }
      }
    }
  }

  bool is_any_around(StageId id, const std::set<std::string>& around) const {
    for (size_t i = 0; i < nest_.stages[id].loops.size(); ++i) {
      if (around.count(nest_.variable({id, i})) > 0) return true;
    }
    return false;
  }

  static bool is_inside(const std::set<std::string>& around, const StageCase& one) {
    return std::any_of(one.loops.begin(), one.loops.end(), [&](const ScheduledLoop& loop) {
      return around.count(loop_variable(one.stage.name, loop.name)) > 0;
    });
  }

  // The indices that a reader's index takes at one place; nothing when they are not known.
  std::optional<Interval> indices_of(const Reader& reader, const Expr& index,
                                     const std::set<std::string>& around) const {
    const VariableRange range = [&](const std::string& variable) -> std::optional<Range> {
      if (around.count(variable)) return std::nullopt;
      auto own = reader.ranges.find(variable);
      return own == reader.ranges.end() ? range_of(variable) : own->second;
    };
    std::vector<std::optional<Interval>> parts;
    // What a reader computes beyond its domain does not matter (clamped_body), so no clamp moves an
    // index farther than inside.
    for (const Expr& part : relax_clamps(index, domain_of(reader.region->stage))) {
      const Expr in_loops =
          substitute_axes(part, [&](const std::string& axis) { return reader.values.at(axis); });
      parts.push_back(interval_of(simplified(in_loops), range));
    }
    return unite_all(parts);
  }

  // Where a loop is several axes, the place is a sum of what it is of each (merge_fused_axes.cc).
  static Expr simplified(const Expr& index) {
    const bool has_digits = any_part(index, [](const Expr& e) { return e->op == ExprOp::mod; });
    return has_digits ? simplify_quotients(index, {}) : simplify_index(index);
  }

  static std::map<std::string, Range> ranges_of_loops(const Stage& stage,
                                                      const std::vector<Expr>& extents) {
    std::map<std::string, Range> ranges;
    for (const auto& [loop, extent] : loop_extents(stage, extents)) {
      ranges[loop_variable(stage.name, loop)] = range_below(simplify_index(extent));
    }
    return ranges;
  }

  const Range& range_of(const std::string& variable) const {
    auto found = ranges_.find(variable);
    EMULSION_CHECK(found != ranges_.end(), "no loop {}", variable);
    return found->second;
  }

  void record_ranges(StageId id) {
    for (size_t i = 0; i < regions_[id].loop_extents.size(); ++i) {
      ranges_[nest_.variable({id, i})] = range_below(regions_[id].loop_extents[i]);
    }
  }

  // compute_with: one loop has one extent, and an axis that is not split one start.
  void check_shared(StageId id) const {
    const ScheduledStage& plan = nest_.stages[id];
    if (!plan.compute_with) return;
    const StageRegion& own = regions_[id];
    const StageRegion& leader = regions_[plan.compute_with->stage];
    for (size_t i = 0; i <= plan.compute_with->loop; ++i) {
      const std::string& loop = plan.loops[i].name;
      const Expr mine = own.loop_extents[i], theirs = leader.loop_extents[i];
      const Expr start = start_of_axis(own, loop), their_start = start_of_axis(leader, loop);
      if (equal(mine, theirs) && equal(start, their_start)) continue;
      refuse(plan.stage.name, plan.source_directive(DirectiveKind::compute_with),
             fmt::format("expected loops of the same extent and start, got {} of {} from {} and "
                         "{} of {} from {}; legal: {}",
                         loop, to_string(mine), to_string(start), loop, to_string(theirs),
                         to_string(their_start),
                         loops_outside(plan, i, nest_.name_of(plan.compute_with->stage))));
    }
  }

  // Of a loop that is an axis; what splits and fuses make starts at 0.
  static Expr start_of_axis(const StageRegion& region, const std::string& loop) {
    const std::vector<LoopTransform>& made = region.stage.transforms;
    const bool transformed = std::any_of(made.begin(), made.end(),
                                         [&](const LoopTransform& t) { return t.axis == loop; });
    const std::optional<size_t> d = axis_index(region.stage.axes, loop);
    return d && !transformed ? region.axes[*d].min() : int_constant(0);
  }

  const NestPlan& nest_;
  const std::map<StageId, PartOfCases> parts_;
  std::vector<StageRegion> regions_;
  std::map<std::string, Range> ranges_;  // of the loops of the stages that are done, by variable
};

}  // namespace

std::vector<StageRegion> infer_regions(const NestPlan& nest) { return Inferrer(nest).infer(); }

}  // namespace emulsion
