#include "passes/fuse/join_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Weights that are known, each with values of its own.
Tensor known(const std::string& name, const Shape& shape, DType dtype = f32) {
  const auto count = static_cast<size_t>(element_count(shape).value());
  const int first = static_cast<int>(name.back());
  if (dtype == f64) {
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>((first + 7 * i) % 11) - 5;
    return constant(name, shape, values);
  }
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((first + 7 * i) % 11) - 5;
  return constant(name, shape, values);
}

// Three products of different widths.
struct Siblings {
  Tensor x = input("x", f32, {Extent::size("B"), 6});
  Tensor q = matmul(x, known("wq", {6, 4}), "q");
  Tensor k = matmul(x, known("wk", {6, 1}), "k");
  Tensor v = matmul(x, known("wv", {6, 7}), "v");
};

// The graph after the pass: sound, computing the same, and left alone by a second run.
Graph joined(const Graph& graph, FusionReport* report = nullptr,
             const JoinPolicy& policy = always_join) {
  Graph result = join_products(graph, policy, report);
  verify_graph(result);
  expect_same_values(graph, result);
  EXPECT_EQ(join_products(result, policy).ops(), result.ops());
  return result;
}

// Why nothing was joined: all that the ledger says.
std::string refusals(const Graph& graph, const JoinPolicy& policy = always_join) {
  FusionReport report;
  EXPECT_EQ(joined(graph, &report, policy).ops(), graph.ops());
  EXPECT_EQ(report.fused_count(), 0);
  return to_string(report);
}

// --- what is joined ------------------------------------------------------------------------------

TEST(JoinProducts, OfDifferentWidths) {
  const Siblings s;
  FusionReport report;
  const Graph after = joined(Graph({s.q, s.k, s.v}), &report);
  EXPECT_EQ(to_string(report),
            "sibling products, q -> k: fused\nsibling products, q -> v: fused\n");
  EXPECT_THAT(computed(after), ElementsAre("q_joined", "q", "k", "v"));
  EXPECT_EQ(op_of(after, "wq_joined")->shape, (Shape{6, 12}));
  EXPECT_EQ(to_string(op_of(after, "q")->body), "q_joined[m, n]");
  EXPECT_EQ(to_string(op_of(after, "v")->body), "q_joined[m, n + 5]");
  EXPECT_EQ(after.find("wk"), nullptr);  // nobody reads it any more
}

TEST(JoinProducts, WithBiasAndActivation) {
  const Siblings s;
  Tensor a = relu(s.q + known("bq", {4}), "a"), b = relu(s.k + known("bk", {1}), "b");
  const Graph after = joined(Graph({a, b}));
  EXPECT_THAT(computed(after), ElementsAre("q_joined", "add_joined", "a_joined", "a", "b"));
  EXPECT_EQ(op_of(after, "bq_joined")->shape, (Shape{5}));
}

TEST(JoinProducts, WhatFollowsInAnotherWayIsLeft) {
  const Siblings s;
  const Graph after = joined(Graph({relu(s.q, "a"), tanh(s.v, "b")}));
  EXPECT_THAT(computed(after), ElementsAre("q_joined", "q", "a", "v", "b"));
}

TEST(JoinProducts, OneThatOthersReadTooIsLeftAsItIs) {
  const Siblings s;
  const Graph after = joined(Graph({relu(s.q, "a"), relu(s.v, "b"), neg(s.q, "c")}));
  EXPECT_THAT(computed(after), ElementsAre("q_joined", "q", "a", "v", "b", "c"));
}

TEST(JoinProducts, OutputsAmongThemKeepTheirNames) {
  const Siblings s;
  const Graph after = joined(Graph({s.k, relu(s.k, "a"), relu(s.q, "b")}));
  EXPECT_THAT(computed(after), ElementsAre("k_joined", "k", "a", "q", "b"));
  EXPECT_TRUE(after.is_output(*op_of(after, "k")));
}

TEST(JoinProducts, ReadTogether) {
  const Siblings s;
  Tensor gate = matmul(s.x, known("wg", {6, 4}), "gate");
  const Graph after = joined(Graph(mul(sigmoid(s.q, "s"), gate, "y")));
  EXPECT_THAT(computed(after), ElementsAre("q_joined", "q", "s", "gate", "y"));
  joined(Graph(mul(s.q, gate, "y")));
}

TEST(JoinProducts, OfWeightsThatAreArguments) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 4}), u = weight("u", f32, {6, 3});
  Tensor b = weight("b", f32, {4}), c = weight("c", f32, {3});
  const Graph after = joined(Graph({add(matmul(x, w), b, "y"), add(matmul(x, u), c, "z")}));
  EXPECT_THAT(computed(after),
              ElementsAre("w_joined", "matmul_joined", "b_joined", "y_joined", "y", "z"));
  EXPECT_THAT(after.arguments(), SizeIs(5));
}

TEST(JoinProducts, OfSeveralInputsAndBehindOneAnother) {
  const Siblings s;
  Tensor inner = s.q * 2;
  Tensor r = matmul(inner, known("wr", {4, 2}), "r"), t = matmul(inner, known("wt", {4, 3}), "t");
  const Graph after = joined(Graph({r, t, s.v}));
  EXPECT_THAT(computed(after), ElementsAre("q_joined", "q", "mul", "r_joined", "r", "t", "v"));
}

TEST(JoinProducts, Convolutions) {
  Tensor x = input("x", f32, {1, 6, 5, 3});
  Tensor one = conv2d(x, known("w1", {3, 3, 3, 4}), {}, "one");
  Tensor two = conv2d(x, known("w2", {3, 3, 3, 2}), {}, "two");
  EXPECT_THAT(computed(joined(Graph({one, two}))), ElementsAre("one_joined", "one", "two"));
}

TEST(JoinProducts, WeightsThatLieTheOtherWay) {
  const Axis m("m", 5), n("n", 4), p("p", 3), c("c", 6);
  Tensor x = input("x", f32, {5, 6}), w = known("wa", {4, 6}), u = known("wb", {3, 6});
  Tensor y = compute("y", {m, n}, sum(c, x(m, c) * w(n, c)));
  Tensor z = compute("z", {m, p}, sum(c, x(m, c) * u(p, c)));
  const Graph after = joined(Graph({y, z}));
  EXPECT_EQ(op_of(after, "wa_joined")->shape, (Shape{7, 6}));
}

TEST(JoinProducts, OneOfAnotherKindDoesNotKeepTheOthersApart) {
  const Siblings s;
  Tensor transposed = matmul(s.x, transpose(known("wo", {2, 6})), "o");
  FusionReport report;
  const Graph after = joined(Graph({transposed, s.q, s.v}), &report);
  EXPECT_EQ(report.fused_count(), 1);
  EXPECT_THAT(to_string(report), HasSubstr("o -> q: not fused: expected a weight or a constant"));
}

TEST(JoinProducts, NamesThatAreTaken) {
  const Siblings s;
  const Graph after = joined(Graph({s.q, s.v, relu(s.x, "q_joined")}));
  EXPECT_THAT(computed(after), ElementsAre("q_joined_1", "q", "v", "q_joined"));
}

// --- what is not ---------------------------------------------------------------------------------

TEST(JoinProducts, NotOfDifferentInputs) {
  const Siblings s;
  Tensor other = input("other", f32, {Extent::size("B"), 6});
  EXPECT_THAT(refusals(Graph({s.q, matmul(other, known("wo", {6, 4}), "o")})), IsEmpty());
}

TEST(JoinProducts, NotWhereOneDependsOnAnother) {
  const Siblings s;
  // Through its weights: sums of the first one's results.
  Tensor of_q = sum(s.q, {0});
  Tensor w = compute("w", {Axis("c", 6), Axis("n", 4)}, of_q(Axis("n", 4)) * 1.0f);
  EXPECT_THAT(refusals(Graph(matmul(s.x, w, "o"))),
              HasSubstr("q -> o: not fused: expected a weight or a constant along the columns, "
                        "got w"));
  // And one behind another reads another input.
  Tensor square = matmul(s.x, known("ws", {6, 6}), "square");
  EXPECT_THAT(refusals(Graph(matmul(square, known("wt", {6, 6}), "o"))), IsEmpty());
}

TEST(JoinProducts, NotOfDifferentTypes) {
  Tensor x = input("x", f32, {5, 6}), w = known("wa", {6, 4}), u = known("wb", {6, 4}, f64);
  const Axis m("m", 5), n("n", 4), c("c", 6);
  Tensor y = compute("y", {m, n}, sum(c, x(m, c) * w(c, n)));
  Tensor z = compute("z", {m, n}, sum(c, cast(f64, x(m, c)) * u(c, n)));
  EXPECT_THAT(refusals(Graph({y, z})),
              HasSubstr("expected z to be a sum of f32 as y is, got a sum of f64"));
}

TEST(JoinProducts, NotOfDifferentRanks) {
  Tensor x = input("x", f32, {5, 6}), w = known("wa", {6, 4}), u = known("wb", {2, 6, 4});
  const Axis h("h", 2), m("m", 5), n("n", 4), c("c", 6);
  Tensor z = compute("z", {h, m, n}, sum(c, x(m, c) * u(h, c, n)));
  EXPECT_THAT(refusals(Graph({matmul(x, w, "y"), z})),
              HasSubstr("expected shapes that agree but for the last axis, got [5, 4] and [2, 5, "
                        "4]"));
}

TEST(JoinProducts, NotOfOtherPartsOfTheInput) {
  Tensor x = input("x", f32, {5, 8});
  const Axis m("m", 5), n("n", 4), c("c", 6), d("d", 7);
  Tensor y = compute("y", {m, n}, sum(c, x(m, c) * known("wa", {6, 4})(c, n)));
  Tensor z = compute("z", {m, n}, sum(c, x(m, c + 2) * known("wb", {6, 4})(c, n)));
  Tensor longer = compute("longer", {m, n}, sum(d, x(m, d) * known("wc", {7, 4})(d, n)));
  EXPECT_THAT(refusals(Graph({y, z})),
              HasSubstr("expected z to compute what y does, c, got c + 2"));
  EXPECT_THAT(refusals(Graph({y, longer})),
              HasSubstr("expected reductions over the same extents, got [6] and [7]"));
}

TEST(JoinProducts, NotOfRunTimeOrNoColumns) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, Extent::size("N")});
  Tensor u = weight("u", f32, {6, Extent::size("N")}), none = known("w0", {6, 0});
  EXPECT_THAT(refusals(Graph({matmul(x, w, "y"), matmul(x, u, "z")})),
              HasSubstr("expected a constant number of columns, 1 or greater, got N of y"));
  EXPECT_THAT(refusals(Graph({matmul(x, none, "y"), matmul(x, known("w1", {6, 2}), "z")})),
              HasSubstr("expected a constant number of columns, 1 or greater, got 0 of y"));
}

TEST(JoinProducts, NotOfAWeightAndAConstant) {
  Tensor x = input("x", f32, {5, 6}), w = weight("w", f32, {6, 4});
  EXPECT_THAT(refusals(Graph({matmul(x, w, "y"), matmul(x, known("wb", {6, 4}), "z")})),
              HasSubstr("expected two weights or two constants, got w and wb"));
}

TEST(JoinProducts, NotOfWeightsThatAreReadInPart) {
  Tensor x = input("x", f32, {5, 6}), w = known("wa", {6, 8}), u = known("wb", {6, 4});
  const Axis m("m", 5), n("n", 4), c("c", 6);
  Tensor y = compute("y", {m, n}, sum(c, x(m, c) * w(c, n)));
  Tensor shifted = compute("shifted", {m, n}, sum(c, x(m, c) * w(c, n + 4)));
  Tensor z = compute("z", {m, n}, sum(c, x(m, c) * u(c, n)));
  EXPECT_THAT(refusals(Graph({y, z})), HasSubstr("to have a column for each of the results"));
  EXPECT_THAT(refusals(Graph({z, shifted})), HasSubstr("expected columns to be read as they come"));
}

TEST(JoinProducts, NotWhatIsNoProduct) {
  const Siblings s;
  const Axis m("m", Extent::size("B")), n("n", 4), c("c", 6);
  Tensor y = compute("y", {m, n}, reduce_max(c, s.x(m, c) + known("wa", {6, 4})(c, n)));
  EXPECT_THAT(refusals(Graph({y, s.v})), IsEmpty());  // the one product has no sibling
  EXPECT_THAT(*why_not_joinable(*y.op(), *s.v.op()),
              HasSubstr("expected the combiner sum, got max"));
  EXPECT_THAT(*why_not_joinable(*s.v.op(), *s.x.op()), HasSubstr("expected a product, got x"));
  Tensor deep = input("deep", f32, {5, 6, 4});
  const Axis row("m", 5);
  Tensor each = compute("each", {row, n}, sum(c, deep(row, c, n) * known("wb", {6, 4})(c, n)));
  EXPECT_THAT(*why_not_joinable(*each.op(), *s.q.op()),
              HasSubstr("expected the last axis of each to be of the weights alone"));
}

TEST(JoinProducts, NotLargerThanATensorMayBe) {
  // Two results of 1.6 GB each.
  Tensor x = input("x", f32, {40000000, 2});
  const Graph graph({matmul(x, known("wa", {2, 10}), "y"), matmul(x, known("wb", {2, 10}), "z")});
  FusionReport report;
  EXPECT_EQ(join_products(graph, always_join, &report).ops(), graph.ops());
  EXPECT_THAT(to_string(report), HasSubstr("expected joined tensors of at most 2^31 - 1 bytes"));
}

TEST(JoinProducts, NotByHandWhatIsNotLegal) {
  const Siblings s;
  const Graph graph({s.q, relu(s.x, "r")});
  EXPECT_INTERNAL_ERROR(join(graph, {op_of(graph, "q"), op_of(graph, "r")}),
                        "join q and r: expected");
}

// --- the policy ----------------------------------------------------------------------------------

// Products of which somebody reads the results at other places than their own.
Graph attention_of(const Tensor& x, const Tensor& wq, const Tensor& wk) {
  return Graph(matmul(matmul(x, wq, "q"), transpose(matmul(x, wk, "k")), "y"));
}

TEST(JoinWhatSaves, ConstantsOfWhichTheResultsAreReadAnyway) {
  Tensor x = input("x", f32, {Extent::size("B"), 6});
  FusionReport report;
  joined(attention_of(x, known("wq", {6, 4}), known("wk", {6, 4})), &report, join_what_saves);
  EXPECT_EQ(report.fused_count(), 1);
}

TEST(JoinWhatSaves, NotWeightsThatEveryCallWouldJoin) {
  Tensor x = input("x", f32, {Extent::size("B"), 6});
  Tensor wq = weight("wq", f32, {6, 4}), wk = weight("wk", f32, {6, 4});
  EXPECT_THAT(refusals(attention_of(x, wq, wk), join_what_saves),
              HasSubstr("got 24 of the input that are read less, 384 of weights that every call "
                        "joins, 0 of results"));
}

TEST(JoinWhatSaves, WeightsOfWhichTheInputIsMuchLarger) {
  Tensor x = input("x", f32, {100, 6});
  FusionReport report;
  joined(attention_of(x, weight("wq", f32, {6, 4}), weight("wk", f32, {6, 4})), &report,
         join_what_saves);
  EXPECT_EQ(report.fused_count(), 1);
}

TEST(JoinWhatSaves, NotProductsOfWhichEachFillsTheRegisters) {
  Tensor x = input("x", f32, {Extent::size("B"), 6});
  EXPECT_THAT(
      refusals(attention_of(x, known("wq", {6, 64}), known("wk", {6, 64})), join_what_saves),
      HasSubstr("expected fewer than 64 columns a product, of which one alone fills the "
                "registers, got 128 in 2 products"));
}

TEST(JoinWhatSaves, NotResultsThatWouldBeStoredForIt) {
  const Siblings s;
  EXPECT_THAT(refusals(Graph({s.q, s.v}), join_what_saves), HasSubstr("88 of results"));
  Tensor x = input("x", f32, {7, 6});
  Tensor a = relu(matmul(x, known("wa", {6, 4}), "q")), b = tanh(matmul(x, known("wb", {6, 4})));
  EXPECT_THAT(refusals(Graph(matmul(a, transpose(b), "y")), join_what_saves),
              HasSubstr("448 of results that are stored for it"));
}

MachineModel slow_memory() { return {1e9, {{"main memory", 0, 1}}}; }

TEST(JoinWhatPays, NarrowProductsAsBefore) {
  Tensor x = input("x", f32, {Extent::size("B"), 6});
  FusionReport report;
  joined(attention_of(x, known("wq", {6, 4}), known("wk", {6, 4})), &report,
         join_what_pays(slow_memory()));
  EXPECT_EQ(report.fused_count(), 1);
  EXPECT_THAT(refusals(attention_of(x, weight("wq", f32, {6, 4}), weight("wk", f32, {6, 4})),
                       join_what_pays(slow_memory())),
              HasSubstr("expected to read more bytes less than the join moves"));
}

TEST(JoinWhatPays, WideProductsWhereMemoryIsTheLimit) {
  Tensor x = input("x", f32, {64, 64});
  FusionReport report;
  joined(attention_of(x, known("wq", {64, 64}), known("wk", {64, 64})), &report,
         join_what_pays(slow_memory()));
  EXPECT_EQ(report.fused_count(), 1) << to_string(report);
}

TEST(JoinWhatPays, NotWideOnesWhereArithmeticIs) {
  Tensor x = input("x", f32, {64, 64});
  const MachineModel slow_arithmetic = {1e-3, {{"main memory", 0, 1e9}}};
  EXPECT_THAT(refusals(attention_of(x, known("wq", {64, 64}), known("wk", {64, 64})),
                       join_what_pays(slow_arithmetic)),
              HasSubstr("expected to be 1.05 times as fast by the model as apart, got 1.00 times, "
                        "of q and 1 others"));
}

TEST(JoinWhatPays, NotWideOnesOfSizesThatAreNotKnown) {
  Tensor x = input("x", f32, {Extent::size("B"), 64});
  EXPECT_THAT(refusals(attention_of(x, known("wq", {64, 64}), known("wk", {64, 64})),
                       join_what_pays(slow_memory())),
              HasSubstr("expected sizes that are known, or fewer than 64 columns a product, got q "
                        "of shape [B, 64]"));
}

TEST(JoinWhatPays, NotWideOnesOfWhichTheWeightsOrResultsAreMoved) {
  Tensor x = input("x", f32, {64, 64});
  EXPECT_THAT(refusals(attention_of(x, weight("wq", f32, {64, 64}), weight("wk", f32, {64, 64})),
                       join_what_pays(slow_memory())),
              HasSubstr("by the model as apart, got 0.67 times"));
  EXPECT_THAT(refusals(Graph({matmul(x, known("wq", {64, 64}), "q"),
                              matmul(x, known("wk", {64, 64}), "k")}),
                       join_what_pays(slow_memory())),
              HasSubstr("by the model as apart, got 0.67 times"));
}

TEST(JoinWhatPays, RefusesAMachineThatIsNone) {
  EXPECT_ERROR(join_what_pays({0, {{"main memory", 0, 1}}}), "expected a peak above 0");
}

// --- in the pipeline -----------------------------------------------------------------------------

const Target kTarget = Target::parse("x86-64-v3");

Graph known_attention() {
  Tensor x = input("x", f32, {24, 6});
  return attention_of(x, known("wq", {6, 4}), known("wk", {6, 4}));
}

Lowered lowered(const Graph& graph, const std::string& config) {
  return run_pipeline(graph, kTarget, {}, nullptr, parse_fusion_config(config));
}

constexpr char kProducts[] = R"({"patterns": ["elementwise chain", "sibling products"]})";

TEST(JoinInThePipeline, OnlyWhereTheConfigNamesIt) {
  const Graph graph = known_attention();
  const Lowered apart = lowered(graph, "{}");
  const FusionDecision& refused = apart.fusion.decisions.at(0);
  EXPECT_EQ(refused.pattern, kSiblingProducts);
  EXPECT_EQ(refused.reason, "expected a pattern that the config enables, got sibling products");
  EXPECT_EQ(refused.gain.value().bytes_saved, 24 * 6 * 4);
  EXPECT_FALSE(apart.grouped.find("q_joined"));
  const Lowered joined = lowered(graph, kProducts);
  EXPECT_TRUE(joined.fusion.decisions[0].fused) << to_string(joined.fusion);
  EXPECT_TRUE(joined.grouped.find("q_joined"));
  EXPECT_TRUE(computes(joined.nest, graph));
  EXPECT_EQ(joined.fusion.gain.value().bytes_saved, 24 * 6 * 4);
}

TEST(JoinInThePipeline, ArgumentsStayInTheirOrder) {
  Tensor x = input("x", f32, {100, 6}), z = input("z", f32, {100, 4});
  const Tensor q = matmul(x, weight("wq", f32, {6, 4}), "q"), between = mul(z, z, "between");
  const Tensor k = matmul(x, weight("wk", f32, {6, 4}), "k");
  const Graph graph(
      matmul(q, transpose(add(matmul(k, weight("w", f32, {4, 4}), "p"), between)), "y"));
  const Lowered joined = lowered(graph, kProducts);
  EXPECT_TRUE(joined.grouped.find("q_joined")) << to_string(joined.fusion);
  EXPECT_EQ(joined.grouped.arguments(), graph.arguments());
  EXPECT_TRUE(computes(joined.nest, graph));
}

// A graph that a pass made may declare an argument behind what does not need it.
TEST(JoinInThePipeline, ArgumentsBetweenOperationsStayInTheirOrder) {
  const Tensor x = input("x", f32, {100, 6}), z = input("z", f32, {100, 4});
  const Tensor wq = weight("wq", f32, {6, 4}), wk = weight("wk", f32, {6, 4});
  const Tensor q = matmul(x, wq, "q"), between = mul(z, z, "between"), k = matmul(x, wk, "k");
  const Tensor p = matmul(k, weight("w", f32, {4, 4}), "p"), s = add(p, between, "s");
  const Tensor t = transpose(s, {1, 0}, "t"), y = matmul(q, t, "y");
  std::vector<OpPtr> ops = {x.op(), wq.op(), q.op(), z.op(), between.op(), wk.op(), k.op()};
  ops.insert(ops.end(), {operands(*p.op())[1], p.op(), s.op(), t.op(), y.op()});
  const Graph graph(ops, {y.op()});
  const Lowered joined = lowered(graph, kProducts);
  EXPECT_TRUE(joined.grouped.find("q_joined")) << to_string(joined.fusion);
  EXPECT_EQ(joined.grouped.arguments(), graph.arguments());
}

TEST(JoinInThePipeline, WhatTheConfigRefuses) {
  const auto reason = [](const std::string& config) {
    return lowered(known_attention(), config).fusion.decisions.at(0).reason;
  };
  EXPECT_EQ(reason(R"({"patterns": ["sibling products"], "least_elements": 97})"),
            "expected q of at least 97 elements, got 96");
  EXPECT_EQ(reason(R"({"patterns": ["sibling products"], "largest_group": 1})"),
            "expected a group of at most 1 operation, got 2 with q");
  EXPECT_EQ(reason(R"({"enabled": false, "patterns": ["sibling products"]})"),
            "expected fusion to be enabled by the config");
}

TEST(JoinInThePipeline, ThatMustNotStayApart) {
  EXPECT_NO_THROW(lowered(known_attention(), R"({"patterns": ["sibling products"],
                                                 "fail_on_unfused": ["sibling products"]})"));
  EXPECT_ERROR(lowered(known_attention(), R"({"fail_on_unfused": ["sibling products"]})"),
               "expected the sibling products q and k to be computed together, got them apart: "
               "expected a pattern that the config enables");
  EXPECT_ERROR(
      lowered(Graph(relu(input("x", f32, {4}))), R"({"fail_on_unfused": ["sibling products"]})"),
      "expected sibling products in the graph, got none");
}

}  // namespace
}  // namespace emulsion
