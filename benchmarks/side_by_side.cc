#include "benchmarks/side_by_side.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "benchmarks/report_table.h"

namespace emulsion::benchmarks {
namespace {

constexpr double kMark = 0.95;  // of the peer's speed

nlohmann::ordered_json json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::vector<SideBySideRow> summarise(const std::vector<SideBySide>& all) {
  std::vector<SideBySideRow> rows;
  for (const SideBySide& one : all) {
    SideBySideRow row;
    row.name = one.name;
    row.peer = one.peer;
    row.unit = one.unit;
    row.emulsion_rate = quotient(one.work, median(one.emulsion));
    row.emulsion_spread = spread(one.emulsion);
    row.peer_rate = quotient(one.work, median(one.of_peer));
    row.peer_spread = spread(one.of_peer);
    row.over_peer = quotient(row.emulsion_rate, row.peer_rate);
    row.over_itself = quotient(row.emulsion_rate, quotient(one.work, median(one.emulsion_again)));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> losses(const std::vector<SideBySideRow>& rows) {
  std::vector<std::pair<double, std::string>> found;
  for (const SideBySideRow& row : rows) {
    if (!row.over_peer || *row.over_peer >= kMark) continue;
    std::string text = fmt::format("{}: {:.3f}x the speed of {}, the mark is {:.2f}x", row.name,
                                   *row.over_peer, row.peer, kMark);
    if (row.over_itself && std::abs(*row.over_itself - 1) >= 1 - *row.over_peer) {
      text += fmt::format("; against itself: {:.3f}x (within the noise)", *row.over_itself);
    }
    found.emplace_back(*row.over_peer, std::move(text));
  }
  return in_order(std::move(found));
}

std::string report_text(const std::vector<SideBySide>& all) {
  const std::vector<SideBySideRow> rows = summarise(all);
  std::vector<std::vector<std::string>> lines = {
      {"", "", "Emulsion", "spread", "peer", "spread", "Emulsion/", "Emulsion/", ""},
      {"", "unit", "", "%", "", "%", "peer", "itself", "peer"}};
  for (const SideBySideRow& row : rows) {
    lines.push_back({row.name, row.unit, number(row.emulsion_rate, 1), percent(row.emulsion_spread),
                     number(row.peer_rate, 1), percent(row.peer_spread), number(row.over_peer, 3),
                     number(row.over_itself, 3), row.peer});
  }
  return losses_text(losses(rows)) + '\n' + aligned(lines);
}

std::string report_json(const std::vector<SideBySide>& all) {
  using Json = nlohmann::ordered_json;
  const std::vector<SideBySideRow> rows = summarise(all);
  Json table = Json::array();
  for (const SideBySideRow& row : rows) {
    table.push_back({{"name", row.name},
                     {"peer", row.peer},
                     {"unit", row.unit},
                     {"emulsion_rate", json(row.emulsion_rate)},
                     {"emulsion_spread", json(row.emulsion_spread)},
                     {"peer_rate", json(row.peer_rate)},
                     {"peer_spread", json(row.peer_spread)},
                     {"emulsion_over_peer", json(row.over_peer)},
                     {"emulsion_over_itself", json(row.over_itself)}});
  }
  const Json report = {{"losses", losses(rows)}, {"rows", table}};
  return report.dump(1) + '\n';
}

}  // namespace emulsion::benchmarks
