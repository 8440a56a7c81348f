#include "passes/derive/derive_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/fitting_name.h"
#include "dsl/schedule_axes.h"
#include "passes/derive/derive_points.h"
#include "passes/derive/derive_series.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/derive_sum_in_parts.h"
#include "passes/derive/derive_tiles.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/loop_groups.h"
#include "passes/derive/merge_row_axes.h"
#include "passes/derive/normal_axes.h"
#include "passes/derive/points_with_reader.h"
#include "passes/derive/precompute_parts.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/read_through.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/share_loops.h"
#include "passes/derive/sibling_loops.h"
#include "passes/derive/small_rows.h"
#include "passes/derive/values_in_sums.h"
#include "passes/derive/waiting_sums.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// How much of the vectors along the last axis of a result has values.
double filled_part(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  const int64_t columns = op.axes.back().extent().as_constant().value_or(lanes);
  const int64_t vectors = (columns + lanes - 1) / lanes;
  return static_cast<double>(columns) / static_cast<double>(vectors * lanes);
}

// Whether its rows are combined one after another, as long as they can be (derive_combined_rows).
bool combines_long_rows(const Op& op, const Target& target) {
  return classify(op) == OpClass::reduction && combines_many_rows(op, target);
}

bool reads_a_weight(const Op& op) {
  return any_part(op.body, [](const Expr& e) {
    return e->op == ExprOp::read && e->tensor->kind == OpKind::weight;
  });
}

void derive_combined_as_it_is(const Op& op, const Target& target, const DeriveOptions& options,
                              Schedule* schedule) {
  if (derive_contraction({&op, &op}, target, options, schedule)) return;
  derive_reduction(op, target, schedule);
}

// Of columns whose vectors along the last axis would leave a part empty, the axes before it are one
// with it where they lie one after another: of x[n, 20, 3] a row has 60 columns. What may be packed
// has the axes that its layout is told by.
void derive_combined(const Op& op, const Target& target, const DeriveOptions& options,
                     Schedule* schedule) {
  constexpr double kMuchMore = 1.15;
  const auto derive = [&](const RowGroup& of, Schedule* made) {
    derive_combined_as_it_is(of.reader(), target, options, made);
  };
  const RowGroup columns{{{&op, first_axes(op.axes.size())}}};
  const bool lie_along = !op.axes.empty() && op.axes.back().extent().is_constant() &&
                         !reads_a_weight(op) && !combines_long_rows(op, target) &&
                         (is_contiguous_in_a_read(op, op.axes.back().name(), true) ||
                          steps_a_little(op, op.axes.back()) || are_short_sums(op, target));
  if (!lie_along) return derive(columns, schedule);
  const double filled = filled_part(op, target);
  // Of pixels, vectors go along one colour after the other, unless all are one row.
  const auto pixels = pixels_to_sum(op, value_lanes(op, target));
  const bool are_pixels = pixels && is_sum_of_sizes(pixels->x.extent());
  derive_with_merged_axes(
      columns,
      [&](const RowGroup& of) {
        const bool is_one_row = are_pixels && of.reader().axes.size() < op.axes.size();
        return is_one_row || filled_part(of.reader(), target) > kMuchMore * filled ? 2 : 1;
      },
      derive, schedule);
}

void derive_op(const Op& op, const Target& target, const DeriveOptions& options,
               Schedule* schedule) {
  switch (classify(op)) {
    case OpClass::contraction:
    case OpClass::reduction:
      return derive_combined(op, target, options, schedule);
    case OpClass::elementwise:
    case OpClass::data_movement:
      return derive_points(op, target, schedule);
  }
}

// The sums, and `result`, which reads them at its own places, or is them.
void derive_sums_and_result(const Op& sums, const Op& result, const Target& target,
                            const DeriveOptions& options, Schedule* schedule) {
  if (&sums == &result) return derive_op(sums, target, options, schedule);
  if (derive_contraction({&sums, &result}, target, options, schedule)) return;
  const PartsOrNot parts_or_not{
      [&](Schedule* made) { derive_pointwise(result, target, made); },
      [&](Schedule* made) { derive_sums_and_result(sums, result, target, options, made); }};
  if (derive_parts_of_much(sums, result, target, parts_or_not, schedule)) return;
  if (can_wait_in_vectors(sums, result, target)) {
    return derive_shared_sums({&sums}, result, target, schedule);
  }
  derive_op(sums, target, options, schedule);
  derive_pointwise(result, target, schedule);
}

// Of a chain behind sums, what is up to a member, and what follows it, each by itself.
void derive_before_and_behind(const Op& group, size_t end, const Target& target,
                              const DeriveOptions& options, Schedule* schedule) {
  Op behind = group;
  behind.members.erase(behind.members.begin(),
                       behind.members.begin() + static_cast<std::ptrdiff_t>(end) + 1);
  for (size_t at = 1; at < end; ++at) (*schedule)[group.members[at]->name].compute_inline();
  derive_sums_and_result(*group.members.front(), *group.members[end], target, options, schedule);
  if (behind.members.size() == 1) return derive_points(*behind.members.front(), target, schedule);
  if (derive_series(behind, target, schedule)) return;
  inline_members(behind, nullptr, schedule);
  derive_points(behind, target, schedule);
}

void derive_group(const Op& group, const Target& target, const DeriveOptions& options,
                  Schedule* schedule) {
  const Op* contraction = nullptr;
  for (const OpPtr& member : group.members) {
    if (member->combiner != Combiner::none) contraction = member.get();
  }
  const Op* result = group.members.back().get();
  if (!fits_one_expression(group)) {
    for (const OpPtr& member : group.members) derive_op(*member, target, options, schedule);
    return;
  }
  if (!contraction && derive_series(group, target, schedule)) return;
  if (const std::optional<size_t> end = product_before_series(group, target)) {
    if (derive_series_of_product(group, *end, target, options, schedule)) return;
    return derive_before_and_behind(group, *end, target, options, schedule);
  }
  inline_members(group, contraction, schedule);
  if (contraction) {
    return derive_sums_and_result(*contraction, *result, target, options, schedule);
  }
  derive_points(group, target, schedule);
}

// What computes the values that it reads, and these inline.
void derive_with_values(const Graph& grouped, const ValuesInSums& values, const Target& target,
                        const DeriveOptions& options, std::unordered_set<const Op*>* done,
                        Schedule* schedule) {
  for (const OpPtr& op : grouped.ops()) {
    const auto computes = values.readers.find(op.get());
    if (values.inlined.count(op->name) > 0) {
      (*schedule)[op->name].compute_inline();
      inline_members(*op, nullptr, schedule);
    } else if (computes != values.readers.end() && done->count(op.get()) == 0) {
      inline_members(*op, nullptr, schedule);
      derive_op(*computes->second, target, options, schedule);
    }
  }
  add_computed(values, grouped, done);
}

// What chooses among what operations with borders read, and these inline.
void derive_choices(const Graph& grouped, const ReadBorders& borders, const Target& target,
                    std::unordered_set<const Op*>* done, Schedule* schedule) {
  for (const OpPtr& op : grouped.ops()) {
    const auto chooses = borders.readers.find(op.get());
    if (borders.inlined.count(op->name) > 0) {
      (*schedule)[op->name].compute_inline();
    } else if (chooses != borders.readers.end()) {
      inline_members(*op, nullptr, schedule);
      derive_pointwise(*chooses->second, target, schedule);
    } else {
      continue;
    }
    done->insert(op.get());
  }
}

// What is computed with each vector of what reads it.
void derive_with_readers(const Graph& grouped, const Target& target, const DeriveOptions& options,
                         std::unordered_set<const Op*>* done, Schedule* schedule,
                         FusionReport* report) {
  FusionReport unread;
  std::vector<FusionDecision>& decisions = (report ? *report : unread).decisions;
  const auto wants = [&](const std::vector<const Op*>& members) {
    return wanted_in_loops(kSharedColumns, members, options.loops, &decisions);
  };
  for (const PointsWithReader& points : points_with_readers(grouped, target, *done, wants)) {
    derive_points_with_reader(points, target, schedule);
    const std::vector<const Op*> members = members_of(points);
    done->insert(members.begin(), members.end());
  }
}

// Sums over a run-time length, and what alone reads them, as of a mean: two ways for both.
void derive_much_with_readers(const Graph& grouped, const Target& target,
                              const DeriveOptions& options, std::unordered_set<const Op*>* done,
                              Schedule* schedule) {
  const Readers readers(grouped);
  for (const OpPtr& op : grouped.ops()) {
    if (op->kind != OpKind::compute || op->combiner == Combiner::none || done->count(op.get())) {
      continue;
    }
    const std::vector<const Op*>* const reading = readers.only_readers(*op);
    if (reading == nullptr || reading->size() != 1) continue;
    const Op& reader = *reading->front();
    const bool is_pointwise = is_computed(reader) && sums_of(reader) == nullptr;
    if (!is_pointwise || done->count(&reader) > 0 || !fits_one_expression(reader)) continue;
    const auto derive_reader = [&](Schedule* made) { derive_apart(reader, target, options, made); };
    const auto otherwise = [&](Schedule* made) {
      derive_apart(*op, target, options, made);
      derive_reader(made);
    };
    if (!derive_parts_of_much(*op, reader, target, {derive_reader, otherwise}, schedule)) continue;
    done->insert({op.get(), &reader});
  }
}

// Of what has loops of its own: nothing in `done`.
std::vector<std::vector<OpPtr>> siblings_of(const Graph& grouped, const Target& target,
                                            const DeriveOptions& options,
                                            const std::unordered_set<const Op*>& done,
                                            const std::vector<RowGroup>& rows,
                                            FusionReport* report) {
  const KeptBefore kept = kept_before(grouped, rows);
  const SiblingPolicy wanted = wanted_siblings(options, target);
  const auto policy = [&](const SiblingCandidate& candidate) -> std::optional<FusionRefusal> {
    const Op &first = *candidate.group[0], &sibling = *candidate.sibling;
    for (const Op* op : {&first, &sibling}) {
      if (!done.count(op)) continue;
      return fmt::format("expected loops of its own for {}, got those of what it is computed in",
                         op->name);
    }
    // Or the one may be behind loops that need the other.
    if (kept.at(&first) != kept.at(&sibling)) {
      return fmt::format("expected {} and {} behind as many loops in which something is kept",
                         first.name, sibling.name);
    }
    if (auto reason = why_not_share_loops(first, sibling, target)) return reason;
    return wanted(candidate);
  };
  return find_siblings(grouped, policy, report);
}

// Loops of all stages that the graph has.
Schedule derive_loops(const Graph& graph, const Graph& shared, const Target& target,
                      const DeriveOptions& options, FusionReport* report) {
  if (const std::optional<Graph> normal = with_normal_axes(shared)) {
    return schedule_as_written(derive_loops(unfuse(*normal), *normal, target, options, report),
                               graph);
  }
  Schedule schedule(graph);
  const auto is_wanted = [&](const Op& move) {
    return !unwanted_through(kReadThrough, move, options.loops);
  };
  const ReadThrough through =
      options.fuse ? read_through(shared, target, is_wanted) : ReadThrough{shared, {}};
  const Graph& grouped = through.graph;
  const LoopGroups loops = read_loop_groups(shared, through, target);
  std::unordered_set<const Op*> done;
  const auto is_done = [&](const std::vector<const Op*>& ops) {
    done.insert(ops.begin(), ops.end());
  };
  for (const WindowChain& chain : loops.windows) {
    derive_windows(chain, target, options, &schedule);
    is_done(members_of(chain));
  }
  for (const std::string& name : inlined_moves(through, done)) {
    schedule[name].compute_inline();
    if (const OpPtr* op = shared.find(name)) inline_members(**op, nullptr, &schedule);
    if (const OpPtr* op = grouped.find(name)) done.insert(op->get());
  }
  for (const BlockGroup& blocks : loops.blocks) {
    derive_row_blocks(blocks, target, options, &schedule);
    is_done(members_of(blocks));
  }
  for (const LayerBlocks& layers : loops.layers) {
    derive_layer_blocks(layers, target, options, &schedule);
    is_done(members_of(layers));
  }
  for (const ColumnGroup& group : loops.columns) {
    derive_columns(group, target, &schedule);
    is_done(members_of(group));
  }
  for (const RowGroup& group : loops.rows) {
    derive_group_by_length(group, target, &schedule);
    is_done(members_of(group));
  }
  for (const RowGroup& group : loops.small) {
    derive_small_rows(group, target, &schedule);
    is_done(members_of(group));
  }
  std::unordered_set<const Op*> computed = done;  // but for sums that wait
  for (const WaitingSums& waiting : loops.sums) computed.insert(waiting.reader);
  const ValuesInSums values =
      options.fuse ? values_in_sums(grouped, target, computed, is_wanted) : ValuesInSums{};
  for (const WaitingSums& waiting : loops.sums) {
    derive_with_reader(with_values(waiting.sums, values), *waiting.reader, target, options,
                       &schedule);
    is_done(members_of(waiting));
  }
  derive_with_values(grouped, values, target, options, &done, &schedule);
  if (options.fuse) {
    const ReadBorders borders = read_borders(grouped, target, done, [&](const Op& op) {
      return unwanted_through(kBordersThrough, op, options.loops);
    });
    derive_choices(grouped, borders, target, &done, &schedule);
    derive_with_readers(grouped, target, options, &done, &schedule, report);
    derive_much_with_readers(grouped, target, options, &done, &schedule);
    for (const std::vector<OpPtr>& group :
         siblings_of(grouped, target, options, done, loops.rows, report)) {
      derive_siblings(group, target, &schedule);
      for (const OpPtr& op : group) done.insert(op.get());
    }
  }
  for (const OpPtr& op : grouped.ops()) {
    if (is_always_empty(*op) || done.count(op.get())) continue;
    derive_apart(*op, target, options, &schedule);
  }
  return schedule;
}

}  // namespace

void derive_apart(const Op& op, const Target& target, const DeriveOptions& options,
                  Schedule* schedule) {
  if (const std::optional<RowGroup> small = small_rows_alone(op, target)) {
    return derive_small_rows(*small, target, schedule);
  }
  if (op.kind == OpKind::fused) derive_group(op, target, options, schedule);
  if (op.kind == OpKind::compute) derive_op(op, target, options, schedule);
}

void derive_with_reader(const std::vector<const Op*>& sums, const Op& reader, const Target& target,
                        const DeriveOptions& options, Schedule* schedule) {
  inline_members(reader, nullptr, schedule);
  if (sums.size() > 1) return derive_shared_sums(sums, result_of(reader), target, schedule);
  derive_sums_and_result(*sums.front(), result_of(reader), target, options, schedule);
}

void inline_members(const Op& group, const Op* sums, Schedule* schedule, const Op* stored) {
  for (const OpPtr& member : group.members) {
    if (member.get() == sums || member.get() == stored || member == group.members.back()) continue;
    (*schedule)[member->name].compute_inline();
  }
}

bool fits_one_expression(const Op& op) {
  return op.kind != OpKind::fused ||
         FusionLegality::written_out(op, {}).nodes <= FusionLegality::kMostOperations;
}

bool is_always_empty(const Op& op) {
  return std::find(op.shape.begin(), op.shape.end(), Extent(0)) != op.shape.end();
}

bool is_output(const Op& op, const Schedule& schedule) {
  const OpPtr* output = schedule.graph().find(op.name);
  return output != nullptr && schedule.graph().is_output(**output);
}

bool share_a_size(const Extent& a, const Extent& b) {
  return std::any_of(a.coefficients().begin(), a.coefficients().end(),
                     [&](const auto& term) { return b.coefficients().count(term.first) > 0; });
}

std::vector<Axis> copy_axes(const Op& operand) {
  if (operand.kind == OpKind::fused) return operand.members.back()->axes;
  if (operand.kind == OpKind::compute) return operand.axes;
  std::vector<Axis> axes;
  for (const std::string& name : numbered_axes(operand.shape.size())) axes.emplace_back(name);
  return axes;
}

std::string fresh_axis(const Op& op, const std::string& wanted) {
  return free_name(wanted, [&](const std::string& name) {
    return axis_index(op.axes, name) || axis_index(op.reduction_axes, name);
  });
}

std::string fresh_stage(const Schedule& schedule, const std::string& wanted) {
  return free_name(wanted, [&](const std::string& name) {
    return schedule.graph().has_name(name) || schedule.find(name) != nullptr;
  });
}

SiblingPolicy wanted_siblings(const DeriveOptions& options, const Target& target) {
  if (options.siblings) return *options.siblings;
  return [target](const SiblingCandidate& candidate) {
    return why_not_worth_sharing(candidate, target);
  };
}

Schedule derive_schedule(const Graph& graph, const Target& target, const DeriveOptions& options) {
  return derive_schedule(graph, options.fuse ? fuse_epilogues(graph) : graph, target, options);
}

Schedule derive_schedule(const Graph& graph, const Graph& grouped, const Target& target,
                         const DeriveOptions& options, FusionReport* report) {
  const bool shares = options.fuse && !target.is_tile_machine();
  return derive_stages(graph,
                       shares ? share_loops(grouped, target, options.loops, report) : grouped,
                       target, options, report);
}

Schedule derive_stages(const Graph& graph, const Graph& shared, const Target& target,
                       const DeriveOptions& options, FusionReport* report) {
  if (target.is_tile_machine()) return derive_tiles(graph, shared, *target.tiles);
  return with_precomputed_parts(shared, target,
                                derive_loops(graph, shared, target, options, report));
}

std::vector<Schedule> derive_schedules(const Graph& graph, const std::vector<Target>& targets,
                                       const DeriveOptions& options) {
  std::vector<Schedule> schedules;
  DeriveOptions same_layout = options;
  for (const Target& target : targets) {
    schedules.push_back(derive_schedule(graph, target, same_layout));
    keep_layout(schedules.back(), &same_layout);
  }
  return schedules;
}

void keep_layout(const Schedule& schedule, DeriveOptions* options) {
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::pack) options->panels.emplace(d.target, d.factor);
    }
  }
}

}  // namespace emulsion
