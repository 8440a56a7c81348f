#include "tests/random/smallest_program.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "tests/random/run_in_children.h"

namespace emulsion {
namespace {

constexpr size_t kWordsCompared = 6;  // of the first line of a message, without numbers
constexpr int kMostTries = 400;

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Where a whole word stands, from `from` on.
size_t find_word(const std::string& text, const std::string& word, size_t from = 0) {
  for (size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_part_of_name(text[at - 1]);
    const size_t end = at + word.size();
    if (starts && (end == text.size() || !is_part_of_name(text[end]))) return at;
  }
  return std::string::npos;
}

// Without what no output needs.
Lines without_unused(Lines lines) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < lines.size() && !changed; ++i) {
      const bool is_leaf = starts_with(lines[i], "input ") || starts_with(lines[i], "weight ");
      const size_t start = is_leaf ? lines[i].find(' ') + 1 : 0;
      if (!is_leaf && lines[i].find("] = ") == std::string::npos) {
        if (!starts_with(lines[i], "size ")) continue;
      }
      const std::string name =
          starts_with(lines[i], "size ")
              ? lines[i].substr(5)
              : lines[i].substr(start, lines[i].find_first_of("[:", start) - start);
      bool is_used = false;
      for (size_t j = 0; j < lines.size() && !is_used; ++j) {
        is_used = j != i && find_word(lines[j], name) != std::string::npos;
      }
      if (is_used) continue;
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
    }
  }
  return lines;
}

// One output, an output less, an argument for an operation, a smaller number.
std::vector<Lines> smaller_ones(const Graph& graph) {
  const Lines lines = lines_of(to_string(graph));
  Lines without_outputs;
  for (const std::string& line : lines) {
    if (!starts_with(line, "output ")) without_outputs.push_back(line);
  }
  std::vector<Lines> smaller;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind != OpKind::compute) continue;
    if (graph.outputs().size() == 1 && op == graph.outputs()[0]) continue;
    smaller.push_back(without_outputs);
    smaller.back().push_back("output " + op->name);
  }
  for (size_t i = 0; i < lines.size() && graph.outputs().size() > 1; ++i) {
    if (!starts_with(lines[i], "output ")) continue;
    smaller.push_back(lines);
    smaller.back().erase(smaller.back().begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const OpPtr& op : graph.ops()) {
    if (op->kind != OpKind::compute || graph.is_output(*op)) continue;
    Lines given;
    bool is_behind_sizes = false;
    for (const std::string& line : lines) {
      if (!is_behind_sizes && !starts_with(line, "size ") && !starts_with(line, "emulsion ")) {
        is_behind_sizes = true;
        given.push_back("input " + op->name + ": " + to_string(op->dtype) + to_string(op->shape));
      }
      if (!starts_with(line, op->name + "[")) given.push_back(line);
    }
    smaller.push_back(given);
  }
  std::set<std::string> numbers;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    for (size_t at = 0; at < line.size(); ++at) {
      if (!is_digit(line[at])) continue;
      size_t end = at;
      while (end < line.size() && is_part_of_name(line[end])) ++end;
      const std::string word = line.substr(at, end - at);
      const bool is_whole = std::all_of(word.begin(), word.end(), is_digit);
      if ((at == 0 || !is_part_of_name(line[at - 1])) && is_whole && word.size() < 5) {
        numbers.insert(word);
      }
      at = end;
    }
  }
  for (const std::string& word : numbers) {
    const int value = std::stoi(word);
    std::set<int> others = {1, 2, value / 2, value - 1};
    for (const int other : others) {
      if (other < 1 || other >= value) continue;
      Lines changed = lines;
      for (size_t i = 1; i < changed.size(); ++i) {
        const std::string text = std::to_string(other);
        for (size_t at = find_word(changed[i], word); at != std::string::npos;
             at = find_word(changed[i], word, at + text.size())) {
          changed[i].replace(at, word.size(), text);
        }
      }
      smaller.push_back(changed);
    }
  }
  return smaller;
}

// What a message is about.
std::string topic_of(const std::string& message) {
  std::istringstream words(message.substr(0, message.find('\n')));
  std::string topic, word;
  for (size_t count = 0; count < kWordsCompared && words >> word;) {
    if (std::any_of(word.begin(), word.end(), is_digit)) continue;
    topic += word + " ";
    ++count;
  }
  return topic;
}

std::string wrong_in_child(const ScheduleProgram& program, const WhatIsWrong& what_is_wrong) {
  const auto task = [&] { return what_is_wrong(program); };
  const std::vector<TaskResult> results = run_in_children({task});
  return results[0].text + results[0].crash;
}

}  // namespace

ScheduleProgram smallest_program(const ScheduleProgram& program, const WhatIsWrong& what_is_wrong) {
  const std::string topic = topic_of(wrong_in_child(program, what_is_wrong));
  ScheduleProgram smallest = program;
  int tries = 0;
  const auto fails = [&](const ScheduleProgram& part) {
    if (++tries > kMostTries) return false;
    const std::string wrong = wrong_in_child(part, what_is_wrong);
    return !wrong.empty() && topic_of(wrong) == topic;
  };
  for (size_t i = 0; i < program.runs.size() && program.runs.size() > 1; ++i) {
    ScheduleProgram one = smallest;
    one.runs = {program.runs[i]};
    if (!fails(one)) continue;
    smallest = one;
    break;
  }
  for (bool changed = true; changed && tries < kMostTries;) {
    changed = false;
    for (const Lines& lines : smaller_ones(smallest.graph)) {
      ScheduleProgram part = smallest;
      try {
        part.graph = parse_graph(text_of(without_unused(lines)));
      } catch (const Error&) {  // a number that another depends on
        continue;
      }
      if (!fails(part)) continue;
      smallest = part;
      changed = true;
      break;
    }
  }
  return smallest;
}

}  // namespace emulsion
