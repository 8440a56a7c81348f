// Rows of a few elements, whose number a call says: how they are computed where they are fewer than
// a vector's lanes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/fusion_config.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("B");

Graph softmaxes(const Shape& shape) { return Graph(softmax(input("x", f32, shape), -1, "y")); }

std::string text_of(const Graph& graph, int64_t cores = 1) {
  return derived(graph, target_of("x86-64-v3", cores));
}

// Where there are as many as lanes, the last vector of them starts earlier.
TEST(FewSmallRows, AreComputedAlongTheirElements) {
  const std::string text = text_of(softmaxes({kRows, 13}), 2);
  EXPECT_TRUE(has(text, ".alternative(B >= 8, y_across)\n")) << text;
  EXPECT_TRUE(has(text, "y_across.split(i0, tile, lane, 8, shift_inwards)\n")) << text;
  EXPECT_TRUE(has(text, "y_across.parallel(tile)\n")) << text;
  EXPECT_FALSE(has(text, "predicate")) << text;
  EXPECT_FALSE(has(text, "partition")) << text;
  EXPECT_TRUE(has(text, "y_exp.vectorize(i1_v)\n")) << text;
  EXPECT_TRUE(has(text, "y_long.vectorize(i1_v)\n")) << text;
  EXPECT_FALSE(has(text, "y_long.parallel")) << "fewer than eight rows are no work for threads";
}

TEST(FewSmallRows, OfManyStepsAroundAreAcrossThese) {
  for (const int64_t steps : {7, 8, 444}) {
    const std::string text = text_of(softmaxes({steps, kRows, 10}));
    EXPECT_TRUE(has(text, "y_across.split(i1, tile, lane, 8, shift_inwards)\n")) << text;
    EXPECT_TRUE(has(text, ".split(i0, tile, lane, ")) << text;
    EXPECT_FALSE(has(text, "_apart")) << text;
  }
}

TEST(FewSmallRows, OfStepsAroundThatFillNoVectorAreAlongTheirElements) {
  for (const int64_t steps : {2, 10}) {
    const std::string text = text_of(softmaxes({steps, kRows, 13}));
    EXPECT_TRUE(has(text, "y_exp.vectorize(i2_v)\n")) << text;
    EXPECT_FALSE(has(text, ".split(i0, tile, lane, ")) << text;
  }
}

TEST(FewSmallRows, OfARunTimeNumberOfStepsHaveThreeWays) {
  const std::string text = text_of(softmaxes({Extent::size("N"), kRows, 13}));
  EXPECT_TRUE(has(text, "(B >= 8, y_across)\n")) << text;
  EXPECT_TRUE(has(text, "(N >= 8, y_apart)\n")) << text;
  EXPECT_TRUE(has(text, "y_apart.split(i0, tile, lane, 8, shift_inwards)\n")) << text;
  EXPECT_TRUE(has(text, "y_exp.vectorize(i2_v)\n")) << text;
}

TEST(FewSmallRows, HaveOneWayWhereOthersReadThem) {
  const Tensor y = softmax(input("x", f32, {kRows, 13}), -1, "y");
  const std::string text = text_of(Graph(reduce_max(y, {0})));
  EXPECT_TRUE(has(text, "y.split(i0, tile, lane, 8, predicate)\n")) << text;
  EXPECT_FALSE(has(text, "_across")) << text;
}

// Along the elements a norm before a series is stored, and in lanes it is not.
TEST(FewSmallRows, HaveOneWayWhereOthersAreStored) {
  const Tensor g = input("g", f32, {7});
  const std::string text =
      text_of(Graph(gelu(layer_norm(input("x", f32, {kRows, 7}), g, g), Gelu::tanh, "y")));
  EXPECT_FALSE(has(text, "_across")) << text;
  EXPECT_TRUE(has(text, "y.split(i0, tile, lane, 8, predicate)\n")) << text;
}

// No vectors lie along seven elements, or along none, of which sums are 0.
TEST(FewSmallRows, HaveOneWayWhereTheyFillNoVector) {
  const Tensor x = input("x", f32, {kRows, 13}), none = input("none", f32, {kRows, 0});
  const Graph of_none(x + sum(none, {-1}, true) - reduce_max(x, {-1}, true));
  EXPECT_FALSE(has(text_of(of_none), "_across"));
  EXPECT_TRUE(derives(of_none, target_of("x86-64-v3", 1), {0, 1, 7, 8, 17}, 1e-5));
  EXPECT_FALSE(has(text_of(softmaxes({kRows, 7})), "_across"));
  EXPECT_FALSE(has(text_of(softmaxes({Extent::size("N"), kRows, 7})), "_across"));
}

// Along the elements the sums in the middle could be computed, too; in lanes they are too many.
TEST(FewSmallRows, HaveTheMembersOfThoseInLanes) {
  const Tensor x = input("x", f32, {kRows, 40, 13});
  const Graph graph(softmax(sum(x, {1}, false, "s"), -1, "y"));
  const std::string text = text_of(graph);
  EXPECT_TRUE(has(text, "y_across.split(")) << text;
  EXPECT_TRUE(has(text, "s_acc.compute_at(s, tile)\n")) << text;
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 1), {0, 1, 7, 8, 17}, 1e-4));
}

TEST(FewSmallRows, AreRight) {
  const Tensor x = input("x", f32, {kRows, 7}), cube = input("c", f32, {10, kRows, 9}),
               many = input("m", f32, {23, kRows, 5});
  const auto centred = [](const Tensor& of) { return of - mean(of, {-1}, true); };
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (const int64_t cores : {1, 2}) {
      const Target target = target_of(level, cores);
      for (const Tensor& y : {softmax(x), softmax(cube), softmax(many), log(softmax(cube)),
                              centred(x) * centred(x), relu(centred(many))}) {
        EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 5, 7, 8, 9, 15, 16, 17, 40}, 1e-4))
            << level << " " << to_string(y.shape());
      }
    }
    const Graph batches = softmaxes({Extent::size("N"), kRows, 6});
    const Schedule schedule = derive_schedule(batches, target_of(level, 2));
    for (const int64_t steps : {0, 1, 7, 8, 17}) {
      for (const int64_t rows : {1, 7, 9, 19}) {
        EXPECT_TRUE(lowers(batches, schedule, {{"B", rows}, {"N", steps}}, 1e-4)) << level;
      }
    }
  }
}

std::string ledger_of(const Graph& graph, const std::string& level,
                      const std::string& config = "{}") {
  return to_string(
      run_pipeline(graph, target_of(level, 2), {}, nullptr, parse_fusion_config(config)).fusion);
}

// Of two to four elements vectors of the sums step over these anyway.
TEST(FewSmallRows, OfTwoToFourElementsAreTogetherAndRight) {
  for (const int64_t columns : {2, 3, 4}) {
    for (const Shape& shape :
         {Shape{kRows, columns}, Shape{1000, columns}, Shape{3, kRows, 20, columns}}) {
      const Graph graph = softmaxes(shape);
      for (const char* const level : {"x86-64-v3", "x86-64-v4"}) {
        EXPECT_TRUE(has(ledger_of(graph, level), "shared rows, y_exp -> y: fused")) << level;
      }
      EXPECT_TRUE(derives_on_all(graph, {0, 1, 5, 16, 33})) << columns;
    }
    const Tensor x = input("x", f32, {kRows, columns}), g = input("g", f32, {columns});
    const Tensor highest = reduce_max(x, {1}, true);
    const Tensor log_of_sum = log(sum(exp(x - highest), {1}, true)) + highest;
    for (const Tensor& y :
         {log_of_sum, x - log_of_sum, layer_norm(x, g, g, 1e-5, "y"), rms_norm(x, g, 1e-5, "y")}) {
      EXPECT_TRUE(has(ledger_of(Graph(y), "x86-64-v3"), "shared rows, ")) << columns;
      EXPECT_TRUE(derives_on_all(Graph(y), {0, 1, 5, 16, 33})) << columns;
    }
  }
}

TEST(FewSmallRows, TheLedgerSaysWhyThoseOfTwoToFourElementsAreApart) {
  const std::string needs_avx = "expected a target with AVX for vectors across the rows of y";
  for (const int64_t columns : {2, 3, 4}) {
    const Graph graph = softmaxes({kRows, columns});
    const std::string text = ledger_of(graph, "x86-64-v2");
    for (const char* const part : {"y_sum", "y_exp", "y_max"}) {
      EXPECT_TRUE(has(text, std::string("shared rows, ") + part + " -> y: not fused: " + needs_avx))
          << text;
    }
    EXPECT_TRUE(has(ledger_of(softmaxes({15, columns}), "x86-64-v4"),
                    "expected at least 16 rows of y for a vector across them"));
    EXPECT_ERROR(ledger_of(graph, "x86-64-v2", R"({"fail_on_unfused": ["softmax"]})"), needs_avx);
    EXPECT_NO_THROW(ledger_of(graph, "x86-64-v3", R"({"fail_on_unfused": ["softmax"]})"));
  }
  const Graph sums = Graph(sum(input("z", f32, {kRows, 3}), {1}, false, "y"));
  EXPECT_FALSE(has(ledger_of(sums, "x86-64-v2"), "shared rows")) << "nothing is beside them";
}

}  // namespace
}  // namespace emulsion
