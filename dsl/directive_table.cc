#include "dsl/directive_table.h"

#include <algorithm>

#include "dsl/error.h"

namespace emulsion {
namespace {

using Argument = ArgumentKind;
using Scope = DirectiveScope;
using Change = StageChange;

constexpr DirectiveArgument kLoop = {Argument::loop, "axis"};
constexpr DirectiveArgument kStoredAxis = {Argument::stored_axis, "axis"};
constexpr DirectiveArgument kConsumer = {Argument::consumer, "operation"};
constexpr DirectiveArgument kConsumerLoop = {Argument::consumer_loop, "axis"};
constexpr DirectiveArgument kFactor = {Argument::factor, "factor"};
constexpr DirectiveArgument kNewStage = {Argument::new_stage, "new stage"};
constexpr const char* kInnermostFirst = "innermost axis, ..., outermost axis";

// The table. A kind without a row is a warning here (-Wswitch), which is an error.
constexpr DirectiveForm row(DirectiveKind kind) {
  switch (kind) {
    case DirectiveKind::split:
      return {"split",
              "Split",
              Scope::loop,
              {{kLoop,
                {Argument::new_loop, "outer"},
                {Argument::new_loop, "inner"},
                kFactor,
                {Argument::tail, "tail"}}}};
    case DirectiveKind::fuse:
      return {
          "fuse",
          "Fuse",
          Scope::loop,
          {{{Argument::loop, "outer"}, {Argument::loop, "inner"}, {Argument::new_loop, "fused"}}}};
    case DirectiveKind::reorder:
      return {"reorder", "Reorder", Scope::loop, {{{Argument::loops, kInnermostFirst}}}};
    case DirectiveKind::vectorize:
      return {"vectorize", "Vectorize", Scope::loop, {{kLoop}}};
    case DirectiveKind::unroll:
      return {"unroll", "Unroll", Scope::loop, {{kLoop}}};
    case DirectiveKind::parallel:
      return {"parallel", "Parallel", Scope::loop, {{kLoop}}};
    case DirectiveKind::compute_at:
      return {"compute_at", "ComputeAt", Scope::place, {{kConsumer, kConsumerLoop}}};
    case DirectiveKind::store_at:
      return {"store_at", "StoreAt", Scope::store, {{kConsumer, kConsumerLoop}}};
    case DirectiveKind::compute_root:
      return {"compute_root", "ComputeRoot", Scope::place};
    case DirectiveKind::compute_inline:
      return {"compute_inline", "ComputeInline", Scope::stage, {}, Change::compute_inline};
    case DirectiveKind::store_in:
      return {"store_in", "StoreIn", Scope::layout, {{{Argument::memory, "memory"}}}};
    case DirectiveKind::pack:
      return {"pack",
              "Pack",
              Scope::stage,
              {{{Argument::buffer, "weight"}, {Argument::axis, "axis"}, kFactor}},
              Change::pack};
    case DirectiveKind::cache_write:
      return {"cache_write", "CacheWrite", Scope::stage, {{kNewStage}}, Change::cache_write};
    case DirectiveKind::rfactor:
      return {"rfactor",
              "Rfactor",
              Scope::stage,
              {{{Argument::reduction_loop, "reduction axis"}, kNewStage}},
              Change::rfactor};
    case DirectiveKind::tensorize:
      return {"tensorize", "Tensorize", Scope::nest, {{kLoop}}};
    case DirectiveKind::copy_in:
      return {"copy_in",
              "In",
              Scope::stage,
              {{{Argument::operand, "operand"}, kNewStage}},
              Change::copy_in};
    case DirectiveKind::atomic:
      return {"atomic", "Atomic", Scope::nest};
    case DirectiveKind::prefetch:
      return {"prefetch",
              "Prefetch",
              Scope::nest,
              {{{Argument::buffer, "buffer"}, kLoop, {Argument::factor, "distance"}}}};
    case DirectiveKind::compute_with:
      return {"compute_with",
              "ComputeWith",
              Scope::place,
              {{kConsumer, {Argument::shared_loop, "axis"}}}};
    case DirectiveKind::store_root:
      return {"store_root", "StoreRoot", Scope::store};
    case DirectiveKind::hoist_storage:
      return {"hoist_storage", "HoistStorage", Scope::store, {{kConsumer, kConsumerLoop}}};
    case DirectiveKind::fold_storage:
      return {"fold_storage",
              "FoldStorage",
              Scope::layout,
              {{kStoredAxis, {Argument::factor, "size"}}}};
    case DirectiveKind::reorder_storage:
      return {"reorder_storage",
              "ReorderStorage",
              Scope::layout,
              {{{Argument::stored_axes, kInnermostFirst}}}};
    case DirectiveKind::align_storage:
      return {"align_storage",
              "AlignStorage",
              Scope::layout,
              {{kStoredAxis, {Argument::factor, "multiple"}}}};
    case DirectiveKind::specialize:
      return {"specialize", "Specialize", Scope::nest, {{{Argument::condition, "condition"}}}};
    case DirectiveKind::partition:
      return {"partition", "Partition", Scope::loop, {{kLoop}}};
    case DirectiveKind::store_in_output:
      return {
          "store_in_output", "StoreInOutput", Scope::layout, {{{Argument::consumer, "output"}}}};
    case DirectiveKind::alternative:
      return {"alternative",
              "Alternative",
              Scope::stage,
              {{{Argument::condition, "condition"}, kNewStage}},
              Change::alternative};
    case DirectiveKind::cut:
      return {"cut", "Cut", Scope::loop, {{kStoredAxis, {Argument::index, "index"}}}};
    case DirectiveKind::precompute:
      return {
          "precompute", "Precompute", Scope::stage, {{kStoredAxis, kNewStage}}, Change::precompute};
  }
  return {};
}

constexpr std::array<DirectiveForm, kDirectiveKinds> all_rows() {
  std::array<DirectiveForm, kDirectiveKinds> rows = {};
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = row(static_cast<DirectiveKind>(i));
  return rows;
}
constexpr std::array<DirectiveForm, kDirectiveKinds> kForms = all_rows();

static_assert(kForms.back().name != nullptr, "kDirectiveKinds is more than there are kinds");
static_assert(row(static_cast<DirectiveKind>(kDirectiveKinds)).name == nullptr,
              "kDirectiveKinds is less than there are kinds");

// Whether each directive of scope `stage` has a change of its own, and no other directive has one.
constexpr bool changes_fit() {
  for (size_t i = 0; i < kForms.size(); ++i) {
    if ((kForms[i].scope == Scope::stage) != (kForms[i].change != Change::none)) return false;
    for (size_t j = 0; j < i; ++j) {
      if (kForms[i].change != Change::none && kForms[i].change == kForms[j].change) return false;
    }
  }
  return true;
}
static_assert(changes_fit(), "a directive of scope stage says what it does to the stages");

}  // namespace

const DirectiveForm& form_of(DirectiveKind kind) {
  const auto index = static_cast<size_t>(kind);
  EMULSION_CHECK(index < kForms.size(), "no directive {}", index);
  return kForms[index];
}

std::optional<DirectiveKind> directive_kind_of(std::string_view name) {
  for (size_t i = 0; i < kForms.size(); ++i) {
    if (name == kForms[i].name) return static_cast<DirectiveKind>(i);
  }
  return std::nullopt;
}

bool is_axis(ArgumentKind kind) {
  switch (kind) {
    case Argument::loop:
    case Argument::loops:
    case Argument::reduction_loop:
    case Argument::new_loop:
    case Argument::axis:
    case Argument::stored_axis:
    case Argument::stored_axes:
    case Argument::consumer_loop:
    case Argument::shared_loop:
      return true;
    case Argument::none:
    case Argument::consumer:
    case Argument::buffer:
    case Argument::operand:
    case Argument::new_stage:
    case Argument::factor:
    case Argument::tail:
    case Argument::memory:
    case Argument::condition:
    case Argument::index:
      return false;
  }
  return false;
}

bool is_list(ArgumentKind kind) { return kind == Argument::loops || kind == Argument::stored_axes; }

bool has_argument(DirectiveKind directive, ArgumentKind kind) {
  return argument_position(directive, kind) > 0;
}

int argument_position(DirectiveKind directive, ArgumentKind kind) {
  const DirectiveArguments& arguments = form_of(directive).arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == kind) return static_cast<int>(i) + 1;
  }
  return 0;
}

size_t axis_count(DirectiveKind kind) {
  const DirectiveArguments& arguments = form_of(kind).arguments;
  return static_cast<size_t>(
      std::count_if(arguments.begin(), arguments.end(),
                    [](const DirectiveArgument& argument) { return is_axis(argument.kind); }));
}

bool makes_stage(DirectiveKind kind) { return has_argument(kind, Argument::new_stage); }

std::string usage_of(std::string_view name, const DirectiveArguments& arguments) {
  std::string text;
  for (const DirectiveArgument& argument : arguments) {
    if (argument.kind == Argument::none) break;
    if (argument.kind == Argument::tail) {
      text += fmt::format("[, {}]", argument.word);
    } else {
      text += (text.empty() ? "" : ", ") + std::string(argument.word);
    }
  }
  return fmt::format("{}({})", name, text);
}

}  // namespace emulsion
