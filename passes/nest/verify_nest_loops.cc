#include "passes/nest/verify_nest_loops.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/index/index_table.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/axis_pieces.h"
#include "passes/nest/end_vectors.h"
#include "passes/nest/map_point.h"
#include "passes/nest/match_body.h"
#include "passes/nest/verify_nest_context.h"

namespace emulsion {
namespace {

// ", at B = 3, y.mo = 0"
std::string place_of(const IndexTable& table, size_t point) {
  std::string place;
  for (const auto& [name, values] : table.variables()) {
    place += fmt::format("{}{} = {}", place.empty() ? ", at " : ", ", name, values[point]);
  }
  return place;
}

class LoopsVerifier : public ContextVisitor {
 public:
  explicit LoopsVerifier(const LoopNest& nest) : ContextVisitor(nest) {}

  void verify() { walk(*nest_.root); }

 private:
  void visit_block(const Block& block) override {
    for (size_t first = 0; first < block.children.size();) {
      const size_t count = parts_from(block, first);
      std::vector<const Loop*> parts;
      for (size_t i = first; i < first + count; ++i) {
        if (const Loop* loop = block.children[i]->as<Loop>()) parts.push_back(loop);
      }
      if (parts.empty()) {
        walk(*block.children[first]);
      } else {
        visit_parts(parts);
      }
      first += count;
    }
  }

  void visit_loop(const Loop& loop) override { visit_parts({&loop}); }

  void visit_parts(const std::vector<const Loop*>& parts) {
    std::vector<std::vector<const Loop*>> pieces;  // the parts of each
    for (const Loop* part : parts) {
      if (pieces.empty() || !(pieces.back().front()->pieces == part->pieces)) pieces.emplace_back();
      pieces.back().push_back(part);
    }
    verify_pieces(pieces);
    for (const auto& parts_of_piece : pieces) verify_parts(parts_of_piece);
    for (const Loop* part : parts) ContextVisitor::visit_loop(*part);
  }

  // Of the axes that the loop is made of, and of which none around has a piece, all pieces.
  void verify_pieces(const std::vector<std::vector<const Loop*>>& parts) {
    const Loop& loop = *parts.front().front();
    const Stage& stage = stage_here(loop.stage);
    const std::vector<AxisPiece> around = pieces_around(stage);
    const std::set<std::string> of_loop = axes_of_loop(stage, loop.axis);
    std::vector<std::string> axes = cut_axes(stage);
    const auto is_other = [&](const std::string& axis) {
      return of_loop.count(axis) == 0 ||
             std::any_of(around.begin(), around.end(),
                         [&](const AxisPiece& piece) { return piece.axis == axis; });
    };
    axes.erase(std::remove_if(axes.begin(), axes.end(), is_other), axes.end());
    const std::vector<std::vector<AxisPiece>> expected = combinations_of_pieces(stage, axes);
    bool same = expected.size() == parts.size();
    for (size_t i = 0; same && i < expected.size(); ++i) {
      same = parts[i].front()->pieces == expected[i];
    }
    EMULSION_CHECK(same, "nest {}: loop {} in {} pieces, expected the {} of its axes", nest_.name,
                   loop.variable(), parts.size(), expected.size());
    LoopSamples& here = samples();
    for (const std::vector<AxisPiece>& pieces : expected) {
      for (const AxisPiece& piece : pieces) {
        const IndexColumn& steps = here.table.values(extent_value(piece.extent), here.runs);
        for (size_t i = 0; i < steps.size(); ++i) {
          EMULSION_CHECK(!here.runs[i] || steps[i] >= 0, "nest {}: {} is cut beyond its ends{}",
                         nest_.name, loop_variable(stage.name, piece.axis),
                         place_of(here.table, i));
        }
      }
    }
  }

  // Of the stage, what the loops around are for.
  std::vector<AxisPiece> pieces_around(const Stage& stage) const {
    std::vector<AxisPiece> pieces;
    for (const Loop* loop : loops_) {
      if (loop->stage == stage.name) {
        pieces.insert(pieces.end(), loop->pieces.begin(), loop->pieces.end());
      }
    }
    return pieces;
  }

  // The extents of what is computed of a stage at once, inside loops that are for these pieces.
  std::vector<Expr> region_of(const Stage& stage, std::vector<AxisPiece> pieces = {}) const {
    const std::vector<AxisPiece> around = pieces_around(stage);
    pieces.insert(pieces.end(), around.begin(), around.end());
    return extents_in_pieces(stage, whole_region_of(stage), pieces);
  }

  std::vector<Expr> whole_region_of(const Stage& stage) const {
    if (auto window = windows_.find(stage.name); window != windows_.end()) {
      return window->second->computed_extents();
    }
    if (auto alloc = allocs_.find(stage.name); alloc != allocs_.end()) {
      return alloc->second->extents;
    }
    std::vector<Expr> extents;
    for (const Axis& axis : stage.axes) extents.push_back(extent_value(axis.extent()));
    return extents;
  }

  // Whether nothing is computed past the end, though the part of it may reach there.
  bool ends_at_domain(const Stage& stage) const {
    const auto alloc = allocs_.find(stage.name);
    return is_kept_whole(stage) || (alloc != allocs_.end() && !alloc->second->output.empty());
  }

  bool is_kept_whole(const Stage& stage) const {
    const auto window = windows_.find(stage.name);
    return window != windows_.end() && window->second->is_whole;
  }

  // Where that starts.
  std::vector<Expr> starts_of(const Stage& stage) const {
    return starts_in_pieces(stage, whole_starts_of(stage), pieces_around(stage));
  }

  std::vector<Expr> whole_starts_of(const Stage& stage) const {
    if (auto window = windows_.find(stage.name); window != windows_.end()) {
      return window->second->computed_mins();
    }
    if (auto alloc = allocs_.find(stage.name); alloc != allocs_.end()) return alloc->second->mins;
    return std::vector<Expr>(stage.axes.size(), int_constant(0));
  }

  // With predicate_loads, storage is wider than the region, for what is stored past its end: how
  // long the region is, only the guards say.
  static bool is_widened(const Stage& stage) {
    return std::any_of(stage.transforms.begin(), stage.transforms.end(),
                       [](const LoopTransform& t) { return t.tail == Tail::predicate_loads; });
  }

  // How many steps of a loop are in the domain of its stage, where it may end there: nobody reads
  // what is beyond (verify_nest_written sees to that). Nothing where it goes to its end.
  std::optional<Expr> steps_in_domain(const Loop& loop, const Stage& stage) const {
    const std::optional<size_t> d = untransformed_axis(nest_, loop);
    const auto alloc = allocs_.find(stage.name);
    const bool whole = is_kept_whole(stage);
    const bool kept = windows_.count(stage.name) > 0 && !whole;
    const bool may_end = loop.kind == LoopKind::serial || loop.kind == LoopKind::vectorized ||
                         loop.kind == LoopKind::unrolled;
    if (kept || !may_end) return std::nullopt;
    if (whole) {
      return d ? std::optional(extent_value(stage.axes[*d].extent()) - starts_of(stage)[*d])
               : std::nullopt;
    }
    if (const std::optional<Expr> vectors = vectors_in_tile(loop, stage)) return vectors;
    if (alloc == allocs_.end()) return rows_in_tile(loop, stage);
    for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
      Expr rows = extent_value(stage.axes[axis].extent()) - alloc->second->mins[axis];
      if (d == axis) return rows;
      const auto across = vectors_across(stage, axis, nullptr, alloc->second->extents);
      if (across && across->outer == loop.axis) return across->vectors_of(rows);
    }
    return rows_in_tile(loop, stage);
  }

  // The rows of a tile of all the domain, beyond which guards leave out all that is computed.
  std::optional<Expr> rows_in_tile(const Loop& loop, const Stage& stage) const {
    std::map<std::string, Expr> whole = whole_axes(stage);
    for (const LoopTransform& t : stage.transforms) {
      const bool is_tile = t.kind == LoopTransform::Kind::split && t.inner == loop.axis &&
                           t.tail == Tail::guard && loop.kind == LoopKind::serial;
      const bool is_whole = std::all_of(
          stage.transforms.begin(), stage.transforms.end(), [&](const LoopTransform& other) {
            const bool takes = other.kind == LoopTransform::Kind::fuse
                                   ? other.outer == loop.axis || other.inner == loop.axis
                                   : other.axis == loop.axis;
            return !takes || &other == &t;
          });
      const auto tiled = whole.find(t.axis);
      if (is_tile && is_whole && tiled != whole.end()) {
        for (const Loop* tiles : loops_) {
          if (tiles->stage != stage.name || tiles->axis != t.outer) continue;
          return tiled->second - axis_value(tiles->variable()) * int_constant(t.factor);
        }
      }
      transform(t, &whole);
    }
    return std::nullopt;
  }

  // The axes of which all the domain is computed, with their extents.
  std::map<std::string, Expr> whole_axes(const Stage& stage) const {
    std::map<std::string, Expr> whole;
    const std::vector<Expr> starts = starts_of(stage);
    for (size_t d = 0; d < stage.axes.size(); ++d) {
      if (constant_value(starts[d]) != 0) continue;
      whole.emplace(stage.axes[d].name(), extent_value(stage.axes[d].extent()));
    }
    return whole;
  }

  // Of loops that go through all of the domain, those that there are behind a transform.
  static void transform(const LoopTransform& t, std::map<std::string, Expr>* whole) {
    const auto take = [&](const std::string& loop) -> Expr {
      const auto found = whole->find(loop);
      if (found == whole->end()) return Expr();
      const Expr extent = found->second;
      whole->erase(found);
      return extent;
    };
    if (t.kind != LoopTransform::Kind::fuse) {
      take(t.axis);
      return;
    }
    const Expr outer = take(t.outer), inner = take(t.inner);
    if (outer.defined() && inner.defined()) whole->emplace(t.axis, outer * inner);
  }

  // Of a stage of which all the domain is computed, and of whose tiles the last one has guards.
  std::optional<Expr> vectors_in_tile(const Loop& loop, const Stage& stage) const {
    for (const Loop* tiles : loops_) {
      if (tiles->stage != stage.name) continue;
      const auto across = vectors_across_tiles(stage, tiles->axis);
      if (!across || across->outer != loop.axis) continue;
      if (constant_value(starts_of(stage)[across->axis]) != 0) continue;
      const Expr start = axis_value(tiles->variable()) * int_constant(across->tile->factor);
      return across->vectors_of(extent_value(stage.axes[across->axis].extent()) - start);
    }
    return std::nullopt;
  }

  // The loop around it whose steps are its own, one at each: its only step is the one of that loop.
  // Null where it has steps of its own.
  const Loop* joined_loop(const std::vector<const Loop*>& parts) const {
    const Loop& loop = *parts.front();
    const std::optional<std::string> variable = joined_to(loop);
    if (parts.size() > 1 || !variable) return nullptr;
    for (const Loop* outer : loops_) {
      if (outer->variable() == *variable && outer->stage != loop.stage) return outer;
    }
    return nullptr;
  }

  // A loop that takes the steps of another one takes all of its own.
  void verify_joined(const Loop& loop, const Loop& outer) {
    LoopSamples& here = samples();
    const auto steps_of = [&](const Loop& one) {
      const Stage& stage = stage_here(one.stage);
      return here.table.values(loop_extents(stage, region_of(stage)).at(one.axis), here.runs);
    };
    const IndexColumn steps = steps_of(loop), taken = steps_of(outer);
    for (size_t i = 0; i < steps.size(); ++i) {
      EMULSION_CHECK(!here.runs[i] || steps[i] == taken[i],
                     "nest {}: loop {} of {} steps takes those of {}, {}{}", nest_.name,
                     loop.variable(), steps[i], outer.variable(), taken[i],
                     place_of(here.table, i));
    }
  }

  void verify_parts(const std::vector<const Loop*>& parts) {
    const Loop& loop = *parts.front();
    if (const Loop* outer = joined_loop(parts)) return verify_joined(loop, *outer);
    const Stage& stage = stage_here(loop.stage);
    LoopSamples& here = samples();
    const IndexColumn whole = here.table.values(
        loop_extents(stage, region_of(stage, loop.pieces)).at(loop.axis), here.runs);
    IndexColumn next(here.table.points(), 0);  // the step that the next part is to begin with
    const std::string name = "nest " + nest_.name + ": loop " + loop.variable();
    for (const Loop* part : parts) {
      const IndexColumn mins = here.table.values(part->min, here.runs);
      const IndexColumn& extents = here.table.values(part->extent, here.runs);
      for (size_t i = 0; i < next.size(); ++i) {
        if (!here.runs[i] || extents[i] <= 0) continue;
        EMULSION_CHECK(mins[i] >= next[i], "{}: step {} is taken twice{}", name, mins[i],
                       place_of(here.table, i));
        EMULSION_CHECK(mins[i] == next[i], "{}: step {} is left out{}", name, next[i],
                       place_of(here.table, i));
        next[i] = mins[i] + extents[i];
      }
    }
    const bool at_most = is_widened(stage);
    const std::optional<Expr> inside = steps_in_domain(loop, stage);
    const IndexColumn in_domain = inside ? here.table.values(*inside, here.runs) : whole;
    for (size_t i = 0; i < next.size(); ++i) {
      const int64_t steps = std::max<int64_t>(0, whole[i]);
      const int64_t least = std::max<int64_t>(0, std::min(steps, in_domain[i]));
      const bool is_number = loop.kind != LoopKind::serial;  // of which the last may be beyond
      const bool ends = is_number ? least <= next[i] && next[i] <= steps : next[i] == least;
      EMULSION_CHECK(!here.runs[i] || (at_most ? next[i] <= steps : next[i] == steps || ends),
                     "{}: {} steps, expected {}{}", name, next[i], whole[i],
                     place_of(here.table, i));
    }
  }

  void visit_uop(const UopNode& uop) override {
    const bool is_shared = std::any_of(loops_.begin(), loops_.end(),
                                       [](const Loop* loop) { return !loop->shared.empty(); });
    if (!is_shared) return verify_uop(uop, &samples());
    // In loops that several stages share, each has variables of its own.
    LoopSamples here = samples();
    for (const Loop* loop : loops_) {
      for (const std::string& other : loop->shared) {
        here.table.set(loop_variable(other, loop->axis),
                       here.table.variables().at(loop->variable()));
      }
    }
    verify_uop(uop, &here);
  }

  void verify_uop(const UopNode& uop, LoopSamples* here) const {
    const Stage& stage = stage_here(uop.stage);
    const size_t decided = pieces_around(stage).size(), cut = cut_axes(stage).size();
    EMULSION_CHECK(decided == cut, "nest {}: {} in pieces of {} axes, expected {}", nest_.name,
                   uop.stage, decided, cut);
    PointMap expected = map_point(stage, uop.part, region_of(stage));
    if (ends_at_domain(stage)) {
      for (size_t d = 0; d < stage.axes.size(); ++d) {
        expected.guards.push_back({uop.point[d] < extent_value(stage.axes[d].extent())});
      }
    }
    verify_point(uop, stage, expected, here);
    const bool or_less = is_widened(stage);
    const PointMask needed = where_needed(uop, stage, here);
    PointMask runs(here->runs.size(), 0);  // where it loads or stores
    for (GuardMask side : {GuardMask::loads, GuardMask::stores}) {
      const PointMask wanted = where_hold(expected.guards, side, here);
      const PointMask found = where_hold(uop.guards, side, here);
      for (size_t i = 0; i < found.size(); ++i) {
        const bool less = or_less || !needed[i];
        EMULSION_CHECK(less ? found[i] <= wanted[i] : found[i] == wanted[i],
                       "nest {}: the guards of {} {} it out{}", nest_.name, uop.stage,
                       wanted[i] ? "leave" : "do not leave", place_of(here->table, i));
        runs[i] |= found[i];
      }
    }
    if (!uop.body.defined()) return;
    restrict_to_domain(uop, stage, here, &runs);
    verify_body(uop, stage, runs, &here->table);
  }

  // What is computed beyond the domain is read by nobody: a piece of a loop may take it for what is
  // at the last place inside, as of select(i == W - 1, ..).
  static void restrict_to_domain(const UopNode& uop, const Stage& stage, LoopSamples* here,
                                 PointMask* runs) {
    for (size_t d = 0; d < stage.axes.size(); ++d) {
      const Expr is_inside = uop.point[d] < extent_value(stage.axes[d].extent());
      restrict_to(here->table.values(is_inside, here->runs), runs);
    }
  }

  // Where it is not of a row beyond the domain, which a vector across rows may leave out.
  PointMask where_needed(const UopNode& uop, const Stage& stage, LoopSamples* here) const {
    PointMask result = here->runs;
    const auto alloc = allocs_.find(stage.name);
    if (alloc == allocs_.end() || windows_.count(stage.name) > 0) return result;
    for (size_t d = 0; d < stage.axes.size(); ++d) {
      if (!vectors_across(stage, d, nullptr, alloc->second->extents)) continue;
      const Expr is_inside = uop.point[d] < extent_value(stage.axes[d].extent());
      restrict_to(here->table.values(is_inside, here->runs), &result);
    }
    return result;
  }

  // Of the guards, those that leave out loads, or stores.
  static PointMask where_hold(const std::vector<Guard>& guards, GuardMask side, LoopSamples* here) {
    const GuardMask other = side == GuardMask::loads ? GuardMask::stores : GuardMask::loads;
    PointMask result = here->runs;
    for (const Guard& guard : guards) {
      if (guard.mask == other) continue;
      restrict_to(here->table.values(guard.condition, here->runs), &result);
    }
    return result;
  }

  // Each axis is what the transforms make of the loops, from where the region starts.
  void verify_point(const UopNode& uop, const Stage& stage, const PointMap& expected,
                    LoopSamples* here) const {
    const std::vector<Expr> starts = starts_of(stage);
    for (size_t d = 0; d < uop.point.size(); ++d) {
      const Axis& axis = axis_at(stage, d);
      Expr index = expected.local.at(axis.name());
      if (d < starts.size()) index = starts[d] + index;
      const IndexColumn found = here->table.values(uop.point[d], here->runs);
      const IndexColumn& wanted = here->table.values(index, here->runs);
      for (size_t i = 0; i < found.size(); ++i) {
        EMULSION_CHECK(!here->runs[i] || found[i] == wanted[i],
                       "nest {}: {} of {} is {}, its loops make it {}{}", nest_.name, axis.name(),
                       uop.stage, found[i], wanted[i], place_of(here->table, i));
      }
    }
  }

  static void restrict_to(const IndexColumn& condition, PointMask* mask) {
    for (size_t i = 0; i < mask->size(); ++i) (*mask)[i] &= condition[i] != 0 ? 1 : 0;
  }

  void verify_body(const UopNode& uop, const Stage& stage, const PointMask& runs,
                   IndexTable* table) const {
    IndexTable axes(table->points());
    for (const std::string& size : nest_.sizes) {
      axes.set_size(size, table->variables().at(size));
    }
    for (size_t i = 0; i < uop.point.size(); ++i) {
      axes.set(axis_at(stage, i).name(), table->values(uop.point[i], runs));
    }
    BodyMatcher matcher(&axes, runs);
    if (uop.part != Part::init && matcher.matches(uop.body, stage.body)) return;
    const auto& misplaced = matcher.misplaced;
    EMULSION_CHECK(!misplaced, "nest {}: a uOp of {} reads at {} = {}, its stage at {} = {}{}",
                   nest_.name, uop.stage, to_string(misplaced->own), misplaced->found,
                   to_string(misplaced->of_stage), misplaced->expected,
                   place_of(*table, misplaced->point));
    EMULSION_CHECK(false, "nest {}: a uOp of {} evaluates {}, its stage {}", nest_.name, uop.stage,
                   to_string(uop.body), to_string(stage.body));
  }
};

}  // namespace

void verify_nest_loops(const LoopNest& nest) { LoopsVerifier(nest).verify(); }

}  // namespace emulsion
