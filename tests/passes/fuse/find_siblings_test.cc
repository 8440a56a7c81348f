#include "passes/fuse/find_siblings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/expect_fused.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fusion_config.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

Tensor matrix(const std::string& name, DType type = f32) { return input(name, type, {16, 32}); }

// The groups, by name, after what is fused otherwise.
std::vector<Names> groups_of(const Graph& graph, FusionReport* report = nullptr,
                             const SiblingPolicy& policy = share_always) {
  std::vector<Names> groups;
  for (const std::vector<OpPtr>& group : find_siblings(fuse_epilogues(graph), policy, report)) {
    groups.emplace_back();
    for (const OpPtr& op : group) groups.back().push_back(op->name);
  }
  return groups;
}

// Why the operations a and b of a graph are no siblings; "" when they are.
std::string why_not(const Graph& graph) {
  return why_not_siblings(*op_of(graph, "a"), *op_of(graph, "b")).value_or("");
}

// The only decision, when nothing was joined.
std::string refused(const Graph& graph) {
  FusionReport report;
  EXPECT_THAT(groups_of(graph, &report), IsEmpty());
  return report.decisions.size() == 1 ? report.decisions[0].reason : to_string(report);
}

TEST(FindSiblings, TwoOutputsOfOneInput) {
  const Tensor x = matrix("x");
  FusionReport report;
  EXPECT_THAT(groups_of(Graph({relu(x, "a"), tanh(x, "b")}), &report),
              ElementsAre(Names{"a", "b"}));
  EXPECT_EQ(to_string(report), "siblings, a -> b: fused\n");
}

TEST(FindSiblings, WhatIsStoredForOthers) {
  const Tensor x = matrix("x"), w = weight("w", f32, {32, 32});
  const Tensor a = relu(x, "a"), b = tanh(x, "b");
  EXPECT_THAT(groups_of(Graph(add(matmul(a, w, "p"), matmul(b, w, "q"), "y"))),
              ElementsAre(Names{"a", "b"}));
}

TEST(FindSiblings, GroupsAsOperations) {
  const Tensor x = matrix("x"), z = matrix("z");
  EXPECT_THAT(groups_of(Graph({relu(add(x, z, "s"), "a"), exp(mul(x, z, "m"), "b")})),
              ElementsAre(Names{"a", "b"}));
}

TEST(FindSiblings, RunTimeSizesAndOtherNamesOfAxes) {
  const Extent size = Extent::size("B");
  const Tensor x = input("x", f32, {size, 8});
  const Axis m("m", size), n("n", 8), i("i", size), j("j", 8);
  EXPECT_THAT(groups_of(Graph(
                  {compute("a", {m, n}, x(m, n) * 2.0f), compute("b", {i, j}, x(i, j) + 1.0f)})),
              ElementsAre(Names{"a", "b"}));
}

TEST(FindSiblings, OtherTypes) {
  const Tensor x = matrix("x");
  EXPECT_EQ(why_not(Graph({cast(x, i32, "a"), relu(x, "b")})), "");
}

TEST(FindSiblings, OneThatIsReadyLater) {
  // b needs c, and c nothing of a: a waits.
  const Tensor x = matrix("x"), z = matrix("z");
  const Tensor a = relu(x, "a"), c = exp(z, "c");
  EXPECT_THAT(groups_of(Graph({a, c, add(c, x, "b")})), ElementsAre(Names{"a", "b"}));
}

TEST(FindSiblings, SeveralAndThenAnotherGroup) {
  const Tensor x = matrix("x");
  std::vector<Tensor> outputs;
  for (int i = 0; i < 11; ++i)
    outputs.push_back(mul(x, static_cast<float>(i), "y" + std::to_string(i)));
  FusionReport report;
  const auto groups = groups_of(Graph(outputs), &report);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].size(), kMostSiblings);
  EXPECT_EQ(groups[1], (Names{"y8", "y9", "y10"}));
  EXPECT_THAT(report.decisions[7].reason,
              HasSubstr("expected at most 8 siblings, got y8 beside those of y0"));
}

TEST(FindSiblings, NoReductionAndNothingThatMoves) {
  const Tensor x = matrix("x");
  EXPECT_EQ(why_not(Graph({relu(x, "a"), sum(x, {1}, false, "b")})),
            "expected an elementwise operation, got reduction b");
  EXPECT_EQ(why_not(Graph({transpose(x, {1, 0}, "a"), relu(x, "b")})),
            "expected an elementwise operation, got data movement a");
  EXPECT_EQ(why_not(Graph({relu(x, "a"), matmul(x, weight("w", f32, {32, 32}), "b")})),
            "expected an elementwise operation, got contraction b");
}

TEST(FindSiblings, NoGroupWithAContraction) {
  const Tensor x = matrix("x");
  const Tensor mm = matmul(x, weight("w", f32, {32, 32}), "mm");
  EXPECT_THAT(groups_of(Graph({relu(x, "a"), add(mm, x, "b")})), IsEmpty());
}

TEST(FindSiblings, NoScalarsAndNothingEmpty) {
  const Tensor scalar_in = input("x", f32, {});
  EXPECT_EQ(why_not(Graph({relu(scalar_in, "a"), exp(scalar_in, "b")})),
            "expected a to have a loop, got rank 0");
  const Tensor empty = input("x", f32, {0, 4});
  EXPECT_EQ(why_not(Graph({relu(empty, "a"), exp(empty, "b")})),
            "expected a to have elements, got shape [0, 4]");
  EXPECT_THAT(groups_of(Graph({relu(empty, "a"), exp(empty, "b")})), IsEmpty());
}

TEST(FindSiblings, OfOneDomain) {
  const Tensor row = input("x", f32, {32}), z = matrix("z");
  EXPECT_EQ(refused(Graph({relu(row, "a"), add(z, row, "b")})),
            "expected b of the shape of a, [32], got [16, 32]");
  const Tensor sizes = input("x", f32, {Extent::size("A"), 8}), of_b = input("p", f32, {8});
  EXPECT_EQ(why_not(Graph(
                {add(sizes, of_b, "a"), add(input("z", f32, {Extent::size("B"), 8}), of_b, "b")})),
            "expected b of the shape of a, [A, 8], got [B, 8]");
}

TEST(FindSiblings, ThatReadOneTensor) {
  EXPECT_EQ(why_not(Graph({relu(matrix("x"), "a"), exp(matrix("z"), "b")})),
            "expected a and b to read one tensor");
  const Tensor one = input("one", f32, {1, 1});
  EXPECT_EQ(why_not(Graph({add(matrix("x"), one, "a"), mul(matrix("z"), one, "b")})),
            "expected a and b to read one tensor")
      << "one element is no stream";
}

TEST(FindSiblings, NotWhatNeedsTheOther) {
  const Tensor x = matrix("x");
  const Tensor a = relu(x, "a");
  EXPECT_EQ(refused(Graph({a, add(a, x, "b")})),
            "expected operations of which neither needs the other, got a and b");
}

TEST(FindSiblings, NotWhatNeedsTheOtherThroughAThird) {
  const Tensor x = matrix("x"), w = weight("w", f32, {32, 32});
  const Tensor a = relu(x, "a");
  const Tensor p = matmul(a, w, "p");
  EXPECT_EQ(refused(Graph({p, add(p, x, "b")})),
            "expected operations of which neither needs the other, got a and b");
}

TEST(FindSiblings, NotGroupsThatNeedOneAnother) {
  // b1 reads a1, and a2 reads b2: of the two pairs only one has a loop.
  const Tensor x = matrix("x"), z = matrix("z");
  const Tensor a1 = relu(x, "a1"), b1 = add(a1, z, "b1");
  const Tensor b2 = relu(z, "b2"), a2 = add(b2, x, "a2");
  FusionReport report;
  EXPECT_EQ(groups_of(Graph({a1, b1, b2, a2}), &report).size(), 1u) << to_string(report);
  EXPECT_THAT(to_string(report), HasSubstr("expected operations of which neither needs the other"));
}

TEST(FindSiblings, AsFarAsIsLooked) {
  const Tensor x = matrix("x");
  const Tensor a = relu(x, "a");
  std::vector<Tensor> outputs = {a};
  Tensor chain = exp(matrix("z"), "chain");
  outputs.push_back(chain);
  for (size_t i = 0; i < kMostBetweenSiblings + 10; ++i) {
    outputs.push_back(neg(a, "reads" + std::to_string(i)));
  }
  outputs.push_back(add(chain, x, "b"));
  FusionReport report;
  groups_of(Graph(outputs), &report);
  EXPECT_THAT(report.decisions.back().reason,
              HasSubstr("expected at most 1000 reads between a and b"));
}

TEST(FindSiblings, WhatThePolicyWants) {
  const Tensor x = matrix("x");
  const Graph graph({relu(x, "a"), exp(x, "b"), tanh(x, "c")});
  FusionReport report;
  const auto only_c = [](const SiblingCandidate& candidate) -> std::optional<std::string> {
    if (candidate.sibling->name == "c") return std::nullopt;
    return "expected c, got " + candidate.sibling->name;
  };
  EXPECT_THAT(groups_of(graph, &report, only_c), ElementsAre(Names{"a", "c"}));
  EXPECT_EQ(to_string(report),
            "siblings, a -> b: not fused: expected c, got b\nsiblings, a -> c: fused\n");
}

TEST(FindSiblings, WhatTheConfigAllows) {
  const Tensor x = matrix("x");
  const Graph graph({relu(x, "a"), relu(exp(x, "e"), "b"), tanh(x, "c")});
  EXPECT_THAT(groups_of(graph, nullptr, sibling_policy_of({}, share_always)),
              ElementsAre(Names{"a", "b", "c"}));
  const auto groups = [&](const std::string& json) {
    FusionReport decided;
    groups_of(graph, &decided, sibling_policy_of(parse_fusion_config(json), share_always));
    return to_string(decided);
  };
  EXPECT_THAT(groups(R"({"enabled": false})"), HasSubstr("a -> b: not fused: expected fusion to"));
  EXPECT_THAT(groups(R"({"patterns": ["elementwise chain"]})"),
              HasSubstr("expected a pattern that the config enables, got siblings"));
  EXPECT_THAT(groups(R"({"least_elements": 513})"),
              HasSubstr("expected b of at least 513 elements, got 512"));
  EXPECT_THAT(
      groups(R"({"largest_group": 2})"),
      HasSubstr("a -> b: not fused: expected a group of at most 2 operations, got 3 with b\n"
                "siblings, a -> c: fused"));
}

TEST(FindSiblings, ThatMustNotStayApart) {
  const Tensor x = matrix("x");
  const auto expect_siblings = [](const Graph& graph, const SiblingPolicy& policy) {
    FusionReport report;
    groups_of(graph, &report, policy);
    expect_fused(graph, fuse_epilogues(graph), report, {"siblings"});
  };
  EXPECT_NO_THROW(expect_siblings(Graph({relu(x, "a"), exp(x, "b")}), share_always));
  const auto never = [](const SiblingCandidate&) { return std::optional<std::string>("no"); };
  EXPECT_ERROR(expect_siblings(Graph({relu(x, "a"), exp(x, "b")}), never),
               "expected the siblings a and b to be computed together, got them apart: no");
  EXPECT_ERROR(expect_siblings(Graph(relu(x, "a")), share_always),
               "expected siblings in the graph, got none");
}

TEST(FindSiblings, StackedDiamonds) {
  Tensor x = matrix("x");
  const Tensor w = weight("w", f32, {32, 32});
  for (int i = 0; i < 64; ++i) {
    const std::string number = std::to_string(i);
    const Tensor a = relu(x, "a" + number), b = neg(x, "b" + number);
    x = add(matmul(a, w, "p" + number), matmul(b, w, "q" + number), "x" + number);
  }
  EXPECT_EQ(groups_of(Graph(x)).size(), 64u);
}

TEST(FindSiblings, InALargeGraph) {
  // Each reads the input and what the one before it made: 5,000 candidates, none of them legal.
  const Tensor x = matrix("x");
  Tensor last = relu(x, "start");
  std::vector<Tensor> outputs;
  for (int i = 0; i < 5000; ++i) {
    last = add(last, x, "y" + std::to_string(i));
    outputs.push_back(last);
  }
  FusionReport report;
  EXPECT_THAT(groups_of(Graph(outputs), &report), IsEmpty());
}

}  // namespace
}  // namespace emulsion
