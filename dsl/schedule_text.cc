#include "dsl/schedule_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/expr_parser.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_axes.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

constexpr int kVersion = 1;

// What a directive looks like. In `arguments`, one letter each: a axis, t name of an operation or
// stage, o name of an
// operand, f factor, m memory, c condition, * one axis or more, l tail (last, and may be left out).
struct Form {
  const char* name;
  const char* arguments;
  const char* usage;
};

constexpr Form kForms[] = {
    {"split", "aaafl", "split(axis, outer, inner, factor[, tail])"},
    {"tile", "aaaaaaffl", "tile(axis, axis, outer, outer, inner, inner, factor, factor[, tail])"},
    {"fuse", "aaa", "fuse(outer, inner, fused)"},
    {"reorder", "*", "reorder(innermost axis, ..., outermost axis)"},
    {"vectorize", "a", "vectorize(axis) or vectorize(axis, factor[, tail])"},
    {"vectorize", "afl", "vectorize(axis) or vectorize(axis, factor[, tail])"},
    {"unroll", "a", "unroll(axis) or unroll(axis, factor[, tail])"},
    {"unroll", "afl", "unroll(axis) or unroll(axis, factor[, tail])"},
    {"parallel", "a", "parallel(axis)"},
    {"tensorize", "a", "tensorize(axis)"},
    {"compute_at", "ta", "compute_at(operation, axis)"},
    {"store_at", "ta", "store_at(operation, axis)"},
    {"compute_root", "", "compute_root()"},
    {"compute_inline", "", "compute_inline()"},
    {"store_in", "m", "store_in(memory)"},
    {"pack", "taf", "pack(weight, axis, factor)"},
    {"cache_write", "t", "cache_write(new stage)"},
    {"rfactor", "at", "rfactor(reduction axis, new stage)"},
    {"atomic", "", "atomic()"},
    {"copy_in", "ot", "copy_in(operand, new stage)"},
    {"prefetch", "taf", "prefetch(buffer, axis, distance)"},
    {"compute_with", "ta", "compute_with(operation, axis)"},
    {"store_root", "", "store_root()"},
    {"hoist_storage", "ta", "hoist_storage(operation, axis)"},
    {"fold_storage", "af", "fold_storage(axis, size)"},
    {"reorder_storage", "*", "reorder_storage(innermost axis, ..., outermost axis)"},
    {"align_storage", "af", "align_storage(axis, multiple)"},
    {"specialize", "c", "specialize(condition)"},
};

constexpr Tail kTails[] = {Tail::automatic,       Tail::guard,         Tail::predicate,
                           Tail::round_up,        Tail::shift_inwards, Tail::predicate_loads,
                           Tail::predicate_stores};
constexpr Memory kMemories[] = {Memory::automatic, Memory::heap, Memory::stack, Memory::registers,
                                Memory::scratchpad};

template <typename Kind, size_t n>
Kind parse_word(const Token& token, const Kind (&values)[n], const std::string& what) {
  std::vector<std::string> legal;
  for (Kind value : values) {
    legal.push_back(to_string(value));
    if (token.kind == TokenKind::name && legal.back() == token.text) return value;
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
      axes_after(schedule_, &place);
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
    if (name.is("specialize")) return parse_specialize(stage);
    std::vector<Argument> arguments = parse_arguments();
    const Form& form = find_form(name, arguments);
    append(stage, form, arguments);
    lexer_.expect_end_of_line();
  }

  // The one directive whose argument is an expression.
  void parse_specialize(const Token& stage) {
    ExprScope scope;
    for (const std::string& size : schedule_.graph().sizes()) scope.sizes.insert(size);
    lexer_.expect("(");
    Directive directive;
    directive.kind = DirectiveKind::specialize;
    const Token start = lexer_.peek();
    directive.condition = parse_expr(&lexer_, scope);
    lexer_.expect(")");
    at_place(start, [&] { check_condition(directive.condition); });
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

  static bool fits(const Form& form, size_t count) {
    std::string_view kinds = form.arguments;
    if (kinds == "*") return count > 0;
    bool tail = !kinds.empty() && kinds.back() == 'l';
    return count == kinds.size() || (tail && count + 1 == kinds.size());
  }

  static const Form& find_form(const Token& name, const std::vector<Argument>& arguments) {
    const Form* same_name = nullptr;
    std::vector<std::string> legal;
    for (const Form& form : kForms) {
      if (legal.empty() || legal.back() != form.name) legal.emplace_back(form.name);
      if (name.text != form.name) continue;
      same_name = &form;
      if (fits(form, arguments.size())) return form;
    }
    if (name.text == "split_reduction") {
      fail_at(name,
              "expected split(axis, axis, lane, factor) and rfactor(lane, new stage), got "
              "split_reduction, which is no longer a directive");
    }
    if (!same_name) fail_at(name, expected_name("a directive", legal, name.str()));
    fail_at(name, fmt::format("expected {}, got {} argument{}", same_name->usage, arguments.size(),
                              arguments.size() == 1 ? "" : "s"));
  }

  void append(const Token& stage, const Form& form, const std::vector<Argument>& arguments) {
    Directive directive;
    std::vector<int64_t> factors;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Token& token = arguments[i].token;
      char kind = form.arguments[0] == '*' ? 'a' : form.arguments[i];
      if (kind == 'f') {
        factors.push_back(factor_of(form, i, arguments[i]));
      } else if (kind == 'l') {
        directive.tail = parse_word(token, kTails, "a tail");
      } else if (kind == 'm') {
        directive.memory = parse_word(token, kMemories, "a memory");
      } else {
        if (token.kind != TokenKind::name) {
          fail_expected(token,
                        fmt::format("{} for argument {} of {}",
                                    kind == 'a' ? "an axis" : "an operation", i + 1, form.usage));
        }
        at_place(token, [&] { check_identifier(kind == 'a' ? "axis" : "operation", token.str()); });
        if (kind == 'a') directive.axes.push_back(token.str());
        if (kind == 't') directive.target = token.str();
        if (kind == 'o') directive.operand = token.str();
      }
    }
    if (!factors.empty()) directive.factor = factors[0];
    record(stage, form, directive, factors);
  }

  static int64_t factor_of(const Form& form, size_t i, const Argument& argument) {
    if (argument.token.kind != TokenKind::number) {
      fail_expected(argument.token,
                    fmt::format("an integer for argument {} of {}", i + 1, form.usage));
    }
    if (argument.number < 1) {
      throw ScheduleError(
          fmt::format("{}: argument {} (factor) of {}: expected a positive integer, got {}",
                      place_of(argument.token), i + 1, form.name, argument.number));
    }
    return argument.number;
  }

  void record(const Token& token, const Form& form, Directive directive,
              const std::vector<int64_t>& factors) {
    StageSchedule stage;
    std::string_view name = form.name;
    auto axis = [&](size_t i) { return Axis(directive.axes[i]); };
    at_place(token, [&] {
      if (name == "tile") {
        stage.tile(axis(0), axis(1), axis(2), axis(3), axis(4), axis(5), factors[0], factors[1],
                   directive.tail);
      } else if (name == "vectorize" && !factors.empty()) {
        stage.vectorize(axis(0), factors[0], directive.tail);
      } else if (name == "unroll" && !factors.empty()) {
        stage.unroll(axis(0), factors[0], directive.tail);
      } else {
        directive.kind = *directive_kind_of(name);
        stage.add(directive);
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
