#include "passes/lower/refusal.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>

#include "dsl/directive_table.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_axes.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

size_t indentation(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// In the text of a nest the second word says what a line is about: "for y.m in 4", "alloc mm[...",
// "execute mm[m, n] += ...".
std::string subject_of(const std::string& line) {
  std::istringstream words(line);
  std::string word, subject;
  words >> word >> subject;
  return subject.substr(0, subject.find('['));
}

std::vector<std::string> loops_of(const LoopNest& nest, const std::string& stage) {
  std::vector<std::string> loops;
  if (!nest.root) return loops;
  for_each_node(*nest.root, [&](const Node& node) {
    const Loop* loop = node.as<Loop>();
    if (loop && loop->stage == stage) loops.push_back(loop->axis);
  });
  return loops;
}

// What lines to mark: "y.m" for a loop, "y" for a storage and its uOps.
std::string marked_subject(const ScheduleRefusal& refusal, const LoopNest& before) {
  const Directive& d = refusal.directive();
  const bool elsewhere = has_argument(d.kind, ArgumentKind::consumer_loop);
  std::vector<LoopName> named;
  if (!refusal.loop().stage.empty()) named.push_back(refusal.loop());
  for (const std::string& axis : d.axes)
    named.push_back({elsewhere ? d.target : refusal.stage(), axis});
  std::string nearest;
  for (const LoopName& name : named) {
    const std::vector<std::string> loops = loops_of(before, name.stage);
    if (name.axis.empty()) continue;
    if (std::count(loops.begin(), loops.end(), name.axis)) return name.stage + "." + name.axis;
    if (nearest.empty() && !loops.empty()) {
      nearest = name.stage + "." + nearest_name(name.axis, loops);
    }
  }
  if (!nearest.empty() && refusal.loop().stage.empty()) return nearest;
  return refusal.loop().stage.empty() ? refusal.stage() : refusal.loop().stage;
}

// Of a long nest: what is marked, what is around it, and a few lines inside.
std::vector<bool> lines_to_show(const std::vector<std::string>& lines,
                                const std::vector<bool>& marked) {
  constexpr size_t kWhole = 40, kInside = 6;
  std::vector<bool> shown(lines.size(), lines.size() <= kWhole);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!marked[i]) continue;
    for (size_t at = i; at < lines.size() && at <= i + kInside; ++at) shown[at] = true;
    size_t depth = indentation(lines[i]);
    for (size_t at = i; at-- > 0;) {
      if (indentation(lines[at]) >= depth) continue;
      depth = indentation(lines[at]);
      shown[at] = true;
    }
  }
  return shown;
}

}  // namespace

std::vector<Schedule> schedules_before(const Schedule& schedule, const ScheduleRefusal& refusal) {
  std::vector<Schedule> result = {Schedule(schedule.graph())};
  Schedule before = schedule.without_directives();
  for (const std::string& name : stage_order(schedule.graph(), schedule.stages())) {
    for (const Directive& d : schedule.find(name)->directives()) {
      if (name == refusal.stage() && d == refusal.directive()) result.push_back(before);
      before[name].add(d);
    }
  }
  // The directive may be there twice; it was the second one then, unless what is before that does
  // not lower.
  std::reverse(result.begin(), result.end());
  return result;
}

ScheduleError explain(const ScheduleRefusal& refusal, const std::optional<LoopNest>& before) {
  const std::string& place = refusal.directive().place;
  const std::string message = (place.empty() ? "" : place + ": ") + refusal.message();
  if (!before) return ScheduleError(message, "");
  const std::vector<std::string> lines = lines_of(to_string(*before));
  const std::string subject = marked_subject(refusal, *before);
  std::vector<bool> marked;
  marked.reserve(lines.size());
  for (const std::string& line : lines) marked.push_back(subject_of(line) == subject);
  const std::vector<bool> shown = lines_to_show(lines, marked);
  std::string text = "the nest before it:";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (shown[i]) text += (marked[i] ? "\n--> " : "\n    ") + lines[i];
    if (!shown[i] && (i == 0 || shown[i - 1])) text += "\n    ...";
  }
  return ScheduleError(message, text);
}

}  // namespace emulsion
