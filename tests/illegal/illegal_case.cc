#include "tests/illegal/illegal_case.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <sstream>
#include <vector>

#include "dsl/error.h"
#include "dsl/schedule.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

struct Text {
  std::string with, without;  // the marked line
  std::string marked;         // that line
  int number = 0;             // of that line in `with`; the first line is 1, a header
};

Text text_of(const IllegalCase& c, const Graph& graph) {
  Text text;
  text.with = text.without = to_string(Schedule(graph));  // the header
  std::istringstream lines(c.schedule);
  int number = 1;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool marked = line.rfind("! ", 0) == 0;
    if (marked) line = line.substr(2);
    text.with += line + "\n";
    if (!marked) text.without += line + "\n";
    if (marked) text.marked = line;
    if (marked) text.number = number;
  }
  return text;
}

struct Message {
  std::string text;
  bool of_schedule = false;  // a ScheduleError
};

// What lower() or the parser says; nothing when neither refuses.
std::optional<Message> refusal_of(const std::string& schedule, const Graph& graph) {
  try {
    lower(graph, parse_schedule(schedule, graph));
  } catch (const ScheduleError& error) {
    return Message{error.what(), true};
  } catch (const Error& error) {
    return Message{error.what(), false};
  }
  return std::nullopt;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// tile, and vectorize and unroll with a factor, are written as two directives or three: the
// message names the one of them that is refused.
bool stands_for_several(const std::string& directive) {
  const std::string call = directive.substr(directive.find('.') + 1);
  const bool counted = call.rfind("vectorize(", 0) == 0 || call.rfind("unroll(", 0) == 0;
  return call.rfind("tile(", 0) == 0 || (counted && contains(call, ","));
}

// Nothing when the message is as it should be.
std::string fault_of(const IllegalCase& c, const Text& text, const Message& found) {
  const std::string& message = found.text;
  const std::string stage = text.marked.substr(0, text.marked.find('.'));
  const std::string first = message.substr(0, message.find('\n'));
  if (!contains(first, c.cause)) return "the first line does not name the cause";
  const std::string line = fmt::format("line {}", text.number);
  if (contains(first, ": " + stage + ".") && !found.of_schedule) return "expected a ScheduleError";
  if (message.rfind(line + ", column ", 0) == 0) return "";  // the parser has no nest to show
  std::string start = line + ": " + text.marked + ": ";
  if (stands_for_several(text.marked)) start = start.substr(0, start.find('.') + 1);
  if (first.rfind(start, 0) != 0) return "expected the first line to start with " + start;
  if (!contains(first, "; legal: ") && !contains(first, "; nearest: ")) {
    return "expected the nearest legal choice";
  }
  if (!contains(message, "\nthe nest before it:\n")) return "expected a nest";
  // What is computed inline has no line.
  const bool there = contains(message, " " + stage + "[");
  return !there || contains(message, "\n-->") ? "" : "expected a marked line";
}

}  // namespace

testing::AssertionResult refuses(const IllegalCase& c) {
  try {
    const Graph graph = illegal_graph(c.graph);
    const Text text = text_of(c, graph);
    if (text.number == 0) return testing::AssertionFailure() << "no line is marked";
    if (const auto message = refusal_of(text.without, graph)) {
      return testing::AssertionFailure()
             << "refused without the marked line, too: " << message->text;
    }
    const auto message = refusal_of(text.with, graph);
    if (!message) return testing::AssertionFailure() << "accepted\n" << text.with;
    const std::string fault = fault_of(c, text, *message);
    if (fault.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << fault << "\ncause: " << c.cause << "\nmessage: " << message->text;
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "not the user's fault: " << error.what();
  }
}

}  // namespace emulsion
