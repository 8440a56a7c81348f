#include "dsl/schedule_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/expr_parser.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_axes.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

constexpr int kVersion = 1;

// What may be written: a directive as the table has it, or a spelling of several.
struct Spelling {
  const char* name;
  DirectiveArguments arguments;
  // Nothing: the directive is its kind and its arguments.
  void (*add)(const Directive& named, const std::vector<int64_t>& factors,
              StageSchedule* stage) = nullptr;
};

void add_tile(const Directive& d, const std::vector<int64_t>& factors, StageSchedule* stage) {
  const std::vector<Axis> axes(d.axes.begin(), d.axes.end());
  stage->tile(axes[0], axes[1], axes[2], axes[3], axes[4], axes[5], factors[0], factors[1], d.tail);
}

void add_vectorize(const Directive& d, const std::vector<int64_t>& factors, StageSchedule* stage) {
  stage->vectorize(Axis(d.axes[0]), factors[0], d.tail);
}

void add_unroll(const Directive& d, const std::vector<int64_t>& factors, StageSchedule* stage) {
  stage->unroll(Axis(d.axes[0]), factors[0], d.tail);
}

std::vector<Spelling> all_spellings() {
  constexpr DirectiveArgument kLoop = {ArgumentKind::loop, "axis"};
  constexpr DirectiveArgument kOuter = {ArgumentKind::new_loop, "outer"};
  constexpr DirectiveArgument kInner = {ArgumentKind::new_loop, "inner"};
  constexpr DirectiveArgument kFactor = {ArgumentKind::factor, "factor"};
  constexpr DirectiveArgument kTail = {ArgumentKind::tail, "tail"};
  std::vector<Spelling> all;
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const auto kind = static_cast<DirectiveKind>(i);
    const DirectiveForm& form = form_of(kind);
    all.push_back({form.name, form.arguments});
    if (kind == DirectiveKind::split) {
      all.push_back({"tile",
                     {{kLoop, kLoop, kOuter, kOuter, kInner, kInner, kFactor, kFactor, kTail}},
                     add_tile});
    } else if (kind == DirectiveKind::vectorize) {
      all.push_back({form.name, {{kLoop, kFactor, kTail}}, add_vectorize});
    } else if (kind == DirectiveKind::unroll) {
      all.push_back({form.name, {{kLoop, kFactor, kTail}}, add_unroll});
    }
  }
  return all;
}

const std::vector<Spelling>& spellings() {
  static const std::vector<Spelling> kAll = all_spellings();
  return kAll;
}

// "vectorize(axis) or vectorize(axis, factor[, tail])": every spelling of that name.
std::string usage(std::string_view name) {
  std::string text;
  for (const Spelling& spelling : spellings()) {
    if (name != spelling.name) continue;
    text += (text.empty() ? "" : " or ") + usage_of(name, spelling.arguments);
  }
  return text;
}

template <typename Kind>
Kind parse_word(const Token& token, int count, const std::string& what) {
  std::vector<std::string> legal;
  for (int i = 0; i < count; ++i) {
    legal.push_back(to_string(static_cast<Kind>(i)));
    if (token.kind == TokenKind::name && legal.back() == token.text) return static_cast<Kind>(i);
  }
  fail_expected(token, what + " (" + list_names(legal) + ")");
}

class ScheduleParser {
 public:
  ScheduleParser(const std::string& text, const Graph& graph, std::string origin)
      : lexer_(text), schedule_(graph), origin_(std::move(origin)) {}

  Schedule parse() {
    lexer_.expect_header("schedule", kVersion);
    for (lexer_.skip_newlines(); lexer_.peek().kind != TokenKind::end; lexer_.skip_newlines()) {
      parse_line();
    }
    DirectivePlace place;
    try {
      loops_after(schedule_, &place);
    } catch (const ScheduleError& error) {
      const Token& stage = places_[place.stage][place.index];
      throw ScheduleError(fmt::format("{}: {}", place_of(stage), error.what()));
    }
    return schedule_;
  }

 private:
  struct Argument {
    Token token;
    int64_t number = 0;  // when it is one
  };

  void parse_line() {
    Token stage = lexer_.expect_name("an operation, as in y.parallel(m)");
    at_place(stage, [&] { check_identifier("operation", stage.str()); });
    lexer_.expect(".");
    Token name = lexer_.expect_name("a directive");
    const std::optional<DirectiveKind> kind = directive_kind_of(name.text);
    if (kind && has_argument(*kind, ArgumentKind::condition)) return parse_condition(stage, *kind);
    if (kind && has_argument(*kind, ArgumentKind::index)) return parse_at_index(stage, *kind);
    std::vector<Argument> arguments = parse_arguments();
    append(stage, find_spelling(name, arguments), arguments);
    lexer_.expect_end_of_line();
  }

  // A directive whose first argument is an expression; of others only a new stage may follow.
  void parse_condition(const Token& stage, DirectiveKind kind) {
    ExprScope scope;
    for (const std::string& size : schedule_.graph().sizes()) scope.sizes.insert(size);
    lexer_.expect("(");
    Directive directive;
    directive.kind = kind;
    const Token start = lexer_.peek();
    directive.condition = parse_expr(&lexer_, scope);
    if (makes_stage(kind)) {
      lexer_.expect(",");
      const Token made = lexer_.expect_name("a name for the new stage");
      at_place(made, [&] { check_identifier("operation", made.str()); });
      directive.target = made.str();
    }
    lexer_.expect(")");
    at_place(start, [&] { check_condition(directive.condition, to_string(kind)); });
    add(stage, StageSchedule().add(directive));
    lexer_.expect_end_of_line();
  }

  // A directive of an axis and an index of it.
  void parse_at_index(const Token& stage, DirectiveKind kind) {
    lexer_.expect("(");
    const Token axis = lexer_.expect_name("an axis, as in y.cut(n, 2*B + 1)");
    at_place(axis, [&] { check_identifier("axis", axis.str()); });
    lexer_.expect(",");
    Directive directive;
    directive.kind = kind;
    directive.axes = {axis.str()};
    const std::vector<std::string>& sizes = schedule_.graph().sizes();
    directive.at = parse_extent(&lexer_, {sizes.begin(), sizes.end()});
    lexer_.expect(")");
    add(stage, StageSchedule().add(directive));
    lexer_.expect_end_of_line();
  }

  // What a line of that stage has made.
  void add(const Token& stage, const StageSchedule& made) {
    for (Directive directive : made.directives()) {
      directive.place = fmt::format("{}line {}", origin_, stage.line);
      schedule_[stage.str()].add(std::move(directive));
      places_[stage.str()].push_back(stage);
    }
  }

  std::vector<Argument> parse_arguments() {
    std::vector<Argument> arguments;
    lexer_.expect("(");
    if (lexer_.accept(")")) return arguments;
    if (lexer_.peek().text == "{") {
      fail_expected(lexer_.peek(), "names without the braces of C++, as in y.reorder(n, m)");
    }
    do {
      Argument argument{lexer_.peek(), 0};
      if (argument.token.kind == TokenKind::name) {
        lexer_.next();
      } else {
        argument.number = lexer_.expect_integer("a name or an integer");
        argument.token.kind = TokenKind::number;
      }
      arguments.push_back(argument);
    } while (lexer_.accept(","));
    if (!lexer_.accept(")")) fail_expected(lexer_.peek(), "',' or ')'");
    return arguments;
  }

  static bool fits(const Spelling& spelling, size_t count) {
    size_t most = 0, least = 0;
    for (const DirectiveArgument& argument : spelling.arguments) {
      if (is_list(argument.kind)) return count > 0;
      if (argument.kind == ArgumentKind::none) break;
      ++most;
      if (argument.kind != ArgumentKind::tail) ++least;
    }
    return least <= count && count <= most;
  }

  static const Spelling& find_spelling(const Token& name, const std::vector<Argument>& arguments) {
    bool is_there = false;
    std::vector<std::string> legal;
    for (const Spelling& spelling : spellings()) {
      if (legal.empty() || legal.back() != spelling.name) legal.emplace_back(spelling.name);
      if (name.text != spelling.name) continue;
      is_there = true;
      if (fits(spelling, arguments.size())) return spelling;
    }
    if (name.text == "split_reduction") {
      fail_at(name,
              "expected split(axis, axis, lane, factor) and rfactor(lane, new stage), got "
              "split_reduction, which is no longer a directive");
    }
    if (!is_there) fail_at(name, expected_name("a directive", legal, name.str()));
    fail_at(name, fmt::format("expected {}, got {} argument{}", usage(name.text), arguments.size(),
                              arguments.size() == 1 ? "" : "s"));
  }

  void append(const Token& stage, const Spelling& spelling,
              const std::vector<Argument>& arguments) {
    Directive directive;
    std::vector<int64_t> factors;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Token& token = arguments[i].token;
      // A list is the only argument.
      const ArgumentKind first = spelling.arguments[0].kind;
      const ArgumentKind kind = is_list(first) ? first : spelling.arguments[i].kind;
      switch (kind) {
        case ArgumentKind::factor:
          factors.push_back(factor_of(spelling, i, arguments[i]));
          break;
        case ArgumentKind::tail:
          directive.tail = parse_word<Tail>(token, kTails, "a tail");
          break;
        case ArgumentKind::memory:
          directive.memory = parse_word<Memory>(token, kMemories, "a memory");
          break;
        case ArgumentKind::operand:
          directive.operand = name_of("operation", spelling, i, token);
          break;
        case ArgumentKind::consumer:
        case ArgumentKind::buffer:
        case ArgumentKind::new_stage:
          directive.target = name_of("operation", spelling, i, token);
          break;
        case ArgumentKind::loop:
        case ArgumentKind::loops:
        case ArgumentKind::reduction_loop:
        case ArgumentKind::new_loop:
        case ArgumentKind::axis:
        case ArgumentKind::stored_axis:
        case ArgumentKind::stored_axes:
        case ArgumentKind::consumer_loop:
        case ArgumentKind::shared_loop:
          directive.axes.push_back(name_of("axis", spelling, i, token));
          break;
        case ArgumentKind::none:
        case ArgumentKind::condition:  // parse_condition
        case ArgumentKind::index:      // parse_at_index
          EMULSION_CHECK(false, "no text form of argument {} of {}", i + 1, spelling.name);
      }
    }
    if (!factors.empty()) directive.factor = factors[0];
    record(stage, spelling, directive, factors);
  }

  // `what`: "axis" or "operation".
  static std::string name_of(const std::string& what, const Spelling& spelling, size_t i,
                             const Token& token) {
    if (token.kind != TokenKind::name) {
      fail_expected(token,
                    fmt::format("an {} for argument {} of {}", what, i + 1, usage(spelling.name)));
    }
    at_place(token, [&] { check_identifier(what, token.str()); });
    return token.str();
  }

  static int64_t factor_of(const Spelling& spelling, size_t i, const Argument& argument) {
    if (argument.token.kind != TokenKind::number) {
      fail_expected(argument.token,
                    fmt::format("an integer for argument {} of {}", i + 1, usage(spelling.name)));
    }
    if (argument.number < 1) {
      throw ScheduleError(
          fmt::format("{}: argument {} (factor) of {}: expected a positive integer, got {}",
                      place_of(argument.token), i + 1, spelling.name, argument.number));
    }
    return argument.number;
  }

  void record(const Token& token, const Spelling& spelling, Directive directive,
              const std::vector<int64_t>& factors) {
    StageSchedule stage;
    at_place(token, [&] {
      if (spelling.add != nullptr) {
        spelling.add(directive, factors, &stage);
      } else {
        directive.kind = *directive_kind_of(spelling.name);
        stage.add(std::move(directive));
      }
    });
    add(token, stage);
  }

  TextLexer lexer_;
  Schedule schedule_;
  std::string origin_;                                // "schedule y.schedule: ", or nothing
  std::map<std::string, std::vector<Token>> places_;  // of each directive of a stage
};

}  // namespace

std::string to_string(const Schedule& schedule) {
  std::string text = fmt::format("emulsion schedule {}\n", kVersion);
  for (const std::string& name : stage_order(schedule.graph(), schedule.stages())) {
    for (const Directive& directive : schedule.find(name)->directives()) {
      text += name + "." + to_string(directive) + "\n";
    }
  }
  return text;
}

Schedule parse_schedule(const std::string& text, const Graph& graph, const std::string& origin) {
  return behind(origin, [&] { return ScheduleParser(text, graph, origin).parse(); });
}

}  // namespace emulsion
