#include "dsl/directive_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace emulsion {
namespace {

TEST(DirectiveTable, EveryKindIsFoundByItsName) {
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const auto kind = static_cast<DirectiveKind>(i);
    EXPECT_EQ(directive_kind_of(to_string(kind)), kind);
  }
  EXPECT_EQ(directive_kind_of("vectorise"), std::nullopt);
  EXPECT_EQ(directive_kind_of(""), std::nullopt);
}

TEST(DirectiveTable, NamesAreDistinct) {
  std::set<std::string> names, json_kinds;
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const DirectiveForm& form = form_of(static_cast<DirectiveKind>(i));
    EXPECT_TRUE(names.insert(form.name).second) << form.name;
    EXPECT_TRUE(json_kinds.insert(form.json_kind).second) << form.json_kind;
  }
}

// What reads the table takes these for granted.
TEST(DirectiveTable, ArgumentsAreInOrder) {
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const auto kind = static_cast<DirectiveKind>(i);
    const DirectiveArguments& arguments = form_of(kind).arguments;
    for (size_t at = 0; at + 1 < arguments.size(); ++at) {
      const ArgumentKind argument = arguments[at].kind;
      const bool is_last = arguments[at + 1].kind == ArgumentKind::none;
      const bool ends = argument == ArgumentKind::none || argument == ArgumentKind::tail;
      EXPECT_TRUE(is_last || !ends) << to_string(kind);
      EXPECT_TRUE((at == 0 && is_last) || !is_list(argument)) << to_string(kind);
    }
  }
}

TEST(DirectiveTable, CountsAxes) {
  EXPECT_EQ(axis_count(DirectiveKind::split), 3U);
  EXPECT_EQ(axis_count(DirectiveKind::reorder), 1U);
  EXPECT_EQ(axis_count(DirectiveKind::compute_at), 1U);
  EXPECT_EQ(axis_count(DirectiveKind::copy_in), 0U);
}

TEST(DirectiveTable, KnowsWhatMakesAStage) {
  std::set<std::string> makers;
  for (size_t i = 0; i < kDirectiveKinds; ++i) {
    const auto kind = static_cast<DirectiveKind>(i);
    if (makes_stage(kind)) makers.insert(to_string(kind));
  }
  EXPECT_EQ(makers, (std::set<std::string>{"alternative", "cache_write", "copy_in", "precompute",
                                           "rfactor"}));
}

TEST(DirectiveTable, CountsArgumentsFromOne) {
  EXPECT_EQ(argument_position(DirectiveKind::split, ArgumentKind::factor), 4);
  EXPECT_EQ(argument_position(DirectiveKind::pack, ArgumentKind::buffer), 1);
  EXPECT_EQ(argument_position(DirectiveKind::atomic, ArgumentKind::factor), 0);
  EXPECT_FALSE(has_argument(DirectiveKind::atomic, ArgumentKind::loop));
}

TEST(DirectiveTable, SaysHowADirectiveIsWritten) {
  auto usage = [](DirectiveKind kind) {
    return usage_of(to_string(kind), form_of(kind).arguments);
  };
  EXPECT_EQ(usage(DirectiveKind::split), "split(axis, outer, inner, factor[, tail])");
  EXPECT_EQ(usage(DirectiveKind::reorder), "reorder(innermost axis, ..., outermost axis)");
  EXPECT_EQ(usage(DirectiveKind::atomic), "atomic()");
  EXPECT_EQ(usage(DirectiveKind::cut), "cut(axis, index)");
}

}  // namespace
}  // namespace emulsion
