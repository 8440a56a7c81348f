#include "dsl/schedule_file.h"

#include <string_view>

#include "dsl/files.h"
#include "dsl/schedule_json.h"
#include "dsl/schedule_text.h"

namespace emulsion {
namespace {

bool is_json(std::string_view path) {
  constexpr std::string_view kEnding = ".json";
  return path.size() > kEnding.size() && path.substr(path.size() - kEnding.size()) == kEnding;
}

}  // namespace

Schedule read_schedule(const std::string& path, const Graph& graph) {
  const std::string content = read_file("schedule", path);
  const std::string origin = "schedule " + path + ": ";
  return is_json(path) ? schedule_from_json(content, graph, origin)
                       : parse_schedule(content, graph, origin);
}

void write_schedule(const std::string& path, const Schedule& schedule) {
  write_file("schedule", path, is_json(path) ? to_json(schedule) : to_string(schedule));
}

}  // namespace emulsion
