#include "benchmarks/report_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace emulsion::benchmarks {

std::string number(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::optional<double> times(const std::optional<double>& value, double factor) {
  return value ? std::optional<double>(*value * factor) : std::nullopt;
}

std::string percent(const std::optional<double>& share) { return number(times(share, 100), 1); }

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      text += i == 0 ? fmt::format("{:<{}}", line[i], widths[i])
                     : fmt::format("  {:>{}}", line[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

std::vector<std::string> in_order(std::vector<std::pair<double, std::string>> numbered) {
  std::stable_sort(numbered.begin(), numbered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  lines.reserve(numbered.size());
  for (auto& [number, line] : numbered) lines.push_back(std::move(line));
  return lines;
}

std::string losses_text(const std::vector<std::string>& lines) {
  if (lines.empty()) return "losses: none\n";
  std::string text = "losses:\n";
  for (const std::string& line : lines) text += "  " + line + '\n';
  return text;
}

}  // namespace emulsion::benchmarks
