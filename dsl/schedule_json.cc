#include "dsl/schedule_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/expr_parser.h"
#include "dsl/nearest_name.h"
#include "dsl/reduction_loops.h"
#include "dsl/schedule_axes.h"
#include "dsl/strict_json.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

// The field that holds an argument.
const char* field_of(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::none:
      return nullptr;
    case ArgumentKind::loop:
    case ArgumentKind::loops:
    case ArgumentKind::reduction_loop:
    case ArgumentKind::new_loop:
    case ArgumentKind::axis:
    case ArgumentKind::stored_axis:
    case ArgumentKind::stored_axes:
      return "vars";
    case ArgumentKind::consumer:
      return "at_func";
    case ArgumentKind::consumer_loop:
    case ArgumentKind::shared_loop:
      return "at_var";
    case ArgumentKind::buffer:
    case ArgumentKind::operand:
      return "ref_funcs";
    case ArgumentKind::new_stage:
      return "produces";
    case ArgumentKind::factor:
      return "exprs";
    case ArgumentKind::tail:
      return "tail";
    case ArgumentKind::memory:
      return "memory_type";
    case ArgumentKind::condition:
      return "condition";
    case ArgumentKind::index:
      return "at";
  }
  return nullptr;
}

// One argument for each field, in the order of the arguments: "vars" may hold several.
std::vector<ArgumentKind> fields_of(DirectiveKind kind) {
  std::vector<ArgumentKind> fields;
  for (const DirectiveArgument& argument : form_of(kind).arguments) {
    if (argument.kind == ArgumentKind::none) break;
    auto same = [&](ArgumentKind field) {
      return std::string_view(field_of(field)) == field_of(argument.kind);
    };
    if (std::none_of(fields.begin(), fields.end(), same)) fields.push_back(argument.kind);
  }
  return fields;
}

std::vector<std::string> field_names(DirectiveKind kind) {
  std::vector<std::string> names = {"kind", "func", "stage", "specialize"};
  for (ArgumentKind field : fields_of(kind)) names.emplace_back(field_of(field));
  return names;
}

// Whether some of its "vars" are loops, which a reduction has in its update.
bool has_loops(DirectiveKind kind) {
  return has_argument(kind, ArgumentKind::loop) || has_argument(kind, ArgumentKind::loops) ||
         has_argument(kind, ArgumentKind::reduction_loop);
}

// Halide names the inner loop of a fusion first, and copies belong to what is copied.
std::vector<std::string> swapped_for_fuse(DirectiveKind kind, std::vector<std::string> axes) {
  if (kind == DirectiveKind::fuse && axes.size() == 3) std::swap(axes[0], axes[1]);
  return axes;
}

class Writer {
 public:
  explicit Writer(const Schedule& schedule) : schedule_(schedule), reductions_(schedule) {}

  std::string write() {
    Json directives = Json::array();
    const Graph& graph = schedule_.graph();
    for (const std::string& stage : stage_order(graph, schedule_.stages())) {
      std::string condition;
      const std::vector<Directive>& of_stage = schedule_.find(stage)->directives();
      for (size_t i = 0; i < of_stage.size(); ++i) {
        directives.push_back(entry(stage, i, of_stage[i], condition));
        const bool opens = of_stage[i].kind == DirectiveKind::specialize;
        if (opens) condition = to_string(of_stage[i].condition);
      }
    }
    return Json({{"version", kVersion}, {"directives", directives}}).dump(2) + "\n";
  }

 private:
  Json entry(const std::string& stage, size_t index, const Directive& d,
             const std::string& condition) const {
    auto variable = [&](const std::string& axis) -> Json {
      return {{"name", axis}, {"rvar", reductions_.has(stage, index, axis)}};
    };
    const bool copies = has_argument(d.kind, ArgumentKind::operand);
    Json json = {{"kind", form_of(d.kind).json_kind}};
    json["func"] = copies ? d.operand : stage;
    if (has_loops(d.kind) && !reductions_.own(stage, index).empty()) json["stage"] = 1;
    for (ArgumentKind field : fields_of(d.kind)) {
      if (field == ArgumentKind::tail && d.tail == Tail::automatic) continue;
      Json& value = json[field_of(field)];
      switch (field) {
        case ArgumentKind::operand:
          value = Json::array({stage});
          break;
        case ArgumentKind::buffer:
          value = Json::array({d.target});
          break;
        case ArgumentKind::consumer:
        case ArgumentKind::new_stage:
          value = d.target;
          break;
        case ArgumentKind::consumer_loop:
        case ArgumentKind::shared_loop:
          value = variable(d.axes.empty() ? "" : d.axes[0]);
          break;
        case ArgumentKind::factor:
          value = Json::array({d.factor});
          break;
        case ArgumentKind::tail:
          value = to_string(d.tail);
          break;
        case ArgumentKind::memory:
          value = to_string(d.memory);
          break;
        case ArgumentKind::condition:
          value = to_string(d.condition);
          break;
        case ArgumentKind::index:
          value = d.at.to_string();
          break;
        case ArgumentKind::none:
          break;
        case ArgumentKind::loop:
        case ArgumentKind::loops:
        case ArgumentKind::reduction_loop:
        case ArgumentKind::new_loop:
        case ArgumentKind::axis:
        case ArgumentKind::stored_axis:
        case ArgumentKind::stored_axes:
          value = Json::array();
          for (const std::string& axis : swapped_for_fuse(d.kind, d.axes)) {
            value.push_back(variable(axis));
          }
      }
    }
    if (!condition.empty() && d.kind != DirectiveKind::specialize) {
      json["specialize"] = Json::array({condition});
    }
    return json;
  }

  const Schedule& schedule_;
  const ReductionLoops reductions_;
};

template <typename Failure = Error, typename... Args>
[[noreturn]] void fail_here(const std::string& place, fmt::format_string<Args...> format,
                            Args&&... args) {
  throw Failure(fmt::format("{}: {}", place.empty() ? "the whole" : place,
                            fmt::format(format, std::forward<Args>(args)...)));
}

class Reader {
 public:
  Reader(const Graph& graph, std::string origin) : schedule_(graph), origin_(std::move(origin)) {}

  Schedule read(const std::string& text) {
    const Json root = parse_strict_json(text);
    require_object("", root, {"version", "directives"});
    const int64_t version = integer("/version", field("", root, "version"));
    if (version != kVersion) {
      fail_here(
          "/version",
          "expected a version of the schedule format that this library reads (known: {}), got "
          "{}",
          kVersion, version);
    }
    const Json& directives = field("", root, "directives");
    if (!directives.is_array()) {
      fail_here("/directives", "expected an array, got {}", json_kind_of(directives));
    }
    for (size_t i = 0; i < directives.size(); ++i) {
      place_ = "/directives/" + std::to_string(i);
      add(directives[i]);
    }
    check_names();
    check_rvars();
    return schedule_;
  }

 private:
  // What a variable says of itself.
  struct Rvar {
    std::string place, axis;
    bool said = false;
    std::string stage;  // of the directive that it is in
    size_t index = 0;
  };

  void check_names() const {
    DirectivePlace place;
    try {
      loops_after(schedule_, &place);
    } catch (const ScheduleError& error) {
      fail_here<ScheduleError>(places_.at(place.stage).at(place.index), "{}", error.what());
    }
  }

  void check_rvars() const {
    const ReductionLoops reductions(schedule_);
    for (const Rvar& rvar : rvars_) {
      const bool is = reductions.has(rvar.stage, rvar.index, rvar.axis);
      if (rvar.said == is) continue;
      fail_here<ScheduleError>(
          rvar.place, "{}.{}: expected {}, since {} {}, got {}; legal: {}, or no \"rvar\"",
          rvar.stage, to_string(schedule_.find(rvar.stage)->directives()[rvar.index]), is,
          rvar.axis, is ? "is of a reduction axis" : "is of no reduction axis", rvar.said, is);
    }
  }

  static void require_object(const std::string& place, const Json& value,
                             const std::vector<std::string>& fields) {
    if (!value.is_object()) fail_here(place, "expected an object, got {}", json_kind_of(value));
    for (const auto& [name, ignored] : value.items()) {
      if (std::find(fields.begin(), fields.end(), name) == fields.end()) {
        fail_here(place, "expected a field of these: {}; got \"{}\"", list_names(fields), name);
      }
    }
  }

  static const Json& field(const std::string& place, const Json& object, const std::string& name) {
    auto found = object.find(name);
    if (found == object.end()) fail_here(place, "expected the field \"{}\", got none", name);
    return *found;
  }

  static std::string string(const std::string& place, const Json& value) {
    if (!value.is_string()) fail_here(place, "expected a string, got {}", json_kind_of(value));
    return value.get<std::string>();
  }

  static int64_t integer(const std::string& place, const Json& value) {
    if (!is_int64(value)) {
      fail_here(place, "expected an integer of 64 bits, got {}", json_kind_of(value));
    }
    return value.get<int64_t>();
  }

  std::string name(const std::string& what, const std::string& place, const Json& value) const {
    std::string text = string(place, value);
    try {
      check_identifier(what, text);
    } catch (const Error& error) {
      fail_here(place, "{}", error.what());
    }
    return text;
  }

  std::string name_field(const std::string& what, const Json& entry, const char* field_name) const {
    return name(what, place_ + "/" + field_name, field(place_, entry, field_name));
  }

  template <typename Kind>
  Kind word(const Json& entry, const char* field_name, int count) const {
    const std::string place = place_ + "/" + field_name;
    const std::string wanted = string(place, field(place_, entry, field_name));
    std::vector<std::string> legal;
    for (int i = 0; i < count; ++i) {
      legal.push_back(to_string(static_cast<Kind>(i)));
      if (legal.back() == wanted) return static_cast<Kind>(i);
    }
    fail_here(place, "expected {}, got \"{}\"", list_names(legal), wanted);
  }

  DirectiveKind kind(const Json& entry) const {
    if (!entry.is_object()) fail_here(place_, "expected an object, got {}", json_kind_of(entry));
    const std::string wanted = string(place_ + "/kind", field(place_, entry, "kind"));
    std::vector<std::string> legal;
    for (size_t i = 0; i < kDirectiveKinds; ++i) {
      const auto candidate = static_cast<DirectiveKind>(i);
      legal.emplace_back(form_of(candidate).json_kind);
      if (wanted == legal.back()) return candidate;
    }
    fail_here(place_ + "/kind", "{}", expected_name("a directive", legal, wanted));
  }

  std::string variable(const std::string& place, const Json& value) {
    require_object(place, value, {"name", "rvar"});
    std::string axis = name("axis", place + "/name", field(place, value, "name"));
    auto rvar = value.find("rvar");
    if (rvar == value.end()) return axis;
    if (!rvar->is_boolean()) {
      fail_here(place + "/rvar", "expected a boolean, got {}; legal: true, false, or no \"rvar\"",
                json_kind_of(*rvar));
    }
    rvars_.push_back({place + "/rvar", axis, rvar->get<bool>(), "", 0});
    return axis;
  }

  // The elements of an array field, of which there must be `count`; 0: at least one.
  const Json& array(const Json& entry, const char* field_name, size_t count) const {
    const std::string place = place_ + "/" + field_name;
    const Json& value = field(place_, entry, field_name);
    if (!value.is_array()) fail_here(place, "expected an array, got {}", json_kind_of(value));
    if (count == 0 ? value.empty() : value.size() != count) {
      const std::string expected = count == 0 ? "at least one" : std::to_string(count);
      fail_here(place, "expected {} element{}, got {}", expected, count > 1 ? "s" : "",
                value.size());
    }
    return value;
  }

  void add(const Json& entry) {
    Directive d;
    d.kind = kind(entry);
    require_object(place_, entry, field_names(d.kind));
    const size_t earlier = rvars_.size();
    std::string stage = name_field("operation", entry, "func");
    check_stage(entry);
    for (ArgumentKind field : fields_of(d.kind)) read_field(field, entry, &stage, &d);
    check_case(stage, entry, d);
    for (size_t i = earlier; i < rvars_.size(); ++i) {
      rvars_[i].stage = stage;
      rvars_[i].index = places_[stage].size();
    }
    d.place = origin_ + place_;
    schedule_[stage].add(std::move(d));
    places_[stage].push_back(place_);
  }

  // Of a copy, "func" is what is copied, and the operation is the one that it is for.
  void read_field(ArgumentKind kind, const Json& entry, std::string* stage, Directive* d) {
    switch (kind) {
      case ArgumentKind::operand:
        d->operand = std::exchange(*stage, referred(entry));
        return;
      case ArgumentKind::buffer:
        d->target = referred(entry);
        return;
      case ArgumentKind::consumer:
      case ArgumentKind::new_stage:
        d->target = name_field("operation", entry, field_of(kind));
        return;
      case ArgumentKind::consumer_loop:
      case ArgumentKind::shared_loop:
        d->axes = {variable(place_ + "/at_var", field(place_, entry, "at_var"))};
        return;
      case ArgumentKind::factor:
        d->factor = factor(entry);
        return;
      case ArgumentKind::tail:
        if (entry.contains("tail")) d->tail = word<Tail>(entry, "tail", kTails);
        return;
      case ArgumentKind::memory:
        d->memory = word<Memory>(entry, "memory_type", kMemories);
        return;
      case ArgumentKind::condition:
        d->condition = condition(entry, d->kind);
        return;
      case ArgumentKind::index:
        d->at = index(entry);
        return;
      case ArgumentKind::none:
        return;
      case ArgumentKind::loop:
      case ArgumentKind::loops:
      case ArgumentKind::reduction_loop:
      case ArgumentKind::new_loop:
      case ArgumentKind::axis:
      case ArgumentKind::stored_axis:
      case ArgumentKind::stored_axes:
        d->axes = axes(entry, d->kind, is_list(kind));
    }
  }

  std::string referred(const Json& entry) const {
    return name("operation", place_ + "/ref_funcs/0", array(entry, "ref_funcs", 1)[0]);
  }

  void check_stage(const Json& entry) const {
    if (!entry.contains("stage")) return;
    const int64_t stage = integer(place_ + "/stage", entry["stage"]);
    if (stage != 0 && stage != 1) {
      fail_here(place_ + "/stage", "expected 0 or 1: an operation has one update at most, got {}",
                stage);
    }
  }

  std::vector<std::string> axes(const Json& entry, DirectiveKind kind, bool any_number) {
    const Json& vars = array(entry, "vars", any_number ? 0 : axis_count(kind));
    std::vector<std::string> names;
    for (size_t i = 0; i < vars.size(); ++i) {
      names.push_back(variable(place_ + "/vars/" + std::to_string(i), vars[i]));
    }
    return swapped_for_fuse(kind, std::move(names));
  }

  int64_t factor(const Json& entry) const {
    const int64_t value = integer(place_ + "/exprs/0", array(entry, "exprs", 1)[0]);
    if (value < 1)
      fail_here<ScheduleError>(place_ + "/exprs/0", "expected a positive integer, got {}", value);
    return value;
  }

  Expr condition(const Json& entry, DirectiveKind kind) const {
    const std::string place = place_ + "/condition";
    const std::string text = string(place, field(place_, entry, "condition"));
    ExprScope scope;
    for (const std::string& size : schedule_.graph().sizes()) scope.sizes.insert(size);
    try {
      TextLexer lexer(text);
      Expr result = parse_expr(&lexer, scope);
      if (lexer.peek().kind != TokenKind::end) fail_expected(lexer.peek(), "the end");
      check_condition(result, to_string(kind));
      return result;
    } catch (const ScheduleError& error) {
      fail_here<ScheduleError>(place, "{}", error.what());
    } catch (const Error& error) {
      fail_here(place, "{}", error.what());
    }
  }

  Extent index(const Json& entry) const {
    const std::string place = place_ + "/at", text = string(place, field(place_, entry, "at"));
    const std::vector<std::string>& sizes = schedule_.graph().sizes();
    try {
      TextLexer lexer(text);
      const Extent result = parse_extent(&lexer, {sizes.begin(), sizes.end()});
      if (lexer.peek().kind != TokenKind::end) fail_expected(lexer.peek(), "the end");
      return result;
    } catch (const Error& error) {
      fail_here(place, "{}", error.what());
    }
  }

  // "specialize" repeats the condition in front, so that a directive that was moved is noticed.
  void check_case(const std::string& stage, const Json& entry, const Directive& d) {
    std::string& open = open_case_[stage];
    std::string said;
    if (entry.contains("specialize")) {
      said = string(place_ + "/specialize/0", array(entry, "specialize", 1)[0]);
    }
    if (d.kind == DirectiveKind::specialize) {
      open = to_string(d.condition);
      if (said.empty()) return;
    }
    if (said != open || d.kind == DirectiveKind::specialize) {
      const std::string expected =
          d.kind == DirectiveKind::specialize ? "none"
          : open.empty() ? "none, since no Specialize of " + stage + " stands in front of it"
                         : "the condition in front of it, \"" + open + "\"";
      fail_here(place_ + "/specialize", "expected {}, got {}", expected,
                said.empty() ? "none" : "\"" + said + "\"");
    }
  }

  Schedule schedule_;
  std::string origin_;
  std::string place_;  // of the directive at hand, as a JSON pointer
  std::map<std::string, std::vector<std::string>> places_;  // of each directive of a stage
  std::vector<Rvar> rvars_;
  std::map<std::string, std::string> open_case_;  // the last condition of each stage
};

}  // namespace

std::string to_json(const Schedule& schedule) { return Writer(schedule).write(); }

Schedule schedule_from_json(const std::string& json, const Graph& graph,
                            const std::string& origin) {
  return behind(origin, [&] { return Reader(graph, origin).read(json); });
}

}  // namespace emulsion
