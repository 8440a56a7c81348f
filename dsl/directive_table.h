#ifndef EMULSION_DSL_DIRECTIVE_TABLE_H_
#define EMULSION_DSL_DIRECTIVE_TABLE_H_

// What every directive looks like, in one table: its name, its arguments, what it speaks of. The
// text form, the JSON form, the check of names and lower() all read it, so that a directive is
// described once. A directive without a row does not compile.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/schedule.h"

namespace emulsion {

// What a directive speaks of.
enum class DirectiveScope : uint8_t {
  loop,    // loops of its operation; behind specialize, those of the specialization alone
  nest,    // the loops of its operation, in every specialization
  place,   // where the operation is computed among the loops of others
  store,   // where its values are stored there
  layout,  // how its values are stored
  stage,   // which stages there are, and what they read
};

// What a directive of scope `stage` does to the stages: for each of them one of these, so that
// whoever follows the stages (schedule_axes.cc, apply_structure.cc) does not compile without it.
enum class StageChange : uint8_t {
  none,
  cache_write,
  rfactor,
  copy_in,
  pack,
  compute_inline,
  alternative,
  precompute,
};

// What an argument names. Each kind has one field of Directive and one field of the JSON form.
enum class ArgumentKind : uint8_t {
  none,
  loop,            // of this operation
  loops,           // likewise, one or more
  reduction_loop,  // of this operation
  new_loop,        // that the directive makes, of those of kind `loop`
  axis,            // of this operation as it was written
  stored_axis,     // likewise, and not reduced
  stored_axes,     // one or more of these
  consumer,        // another operation, which has loops
  consumer_loop,   // of that operation
  shared_loop,     // of both operations
  buffer,          // what this operation reads
  operand,         // likewise; it is replaced
  new_stage,       // that the directive makes
  factor,
  tail,  // last, and may be left out
  memory,
  condition,
  index,  // of an axis, over run-time sizes; last
};

struct DirectiveArgument {
  ArgumentKind kind = ArgumentKind::none;
  const char* word = "";  // for messages: "outer" in split(axis, outer, inner, factor[, tail])
};
// In the order of the text form; those that are not used are none, at the end.
using DirectiveArguments = std::array<DirectiveArgument, 9>;

// Without defaults, so that a row that forgets one of these does not compile.
struct DirectiveForm {
  const char* name;       // in schedules
  const char* json_kind;  // its "kind" in JSON: Halide's name, where it has one
  DirectiveScope scope;
  DirectiveArguments arguments = {};
  StageChange change = StageChange::none;
};

const DirectiveForm& form_of(DirectiveKind kind);
// The kind with that name; nothing when there is none.
std::optional<DirectiveKind> directive_kind_of(std::string_view name);

// Whether the argument goes into Directive::axes.
bool is_axis(ArgumentKind kind);
// Whether it is one name or more.
bool is_list(ArgumentKind kind);
bool has_argument(DirectiveKind directive, ArgumentKind kind);
// Counted from 1, as messages do; 0 when it has none.
int argument_position(DirectiveKind directive, ArgumentKind kind);

// How many axes a directive of this kind has; where one of the arguments is a list: at least.
size_t axis_count(DirectiveKind kind);
// Whether a directive of this kind makes the stage that is its target.
bool makes_stage(DirectiveKind kind);

// "split(axis, outer, inner, factor[, tail])".
std::string usage_of(std::string_view name, const DirectiveArguments& arguments);

}  // namespace emulsion

#endif  // EMULSION_DSL_DIRECTIVE_TABLE_H_
