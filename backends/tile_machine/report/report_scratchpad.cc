#include "backends/tile_machine/report/report_scratchpad.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/tile_machine/plan/collect_tiles.h"
#include "backends/tile_machine/plan/plan_scratchpad.h"
#include "backends/tile_machine/plan/tile_cost.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using nlohmann::ordered_json;

constexpr StallCause kCauses[] = {StallCause::load, StallCause::space, StallCause::store};

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

PolicyOutcome outcome_of(const ScratchpadPlan& plan, const PlanTiming& timing) {
  return {plan.policy, plan.counts, timing.total};
}

PolicyOutcome try_policy(const TileProgram& program, const TileMachine& machine,
                         EvictionPolicy policy) {
  const ScratchpadPlan plan = plan_scratchpad(program, machine, policy);
  return outcome_of(plan, time_plan(program, plan));
}

int64_t least_cycles(const TileProgram& program, const ScratchpadPlan& plan,
                     const PlanTiming& timing) {
  int64_t load = 0;
  for (const PlannedUop& uop : plan.uops) {
    if (uop.kind == PlannedKind::load && uop.reason == PlannedReason::first) {
      load += load_cycles(plan.machine, program.tiles[uop.tile].bytes);
    }
  }
  int64_t store = 0;
  std::vector<bool> stored(program.tiles.size(), false);
  for (const TileStep& step : program.steps) {
    if (!step.writes) continue;
    const TileId tile = program.written(step);
    if (stored[tile] || !program.buffers[program.tiles[tile].buffer].kept) continue;
    stored[tile] = true;
    store += store_cycles(plan.machine, program.tiles[tile].bytes);
  }
  return std::max({load, timing.execute_busy, store});
}

std::string policy_table(const ScratchpadReport& report) {
  std::string text =
      fmt::format("{:<8}{:>12}{:>12}{:>12}{:>12}{:>14}{:>14}{:>14}\n", "policy", "loads",
                  "at least", "spills", "evictions", "bytes loaded", "bytes stored", "cycles");
  for (const PolicyOutcome& outcome : report.outcomes) {
    const PlanCounts& c = outcome.counts;
    text += fmt::format("{:<8}{:>12}{:>12}{:>12}{:>12}{:>14}{:>14}{:>14}\n",
                        to_string(outcome.policy), c.loads, c.cold_loads, c.spills, c.evictions,
                        c.load_bytes, c.store_bytes, outcome.cycles);
  }
  return text;
}

ordered_json counts_json(const PolicyOutcome& outcome) {
  const PlanCounts& c = outcome.counts;
  return {{"policy", to_string(outcome.policy)},
          {"cycles", outcome.cycles},
          {"executes", c.executes},
          {"reads", c.reads},
          {"loads", c.loads},
          {"cold_loads", c.cold_loads},
          {"stores", c.stores},
          {"spills", c.spills},
          {"evictions", c.evictions},
          {"repacks", c.repacks},
          {"load_bytes", c.load_bytes},
          {"store_bytes", c.store_bytes},
          {"peak_bytes", c.peak_bytes}};
}

ordered_json uop_json(const ScratchpadReport& report, size_t position) {
  const PlannedUop& uop = report.plan.uops[position];
  const TileProgram& program = report.program;
  ordered_json json = {{"kind", to_string(uop.kind)},
                       {"reason", to_string(uop.reason)},
                       {"step", uop.step},
                       {"tile", tile_name(program, uop.tile)},
                       {"address", uop.address},
                       {"bytes", program.tiles[uop.tile].bytes},
                       {"start", report.timing.spans[position].start},
                       {"end", report.timing.spans[position].end}};
  if (uop.kind != PlannedKind::execute) return json;
  const TileStep& step = program.steps[uop.step];
  json["stage"] = program.stages[step.stage];
  json["reads"] = ordered_json::array();
  for (size_t i = 0; i + 1u < step.operand_count; ++i) {
    json["reads"].push_back({{"tile", tile_name(program, program.operand(step, i))},
                             {"address", report.plan.operand_addresses[step.first_operand + i]}});
  }
  return json;
}

}  // namespace

ScratchpadReport report_scratchpad(const LoopNest& nest, const TileMachine& machine,
                                   const SizeValues& sizes, EvictionPolicy policy) {
  return report_scratchpad(nest.name, collect_tiles(nest, sizes).program, machine, policy);
}

ScratchpadReport report_scratchpad(const std::string& name, TileProgram program,
                                   const TileMachine& machine, EvictionPolicy policy) {
  ScratchpadReport report;
  report.name = name;
  report.program = std::move(program);
  report.plan = plan_scratchpad(report.program, machine, policy);
  report.timing = time_plan(report.program, report.plan);
  for (EvictionPolicy each : {EvictionPolicy::lru, EvictionPolicy::belady}) {
    report.outcomes.push_back(each == policy ? outcome_of(report.plan, report.timing)
                                             : try_policy(report.program, machine, each));
  }
  report.least_cycles = least_cycles(report.program, report.plan, report.timing);
  return report;
}

std::string to_string(const ScratchpadReport& report) {
  const PlanCounts& c = report.plan.counts;
  const PlanTiming& t = report.timing;
  std::string text =
      fmt::format("scratchpad plan of {}, {}\n", report.name, to_string(report.plan.machine));
  text += policy_table(report);
  text += fmt::format("planned with {}: {} executes; of {} operands {} are in SRAM already\n",
                      to_string(report.plan.policy), c.executes, c.reads, c.reads - c.loads);
  if (report.program.loads > 0) {
    text += fmt::format("the nest has {} loads and {} stores, the plan {} and {}\n",
                        report.program.loads, report.program.stores, c.loads, c.stores);
  }
  text += fmt::format("SRAM: at most {} of {} bytes taken up ({:.1f} %), {} repacks\n",
                      c.peak_bytes, report.plan.machine.sram_bytes,
                      percent(c.peak_bytes, report.plan.machine.sram_bytes), c.repacks);
  text += fmt::format("cycles: {}, at least {} in any plan\n", t.total, report.least_cycles);
  text += fmt::format("  {:<28}{:>14}{:>8.1f} %\n", "executing", t.execute_busy,
                      percent(t.execute_busy, t.total));
  for (StallCause cause : kCauses) {
    text += fmt::format("  {:<28}{:>14}{:>8.1f} %\n", to_string(cause), t.stalled(cause),
                        percent(t.stalled(cause), t.total));
  }
  text += fmt::format("units busy: load {:.1f} %, execute {:.1f} %, store {:.1f} %\n",
                      percent(t.load_busy, t.total), percent(t.execute_busy, t.total),
                      percent(t.store_busy, t.total));
  return text;
}

std::string to_json(const ScratchpadReport& report, size_t most_uops) {
  const PlanTiming& t = report.timing;
  ordered_json json = {
      {"name", report.name},
      {"machine", to_string(report.plan.machine)},
      {"policy", to_string(report.plan.policy)},
      {"nest_loads", report.program.loads},
      {"nest_stores", report.program.stores},
      {"policies", ordered_json::array()},
      {"cycles",
       {{"total", t.total}, {"at_least", report.least_cycles}, {"executing", t.execute_busy}}},
      {"units",
       {{"load_busy", t.load_busy},
        {"execute_busy", t.execute_busy},
        {"store_busy", t.store_busy}}},
      {"sram",
       {{"bytes", report.plan.machine.sram_bytes}, {"peak_bytes", report.plan.counts.peak_bytes}}},
      {"uops", {{"total", report.plan.uops.size()}}}};
  for (const PolicyOutcome& outcome : report.outcomes) {
    json["policies"].push_back(counts_json(outcome));
  }
  for (StallCause cause : kCauses) json["cycles"][to_string(cause)] = t.stalled(cause);
  json["uops"]["first"] = ordered_json::array();
  for (size_t i = 0; i < std::min(most_uops, report.plan.uops.size()); ++i) {
    json["uops"]["first"].push_back(uop_json(report, i));
  }
  // Names may be anything, and JSON is UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace emulsion
