#include "dsl/graph.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "dsl/graph_text.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Axis m("m", Extent::size("B")), n("n", 8);

Tensor copy_of(const Tensor& t, const std::string& name, const std::string& auto_name = "copy") {
  return compute(name, {m, n}, t(m, n) + 1.0f, auto_name);
}

std::vector<std::string> names_of(const std::vector<OpPtr>& ops) {
  std::vector<std::string> names;
  for (const OpPtr& op : ops) names.push_back(op->name);
  return names;
}

using Names = std::vector<std::string>;

struct Diamond {
  Tensor x = input("x", f32, {Extent::size("B"), 8});
  Tensor w = weight("w", f32, {Extent::size("B"), 8});
  Tensor a = copy_of(x, "a");
  Tensor b = compute("b", {m, n}, a(m, n) * w(m, n));
  Tensor y = compute("y", {m, n}, a(m, n) + b(m, n) + b(m, n));
};

TEST(Graph, ProducersComeBeforeUsers) {
  Diamond d;
  Graph graph(d.y);
  EXPECT_EQ(names_of(graph.ops()), (Names{"x", "w", "a", "b", "y"}));
  verify_graph(graph);
}

// fg * alpha + bg * (1 - alpha), which meets alpha before bg.
struct Blend {
  Tensor fg = input("fg", f32, {Extent::size("B"), 8});
  Tensor bg = input("bg", f32, {Extent::size("B"), 8});
  Tensor alpha = weight("alpha", f32, {Extent::size("B"), 8});
  Tensor unread = input("unread", f32, {8});
  Tensor mix = compute("mix", {m, n}, bg(m, n) * (1.0f - alpha(m, n)));
  Tensor y = compute("y", {m, n}, fg(m, n) * alpha(m, n) + mix(m, n));
};

TEST(Graph, ArgumentsComeAsTheyWereDeclared) {
  Blend b;
  EXPECT_EQ(names_of(Graph(b.y).arguments()), (Names{"fg", "bg", "alpha"}));
  EXPECT_EQ(names_of(Graph(b.y).ops()), (Names{"fg", "bg", "alpha", "mix", "y"}));
  EXPECT_EQ(names_of(Graph({b.mix, b.y}).arguments()), (Names{"fg", "bg", "alpha"}));
}

// Another way to write the same, whose first operand is another.
TEST(Graph, AnotherExpressionKeepsTheOrderOfArguments) {
  Blend b;
  Tensor y = compute("y", {m, n}, b.mix(m, n) + b.alpha(m, n) * b.fg(m, n));
  EXPECT_EQ(names_of(Graph(y).arguments()), (Names{"fg", "bg", "alpha"}));
}

// What other threads declare in the meantime changes numbers, not the order.
TEST(Graph, ArgumentsKeepTheirOrderAmongManyThreads) {
  std::vector<Names> found(8);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (Names& names : found) {
    threads.emplace_back([&names] {
      for (int i = 0; i < 50; ++i) names = names_of(Graph(Blend().y).arguments());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Names& names : found) EXPECT_EQ(names, (Names{"fg", "bg", "alpha"}));
}

TEST(Graph, ArgumentsComeAsTheUserStatesThem) {
  Blend b;
  const Graph graph = Graph(b.y).arguments({b.alpha, b.fg, b.bg});
  EXPECT_EQ(names_of(graph.arguments()), (Names{"alpha", "fg", "bg"}));
  EXPECT_EQ(names_of(graph.ops()), (Names{"alpha", "fg", "bg", "mix", "y"}));
  EXPECT_EQ(graph.name_of(b.mix), "mix");
  EXPECT_EQ((*graph.find("bg"))->name, "bg");
  verify_graph(graph);
  const Graph copy = graph;
  EXPECT_EQ(names_of(copy.arguments()), (Names{"alpha", "fg", "bg"}));
  EXPECT_EQ(names_of(copy.arguments({b.bg, b.alpha, b.fg}).arguments()),
            (Names{"bg", "alpha", "fg"}));
}

TEST(Graph, StatedArgumentsMayBeTheGraphsOwn) {
  const Graph graph(Blend().y);
  const Graph other = graph.arguments(
      {Tensor(*graph.find("bg")), Tensor(*graph.find("alpha")), Tensor(*graph.find("fg"))});
  EXPECT_EQ(names_of(other.arguments()), (Names{"bg", "alpha", "fg"}));
}

TEST(Graph, StatedArgumentsAreAllOfThemAndEachOnce) {
  Blend b;
  const Graph graph(b.y);
  const auto refusal_of = [&](const std::vector<Tensor>& order) {
    return [&graph, order] { (void)graph.arguments(order); };
  };
  const auto says = [](const std::string& words) {
    return ThrowsMessage<Error>("arguments: expected " + words +
                                "; legal: fg, bg, alpha, in any order");
  };
  EXPECT_THAT(refusal_of({b.fg, b.bg}),
              says("every input and weight of the graph, got fg, bg without alpha"));
  EXPECT_THAT(refusal_of({}), says("every input and weight of the graph, got none without fg"));
  EXPECT_THAT(refusal_of({b.fg, b.bg, b.fg}), says("each input and weight once, got fg twice"));
  EXPECT_THAT(refusal_of({b.fg, b.unread}),
              says("inputs and weights of the graph, got unread, which no output needs"));
  EXPECT_THAT(refusal_of({b.fg, b.bg, b.alpha, b.y}),
              says("inputs and weights of the graph, got y, which is neither"));
  EXPECT_THAT(refusal_of({b.fg, Tensor()}),
              says("inputs and weights of the graph, got an undefined tensor"));
  // One of the same name is not the same.
  EXPECT_THAT(refusal_of({Blend().fg}),
              says("inputs and weights of the graph, got fg, which no output needs"));
}

TEST(Graph, CountsEachUserOnceAndEachOutput) {
  Diamond d;
  Graph graph({d.y, d.b});
  EXPECT_EQ(graph.user_count(**graph.find("a")), 2);
  EXPECT_EQ(graph.user_count(**graph.find("b")), 2);
  EXPECT_EQ(graph.user_count(**graph.find("y")), 1);
  EXPECT_TRUE(graph.is_output(**graph.find("b")));
  EXPECT_FALSE(graph.is_output(**graph.find("a")));
}

TEST(Graph, KeepsTheOrderOfOutputs) {
  Diamond d;
  EXPECT_EQ(names_of(Graph({d.b, d.y, d.a}).outputs()), (Names{"b", "y", "a"}));
}

TEST(Graph, NumbersNamesThatTheUserDidNotGive) {
  Tensor x = input("copy_1", f32, {Extent::size("B"), 8});
  Tensor a = copy_of(x, ""), b = copy_of(a, ""), c = copy_of(b, "");
  Graph graph(c);
  EXPECT_EQ(names_of(graph.ops()), (Names{"copy_1", "copy", "copy_2", "copy_3"}));
  EXPECT_EQ(graph.name_of(b), "copy_2");
  verify_graph(graph);
}

TEST(Graph, ANumberedNameIsNotThatOfASize) {
  Tensor y = copy_of(input("x", f32, {Extent::size("B"), 8}), "", "B");
  EXPECT_EQ(names_of(Graph(y).ops()), (Names{"x", "B_1"}));
}

TEST(Graph, NamesSizesFromShapesReductionsAndBodies) {
  Axis k("k", Extent::size("K"));
  Tensor y = compute("y", {m}, sum(k, cast(f32, Expr(m) + k + size_value("T"))));
  EXPECT_EQ(Graph(y).sizes(), (Names{"B", "K", "T"}));
}

TEST(Graph, HasTheNamesOfOperationsMembersAndSizes) {
  const Graph graph = parse_graph(
      "emulsion graph 1\nsize B\ninput x: f32[B, 8]\n"
      "fused y {\n  a[m: B] = x[m, 0]\n  y[m: B] = a[m]\n}\noutput y\n");
  for (const char* name : {"x", "y", "a", "B"}) EXPECT_TRUE(graph.has_name(name)) << name;
  for (const char* name : {"m", "b", ""}) EXPECT_FALSE(graph.has_name(name)) << name;
}

TEST(Graph, HasItsNamesInAnyOrderOfTheArguments) {
  Blend b;
  const Graph graph = Graph(b.y).arguments({b.alpha, b.bg, b.fg});
  for (const char* name : {"fg", "mix", "B"}) EXPECT_TRUE(graph.has_name(name)) << name;
  EXPECT_FALSE(graph.has_name("unread"));
}

TEST(Graph, FindsATensorOfAnotherGraphByItsName) {
  Diamond d, other;
  EXPECT_EQ(Graph(d.y).name_of(other.b), "b");
}

// A name that nobody gave says of two operations nothing.
TEST(Graph, FindsNoTensorOfAnotherGraphByAnAutomaticName) {
  const Tensor x = Diamond().x, mine = copy_of(x, ""), other = copy_of(x, "");
  const Graph graph(mine);
  ASSERT_EQ(mine.name(), other.name());
  EXPECT_EQ(graph.name_of(mine), graph.outputs()[0]->name);
  EXPECT_THROW(graph.name_of(other), Error);
}

TEST(Graph, AnInputMayBeAnOutput) {
  Diamond d;
  EXPECT_EQ(Graph(d.x).ops().size(), 1u);
}

TEST(Graph, ALongChainNeedsNoStack) {
  Tensor t = input("x", f32, {Extent::size("B"), 8});
  for (int i = 0; i < 60000; ++i) t = copy_of(t, "");
  Graph graph(t);
  EXPECT_EQ(graph.ops().size(), 60001u);
  verify_graph(graph);
}

TEST(Operands, AreListedOnceInTheOrderOfTheirFirstRead) {
  Diamond d;
  EXPECT_EQ(names_of(operands(*d.y.op())), (Names{"a", "b"}));
  EXPECT_TRUE(operands(*d.x.op()).empty());
}

OpPtr fuse(const std::vector<OpPtr>& members) {
  auto op = std::make_shared<Op>();
  op->kind = OpKind::fused;
  op->name = members.back()->name;
  op->dtype = members.back()->dtype;
  op->shape = members.back()->shape;
  op->members = members;
  return op;
}

TEST(Operands, OfAFusedOperationLeaveItsMembersOut) {
  Diamond d;
  EXPECT_EQ(names_of(operands(*fuse({d.a.op(), d.b.op(), d.y.op()}))), (Names{"x", "w"}));
}

TEST(ReplaceReads, ReturnsTheSameOperationWhenNothingChanges) {
  Diamond d;
  EXPECT_EQ(replace_reads(d.y.op(), {{d.x.op().get(), d.w.op()}}), d.y.op());
}

TEST(ReplaceReads, FollowsAChangeThroughTheMembers) {
  Diamond d;
  OpPtr fused = fuse({d.a.op(), d.y.op()});
  OpPtr changed = replace_reads(fused, {{d.x.op().get(), d.w.op()}});
  ASSERT_NE(changed, fused);
  EXPECT_EQ(names_of(operands(*changed)), (Names{"w", "b"}));
}

class GraphRefusal : public RefusalTest {};
TEST_P(GraphRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, GraphRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"NoOutput", [] { Graph(std::vector<Tensor>{}); }, "expected at least one output"},
        {"UndefinedOutput", [] { Graph{Tensor()}; }, "got an undefined tensor"},
        {"UndefinedFunction", [] { Graph{Func("f")}; }, "function f: expected a definition"},
        {"OneOutputTwice",
         [] {
           Tensor t = Diamond().y;
           Graph({t, t});
         },
         "got y twice"},
        {"TwoOfOneName", [] { Graph(copy_of(copy_of(Diamond().x, "a"), "a")); },
         "got two operations named a; legal: "},
        {"TwoInputsOfOneName", [] { Graph(input("x", f32, {4}) + input("x", f32, {4})); },
         "expected distinct names, got two operations named x; legal: one tensor that both places "
         "read, or another name for one of the two"},
        {"OperationNamedAsASize", [] { Graph(copy_of(Diamond().x, "B")); },
         "got B for a run-time size and an operation"},
        {"NameOfAStranger", [] { Graph(Diamond().a).name_of(Diamond().w); },
         "expected one of its operations (x, a), got w"},
        {"NameOfNothing", [] { Graph(Diamond().a).name_of(Tensor()); }, "an undefined tensor"},
    }),
    refusal_name);

// What a pass could get wrong.
void expect_broken(const Graph& graph, const char* cause) {
  EXPECT_THAT([&] { verify_graph(graph); }, ThrowsMessage<InternalError>(HasSubstr(cause)));
}

TEST(VerifyGraph, FindsAUserBeforeItsProducer) {
  Diamond d;
  expect_broken(Graph({d.a.op(), d.x.op()}, {d.a.op()}), "a: reads x before it is there");
}

TEST(VerifyGraph, FindsTwoOperationsOfOneName) {
  Diamond d;
  expect_broken(Graph({d.x.op(), input("x", f32, {3}).op()}, {d.x.op()}), "two operations named x");
}

TEST(VerifyGraph, FindsAnOutputThatIsNotThere) {
  Diamond d;
  expect_broken(Graph({d.x.op()}, {d.a.op()}), "output a is not in the graph");
}

TEST(VerifyGraph, FindsANameThatIsNotFinal) {
  expect_broken(Graph({scalar(1.0f).op()}, {}), "scalar has no final name");
}

TEST(VerifyGraph, FindsABodyOfAnotherType) {
  auto op = std::make_shared<Op>(*Diamond().a.op());
  op->dtype = f64;
  expect_broken(Graph({operands(*op)[0], op}, {op}), "a: type of the body");
}

TEST(VerifyGraph, FindsAnAxisOutOfScope) {
  Diamond d;
  auto op = std::make_shared<Op>(*d.a.op());
  op->body = d.x(Axis("q"), n);
  expect_broken(Graph({d.x.op(), op}, {op}), "axis q is not in scope");
}

TEST(VerifyGraph, FindsAFusedOperationThatIsNotItsLastMember) {
  Diamond d;
  auto op = std::make_shared<Op>(*fuse({d.a.op()}));
  op->name = "z";
  expect_broken(Graph({d.x.op(), op}, {op}), "z: the last member is the result");
}

TEST(VerifyGraph, FindsAReaderOfAMember) {
  Diamond d;
  const OpPtr group = fuse({d.a.op(), d.b.op()});
  const OpPtr y = replace_reads(d.y.op(), {{d.b.op().get(), group}});
  expect_broken(Graph({d.x.op(), d.w.op(), group, y}, {y}), "y: reads a before it is there");
}

// a, b and y of the diamond, with these groups.
Graph in_loops(const Diamond& d, std::vector<LoopGroup> groups, std::vector<OpPtr> outputs = {}) {
  if (outputs.empty()) outputs = {d.y.op()};
  return Graph({d.x.op(), d.w.op(), d.a.op(), d.b.op(), d.y.op()}, outputs, std::move(groups));
}
LoopGroup rows_of(std::vector<OpPtr> members, std::vector<size_t> axes = {0}) {
  return {LoopGroupKind::rows, std::move(members), std::move(axes)};
}

LoopGroup blocks_of(std::vector<OpPtr> members) {
  return {LoopGroupKind::row_blocks, std::move(members), {0}};
}

TEST(LoopGroups, OfOperationsThatTheGroupAloneReads) {
  Diamond d;
  const Graph graph = in_loops(d, {rows_of({d.a.op(), d.b.op(), d.y.op()}, {0, 1})});
  verify_graph(graph);
  EXPECT_EQ(graph.loop_groups().size(), 1U);
  verify_graph(in_loops(d, {rows_of({d.b.op(), d.y.op()})}));
}

TEST(LoopGroups, StayWhereOnlyTheArgumentsMove) {
  Diamond d;
  const Graph turned = in_loops(d, {rows_of({d.b.op(), d.y.op()})}).arguments({d.w, d.x});
  EXPECT_EQ(names_of(turned.ops()), (Names{"w", "x", "a", "b", "y"}));
  EXPECT_EQ(turned.loop_groups().size(), 1U);
  verify_graph(turned);
}

TEST(VerifyGraph, FindsALoopGroupOfLessThanTwo) {
  Diamond d;
  expect_broken(in_loops(d, {rows_of({d.y.op()})}), "a loop group of 1 members");
}

TEST(VerifyGraph, FindsAxesThatTheLastMemberDoesNotHave) {
  Diamond d;
  expect_broken(in_loops(d, {rows_of({d.b.op(), d.y.op()}, {0, 1, 2})}),
                "y: axis 2 is shared, of 2");
  expect_broken(in_loops(d, {rows_of({d.b.op(), d.y.op()}, {1, 0})}), "y: axis 0 is shared, of 2");
  verify_graph(in_loops(d, {rows_of({d.b.op(), d.y.op()}, {1})}));
  expect_broken(in_loops(d, {{LoopGroupKind::row_blocks, {d.b.op(), d.y.op()}, {1}}}),
                "y: axis 1 is shared, of 2");
  expect_broken(in_loops(d, {rows_of({d.b.op(), d.y.op()}, {})}), "y: no axes are shared");
}

TEST(VerifyGraph, FindsAxesOfColumnsThatAreNone) {
  Diamond d;
  const std::vector<OpPtr> members = {d.b.op(), d.y.op()};
  const auto over = [&](std::vector<size_t> axes) {
    return in_loops(d, {{LoopGroupKind::columns, members, std::move(axes)}});
  };
  verify_graph(over({1}));
  verify_graph(over({0, 1}));
  expect_broken(over({1, 1}), "y: axis 1 is shared, of 2");
  expect_broken(over({1, 2}), "y: axis 2 is shared, of 2");
  expect_broken(over({0}), "y: the last axis is not shared by columns");
}

TEST(VerifyGraph, FindsAnArgumentInALoopGroup) {
  Diamond d;
  expect_broken(in_loops(d, {rows_of({d.w.op(), d.a.op(), d.b.op(), d.y.op()})}),
                "w is in the loops of y, and not computed");
}

TEST(VerifyGraph, FindsAnOperationInTwoLoopGroups) {
  Diamond d;
  expect_broken(in_loops(d, {rows_of({d.a.op(), d.b.op()}), rows_of({d.b.op(), d.y.op()})}),
                "b is in two loop groups");
}

TEST(VerifyGraph, FindsAMemberThatTheGraphDoesNotHave) {
  Diamond d;
  expect_broken(in_loops(d, {rows_of({copy_of(d.x, "z").op(), d.y.op()})}),
                "z is in a loop group, not in the graph");
}

TEST(VerifyGraph, FindsMembersThatDoNotStandTogether) {
  Diamond d;
  expect_broken(in_loops(d, {rows_of({d.a.op(), d.y.op()})}), "y does not stand with");
  expect_broken(in_loops(d, {rows_of({d.b.op(), d.a.op(), d.y.op()})}), "a does not stand with");
}

TEST(VerifyGraph, FindsAMemberThatIsAnOutput) {
  Diamond d;
  expect_broken(in_loops(d, {blocks_of({d.b.op(), d.y.op()})}, {d.y.op(), d.b.op()}),
                "b is an output, and in the loops of y");
}

TEST(VerifyGraph, FindsAMemberThatTheOutsideReads) {
  Diamond d;
  expect_broken(in_loops(d, {blocks_of({d.a.op(), d.b.op()})}),
                "a is in the loops of b, and read by y");
}

TEST(VerifyGraph, FindsAReaderOfWhatIsKeptAheadOfItsLoops) {
  Diamond d;
  const OpPtr c = copy_of(d.a, "c").op();
  const std::vector<OpPtr> outputs = {d.y.op(), c};
  const std::vector<LoopGroup> rows = {rows_of({d.a.op(), d.b.op(), d.y.op()})};
  verify_graph(Graph({d.x.op(), d.w.op(), d.a.op(), d.b.op(), d.y.op(), c}, outputs, rows));
  const std::vector<LoopGroup> fewer = {rows_of({d.b.op(), d.y.op()})};
  verify_graph(Graph({d.x.op(), d.w.op(), d.a.op(), c, d.b.op(), d.y.op()}, outputs, fewer));
  expect_broken(Graph({d.x.op(), d.w.op(), d.a.op(), d.b.op(), c, d.y.op()}, outputs, rows),
                "y does not stand with the loop group of y");
}

TEST(LoopGroups, OfRowsMayKeepWhatOthersNeedToo) {
  Diamond d;
  verify_graph(in_loops(d, {rows_of({d.b.op(), d.y.op()})}, {d.y.op(), d.b.op()}));
  verify_graph(in_loops(d, {rows_of({d.a.op(), d.b.op()})}));
}

}  // namespace
}  // namespace emulsion
