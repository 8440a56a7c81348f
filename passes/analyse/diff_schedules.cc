#include "passes/analyse/diff_schedules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_axes.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

using Lines = std::vector<std::string>;
using Json = nlohmann::ordered_json;

// Beyond this, the columns are no longer beside each other on any screen.
constexpr size_t kWidestColumn = 100;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Lines directives_of(const Schedule& schedule, const std::string& stage) {
  Lines lines;
  if (const StageSchedule* found = schedule.find(stage)) {
    for (const Directive& d : found->directives()) lines.push_back(to_string(d));
  }
  return lines;
}

// length[i][j]: of the longest common subsequence of what stands behind i and j.
std::vector<std::vector<uint32_t>> common_lengths(const Lines& left, const Lines& right) {
  std::vector<std::vector<uint32_t>> length(left.size() + 1,
                                            std::vector<uint32_t>(right.size() + 1, 0));
  for (size_t i = left.size(); i-- > 0;) {
    for (size_t j = right.size(); j-- > 0;) {
      length[i][j] = left[i] == right[j] ? length[i + 1][j + 1] + 1
                                         : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  return length;
}

// What differs between two common lines: side by side as far as both go.
void add_pairs(const Lines& left, const Lines& right, std::vector<DiffRow>* rows) {
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    DiffRow row;
    if (i < left.size()) row.left = left[i];
    if (i < right.size()) row.right = right[i];
    rows->push_back(std::move(row));
  }
}

// The stages that either schedule names. Those that only one of them makes follow where they stand
// in it.
Lines stages_of(const Schedule& left, const Schedule& right) {
  std::map<std::string, StageSchedule> both = left.stages();
  both.insert(right.stages().begin(), right.stages().end());
  Lines stages = stage_order(left.graph(), left.stages());
  for (const std::string& name : stage_order(right.graph(), both)) {
    if (std::find(stages.begin(), stages.end(), name) == stages.end()) stages.push_back(name);
  }
  return stages;
}

ScheduleDiff::Side side_of(const Schedule& schedule, const SizeValues& sizes, Lines* nest_lines) {
  ScheduleDiff::Side side;
  try {
    const LoopNest nest = lower(schedule.graph(), schedule);
    *nest_lines = lines_of(to_string(nest));
    const bool known = std::all_of(nest.sizes.begin(), nest.sizes.end(),
                                   [&](const auto& name) { return sizes.count(name) > 0; });
    if (known) {
      side.counts = count_uops(nest, sizes);
      side.work = measure_work(nest, sizes);
    }
  } catch (const Error& error) {
    side.error = error.what();
    *nest_lines = {"refused:"};
    for (const std::string& line : lines_of(side.error)) nest_lines->push_back("  " + line);
  }
  return side;
}

std::string marker(const DiffRow& row) {
  if (!row.left) return ">";
  if (!row.right) return "<";
  return row.same() ? " " : "|";
}

size_t widest_left(const ScheduleDiff& diff) {
  size_t widest = 0;
  const auto look = [&](const std::vector<DiffRow>& rows) {
    for (const DiffRow& row : rows) widest = std::max(widest, row.left.value_or("").size());
  };
  for (const ScheduleDiff::StageRows& stage : diff.stages) look(stage.rows);
  look(diff.nest);
  return std::min(widest, kWidestColumn);
}

std::string rows_text(const std::vector<DiffRow>& rows, size_t width) {
  std::string text;
  for (const DiffRow& row : rows) {
    std::string line = fmt::format("  {:<{}} {} {}", row.left.value_or(""), width, marker(row),
                                   row.right.value_or(""));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string not_counted(const ScheduleDiff::Side& side) {
  return side.error.empty() ? "not counted: a size has no value" : "refused";
}

std::string counts_text(const ScheduleDiff::Side& side) {
  if (!side.counts) return not_counted(side);
  return fmt::format("{} loads, {} executes, {} stores", side.counts->loads, side.counts->executes,
                     side.counts->stores);
}

std::string work_text(const ScheduleDiff::Side& side, const std::optional<Work>& unscheduled) {
  return side.work && unscheduled ? summary(*side.work, *unscheduled) : not_counted(side);
}

Json work_json(const Work& work) {
  return {{"operations", work.operations()},
          {"reuse_distance", work.reuse_distance()},
          {"span", work.span()},
          {"parallel", work.parallel()},
          {"peak_bytes", work.peak_bytes}};
}

Json rows_json(const std::vector<DiffRow>& rows) {
  Json json = Json::array();
  for (const DiffRow& row : rows) {
    Json entry = Json::object();
    if (row.left) entry["left"] = *row.left;
    if (row.right) entry["right"] = *row.right;
    json.push_back(std::move(entry));
  }
  return json;
}

Json side_json(const ScheduleDiff::Side& side) {
  Json json = Json::object();
  if (!side.error.empty()) json["error"] = side.error;
  if (side.counts) {
    json["uops"] = {{"loads", side.counts->loads},
                    {"executes", side.counts->executes},
                    {"stores", side.counts->stores}};
  }
  if (side.work) json["work"] = work_json(*side.work);
  return json;
}

}  // namespace

std::vector<DiffRow> diff_lines(const Lines& left, const Lines& right) {
  const auto length = common_lengths(left, right);
  std::vector<DiffRow> rows;
  Lines only_left, only_right;
  size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    if (i < left.size() && j < right.size() && left[i] == right[j]) {
      add_pairs(only_left, only_right, &rows);
      only_left.clear();
      only_right.clear();
      rows.push_back({left[i++], right[j++]});
    } else if (j == right.size() || (i < left.size() && length[i + 1][j] >= length[i][j + 1])) {
      only_left.push_back(left[i++]);
    } else {
      only_right.push_back(right[j++]);
    }
  }
  add_pairs(only_left, only_right, &rows);
  return rows;
}

bool ScheduleDiff::same() const {
  return std::all_of(stages.begin(), stages.end(), [](const StageRows& stage) {
    return std::all_of(stage.rows.begin(), stage.rows.end(),
                       [](const DiffRow& row) { return row.same(); });
  });
}

ScheduleDiff diff_schedules(const Schedule& left, const Schedule& right, const SizeValues& sizes) {
  if (to_string(left.graph()) != to_string(right.graph())) {
    fail("diff_schedules: expected two schedules of one graph, got one of {} and one of {}",
         left.graph().outputs().front()->name, right.graph().outputs().front()->name);
  }
  ScheduleDiff diff;
  for (const std::string& stage : stages_of(left, right)) {
    std::vector<DiffRow> rows = diff_lines(directives_of(left, stage), directives_of(right, stage));
    if (!rows.empty()) diff.stages.push_back({stage, std::move(rows)});
  }
  Lines left_nest, right_nest;
  diff.left = side_of(left, sizes, &left_nest);
  diff.right = side_of(right, sizes, &right_nest);
  diff.nest = diff_lines(left_nest, right_nest);
  Lines ignored;
  diff.unscheduled = side_of(Schedule(left.graph()), sizes, &ignored).work;
  return diff;
}

std::string to_string(const ScheduleDiff& diff) {
  const size_t width = widest_left(diff);
  std::string text = diff.same() ? "directives: the same\n" : "directives\n";
  for (const ScheduleDiff::StageRows& stage : diff.stages) {
    text += stage.stage + "\n" + rows_text(stage.rows, width);
  }
  text += "nest\n" + rows_text(diff.nest, width);
  text += "uops\n  left:  " + counts_text(diff.left) + "\n  right: " + counts_text(diff.right);
  text += "\nwork, 1x without directives\n  left:  " + work_text(diff.left, diff.unscheduled);
  return text + "\n  right: " + work_text(diff.right, diff.unscheduled) + "\n";
}

std::string to_json(const ScheduleDiff& diff) {
  Json stages = Json::array();
  for (const ScheduleDiff::StageRows& stage : diff.stages) {
    stages.push_back({{"stage", stage.stage}, {"rows", rows_json(stage.rows)}});
  }
  const Json json = {{"version", 1},
                     {"same", diff.same()},
                     {"stages", std::move(stages)},
                     {"nest", rows_json(diff.nest)},
                     {"left", side_json(diff.left)},
                     {"right", side_json(diff.right)},
                     {"unscheduled", diff.unscheduled ? work_json(*diff.unscheduled) : Json()}};
  return json.dump(2) + "\n";
}

}  // namespace emulsion
