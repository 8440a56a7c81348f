#include "benchmarks/linear_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "benchmarks/report_table.h"

namespace emulsion::benchmarks {
namespace {

constexpr double kPeakMark = 0.85, kSpeedUpMark = 1.9, kSecondsMark = 2;

using Value = std::optional<double>;

Value gflops(const LinearShape& shape, const Samples& seconds) {
  return quotient(static_cast<double>(shape.flops()) * 1e-9, median(seconds));
}

// What one call has to read and write at least.
double bytes(const LinearShape& s) {
  return static_cast<double>(sizeof(float)) *
         static_cast<double>(s.m * s.k + s.k * s.n + s.n + s.m * s.n);
}

// Whether memory, not arithmetic, is what such a layer waits for.
bool reads_more_than_it_computes(const LinearShape& shape) {
  return static_cast<double>(shape.flops()) < 2 * bytes(shape);
}

// What a row that is slower than unfused has to be held against.
std::string noise_text(const LinearRow& row) {
  double noise = row.fused_spread.value_or(0);
  std::string text;
  if (row.over_itself) {
    noise = std::max(noise, std::abs(*row.over_itself - 1));
    text = fmt::format("; fused against itself: {:.3f}x", *row.over_itself);
  }
  return 1 - *row.over_unfused <= noise ? text + " (within the noise)" : text;
}

std::string place(const LinearRow& row) {
  return fmt::format("{}, {} thread{}, {}", row.shape.to_string(), row.threads,
                     row.threads == 1 ? "" : "s", row.cold ? "cold" : "warm");
}

}  // namespace

const MachineTimes* find_machine(const LinearRun& run, int threads, bool cold) {
  for (const MachineTimes& machine : run.machine) {
    if (machine.threads == threads && machine.cold == cold) return &machine;
  }
  return nullptr;
}

std::vector<LinearRow> summarise(const LinearRun& run) {
  std::vector<LinearRow> rows;
  for (const LinearTimes& times : run.times) {
    LinearRow row;
    row.shape = times.shape;
    row.threads = times.threads;
    row.cold = times.cold;
    row.fused_gflops = gflops(times.shape, times.fused);
    row.fused_spread = spread(times.fused);
    row.unfused_gflops = gflops(times.shape, times.unfused);
    row.plain_gflops = gflops(times.shape, times.plain);
    row.over_unfused = quotient(row.fused_gflops, row.unfused_gflops);
    row.over_plain = quotient(row.fused_gflops, row.plain_gflops);
    row.over_itself = quotient(row.fused_gflops, gflops(times.shape, times.fused_again));
    // The peak needs no memory: it is measured once for warm and cold.
    if (const MachineTimes* machine = find_machine(run, times.threads, false)) {
      Value peak = quotient(median(machine->flops_per_second), 1e9);
      row.share_of_peak = quotient(row.fused_gflops, peak);
    }
    if (reads_more_than_it_computes(times.shape)) {
      row.read_gbytes = quotient(bytes(times.shape) * 1e-9, median(times.fused));
      if (const MachineTimes* machine = find_machine(run, times.threads, times.cold)) {
        row.share_of_read =
            quotient(row.read_gbytes, quotient(median(machine->bytes_per_second), 1e9));
      }
    }
    for (const LinearTimes& one : run.times) {
      if (times.threads == 1 || one.threads != 1) continue;
      if (!(one.shape == times.shape) || one.cold != times.cold) continue;
      row.speed_up = quotient(row.fused_gflops, gflops(one.shape, one.fused));
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::string> losses(const LinearRun& run, const std::vector<LinearRow>& rows) {
  std::vector<std::pair<double, std::string>> found;  // share of the mark that was reached
  for (const LinearRow& row : rows) {
    if (row.over_unfused && *row.over_unfused < 1) {
      found.emplace_back(*row.over_unfused,
                         fmt::format("{}: fused is slower than unfused, {:.3f}x of its speed{}",
                                     place(row), *row.over_unfused, noise_text(row)));
    }
    if (row.cold || run.instructions != "AVX-512") continue;
    const bool square = row.shape.m == row.shape.n && row.shape.n == row.shape.k;
    const bool marked = square && (row.shape.m == 512 || row.shape.m == 1024);
    if (marked && row.threads == 1 && row.share_of_peak && *row.share_of_peak < kPeakMark) {
      found.emplace_back(*row.share_of_peak / kPeakMark,
                         fmt::format("{}: {:.3f} of peak, the mark is {:.2f}", place(row),
                                     *row.share_of_peak, kPeakMark));
    }
    if (marked && row.shape.m == 1024 && row.threads == 2 && row.speed_up &&
        *row.speed_up < kSpeedUpMark) {
      found.emplace_back(*row.speed_up / kSpeedUpMark,
                         fmt::format("{}: {:.2f}x the speed of one thread, the mark is {:.1f}x",
                                     place(row), *row.speed_up, kSpeedUpMark));
    }
  }
  for (const KernelSeconds& kernel : run.kernels) {
    if (kernel.until_compiled < kSecondsMark) continue;
    found.emplace_back(
        kSecondsMark / kernel.until_compiled,
        fmt::format("{} {}: {:.2f} s to derive, lower and compile, the mark is {:g} s",
                    kernel.shape.to_string(), kernel.fused ? "fused" : "unfused",
                    kernel.until_compiled, kSecondsMark));
  }
  return in_order(std::move(found));
}

}  // namespace emulsion::benchmarks
