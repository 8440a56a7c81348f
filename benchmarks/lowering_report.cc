#include "benchmarks/lowering_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "benchmarks/report_table.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsMark = 0.010;

}  // namespace

Lowering parse_lowering(const std::string& source, const std::string& line) {
  Lowering one;
  one.source = source;
  try {
    const Json json = Json::parse(line);
    one.name = json.at("step");
    one.loops = json.at("loops");
    one.seconds = json.at("seconds").get<Samples>();
  } catch (const Json::exception& error) {
    fail("{}: expected a step, its loops and its seconds, got '{}' ({})", source, line,
         error.what());
  }
  return one;
}

std::vector<std::string> losses(const std::vector<Lowering>& all) {
  std::vector<std::pair<double, std::string>> found;
  for (const Lowering& one : all) {
    const auto seconds = median(one.seconds);
    if (!seconds || *seconds < kSecondsMark) continue;
    found.emplace_back(kSecondsMark / *seconds,
                       fmt::format("{}, {}: {:.1f} ms, the mark is {:g} ms", one.source, one.name,
                                   *seconds * 1e3, kSecondsMark * 1e3));
  }
  return in_order(std::move(found));
}

std::string report_text(const std::vector<Lowering>& all) {
  std::vector<std::vector<std::string>> lines = {{"", "", "loops", "lower+verify", "spread"},
                                                 {"", "", "", "ms", "%"}};
  for (const Lowering& one : all) {
    lines.push_back({one.source, one.name, std::to_string(one.loops),
                     number(times(median(one.seconds), 1e3), 3), percent(spread(one.seconds))});
  }
  return losses_text(losses(all)) + '\n' + aligned(lines);
}

std::string report_json(const std::vector<Lowering>& all) {
  Json rows = Json::array();
  for (const Lowering& one : all) {
    const auto seconds = median(one.seconds), noise = spread(one.seconds);
    rows.push_back({{"source", one.source},
                    {"name", one.name},
                    {"loops", one.loops},
                    {"seconds", seconds ? Json(*seconds) : Json(nullptr)},
                    {"spread", noise ? Json(*noise) : Json(nullptr)}});
  }
  const Json report = {{"losses", losses(all)}, {"rows", rows}};
  return report.dump(1) + '\n';
}

}  // namespace emulsion::benchmarks
