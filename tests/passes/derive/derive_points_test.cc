// Along which axes vectors go of a result that combines nothing.

#include "passes/derive/derive_points.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/graph_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

std::string derived_of(const std::string& lines) {
  return derived(parse_graph("emulsion graph 1\n" + lines + "output y\n"),
                 target_of("x86-64-v4", 1));
}

TEST(DerivePoints, AxesThatAreOneInMemoryAreOneLoop) {
  const std::string text =
      derived_of("input x: f32[50, 7, 7]\ny[i: 50, j: 7, k: 7] = x[i, j, k] * 2f\n");
  EXPECT_TRUE(has(text, "fuse(j, k, ")) << text;
}

TEST(DerivePoints, FewElementsThatAreReadInAnyOrderAreOneVector) {
  const std::string text = derived_of(
      "input x: f32[50, 4, 3]\ninput s: f32[4]\n"
      "y[i: 50, j: 4, k: 3] = x[i, j, k] * s[j]\n");
  EXPECT_TRUE(has(text, "y.fuse(j, k, flat)\n") && has(text, "y.vectorize(flat)\n")) << text;
}

TEST(DerivePoints, LongRowsAreAsTheyAre) {
  const std::string text = derived_of(
      "input x: f32[50, 40, 30]\ninput s: f32[40]\n"
      "y[i: 50, j: 40, k: 30] = x[i, j, k] * s[j]\n");
  EXPECT_FALSE(has(text, "fuse")) << text;
  EXPECT_TRUE(has(text, "y.vectorize(k_v)\n")) << text;
}

// Of a run-time number of short rows beside others: as they are, where they are few.
TEST(DerivePoints, ShortRowsAreAsTheyAreWhereThereMayBeFewOfThem) {
  const auto text_of = [](const std::string& pictures, const std::string& rows) {
    return derived(parse_graph("emulsion graph 1\nsize R\ninput x: f32[" + pictures + ", " + rows +
                               ", 7]\ninput w: f32[" + pictures + ", 7]\ny[i: " + pictures +
                               ", j: " + rows + ", k: 7] = x[i, j, k] * w[i, k]\noutput y\n"),
                   target_of("x86-64-v4", 1));
  };
  const std::string text = text_of("50", "R");
  EXPECT_TRUE(has(text, "y_long.alternative(7 * R < 224, y_few)\n")) << text;
  EXPECT_TRUE(has(text, "y_few.split(k, k, lane, 16, predicate)\n")) << text;
  EXPECT_TRUE(has(text, "y_long.fuse(j, k, flat)\n")) << text;
  EXPECT_FALSE(has(text_of("R", "40"), "alternative")) << "always as many";
  const std::string alone =
      derived_of("size R\ninput x: f32[R, 7]\ninput w: f32[7]\ny[j: R, k: 7] = x[j, k] * w[k]\n");
  EXPECT_TRUE(has(alone, "fuse(j, k, flat)") && !has(alone, "alternative")) << alone;
  for (const char* const level : kLevels) {
    const Graph graph = parse_graph(
        "emulsion graph 1\nsize R\ninput x: f32[3, R, 7]\ninput w: f32[3, 7]\n"
        "y[i: 3, j: R, k: 7] = x[i, j, k] * w[i, k]\noutput y\n");
    EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 31, 32, 33, 70})) << level;
  }
}

}  // namespace
}  // namespace emulsion
