#include "benchmarks/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace emulsion::benchmarks {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::optional<double>;

// How many of a unit of time are in a second.
double per_second(const std::string& unit) {
  if (unit == "us") return 1e6;
  return unit == "ms" ? 1e3 : 1;
}

// What the table shows of these seconds: a rate, or the time.
Value shown(const Row& row, double work, const Samples& seconds) {
  if (row.work > 0) return quotient(work, median(seconds));
  return quotient(median(seconds), 1 / per_second(row.unit));
}

Value shown(const Row& row) { return shown(row, row.work, row.seconds); }

double work_of(const Row& row, const Peer& peer) { return peer.work > 0 ? peer.work : row.work; }

// Above 1: the row is faster.
Value over_peer(const Row& row, const Peer& peer) {
  const double share = row.work > 0 ? row.work / work_of(row, peer) : 1;
  const Value faster = quotient(median(peer.seconds), median(row.seconds));
  return faster ? Value(share * *faster) : Value();
}

Value over_itself(const Row& row) { return quotient(median(row.again), median(row.seconds)); }

std::string number(const Value& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

Json json(const Value& value) { return value ? Json(*value) : Json(nullptr); }

// `reached`: the share of what was asked for.
std::string remark_on_noise(const Row& row, double reached) {
  const double noise =
      std::max(spread(row.seconds).value_or(0), std::abs(over_itself(row).value_or(1) - 1));
  if (1 - reached > noise) return "";
  return fmt::format(" (within its noise of {} %)", percent(noise));
}

// Columns are as wide as their widest cell. Names stand to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string written;
    for (size_t i = 0; i < line.size(); ++i) {
      const bool is_name = i == 0 || i + 1 == line.size();
      written += is_name ? fmt::format("{:<{}}  ", line[i], widths[i])
                         : fmt::format("{:>{}}  ", line[i], widths[i]);
    }
    written.erase(written.find_last_not_of(' ') + 1);
    text += written + '\n';
  }
  return text;
}

// Those of which something was measured; a filter leaves most of them out.
std::vector<Row> measured(const std::vector<Row>& rows) {
  std::vector<Row> some;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(some), [](const Row& row) {
    return !row.seconds.empty() || !row.again.empty() ||
           std::any_of(row.peers.begin(), row.peers.end(),
                       [](const Peer& peer) { return !peer.seconds.empty(); });
  });
  return some;
}

std::string table(const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> lines = {
      {"", "", "Emulsion", "spread", "Emulsion/", "peer", "spread", "Emulsion/", ""},
      {"", "unit", "median", "%", "itself", "median", "%", "peer", "peer"}};
  for (const Row& row : rows) {
    const int decimals = row.work > 0 ? 1 : 3;
    std::vector<std::string> line = {row.name, row.unit, number(shown(row), decimals),
                                     percent(spread(row.seconds)), number(over_itself(row), 3)};
    for (const Peer& peer : row.peers) {
      line.insert(line.end(),
                  {number(shown(row, work_of(row, peer), peer.seconds), decimals),
                   percent(spread(peer.seconds)), number(over_peer(row, peer), 3), peer.name});
      lines.push_back(std::exchange(line, std::vector<std::string>(line.size() - 4)));
    }
    if (!row.peers.empty()) continue;
    line.resize(lines.front().size());
    lines.push_back(std::move(line));
  }
  return '\n' + aligned(lines);
}

}  // namespace

std::string percent(const Value& share) { return number(quotient(share, 0.01), 1); }

std::vector<std::string> losses(const Report& report) {
  std::vector<std::pair<double, std::string>> found;  // with the share that was reached
  for (const Row& row : report.rows) {
    for (const Peer& peer : row.peers) {
      const Value ratio = over_peer(row, peer);
      if (!ratio || !peer.mark || *ratio >= *peer.mark) continue;
      const double reached = *ratio / *peer.mark;
      found.emplace_back(reached,
                         fmt::format("{}: {:.3f}x the speed of {}, the mark is {:.2f}x{}", row.name,
                                     *ratio, peer.name, *peer.mark, remark_on_noise(row, reached)));
    }
    const Value seconds = median(row.seconds);
    if (!seconds || !row.limit || *seconds < *row.limit) continue;
    const double reached = *row.limit / *seconds, scale = per_second(row.unit);
    found.emplace_back(reached, fmt::format("{}: {:.3f} {}, the mark is {:g} {}{}", row.name,
                                            *seconds * scale, row.unit, *row.limit * scale,
                                            row.unit, remark_on_noise(row, reached)));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  lines.reserve(found.size());
  for (auto& [reached, line] : found) lines.push_back(std::move(line));
  return lines;
}

std::string report_text(const Report& report) {
  std::string text;
  for (const std::string& warning : report.warnings) text += warning + '\n';
  const std::vector<std::string> lost = losses(report);
  text += lost.empty() ? "losses: none\n" : "losses:\n";
  for (const std::string& loss : lost) text += "  " + loss + '\n';
  for (const std::string& note : report.notes) text += note + '\n';
  return text + table(measured(report.rows));
}

std::string report_json(const Report& report) {
  Json rows = Json::array();
  for (const Row& row : measured(report.rows)) {
    Json peers = Json::array();
    for (const Peer& peer : row.peers) {
      peers.push_back({{"name", peer.name},
                       {"median", json(shown(row, work_of(row, peer), peer.seconds))},
                       {"spread", json(spread(peer.seconds))},
                       {"emulsion_over_peer", json(over_peer(row, peer))},
                       {"mark", json(peer.mark)}});
    }
    rows.push_back({{"name", row.name},
                    {"unit", row.unit},
                    {"median", json(shown(row))},
                    {"spread", json(spread(row.seconds))},
                    {"emulsion_over_itself", json(over_itself(row))},
                    {"limit_seconds", json(row.limit)},
                    {"peers", peers}});
  }
  const Json all = {{"warnings", report.warnings},
                    {"losses", losses(report)},
                    {"notes", report.notes},
                    {"rows", rows}};
  return all.dump(1) + '\n';
}

}  // namespace emulsion::benchmarks
