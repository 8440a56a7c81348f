#include "tests/random/random_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "dsl/error.h"
#include "dsl/schedule_axes.h"
#include "dsl/schedule_text.h"
#include "passes/lower.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

const Names kTails = {"",           ", automatic",     ", guard",           ", predicate",
                      ", round_up", ", shift_inwards", ", predicate_loads", ", predicate_stores"};

// Draws one directive for a stage. What a new loop or stage is called, is new.
class DirectiveWriter {
 public:
  DirectiveWriter(const Graph& graph, const AxesOfStages& stages, RandomNumbers* random, int number)
      : graph_(graph), stages_(stages), random_(*random), number_(number) {
    for (const auto& [name, axes] : stages) names_.push_back(name);
  }

  // Nothing when the stage that was drawn has no use for what was drawn.
  std::optional<std::string> write() {
    stage_ = random_.of(names_);
    const StageAxes& axes = stages_.at(stage_);
    loops_ = axes.loops;
    reduction_.assign(axes.reduction_loops.begin(), axes.reduction_loops.end());
    pure_ = axes.pure;
    const std::optional<std::string> call = of_kind(random_.below(26));
    if (!call) return std::nullopt;
    return stage_ + "." + *call;
  }

 private:
  std::string fresh(const std::string& base) const { return fmt::format("{}{}", base, number_); }
  std::string any(const Names& names) { return names.empty() ? "none" : random_.of(names); }
  std::string loop() { return any(loops_); }
  int factor() { return random_.of(std::vector<int>{1, 2, 2, 3, 4, 4, 5, 8}); }
  std::string tail() { return random_.of(kTails); }

  std::string other_stage() {
    for (int i = 0; i < 4; ++i) {
      const std::string& name = random_.of(names_);
      if (name != stage_) return name;
    }
    return stage_;
  }

  std::string place(const std::string& directive) {
    const std::string target = other_stage();
    return fmt::format("{}({}, {})", directive, target, any(stages_.at(target).loops));
  }

  std::optional<std::string> of_kind(int kind) {
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return split(loop());
      case 3:
        return fuse();
      case 4:
      case 5:
        return reorder();
      case 6:
        return fmt::format("vectorize({})", loop());
      case 7:
        return fmt::format("vectorize({}, {}{})", loop(), factor(), tail());
      case 8:
        return fmt::format("unroll({})", loop());
      case 9:
        return fmt::format("unroll({}, {}{})", loop(), factor(), tail());
      case 10:
        return fmt::format("parallel({})", loop());
      case 11:
      case 12:
      case 13:
        return place("compute_at");
      case 14:
        return random_.chance(0.7) ? "compute_inline()" : "compute_root()";
      case 15:
        return place("store_at");
      case 16:
        return fmt::format("store_in({})", any({"heap", "stack", "registers"}));
      case 17:
        return storage();
      default:
        return structure(kind);
    }
  }

  std::string storage() {
    switch (random_.below(5)) {
      case 0:
        return "store_root()";
      case 1:
        return place("hoist_storage");
      case 2:
        return fmt::format("fold_storage({}, {})", any(pure_), 2 * factor());
      case 3:
        return fmt::format("align_storage({}, {})", any(pure_), 2 * factor());
      default:
        return fmt::format("reorder_storage({})", shuffled(pure_));
    }
  }

  // What makes other stages, or other loops of the same.
  std::optional<std::string> structure(int kind) {
    switch (kind) {
      case 18:
        return fmt::format("cache_write({})", fresh("acc"));
      case 19:
        return reduction_.empty() ? loop_of_reduction()
                                  : fmt::format("rfactor({}, {})", any(reduction_), fresh("part"));
      case 20:
        return loop_of_reduction();
      case 21:
        return fmt::format("copy_in({}, {})", operand(), fresh("copy"));
      case 22:
        return fmt::format("pack({}, {}, {})", operand(), any(pure_), factor());
      case 23:
        return random_.chance(0.5)
                   ? "atomic()"
                   : fmt::format("prefetch({}, {}, {})", operand(), loop(), random_.between(1, 2));
      case 24:
        return specialize();
      default:
        return place("compute_with");
    }
  }

  std::optional<std::string> loop_of_reduction() {
    if (reduction_.empty()) return std::nullopt;
    return split(any(reduction_));
  }

  std::optional<std::string> split(const std::string& axis) {
    const std::string outer = random_.chance(0.2) ? axis : fresh("o");
    return fmt::format("split({}, {}, {}, {}{})", axis, outer, fresh("i"), factor(), tail());
  }

  std::optional<std::string> fuse() {
    if (loops_.size() < 2) return std::nullopt;
    const auto at = static_cast<size_t>(random_.below(static_cast<int>(loops_.size()) - 1));
    return fmt::format("fuse({}, {}, {})", loops_[at], loops_[at + 1], fresh("f"));
  }

  std::optional<std::string> reorder() {
    if (loops_.size() < 2) return std::nullopt;
    return fmt::format("reorder({})", shuffled(loops_));
  }

  std::string shuffled(Names names) {
    for (size_t i = names.size(); i > 1; --i) {
      std::swap(names[i - 1], names[static_cast<size_t>(random_.below(static_cast<int>(i)))]);
    }
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  // Something that the operation reads.
  std::string operand() {
    Names read;
    if (const OpPtr* op = graph_.find(stage_)) {
      for (const OpPtr& from : operands(**op)) read.push_back(from->name);
    }
    return read.empty() ? other_stage() : random_.of(read);
  }

  std::optional<std::string> specialize() {
    if (graph_.sizes().empty()) return std::nullopt;
    const std::string condition = random_.of(Names{"== 1", ">= 4", "% 4 == 0", "== 5", "> 0"});
    return fmt::format("specialize({} {})", graph_.sizes().front(), condition);
  }

  const Graph& graph_;
  const AxesOfStages& stages_;
  RandomNumbers& random_;
  int number_;
  Names names_, loops_, reduction_, pure_;
  std::string stage_;
};

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
  AxesOfStages stages = initial_axes(graph);
  const int tries = random->between(4, 24);
  for (int i = 0; i < tries; ++i) {
    const auto line = DirectiveWriter(graph, stages, random, i).write();
    if (!line) continue;
    lines->push_back(*line);
    try {
      const Schedule schedule = parse_schedule(schedule_text(graph, *lines), graph);
      lower(graph, schedule);
      stages = axes_after(schedule);
    } catch (const Error&) {
      lines->pop_back();
      ++*refused;
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
