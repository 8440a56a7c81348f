#include "tests/random/random_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "dsl/error.h"
#include "dsl/schedule_axes.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the words of a line are, and how long: names and numbers.
std::vector<std::pair<size_t, size_t>> words_of(const std::string& line) {
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end > i) words.emplace_back(i, end - i);
    i = std::max(end, i + 1);
  }
  return words;
}

std::string other_word(const ScheduleLines& lines, const Graph& graph, const std::string& word,
                       RandomNumbers* random) {
  static const Names kNumbers = {"0", "-1",   "1",          "3",
                                 "7", "1000", "2147483648", "9223372036854775807"};
  static const Names kNames = {"q",         "split",    "fuse",    "vectorize",   "parallel",
                               "unroll",    "store_at", "rfactor", "atomic",      "compute_at",
                               "registers", "round_up", "heap",    "cache_write", "shift_inwards"};
  if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
    return random->of(kNumbers);
  }
  if (random->chance(0.2)) return random->of(kNames);
  if (random->chance(0.3)) return random->of(graph.ops())->name;
  const std::string& line = random->of(lines);
  const auto words = words_of(line);
  const auto [at, size] = random->of(words);
  return line.substr(at, size);
}

}  // namespace

std::string schedule_text(const Graph& graph, const ScheduleLines& lines) {
  std::string text = to_string(Schedule(graph));  // the header
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void draw_legal_schedule(const Graph& graph, RandomNumbers* random, ScheduleLines* lines,
                         int* refused) {
  Schedule schedule(graph);
  LoopsOfStages stages = initial_loops(graph);
  const int moves = random->between(4, 24);
  for (int i = 0; i < moves; ++i) {
    const ScheduleLines move = draw_directives(graph, schedule, stages, random, i);
    if (move.empty()) continue;
    const size_t before = lines->size();
    lines->insert(lines->end(), move.begin(), move.end());
    try {
      const Schedule longer = parse_schedule(schedule_text(graph, *lines), graph);
      lower(graph, longer);
      stages = loops_after(longer);
      schedule = longer;
    } catch (const Error&) {
      lines->resize(before);
      *refused += static_cast<int>(move.size());
    }
  }
}

ScheduleLines with_a_mistake(const Graph& graph, const ScheduleLines& lines,
                             RandomNumbers* random) {
  ScheduleLines result = lines;
  const auto at = static_cast<size_t>(random->below(static_cast<int>(lines.size())));
  const auto other = static_cast<size_t>(random->below(static_cast<int>(lines.size())));
  switch (random->below(8)) {
    case 0:
      std::swap(result[at], result[other]);
      return result;
    case 1:
      result.insert(result.begin() + static_cast<std::ptrdiff_t>(other), lines[at]);
      return result;
    case 2:
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(at));
      return result;
    default: {
      const auto [from, size] = random->of(words_of(lines[at]));
      const std::string word = lines[at].substr(from, size);
      result[at].replace(from, size, other_word(lines, graph, word, random));
      return result;
    }
  }
}

}  // namespace emulsion
