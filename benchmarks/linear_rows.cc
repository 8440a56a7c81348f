#include "benchmarks/linear_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace emulsion::benchmarks {
namespace {

constexpr double kPeakMark = 0.85, kSpeedUpMark = 1.9, kSecondsLimit = 2;

const char* threads_text(int threads) { return threads == 1 ? "one_thread" : "all_threads"; }
const char* caches_text(bool cold) { return cold ? "cold" : "warm"; }

double bytes(const LinearShape& s) {
  return static_cast<double>(sizeof(float)) *
         static_cast<double>(s.m * s.k + s.k * s.n + s.n + s.m * s.n);
}

Row* find_row(std::vector<Row>* rows, const std::string& name) {
  const auto found =
      std::find_if(rows->begin(), rows->end(), [&](const Row& row) { return row.name == name; });
  return found == rows->end() ? nullptr : &*found;
}

Peer as_peer(const std::string& name, const Row& row, std::optional<double> mark) {
  return {name, row.seconds, row.work, mark};
}

}  // namespace

std::string layer_name(const LinearSituation& at) {
  return fmt::format("{}/{}/{}", at.shape.to_string(), threads_text(at.threads),
                     caches_text(at.cold));
}

std::string peak_name(int threads) { return fmt::format("peak/{}", threads_text(threads)); }

std::string read_name(int threads, bool cold) {
  return fmt::format("read/{}/{}", threads_text(threads), caches_text(cold));
}

bool is_bound_by_memory(const LinearShape& shape) {
  return static_cast<double>(shape.flops()) < 2 * bytes(shape);
}

std::string layer_unit(const LinearShape& shape) {
  return is_bound_by_memory(shape) ? "GB/s" : "GF/s";
}

double layer_work(const LinearShape& shape) {
  return 1e-9 * (is_bound_by_memory(shape) ? bytes(shape) : static_cast<double>(shape.flops()));
}

void add_machine_peers(const std::vector<LinearSituation>& layers, const std::string& instructions,
                       std::vector<Row>* rows) {
  for (const LinearSituation& at : layers) {
    Row* row = find_row(rows, layer_name(at));
    if (!row) continue;
    const LinearShape& s = at.shape;
    const bool judged = !at.cold && instructions == "AVX-512" && s.m == s.n && s.n == s.k;
    if (is_bound_by_memory(s)) {
      const Row* read = find_row(rows, read_name(at.threads, at.cold));
      if (read) row->peers.push_back(as_peer("reading memory", *read, std::nullopt));
    } else if (const Row* peak = find_row(rows, peak_name(at.threads))) {
      const bool marked = judged && at.threads == 1 && (s.m == 512 || s.m == 1024);
      row->peers.push_back(
          as_peer("the peak", *peak, marked ? std::optional(kPeakMark) : std::nullopt));
    }
    if (at.threads == 1) continue;
    if (const Row* one = find_row(rows, layer_name({s, 1, at.cold}))) {
      const bool marked = judged && at.threads == 2 && s.m == 1024;
      row->peers.push_back(
          as_peer("one thread", *one, marked ? std::optional(kSpeedUpMark) : std::nullopt));
    }
  }
}

std::vector<std::string> noise_warnings(const std::vector<Row>& rows) {
  constexpr double kQuiet = 0.05;
  double worst = 0;
  for (const Row& row : rows) {
    const bool is_peak = row.name == peak_name(1) || row.name == peak_name(2);
    if (is_peak) worst = std::max(worst, spread(row.seconds).value_or(0));
  }
  if (worst <= kQuiet) return {};
  return {fmt::format("not quiet: the machine's own peak varied by {} %, so these are no results",
                      percent(worst))};
}

std::vector<Row> rows_of(const std::vector<KernelSeconds>& kernels) {
  std::vector<Row> rows;
  for (const KernelSeconds& kernel : kernels) {
    const std::string name =
        fmt::format("compile/{}/{}", kernel.shape.to_string(), kernel.fused ? "fused" : "unfused");
    Row nest{name + "/to_its_nest", "s"}, library{name + "/to_its_library", "s"};
    nest.seconds = {kernel.until_lowered};
    library.seconds = {kernel.until_compiled};
    library.limit = kSecondsLimit;
    rows.push_back(std::move(nest));
    rows.push_back(std::move(library));
  }
  return rows;
}

}  // namespace emulsion::benchmarks
