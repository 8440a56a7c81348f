#include "passes/rewrite/fold_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/rewrite/clean_up.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Real numbers, rounded at other places.
constexpr double kRounding = 2e-5;

struct Statistics {
  explicit Statistics(int64_t channels, DType dtype = f32)
      : mean(weight("mean", dtype, {channels})),
        variance(weight("variance", dtype, {channels})),
        gamma(weight("gamma", dtype, {channels})),
        beta(weight("beta", dtype, {channels})) {}
  Tensor mean, variance, gamma, beta;
  Tensor normalize(const Tensor& x, const std::string& name, int axis = -1) const {
    return batch_norm(x, mean, variance, gamma, beta, 1e-5, axis, name);
  }
};

Rewritten folded(const Graph& graph) {
  Rewritten result = fold_batch_norm(graph);
  verify_graph(result.graph);
  expect_same_values(graph, result.graph, kRounding);
  const Rewritten again = fold_batch_norm(result.graph);
  EXPECT_TRUE(again.matches().empty());
  EXPECT_EQ(again.graph.ops(), result.graph.ops());
  return result;
}
size_t count(const Graph& graph) { return folded(graph).matches().size(); }

// --- what is folded ------------------------------------------------------------------------------

TEST(FoldBatchNorm, AfterAMatmul) {
  Tensor x = input("x", f32, {Extent::size("B"), 6}), w = weight("w", f32, {6, 7});
  const Graph graph(Statistics(7).normalize(matmul(x, w, "mm"), "y"));
  const Rewritten result = folded(graph);
  ASSERT_THAT(result.matches(), SizeIs(1));
  EXPECT_THAT(result.matches()[0].inner, ElementsAre("mm"));
  // One operation less for each element: what is new is of the size of the weights.
  EXPECT_THAT(computed(result.graph),
              ElementsAre("y_scale", "y_weights", "y_sum", "y_offset", "y"));
  EXPECT_EQ(to_string(op_of(result.graph, "y")->body), "y_sum[i0, i1] + y_offset[i1]");
}

TEST(FoldBatchNorm, AfterAMatmulWithBias) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7}), b = weight("b", f32, {7});
  const Rewritten result = folded(Statistics(7).normalize(b + matmul(x, w), "y"));
  ASSERT_THAT(result.matches(), SizeIs(1));
  EXPECT_THAT(result.matches()[0].rule, HasSubstr("_bias_mean_scale_beta"));
}

TEST(FoldBatchNorm, BatchedAndVectorProducts) {
  Tensor w = weight("w", f32, {6, 7});
  Tensor batched = input("batched", f32, {2, 3, 6}), vector = input("vector", f32, {6});
  EXPECT_EQ(count(Statistics(7).normalize(matmul(batched, w), "y")), 1u);
  EXPECT_EQ(count(Statistics(7).normalize(matmul(vector, w), "y")), 1u);
}

TEST(FoldBatchNorm, SquareShapes) {
  Tensor x = input("x", f32, {4, 4}), w = weight("w", f32, {4, 4});
  EXPECT_EQ(count(Statistics(4).normalize(matmul(x, w), "y")), 1u);
}

TEST(FoldBatchNorm, Convolutions) {
  Tensor x = input("x", f32, {2, 7, 8, 4});
  Tensor w = weight("w", f32, {3, 3, 4, 6}), in_groups = weight("g", f32, {3, 3, 2, 6});
  Tensor depthwise = weight("d", f32, {3, 3, 1, 4});
  Conv2dOptions padded, strided, groups, channels;
  padded.pad_top = padded.pad_left = padded.pad_bottom = 1;
  strided.stride_h = 2;
  strided.dilation_w = 2;
  groups.groups = 2;
  channels.groups = 4;
  EXPECT_EQ(count(Statistics(6).normalize(conv2d(x, w), "y")), 1u);
  EXPECT_EQ(count(Statistics(6).normalize(conv2d(x, w, padded), "y")), 1u);
  EXPECT_EQ(count(Statistics(6).normalize(conv2d(x, w, strided), "y")), 1u);
  EXPECT_EQ(count(Statistics(6).normalize(conv2d(x, in_groups, groups), "y")), 1u);
  EXPECT_EQ(count(Statistics(4).normalize(conv2d(x, depthwise, channels), "y")), 1u);
  EXPECT_EQ(count(relu(Statistics(6).normalize(conv2d(x, w), "y"))), 1u);
}

TEST(FoldBatchNorm, TheFoldedConvolutionReadsAsBefore) {
  Tensor x = input("x", f32, {1, 7, 8, 4}), w = weight("w", f32, {3, 3, 2, 6});
  Conv2dOptions options;
  options.groups = 2;
  options.stride_w = 2;
  const Graph graph(Statistics(6).normalize(conv2d(x, w, options, "c"), "y"));
  const std::string before = to_string(*op_of(graph, "c"));
  const std::string after = to_string(*op_of(folded(graph).graph, "y_sum"));
  EXPECT_THAT(before, HasSubstr("x[n, y + ky, x * 2 + kx, o / 3 * 2 + c] * w[ky, kx, c, o]"));
  EXPECT_THAT(after, HasSubstr("x[i0, i1 + k0, i2 * 2 + k1, i3 / 3 * 2 + k2] * y_weights["));
}

TEST(FoldBatchNorm, TheChannelAtAnotherPlace) {
  const Axis o("o", 5), p("p", 6), c("c", 4);
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {5, 4});
  Tensor product = compute("product", {o, p}, sum(c, w(o, c) * x(c, p)));
  EXPECT_EQ(count(Statistics(5).normalize(product, "y", 0)), 1u);
}

TEST(FoldBatchNorm, WithoutGammaBetaOrMean) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor mean = weight("mean", f32, {7}), variance = weight("variance", f32, {7});
  Tensor gamma = weight("gamma", f32, {7}), beta = weight("beta", f32, {7});
  Tensor deviation = sqrt(variance + 1e-5);
  Tensor mm = matmul(x, w);
  EXPECT_EQ(count((mm - mean) / deviation), 1u);
  EXPECT_EQ(count((mm - mean) / deviation * gamma), 1u);
  EXPECT_EQ(count((mm - mean) / deviation + beta), 1u);
  EXPECT_EQ(count((mm - mean) / deviation * gamma + beta), 1u);
  EXPECT_EQ(count((mm - mean) * (1 / deviation) + beta), 1u);
  EXPECT_EQ(count((mm - mean) * gamma), 1u);
  EXPECT_EQ(count(mm * gamma + beta), 1u);
  EXPECT_EQ(count((mm + mean) * gamma + beta), 1u);
  EXPECT_EQ(count((mm + beta - mean) * gamma), 1u);
  EXPECT_EQ(count((mm + beta - mean) / deviation * gamma + beta), 1u);
}

TEST(FoldBatchNorm, WrittenByHand) {
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor a = weight("a", f32, {7}), v = weight("v", f32, {7}), g = weight("g", f32, {1, 7});
  Tensor mm = compute("mm", {m, n}, sum(k, w(k, n) * x(m, k)));
  Tensor y = compute("y", {m, n}, 2.0f + (mm(m, n) - a(n)) * (g(0, n) / sqrt(v(n) + 1e-5f)));
  EXPECT_EQ(count(y), 1u);
}

TEST(FoldBatchNorm, DoublePrecision) {
  Tensor x = input("x", f64, {5, 6}), w = weight("w", f64, {6, 7});
  EXPECT_EQ(count(Statistics(7, f64).normalize(matmul(x, w), "y")), 1u);
}

TEST(FoldBatchNorm, SharedWeightsAreNotChanged) {
  Tensor x = input("x", f32, {5, 6}), z = input("z", f32, {3, 6}), w = weight("w", f32, {6, 7});
  Tensor plain = matmul(z, w, "plain");
  const Graph graph({Statistics(7).normalize(matmul(x, w), "y"), plain});
  const Rewritten result = folded(graph);
  EXPECT_THAT(result.matches(), SizeIs(1));
  EXPECT_EQ(op_of(result.graph, "plain"), op_of(graph, "plain"));
  EXPECT_EQ(op_of(result.graph, "w"), op_of(graph, "w"));
}

TEST(FoldBatchNorm, TwoNormalisationsOfOneWeight) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor s = weight("s", f32, {7}), t = weight("t", f32, {7});
  const Rewritten result =
      folded(Graph({add(matmul(x, w) * s, t, "y"), add(matmul(x, w) * t, s, "z")}));
  EXPECT_THAT(result.matches(), SizeIs(2));
}

TEST(FoldBatchNorm, ConstantsAreFoldedToOneOperationLess) {
  const auto values = [](const std::string& name, const Shape& shape, float from) {
    std::vector<float> data(static_cast<size_t>(element_count(shape).value()));
    for (float& value : data) value = from += 0.25f;
    return constant(name, shape, data);
  };
  Tensor x = input("x", f32, {2, 6, 6, 3});
  Tensor c = conv2d(x, values("w", {3, 3, 3, 4}, -2));
  Tensor y = batch_norm(c, values("mean", {4}, 1), values("variance", {4}, 1),
                        values("gamma", {4}, 0), values("beta", {4}, -1), 1e-3, -1, "y");
  const Graph graph(y);
  const Graph after = clean_up(folded(graph).graph);
  verify_graph(after);
  expect_same_values(graph, after, 1e-4);
  EXPECT_THAT(computed(graph), SizeIs(3));
  EXPECT_THAT(computed(after), ElementsAre("y_sum", "y"));
  EXPECT_EQ(op_of(after, "y_weights")->kind, OpKind::constant);
}

TEST(FoldBatchNorm, WholeNumbersBitForBit) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7}), b = weight("b", f32, {7});
  Tensor mean = weight("mean", f32, {7}), scale = weight("scale", f32, {7});
  Tensor beta = weight("beta", f32, {7});
  for (const Graph& graph :
       {Graph((matmul(x, w) - mean) * scale + beta), Graph((matmul(x, w) + b - mean) * scale),
        Graph((matmul(x, w) + b) * scale + beta)}) {
    const Rewritten result = fold_batch_norm(graph);
    EXPECT_THAT(result.matches(), SizeIs(1));
    expect_same_values(graph, result.graph);
  }
}

TEST(FoldBatchNorm, EmptySums) {
  Tensor x = input("x", f32, {5, 0}), w = weight("w", f32, {0, 7});
  EXPECT_EQ(count(Statistics(7).normalize(matmul(x, w), "y")), 1u);
}

// --- statistics that give no numbers -------------------------------------------------------------

// y before and after folding, of a product of whole numbers with columns of which the second has
// that variance.
std::vector<std::vector<float>> both_ways(float variance, float eps, float gamma = 2) {
  const Tensor x = input("x", f32, {3, 2}), w = weight("w", f32, {2, 2});
  const auto row = [](const char* name, float first, float second) {
    return constant(name, {2}, std::vector<float>{first, second});
  };
  const Axis i("i", 3), c("c", 2);
  const Tensor product = matmul(x, w, "mm");
  const Tensor scale = compute(
      "scale", {c}, row("gamma", 1, gamma)(c) / sqrt(row("variance", 4, variance)(c) + eps));
  const Graph graph(compute(
      "y", {i, c}, (product(i, c) - row("mean", 1, 1)(c)) * scale(c) + row("beta", 0, 3)(c)));
  const Rewritten result = fold_batch_norm(graph);
  EXPECT_THAT(result.matches(), SizeIs(1));
  const TensorValues arguments = {{"x", make_tensor({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6})},
                                  {"w", make_tensor({2, 2}, std::vector<float>{1, 1, -1, 0})}};
  return {interpret_graph(graph, arguments).at("y").to_vector<float>(),
          interpret_graph(result.graph, arguments).at("y").to_vector<float>()};
}

TEST(FoldBatchNorm, AVarianceBelowZeroIsNaNEitherWay) {
  const auto values = both_ways(-1, 0);
  for (size_t n = 0; n < values[0].size(); ++n) {
    if (n % 2 == 0) {
      EXPECT_FLOAT_EQ(values[1][n], values[0][n]) << "the other channel";
    } else {
      EXPECT_TRUE(std::isnan(values[0][n]) && std::isnan(values[1][n])) << n;
    }
  }
}

TEST(FoldBatchNorm, ADeviationOfZeroGivesNoNumberEitherWay) {
  for (const float gamma : {2.0F, 0.0F}) {
    const auto values = both_ways(0, 0, gamma);
    for (size_t n = 0; n < values[0].size(); ++n) {
      if (n % 2 == 0) {
        EXPECT_FLOAT_EQ(values[1][n], values[0][n]) << "the other channel";
      } else {
        EXPECT_FALSE(std::isfinite(values[0][n]) || std::isfinite(values[1][n])) << n;
      }
    }
  }
}

TEST(FoldBatchNorm, AnEpsilonKeepsAVarianceOfZeroFinite) {
  const auto values = both_ways(0, 0.25F);
  for (size_t n = 0; n < values[0].size(); ++n) EXPECT_FLOAT_EQ(values[1][n], values[0][n]);
}

// --- what is not ---------------------------------------------------------------------------------

TEST(FoldBatchNorm, DoesNotFoldASumThatMayBeEmptyWithBetaAlone) {
  const Tensor scale = weight("scale", f32, {7}), beta = weight("beta", f32, {7});
  const Axis i("i", 5), c("c", 7);
  const auto normalised = [&](const Extent& depth) {
    const Tensor mm = matmul(input("x", f32, {5, depth}), weight("w", f32, {depth, 7}), "mm");
    return Graph(compute("y", {i, c}, mm(i, c) * scale(c) + beta(c)));
  };
  EXPECT_EQ(count(normalised(1)), 1u);
  const Rewritten empty = folded(normalised(0));
  EXPECT_TRUE(empty.matches().empty());
  ASSERT_THAT(empty.decisions, SizeIs(1));
  EXPECT_EQ(empty.decisions[0].reason, "expected a sum of at least one element, got 0");
  EXPECT_EQ(count(normalised(Extent::size("D"))), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldAValueThatOthersNeed) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor mm = matmul(x, w, "mm");
  const Rewritten used = folded(Graph({Statistics(7).normalize(mm, "y"), exp(mm, "e")}));
  ASSERT_THAT(used.decisions, SizeIs(1));
  EXPECT_EQ(used.decisions[0].reason,
            "expected mm to have no user outside of the match, got 1 (e)");
  const Rewritten output = folded(Graph({Statistics(7).normalize(mm, "y"), mm}));
  ASSERT_THAT(output.decisions, SizeIs(1));
  EXPECT_EQ(output.decisions[0].reason, "expected mm to be no output of the graph");
}

TEST(FoldBatchNorm, DoesNotFoldIntoWhatIsComputed) {
  Tensor x = input("x", f32, {5, 6}), z = input("z", f32, {6, 7});
  EXPECT_EQ(count(Statistics(7).normalize(matmul(x, z), "y")), 0u);
  EXPECT_EQ(count(Statistics(7).normalize(matmul(x, tanh(z)), "y")), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldStatisticsOfTheData) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor mm = matmul(x, w);
  Tensor scale = input("scale", f32, {7}), beta = weight("beta", f32, {7});
  EXPECT_EQ(count(mm * scale + beta), 0u);
  EXPECT_EQ(count((mm - mean(x, {0, 1})) * beta), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldOnTheWrongAxisOfASquare) {
  Tensor x = input("x", f32, {4, 4}), w = weight("w", f32, {4, 4});
  EXPECT_EQ(count(Statistics(4).normalize(matmul(x, w), "y", 0)), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldAScaleAlone) {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 7}), s = weight("s", f32, {7});
  EXPECT_EQ(count(matmul(x, w) * s), 0u);
  EXPECT_EQ(count(matmul(x, w) / 8), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldBehindAnotherOperation) {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 7});
  EXPECT_EQ(count(Statistics(7).normalize(relu(matmul(x, w)), "y")), 0u);
  const Axis m("m", 4), n("n", 7), k("k", 6);
  Tensor most = compute("most", {m, n}, reduce_max(k, x(m, k) * w(k, n)));
  EXPECT_EQ(count(Statistics(7).normalize(most, "y")), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldIntegers) {
  Tensor x = input("x", i32, {4, 6}), w = weight("w", i32, {6, 7});
  Tensor s = weight("s", i32, {7}), t = weight("t", i32, {7});
  EXPECT_EQ(count((matmul(x, w) - s) * t + s), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldWhatTwoNormalise) {
  Tensor x = input("x", f32, {1, 7, 8, 4}), w = weight("w", f32, {3, 3, 4, 6});
  Tensor c = conv2d(x, w, {}, "c"), s = weight("s", f32, {6}), t = weight("t", f32, {6});
  const Rewritten result = folded(Graph({add(c * s, t, "y"), add(c * t, s, "z")}));
  EXPECT_TRUE(result.matches().empty());
  ASSERT_FALSE(result.decisions.empty());
  EXPECT_THAT(result.decisions[0].reason, HasSubstr("expected c to have no user outside"));
}

TEST(FoldBatchNorm, DoesNotFoldOverAnOutputInBetween) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor s = weight("s", f32, {7}), t = weight("t", f32, {7});
  Tensor centred = sub(matmul(x, w, "mm"), t, "centred");
  const Rewritten result = folded(Graph({add(centred * s, t, "y"), centred}));
  EXPECT_TRUE(result.matches().empty());
  ASSERT_FALSE(result.decisions.empty());
  EXPECT_EQ(result.decisions[0].reason, "expected centred to be no output of the graph");
}

TEST(FoldBatchNorm, DoesNotFoldOverAValueInBetweenThatOthersNeed) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor s = weight("s", f32, {7}), t = weight("t", f32, {7});
  Tensor centred = sub(matmul(x, w, "mm"), t, "centred");
  const Rewritten result = folded(Graph({add(centred * s, t, "y"), exp(centred, "e")}));
  EXPECT_TRUE(result.matches().empty());
  ASSERT_FALSE(result.decisions.empty());
  EXPECT_THAT(result.decisions[0].reason, HasSubstr("expected centred to have no user outside"));
}

TEST(FoldBatchNorm, DoesNotFoldADifferenceTheOtherWayRound) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor s = weight("s", f32, {7}), t = weight("t", f32, {7});
  EXPECT_EQ(count((t - matmul(x, w)) * s), 0u);
  EXPECT_EQ(count((t - matmul(x, w)) * s + t), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldAQuotientTheOtherWayRound) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor s = weight("s", f32, {7}), t = weight("t", f32, {7});
  EXPECT_EQ(count(s / (matmul(x, w) - t)), 0u);
  EXPECT_EQ(count(s / matmul(x, w) + t), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldAnAffineTermOfEachElement) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor s = weight("s", f32, {7}), t = weight("t", f32, {7}), all = weight("all", f32, {5, 7});
  EXPECT_EQ(count((matmul(x, w) - all) * s), 0u);
  EXPECT_EQ(count((matmul(x, w) - t) * all), 0u);
  EXPECT_EQ(count(matmul(x, w) * s + all), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldOnTheWidthOfAConvolution) {
  Tensor x = input("x", f32, {1, 6, 6, 4}), w = weight("w", f32, {1, 1, 4, 6});
  for (const int axis : {1, 2}) {
    EXPECT_EQ(count(Statistics(6).normalize(conv2d(x, w), "y", axis)), 0u) << axis;
  }
}

TEST(FoldBatchNorm, DoesNotFoldIntoAWeightWithoutTheChannel) {
  const Axis m("m", 6), n("n", 6), k("k", 6);
  Tensor z = input("z", f32, {6, 6}), w = weight("w", f32, {6, 6});
  Tensor product = compute("product", {m, n}, sum(k, w(m, k) * z(k, n)));
  EXPECT_EQ(count(Statistics(6).normalize(product, "y", 1)), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldIntoASumWithoutWeights) {
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor x = input("x", f32, {5, 7, 6});
  EXPECT_EQ(count(Statistics(7).normalize(compute("s", {m, n}, sum(k, x(m, n, k))), "y")), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldIntoASumOfMoreThanProducts) {
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor more = compute("s", {m, n}, sum(k, x(m, k) * w(k, n) + 1.0f));
  Tensor squares = compute("t", {m, n}, sum(k, (x(m, k) - w(k, n)) * (x(m, k) - w(k, n))));
  EXPECT_EQ(count(Statistics(7).normalize(more, "y")), 0u);
  EXPECT_EQ(count(Statistics(7).normalize(squares, "y")), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldBehindACast) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  EXPECT_EQ(count(Statistics(7, f64).normalize(cast(matmul(x, w), f64), "y")), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldAVariance) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7}), t = weight("t", f32, {7});
  Tensor centred = matmul(x, w) - t;
  EXPECT_EQ(count(centred * centred + t), 0u);
}

TEST(FoldBatchNorm, DoesNotFoldANormOfEachRow) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  Tensor gamma = weight("gamma", f32, {7}), beta = weight("beta", f32, {7});
  EXPECT_EQ(count(layer_norm(matmul(x, w), gamma, beta)), 0u);
  EXPECT_EQ(count(rms_norm(matmul(x, w), gamma)), 0u);
}

TEST(FoldBatchNorm, RulesHaveNoPrivateDoor) {
  const std::vector<RewriteRule> rules = batch_norm_rules({f32, 2, 1, 1});
  EXPECT_THAT(rules, SizeIs(18));
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 7});
  const Graph graph(Statistics(7).normalize(matmul(x, w), "y"));
  EXPECT_EQ(apply_rules(graph, rules).matches().size(), 1u);
}

}  // namespace
}  // namespace emulsion
