#include "dsl/graph_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph.h"
#include "dsl/tensor.h"
#include "tests/passes/expect_error.h"
#include "tests/small_stack.h"

namespace emulsion {
namespace {

Extent B() { return Extent::size("B"); }

// The same structure: names, types, shapes, data, axes and expressions, reads compared by name.
void expect_same(const Op& a, const Op& b) {
  ASSERT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.dtype, b.dtype) << a.name;
  EXPECT_EQ(a.shape, b.shape) << a.name;
  EXPECT_EQ(a.combiner, b.combiner) << a.name;
  ASSERT_EQ(a.data == nullptr, b.data == nullptr) << a.name;
  if (a.data) {
    EXPECT_EQ(*a.data, *b.data) << a.name;
  }
  auto expect_same_axes = [&](const std::vector<Axis>& x, const std::vector<Axis>& y) {
    ASSERT_EQ(x.size(), y.size()) << a.name;
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].name(), y[i].name()) << a.name;
      EXPECT_EQ(x[i].extent(), y[i].extent()) << a.name;
    }
  };
  expect_same_axes(a.axes, b.axes);
  expect_same_axes(a.reduction_axes, b.reduction_axes);
  auto detached = [](const Expr& body) {
    return transform(body, [](const Expr& e) {
      return e->op == ExprOp::read ? read_buffer(e->name, e->dtype, e->args) : Expr();
    });
  };
  ASSERT_EQ(a.body.defined(), b.body.defined());
  if (a.body.defined()) {
    EXPECT_TRUE(equal(detached(a.body), detached(b.body))) << a.name;
  }
  ASSERT_EQ(a.members.size(), b.members.size());
  for (size_t i = 0; i < a.members.size(); ++i) expect_same(*a.members[i], *b.members[i]);
}

void expect_round_trip(const Graph& graph) {
  std::string text = to_string(graph);
  Graph parsed = parse_graph(text);
  verify_graph(parsed);
  EXPECT_EQ(to_string(parsed), text);
  ASSERT_EQ(parsed.ops().size(), graph.ops().size());
  for (size_t i = 0; i < graph.ops().size(); ++i) expect_same(*graph.ops()[i], *parsed.ops()[i]);
  ASSERT_EQ(parsed.outputs().size(), graph.outputs().size());
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    EXPECT_EQ(parsed.outputs()[i]->name, graph.outputs()[i]->name);
  }
}

Graph linear_relu() {
  Tensor x = input("x", f32, {B(), 256});
  Tensor w = weight("w", f32, {256, 512});
  Tensor b = weight("b", f32, {512});
  Axis m("m", B()), n("n", 512), k("k", 256);
  Func mm("mm"), y("y");
  mm(m, n) = sum(k, x(m, k) * w(k, n));
  y(m, n) = max(mm(m, n) + b(n), 0.0f);
  return Graph(y);
}

TEST(GraphText, ReadsAsItIsWritten) {
  EXPECT_EQ(to_string(linear_relu()),
            "emulsion graph 1\n"
            "size B\n"
            "input x: f32[B, 256]\n"
            "weight w: f32[256, 512]\n"
            "weight b: f32[512]\n"
            "mm[m: B, n: 512] = sum(k: 256) x[m, k] * w[k, n]\n"
            "y[m: B, n: 512] = max(mm[m, n] + b[n], 0f)\n"
            "output y\n");
}

TEST(GraphText, ParsesBack) { expect_round_trip(linear_relu()); }

TEST(GraphText, FusedOperationsHoldTheirMembers) {
  Graph plain = linear_relu();
  auto fused = std::make_shared<Op>();
  fused->kind = OpKind::fused;
  fused->members = {*plain.find("mm"), *plain.find("y")};
  fused->name = "y";
  fused->dtype = f32;
  fused->shape = plain.outputs()[0]->shape;
  std::vector<OpPtr> ops = {*plain.find("x"), *plain.find("w"), *plain.find("b"), fused};
  Graph graph(ops, {fused});
  verify_graph(graph);
  EXPECT_NE(to_string(graph).find("fused_matmul_bias_relu y {\n  mm[m: B, n: 512] = sum"),
            std::string::npos);
  expect_round_trip(graph);
}

TEST(GraphText, WhatAGroupDoesIsReadFromItsMembers) {
  const std::string members = " {\n  t[i: 4] = x[i] * 2f\n  y[i: 4] = max(t[i], 0f)\n}\n";
  for (const char* word : {"fused", "fused_mul_relu", "fused_by_an_older_version"}) {
    const Graph graph = parse_graph("emulsion graph 1\ninput x: f32[4]\n" + std::string(word) +
                                    " y" + members + "output y\n");
    EXPECT_NE(to_string(graph).find("\nfused_mul_relu y" + members), std::string::npos) << word;
  }
}

const char kRows[] =
    "emulsion graph 1\n"
    "input x: f32[4, 8]\n"
    "fused_rows_max_sub_exp_mul_mul y over [m] {\n"
    "  highest[m: 4] = max(k: 8) x[m, k]\n"
    "  fused_sub_exp_mul e {\n"
    "    d[m: 4, k: 8] = x[m, k] - highest[m]\n"
    "    e[m: 4, k: 8] = exp(d[m, k]) * 2f\n"
    "  }\n"
    "  y[m: 4, k: 8] = e[m, k] * e[m, 0]\n"
    "}\n"
    "z[m: 4, k: 8] = y[m, k] * 3f\n"
    "output z\n";

TEST(GraphText, LoopGroupsHoldTheirMembers) {
  const Graph graph = parse_graph(kRows);
  verify_graph(graph);
  EXPECT_EQ(to_string(graph), kRows);
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  const LoopGroup& group = graph.loop_groups()[0];
  EXPECT_EQ(group.kind, LoopGroupKind::rows);
  EXPECT_EQ(group.axes, std::vector<size_t>{0});
  ASSERT_EQ(group.members.size(), 3U);
  EXPECT_EQ(group.members[1]->kind, OpKind::fused);
  EXPECT_EQ(group.members.back(), *graph.find("y"));
  EXPECT_EQ(graph.ops().size(), 5U) << "its members are operations of the graph";
  expect_round_trip(graph);
}

TEST(GraphText, ALoopGroupOfRowsMayKeepAMember) {
  const std::string text =
      "emulsion graph 1\n"
      "input x: f32[4, 3]\n"
      "fused_rows_sum_mul y over [m] {\n"
      "  a[m: 4] = sum(k: 3) x[m, k]\n"
      "  y[m: 4, n: 3] = x[m, n] * a[m]\n"
      "}\n"
      "z[m: 4] = a[3 - m]\n"
      "output y\n"
      "output z\n"
      "output a\n";
  EXPECT_EQ(to_string(parse_graph(text)), text);
}

TEST(GraphText, ALoopGroupThatEndsInAGroup) {
  const char* const text =
      "emulsion graph 1\n"
      "input x: f32[4, 8]\n"
      "fused_waiting_sums_sum_div_neg y over [m] {\n"
      "  s[m: 4] = sum(k: 8) x[k % 4, m]\n"
      "  fused_div_neg y {\n"
      "    t[m: 4] = s[m] / 8f\n"
      "    y[m: 4] = -t[m]\n"
      "  }\n"
      "}\n"
      "output y\n";
  EXPECT_EQ(to_string(parse_graph(text)), text);
}

TEST(GraphText, ALoopGroupOfColumnsNamesTheAxesThatAreShared) {
  const char* const text =
      "emulsion graph 1\n"
      "input x: f32[2, 3, 5, 8]\n"
      "fused_columns_max_sub y over [b, h, w] {\n"
      "  highest[b: 2, h: 5, w: 8] = max(c: 3) x[b, c, h, w]\n"
      "  y[b: 2, c: 3, h: 5, w: 8] = x[b, c, h, w] - highest[b, h, w]\n"
      "}\n"
      "output y\n";
  const Graph graph = parse_graph(text);
  verify_graph(graph);
  EXPECT_EQ(graph.loop_groups()[0].kind, LoopGroupKind::columns);
  EXPECT_EQ(graph.loop_groups()[0].axes, (std::vector<size_t>{0, 2, 3}));
  EXPECT_EQ(to_string(graph), text);
}

TEST(GraphText, TheKindOfALoopGroupIsReadTheRestIsNot) {
  std::string text = kRows;
  text.replace(text.find("rows_max_sub_exp_mul_mul"), 24, "windows_by_an_older_version");
  const Graph graph = parse_graph(text);
  EXPECT_EQ(graph.loop_groups()[0].kind, LoopGroupKind::windows);
  EXPECT_NE(to_string(graph).find("fused_windows_max_sub_exp_mul_mul y over [m] {"),
            std::string::npos);
}

TEST(GraphText, AnOperationMayBeCalledLikeAGroup) {
  const std::string text =
      "emulsion graph 1\ninput x: f32[4]\nfused_relu[i: 4] = max(x[i], 0f)\noutput fused_relu\n";
  EXPECT_EQ(to_string(parse_graph(text)), text);
}

TEST(GraphText, KeepsTheOrderOfOperationsThatAPassChose) {
  Graph plain = linear_relu();
  std::vector<OpPtr> ops = {*plain.find("b"), *plain.find("w"), *plain.find("x"), *plain.find("mm"),
                            *plain.find("y")};
  Graph graph(ops, plain.outputs());
  expect_round_trip(graph);
  EXPECT_EQ(parse_graph(to_string(graph)).arguments()[0]->name, "b");
}

TEST(GraphText, KeepsTheOrderOfArguments) {
  Tensor x = input("x", f32, {4}), y = input("y", f32, {4});
  Axis i("i", 4);
  const Graph graph(compute("z", {i}, y(i) - x(i)));
  const Graph stated = graph.arguments({y, x});
  const std::string head = "emulsion graph 1\n", x_line = "input x: f32[4]\n",
                    y_line = "input y: f32[4]\n", rest = "z[i: 4] = y[i] - x[i]\noutput z\n";
  EXPECT_EQ(to_string(graph), head + x_line + y_line + rest);
  EXPECT_EQ(to_string(stated), head + y_line + x_line + rest);
  expect_round_trip(stated);
  // What is built of the tensors of a text takes them in the order of its lines, too.
  const Graph parsed = parse_graph(to_string(stated));
  EXPECT_EQ(to_string(Graph({Tensor(*parsed.find("z"))})), to_string(stated));
}

TEST(GraphText, ConstantsKeepEveryBit) {
  // 0x7f800001 signals: arithmetic on the way through would quiet it.
  std::vector<uint32_t> words = {0x7fc00000u, 0x7f800001u, 0xffc01234u, 0x80000000u,
                                 0x7f800000u, 0xff800000u, 0x00000001u, 0x3f800000u};
  for (size_t count : {8, 32}) {
    std::vector<uint8_t> bytes(count * 4);
    for (size_t i = 0; i < count; ++i) std::memcpy(&bytes[i * 4], &words[i % 8], 4);
    Tensor c = constant("c", f32, {static_cast<int64_t>(count)}, bytes);
    Axis i("i", static_cast<int64_t>(count));
    expect_round_trip(Graph(compute("y", {i}, c(i))));
  }
}

TEST(GraphText, ConstantsOfEveryTypeLongAndShort) {
  for (DType type : all_dtypes()) {
    if (!is_computable(type)) continue;
    for (int64_t count : {0, 1, 16, 17}) {
      size_t size = static_cast<size_t>(size_in_bytes(type));
      std::vector<uint8_t> bytes(static_cast<size_t>(count) * size);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = type == bool_ ? i % 2 : (i * 37) % 256;
      expect_round_trip(Graph(constant("c", type, {count}, bytes)));
    }
  }
}

TEST(GraphText, ASizeAndAnAxisMayShareAName) {
  Axis b("B", B());
  Expr both = cast(f32, Expr(b) + size_value("B"));
  Graph graph(compute("y", {b}, input("x", f32, {B()})(b) * both));
  EXPECT_NE(to_string(graph).find("f32(B + size(B))"), std::string::npos);
  expect_round_trip(graph);
}

TEST(GraphText, OperationsMayHaveTheNamesOfFunctionsAndStatements) {
  Axis i("size", 3);
  Tensor t = input("input", f32, {3});
  for (const char* name : {"max", "sum", "exp", "output", "fused", "f32", "hex", "weight"}) {
    t = compute(name, {i}, t(i) + 1.0f);
  }
  expect_round_trip(Graph(t));
}

TEST(GraphText, ReductionsOfEveryKindAndRankZero) {
  Axis k("k", 3), l("l", B());
  Tensor x = input("x", i32, {3, B()});
  Tensor a = compute("a", {}, sum({k, l}, x(k, l)));
  Tensor b = compute("b", {}, reduce_max({l, k}, x(k, l) * a()));
  Tensor c = compute("c", {l}, reduce_min(k, x(k, l)));
  Tensor d = compute("d", {l}, product({k}, x(k, l) - c(l)));
  expect_round_trip(Graph({d, b}));
}

TEST(GraphText, LiteralsInCastsSurvive) {
  Axis i("i", 3);
  Expr e = cast(f64, Expr(1)) + cast(f64, Expr(2.0)) * cast(f64, cast(i32, Expr(2.5f)));
  expect_round_trip(Graph(compute("y", {i}, -e)));
}

TEST(GraphText, CommentsAndBlankLinesAreFree) {
  Graph graph =
      parse_graph("\n# a comment\n emulsion graph 1 # more\r\n\n input x: f32[]\n\noutput x");
  EXPECT_EQ(to_string(graph), "emulsion graph 1\ninput x: f32[]\noutput x\n");
}

TEST(GraphText, NumbersOfNamesAreFinal) {
  Axis i("i", 3);
  Tensor t = input("x", f32, {3});
  for (int step = 0; step < 3; ++step) t = compute("", {i}, exp(t(i)), "exp");
  expect_round_trip(Graph(t));
}

// Grows a graph of random comprehensions over what is there.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Graph graph() {
    for (DType type : {f32, f64, i32, bool_}) {
      tensors_.push_back(input("x_" + to_string(type), type, {B(), 8}));
      tensors_.push_back(weight("w_" + to_string(type), type, {B(), 8}));
    }
    int count = 1 + below(6);
    for (int i = 0; i < count; ++i) {
      DType type = std::vector<DType>{f32, f64, i32}[below(3)];
      Expr body = value(below(6) ? type : bool_, 4);
      if (below(3) == 0 && body.dtype() != bool_) {
        body = below(2) ? sum(k_, body * cast(body.dtype(), Expr(k_))) : reduce_max(k_, body);
      }
      tensors_.push_back(compute(below(2) ? "" : "op" + std::to_string(i), {m_, n_}, body, "max"));
    }
    return Graph({tensors_.back(), tensors_[tensors_.size() - 2]});
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  Expr index() {
    switch (below(3)) {
      case 0:
        return n_;
      case 1:
        return 7 - Expr(n_);
      default:
        return min(max(value(i32, 1), 0), 7);
    }
  }

  Expr leaf(DType type) {
    if (type == i32 && below(2)) return below(2) ? Expr(n_) : size_value("B");
    if (type == bool_ && below(2)) return Expr(below(2) == 0);
    if (below(3) == 0 && type != bool_) return constant(type, below(9) - 4);
    if (below(6) == 0 && is_float(type)) return constant(type, below(2) ? -0.0 : 1.0 / 3);
    for (int tries = 0; tries < 50; ++tries) {
      const Tensor& t = tensors_[static_cast<size_t>(below(static_cast<int>(tensors_.size())))];
      if (t.dtype() == type) return t(m_, index());
    }
    return cast(type, Expr(n_));
  }

  Expr value(DType type, int depth) {
    if (depth == 0 || below(5) == 0) return leaf(type);
    auto next = [&](DType of) { return value(of, depth - 1); };
    if (below(6) == 0) return select(next(bool_), next(type), next(type));
    if (type == bool_) {
      static const ExprOp kOps[] = {ExprOp::lt, ExprOp::ge, ExprOp::eq, ExprOp::ne};
      static const ExprOp kLogic[] = {ExprOp::logical_and, ExprOp::logical_or, ExprOp::eq};
      if (below(4) == 0) return !next(bool_);
      if (below(2)) return binary(kLogic[below(3)], next(bool_), next(bool_));
      DType of = std::vector<DType>{f32, f64, i32}[below(3)];
      return binary(kOps[below(4)], next(of), next(of));
    }
    const ExprOp ops[] = {ExprOp::add,
                          ExprOp::sub,
                          ExprOp::mul,
                          ExprOp::div,
                          ExprOp::min,
                          ExprOp::max,
                          type == i32 ? ExprOp::mod : ExprOp::pow};
    static const ExprOp kUnary[] = {ExprOp::neg,   ExprOp::abs,  ExprOp::exp,   ExprOp::log,
                                    ExprOp::tanh,  ExprOp::erf,  ExprOp::floor, ExprOp::ceil,
                                    ExprOp::round, ExprOp::trunc};
    switch (below(5)) {
      case 0:
        return cast(type, next(std::vector<DType>{f32, f64, i32, bool_}[below(4)]));
      case 1:
        return unary(kUnary[below(type == i32 ? 2 : 10)], next(type));
      default:
        return binary(ops[below(7)], next(type), next(type));
    }
  }

  std::mt19937 random_;
  std::vector<Tensor> tensors_;
  Axis m_{"m", B()}, n_{"n", 8}, k_{"k", 5};
};

class RandomGraphText : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraphText, ParsesBack) {
  for (uint32_t i = 0; i < 50; ++i) {
    uint32_t seed = GetParam() * 50 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_round_trip(Generator(seed).graph());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphText, ::testing::Range(0u, 10u));

// Whatever happens to a text, the answer is a graph or an Error.
void expect_graph_or_error(const std::string& text) {
  try {
    Graph graph = parse_graph(text);
    verify_graph(graph);
  } catch (const Error&) {
  } catch (const std::exception& other) {
    ADD_FAILURE() << other.what() << "\n" << text;
  }
}

TEST(DamagedGraphText, CutAnywhere) {
  std::string text = to_string(Generator(7).graph());
  for (size_t length = 0; length < text.size(); ++length) {
    expect_graph_or_error(text.substr(0, length));
  }
}

TEST(DamagedGraphText, OneByteChanged) {
  std::mt19937 random(11);
  SCOPED_TRACE("seed 11");
  const std::string bytes = "[](){}:=+-*/%<>!&|,.#\n 019azBmnkx_\xff";
  std::string text = to_string(Generator(8).graph());
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    damaged[random() % text.size()] = bytes[random() % bytes.size()];
    expect_graph_or_error(damaged);
  }
}

TEST(DamagedGraphText, LinesSwappedOrDropped) {
  std::string text = to_string(Generator(9).graph());
  std::vector<std::string> lines(1);
  for (char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  for (size_t a = 0; a < lines.size(); ++a) {
    for (size_t b = a; b < lines.size(); ++b) {
      std::vector<std::string> damaged = lines;
      std::swap(damaged[a], damaged[b]);
      if (a == b) damaged[a] = "";
      std::string joined;
      for (const std::string& line : damaged) joined += line + "\n";
      expect_graph_or_error(joined);
    }
  }
}

// As many operations inside one another as an expression may have, in each way to write them.
TEST(GraphText, TheHighestExpressionsComeBackOnASmallStack) {
  const Axis i("i", 4);
  const Tensor x = input("x", f32, {4}), yes = input("yes", DType::boolean, {4});
  const std::vector<std::function<Expr(const Expr&)>> ways = {
      [](const Expr& e) { return exp(e); },
      [](const Expr& e) { return -e; },
      [&](const Expr& e) { return x(i) - e; },
      [&](const Expr& e) { return e * x(i); },
      [&](const Expr& e) { return x(i) / (x(i) + e); },
      [&](const Expr& e) { return select(yes(i), x(i), e); },
      [&](const Expr& e) { return select(!(e < x(i)), x(i), x(i)); },
  };
  run_on_stack(size_t{1} << 20, [&] {
    for (const auto& way : ways) {
      Expr value = x(i);
      for (Expr higher = value; size_of(higher).height <= ExprSize::kMostHeight;
           higher = way(value)) {
        value = higher;
      }
      EXPECT_GT(size_of(value).height, ExprSize::kMostHeight - 4);
      expect_round_trip(Graph(compute("y", {i}, value)));
    }
  });
}

TEST(GraphText, DeepTextIsRefusedOnASmallStack) {
  const std::string before = "emulsion graph 1\ninput x: f32[4]\ny[i: 4] = ";
  const std::vector<std::string> texts = {"(",
                                          "-",
                                          "exp(",
                                          "x[i] - (",
                                          "select(i == 1, x[i], ",
                                          "i == 1 || i == 1 && i == 1 == i < i + i * ("};
  run_on_stack(size_t{1} << 20, [&] {
    for (const std::string& text : texts) {
      std::string deep = before;
      for (int n = 0; n < 100000; ++n) deep += text;
      EXPECT_ERROR(parse_graph(deep), "expected at most 1000 levels of nesting");
    }
  });
}

}  // namespace
}  // namespace emulsion
