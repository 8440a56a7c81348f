#ifndef EMULSION_BENCHMARKS_REPORT_TABLE_H_
#define EMULSION_BENCHMARKS_REPORT_TABLE_H_

// What the tables for people have in common. A dash is what was not measured.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emulsion::benchmarks {

std::string number(const std::optional<double>& value, int decimals);
std::optional<double> times(const std::optional<double>& value, double factor);
// 0.123 as "12.3".
std::string percent(const std::optional<double>& share);

// Columns as wide as their widest cell, numbers to the right; lines end with a newline.
std::string aligned(const std::vector<std::vector<std::string>>& lines);
// The lines alone, the one with the smallest number first.
std::vector<std::string> in_order(std::vector<std::pair<double, std::string>> numbered);
// "losses: none", or "losses:" and a line for each.
std::string losses_text(const std::vector<std::string>& lines);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_REPORT_TABLE_H_
