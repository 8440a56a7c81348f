#include "benchmarks/linear_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "benchmarks/report_table.h"

namespace emulsion::benchmarks {
namespace {

const char* caches(bool cold) { return cold ? "cold" : "warm"; }

// The peak needs nothing but the processor: when it varies, somebody else had the processor.
std::string noise_text(const LinearRun& run) {
  constexpr double kQuiet = 0.05;
  double worst = 0;
  for (const MachineTimes& machine : run.machine) {
    worst = std::max(worst, spread(machine.flops_per_second).value_or(0));
  }
  if (worst <= kQuiet) return "";
  return fmt::format("not quiet: the machine's own peak varied by {} %, so these are no results\n",
                     percent(worst));
}

std::string machine_text(const LinearRun& run) {
  std::string text =
      fmt::format("kernels for {}, f32, weights packed outside the timing\n", run.target);
  for (const MachineTimes& machine : run.machine) {
    std::string who = fmt::format("{} thread{}", machine.threads, machine.threads == 1 ? "" : "s");
    if (!machine.flops_per_second.empty()) {
      text += fmt::format("{} peak, {}: {} GF/s, spread {} %\n", run.instructions, who,
                          number(times(median(machine.flops_per_second), 1e-9), 1),
                          percent(spread(machine.flops_per_second)));
    }
    if (!machine.bytes_per_second.empty()) {
      text +=
          fmt::format("read from memory, {}, {}: {} GB/s, spread {} %\n", who, caches(machine.cold),
                      number(times(median(machine.bytes_per_second), 1e-9), 1),
                      percent(spread(machine.bytes_per_second)));
    }
  }
  return text;
}

std::string rows_text(const std::vector<LinearRow>& rows) {
  std::vector<std::vector<std::string>> lines = {
      {"MxNxK", "threads", "caches", "fused", "spread", "of peak", "unfused", "plain", "fused/",
       "fused/", "fused/", "speed-up", "read", "of read"},
      {"", "", "", "GF/s", "%", "%", "GF/s", "GF/s", "unfused", "plain", "itself", "", "GB/s",
       "%"}};
  for (const LinearRow& row : rows) {
    lines.push_back({row.shape.to_string(), std::to_string(row.threads), caches(row.cold),
                     number(row.fused_gflops, 1), percent(row.fused_spread),
                     percent(row.share_of_peak), number(row.unfused_gflops, 1),
                     number(row.plain_gflops, 1), number(row.over_unfused, 3),
                     number(row.over_plain, 2), number(row.over_itself, 3), number(row.speed_up, 2),
                     number(row.read_gbytes, 1), percent(row.share_of_read)});
  }
  return aligned(lines);
}

std::string kernels_text(const std::vector<KernelSeconds>& kernels) {
  if (kernels.empty()) return "";
  std::vector<std::vector<std::string>> lines = {
      {"one kernel, seconds", "", "to the loop nest", "to the library"}};
  for (const KernelSeconds& kernel : kernels) {
    lines.push_back({kernel.shape.to_string(), kernel.fused ? "fused" : "unfused",
                     number(kernel.until_lowered, 3), number(kernel.until_compiled, 2)});
  }
  return '\n' + aligned(lines);
}

nlohmann::ordered_json json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json(const LinearRow& row) {
  return {{"shape", row.shape.to_string()},
          {"m", row.shape.m},
          {"n", row.shape.n},
          {"k", row.shape.k},
          {"threads", row.threads},
          {"caches", caches(row.cold)},
          {"fused_gflops", json(row.fused_gflops)},
          {"fused_spread", json(row.fused_spread)},
          {"share_of_peak", json(row.share_of_peak)},
          {"unfused_gflops", json(row.unfused_gflops)},
          {"plain_gflops", json(row.plain_gflops)},
          {"fused_over_unfused", json(row.over_unfused)},
          {"fused_over_plain", json(row.over_plain)},
          {"fused_over_itself", json(row.over_itself)},
          {"speed_up", json(row.speed_up)},
          {"read_gbytes", json(row.read_gbytes)},
          {"share_of_read", json(row.share_of_read)}};
}

}  // namespace

std::string report_text(const LinearRun& run) {
  std::vector<LinearRow> rows = summarise(run);
  return noise_text(run) + losses_text(losses(run, rows)) + '\n' + machine_text(run) + '\n' +
         rows_text(rows) + kernels_text(run.kernels);
}

std::string report_json(const LinearRun& run) {
  using Json = nlohmann::ordered_json;
  std::vector<LinearRow> rows = summarise(run);
  Json machine = Json::array(), table = Json::array(), kernels = Json::array();
  for (const MachineTimes& m : run.machine) {
    machine.push_back({{"threads", m.threads},
                       {"caches", caches(m.cold)},
                       {"peak_gflops", json(times(median(m.flops_per_second), 1e-9))},
                       {"peak_spread", json(spread(m.flops_per_second))},
                       {"read_gbytes", json(times(median(m.bytes_per_second), 1e-9))},
                       {"read_spread", json(spread(m.bytes_per_second))}});
  }
  for (const LinearRow& row : rows) table.push_back(json(row));
  for (const KernelSeconds& k : run.kernels) {
    kernels.push_back({{"shape", k.shape.to_string()},
                       {"fused", k.fused},
                       {"seconds_to_nest", k.until_lowered},
                       {"seconds_to_library", k.until_compiled}});
  }
  Json report = {
      {"losses", losses(run, rows)}, {"target", run.target}, {"instructions", run.instructions},
      {"threads", run.all_threads},  {"machine", machine},   {"rows", table},
      {"kernels", kernels}};
  return report.dump(1) + '\n';
}

}  // namespace emulsion::benchmarks
