#include "passes/derive/derive_tiles.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "dsl/error.h"
#include "passes/analyse/recognise_op.h"
#include "passes/derive/derive_stage.h"
#include "passes/lower/check_tiles.h"
#include "passes/lower/make_nest.h"
#include "passes/nest/simplify_nest.h"

namespace emulsion {
namespace {

// How long a tile is along an axis: the machine's, or the whole axis.
int64_t tile_along(const Axis& axis, int64_t tile) {
  const std::optional<int64_t> extent = axis.extent().as_constant();
  return extent ? std::max<int64_t>(1, std::min(tile, *extent)) : tile;
}

// What leaves a group through its last member, and the reduction in it, if there is one.
struct TileGroup {
  std::vector<OpPtr> members;
  const Op* core = nullptr;
  const Op* result = nullptr;
};

TileGroup group_of(const OpPtr& op) {
  TileGroup group;
  group.members = op->kind == OpKind::fused ? op->members : std::vector<OpPtr>{op};
  for (const OpPtr& member : group.members) {
    if (member->combiner != Combiner::none) group.core = member.get();
  }
  group.result = group.members.back().get();
  return group;
}

class GroupTiler {
 public:
  GroupTiler(const TileGroup& group, const TileMachine& machine, Schedule* schedule)
      : group_(group), machine_(machine), schedule_(*schedule) {
    choose_roles();
  }

  void run() {
    const std::string& result = group_.result->name;
    const bool copy = !group_.core && group_.result->body->op == ExprOp::read;
    const std::string made =
        fresh_stage(schedule_, result + (group_.core == group_.result ? "_acc" : "_tile"));
    schedule_[result].cache_write(made);
    schedule_[made];  // takes the name
    tile_result();
    if (group_.core) tile_core(group_.core == group_.result ? made : group_.core->name);
    if (group_.core == group_.result) return;
    for (const OpPtr& member : group_.members) {
      if (member.get() != group_.core && member.get() != group_.result) tile_member(*member);
    }
    if (!copy) stage_operands(*group_.result, made, result, at_);
    place(made, result, at_, group_.result->axes);
  }

 private:
  // Which axes of the result are the tile's rows and columns. Members of a group have the shape of
  // its core, axis by axis.
  void choose_roles() {
    const size_t rank = group_.result->axes.size();
    if (rank > 0) column_ = rank - 1;
    if (rank > 1) row_ = rank - 2;
    std::optional<Contraction> c;
    if (group_.core) c = match_product(*group_.core);
    if (!c || group_.core->axes.size() != rank) return;
    auto position = [&](const std::vector<std::string>& axes) -> std::optional<size_t> {
      if (axes.empty()) return std::nullopt;
      return axis_index(group_.core->axes, axes.back());
    };
    row_ = position(c->row_axes);
    column_ = position(c->column_axes);
  }

  // y: for outer..: for mo: for no: one Store of mi x ni.
  void tile_result() {
    const Op& result = *group_.result;
    StageSchedule& y = schedule_[result.name];
    std::vector<Axis> inner, outer;  // outermost first
    for (size_t d = 0; d < result.axes.size(); ++d) {
      if (d != row_ && d != column_) outer.push_back(result.axes[d]);
    }
    auto split = [&](size_t d, int64_t tile) {
      const Axis& axis = result.axes[d];
      Axis out(fresh_axis(result, axis.name() + "o")), in(fresh_axis(result, axis.name() + "i"));
      y.split(axis, out, in, tile_along(axis, tile));
      outer.push_back(out);
      inner.push_back(in);
    };
    if (row_) split(*row_, machine_.tile_m);
    if (column_) split(*column_, machine_.tile_n);
    if (inner.empty()) return;  // a single number
    at_ = outer.back().name();
    std::vector<Axis> order(inner.rbegin(), inner.rend());
    order.insert(order.end(), outer.rbegin(), outer.rend());
    y.reorder(order).tensorize(inner.front());
  }

  // acc: for further reductions..: for ko: one Execute of m x n x ki, its operands loaded before
  // it.
  void tile_core(const std::string& stage) {
    const Op& core = *group_.core;
    StageSchedule& acc = schedule_[stage];
    std::vector<Axis> tile(core.axes.begin(), core.axes.end());  // outermost first
    std::vector<Axis> around(core.reduction_axes.begin(), core.reduction_axes.end());
    const Axis last = around.back();
    Axis ko(fresh_axis(core, last.name() + "o")), ki(fresh_axis(core, last.name() + "i"));
    stage_operands(core, stage, stage, ko.name());
    acc.split(last, ko, ki, tile_along(last, machine_.tile_k));
    around.back() = ko;
    tile.push_back(ki);
    std::vector<Axis> order(tile.rbegin(), tile.rend());
    order.insert(order.end(), around.rbegin(), around.rend());
    acc.reorder(order).tensorize(tile.front()).store_in(Memory::scratchpad);
    if (!at_.empty()) acc.compute_at(group_.result->name, Axis(at_));
  }

  // A member that is neither: part of the epilogue's expression, if that stays of a sane size.
  void tile_member(const Op& member) {
    stage_operands(member, member.name, group_.result->name, at_);
    OpPtr whole = whole_group();
    if (fits_one_expression(*whole)) {
      schedule_[member.name].compute_inline();
    } else {
      place(member.name, group_.result->name, at_, member.axes);
    }
  }

  OpPtr whole_group() const {
    auto op = std::make_shared<Op>();
    op->kind = OpKind::fused;
    op->members = group_.members;
    return op;
  }

  // A copy in the scratchpad of everything from outside the group that `op` (computed by `reader`)
  // reads, made at loop `at` of stage `where`.
  void stage_operands(const Op& op, const std::string& reader, const std::string& where,
                      const std::string& at) {
    std::set<std::string> staged;
    visit(op.body, [&](const Expr& e) {
      if (e->op != ExprOp::read || !staged.insert(e->tensor->name).second) return;
      const Op& operand = *e->tensor;
      if (operand.kind == OpKind::constant && element_count(operand.shape) == 1)
        return;  // a literal
      for (const OpPtr& member : group_.members) {
        if (member->name == operand.name) return;
      }
      const std::string copy = fresh_stage(schedule_, operand.name + "_tile");
      schedule_[reader].copy_in(operand.name, copy);
      place(copy, where, at, copy_axes(operand));
    });
  }

  // In the scratchpad at that loop, one uOp.
  void place(const std::string& stage, const std::string& where, const std::string& at,
             const std::vector<Axis>& axes) {
    StageSchedule& s = schedule_[stage];
    s.store_in(Memory::scratchpad);
    if (!at.empty()) s.compute_at(where, Axis(at));
    if (!axes.empty()) s.tensorize(axes.front());
  }

  const TileGroup& group_;
  const TileMachine& machine_;
  Schedule& schedule_;
  std::optional<size_t> row_, column_;  // positions among the result's axes
  std::string at_;                      // the innermost loop of the grid; none for a single number
};

Schedule tile_schedule(const Graph& graph, const Graph& grouped, const TileMachine& machine) {
  Schedule schedule(graph);
  for (const OpPtr& op : grouped.ops()) {
    if (op->kind != OpKind::fused && op->kind != OpKind::compute) continue;
    if (std::find(op->shape.begin(), op->shape.end(), Extent(0)) != op->shape.end()) continue;
    TileGroup group = group_of(op);
    GroupTiler(group, machine, &schedule).run();
  }
  return schedule;
}

// A directive of ours that make_nest() refuses is the graph's limit, not the user's mistake: an
// operand of which a tile needs a part that is not known to have a constant size, or to be there at
// all.
LoopNest lower_tiles(const Graph& graph, const Schedule& schedule) {
  try {
    return simplify_nest(make_nest(graph, schedule));
  } catch (const ScheduleError& error) {
    fail(
        "tile machine, regions: expected operands of which a tile needs a part of constant size; "
        "{}",
        error.message());
  }
}

std::optional<std::string> problem_of(const Graph& graph, const Graph& grouped,
                                      const TileMachine& machine) {
  return why_not_tiles(lower_tiles(graph, tile_schedule(graph, grouped, machine)), machine);
}

// The greatest number from `low`, for which `holds`, to `high`; holds(n) implies holds(n - 1).
template <typename Holds>
int64_t greatest(int64_t low, int64_t high, Holds holds) {
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The tile that the machine could have instead: as large as it can be in all directions alike, then
// in each of them, so that none of its sides can grow. Rows of tile_n and tile_k elements must stay
// aligned, so those go in steps.
std::string largest_tile(const Graph& graph, const Graph& grouped, TileMachine machine) {
  int64_t smallest_element = 8;
  for (const OpPtr& op : graph.ops()) {
    smallest_element = std::min<int64_t>(smallest_element, size_in_bytes(op->dtype));
  }
  const int64_t step = machine.alignment / std::gcd(machine.alignment, smallest_element);
  const TileMachine asked = machine;
  auto fits = [&] { return !problem_of(graph, grouped, machine); };
  auto all_sides = [&](int64_t steps) {
    machine.tile_m = std::min(asked.tile_m, std::max<int64_t>(steps * step, 1));
    machine.tile_n = std::min(asked.tile_n, std::max<int64_t>(steps, 1) * step);
    machine.tile_k = std::min(asked.tile_k, std::max<int64_t>(steps, 1) * step);
    return fits();
  };
  if (!all_sides(0)) return "no smaller tile fits";
  const int64_t longest = std::max({asked.tile_m, asked.tile_n, asked.tile_k});
  all_sides(greatest(0, longest / step, all_sides));
  auto grow = [&](int64_t* side, int64_t limit, int64_t by) {
    auto as_long = [&](int64_t steps) {
      *side = std::min(limit, steps * by);
      return fits();
    };
    as_long(greatest((*side + by - 1) / by, (limit + by - 1) / by, as_long));
  };
  grow(&machine.tile_m, asked.tile_m, 1);
  grow(&machine.tile_n, asked.tile_n, step);
  grow(&machine.tile_k, asked.tile_k, step);
  return fmt::format("the largest tile that fits is {} x {} x {}", machine.tile_m, machine.tile_n,
                     machine.tile_k);
}

}  // namespace

Schedule derive_tiles(const Graph& graph, const Graph& grouped, const TileMachine& machine) {
  check_tile_machine(machine);
  Schedule schedule = tile_schedule(graph, grouped, machine);
  if (std::optional<std::string> problem = why_not_tiles(lower_tiles(graph, schedule), machine)) {
    fail("{}; {}", *problem, largest_tile(graph, grouped, machine));
  }
  return schedule;
}

}  // namespace emulsion
