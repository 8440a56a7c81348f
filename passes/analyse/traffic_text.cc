// Traffic as a table, as JSON and as a comparison (passes/analyse/measure_traffic.h).

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dsl/error.h"
#include "passes/analyse/measure_traffic.h"

namespace emulsion {
namespace {

std::string change(const char* what, int64_t before, int64_t after, const char* unit) {
  std::string text = fmt::format("{}: {} -> {} {}", what, before, after, unit);
  if (before == after || before == 0) return text + (before == after ? ", the same" : "");
  const double share = static_cast<double>(after) / static_cast<double>(before);
  return text + (share < 1 ? fmt::format(", {:.1f} % less", 100 * (1 - share))
                           : fmt::format(", {:.1f} % more", 100 * (share - 1)));
}

}  // namespace

std::string to_string(TrafficModel model) { return model == TrafficModel::pass ? "pass" : "uop"; }

std::string to_string(const Traffic& traffic) {
  size_t width = 6;
  for (const BufferTraffic& b : traffic.buffers) width = std::max(width, b.buffer.size());
  std::string text = fmt::format("{:<{}}  {:<8}  {:>12}  {:>12}  {:>12}\n", "buffer", width, "role",
                                 "read", "written", "bytes");
  for (const BufferTraffic& b : traffic.buffers) {
    text += fmt::format("{:<{}}  {:<8}  {:>12}  {:>12}  {:>12}\n", b.buffer, width,
                        to_string(b.role), b.read, b.written, b.bytes());
  }
  text += fmt::format("results: {} elements; in all: {} elements, {} bytes\n",
                      traffic.result_elements(), traffic.elements(), traffic.bytes());
  return text;
}

std::string to_json(const Traffic& traffic) {
  nlohmann::ordered_json json;
  json["model"] = to_string(traffic.model);
  json["buffers"] = nlohmann::ordered_json::array();
  for (const BufferTraffic& b : traffic.buffers) {
    json["buffers"].push_back({{"buffer", b.buffer},
                               {"role", to_string(b.role)},
                               {"element_bytes", b.element_bytes},
                               {"read", b.read},
                               {"written", b.written},
                               {"bytes", b.bytes()}});
  }
  json["elements"] = traffic.elements();
  json["bytes"] = traffic.bytes();
  json["result_elements"] = traffic.result_elements();
  return json.dump();
}

std::string compare_traffic(const Traffic& before, const Traffic& after) {
  return change("results", before.result_elements(), after.result_elements(), "elements") + "\n" +
         change("in all", before.elements(), after.elements(), "elements") + "\n" +
         change("in all", before.bytes(), after.bytes(), "bytes") + "\n";
}

}  // namespace emulsion
