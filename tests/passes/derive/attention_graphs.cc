#include "tests/passes/derive/attention_graphs.h"

#include "dsl/operators.h"

namespace emulsion {
namespace {

constexpr int64_t kHeads = 2, kWidth = 24;

struct Operands {
  Operands(const Extent& rows, const Extent& length, int64_t heads = kHeads, int64_t width = kWidth)
      : h("h", heads),
        s("s", rows),
        t("t", length),
        d("d", width),
        q(input("q", f32, {heads, rows, width})),
        k(input("k", f32, {heads, length, width})),
        v(input("v", f32, {heads, length, width})),
        mask(input("mask", f32, {rows, length})) {}

  Tensor scores() const { return compute("e", {h, s, t}, sum(d, q(h, s, d) * k(h, t, d))); }
  Tensor reader(const Tensor& weights, const std::string& name = "y") const {
    return compute(name, {h, s, d}, sum(t, weights(h, s, t) * v(h, t, d)));
  }

  Axis h, s, t, d;
  Tensor q, k, v, mask;
};

// The columns' operand lies along the columns.
Graph of_keys_that_lie_across(const Operands& o) {
  const Tensor across = input("k", f32, {o.h.extent(), o.d.extent(), o.t.extent()});
  const Tensor e =
      compute("e", {o.h, o.s, o.t}, sum(o.d, o.q(o.h, o.s, o.d) * across(o.h, o.d, o.t)));
  return Graph(o.reader(softmax(e)));
}

// What is above the diagonal counts for nothing.
Graph causal(const Operands& o) {
  const Tensor e = o.scores();
  const Tensor left =
      compute("left", {o.h, o.s, o.t}, select(Expr(o.t) <= Expr(o.s), e(o.h, o.s, o.t), -1e30f));
  return Graph(o.reader(softmax(left)));
}

// One head only: no loop outside the blocks.
Graph of_one_head(const Extent& rows, const Extent& length) {
  Tensor q = input("q", f32, {rows, kWidth}), k = input("k", f32, {kWidth, length}),
         v = input("v", f32, {length, kWidth});
  return Graph(matmul(softmax(matmul(q, k, "e")), v, "y"));
}

// Rows of an input are combined, and no product.
Graph of_given_scores(const Operands& o) {
  const Tensor e = input("e", f32, {o.h.extent(), o.s.extent(), o.t.extent()});
  return Graph(o.reader(softmax(e)));
}

// Two products are read by one group of rows.
Graph of_two_products(const Operands& o) {
  const Tensor e = o.scores();
  const Tensor other = input("r", f32, {o.h.extent(), o.t.extent(), o.d.extent()});
  const Tensor more =
      compute("more", {o.h, o.s, o.t}, sum(o.d, o.q(o.h, o.s, o.d) * other(o.h, o.t, o.d)));
  return Graph(o.reader(softmax(mul(e, 0.5f) + more)));
}

}  // namespace

Graph attention(int64_t heads, const Extent& rows, const Extent& length, int64_t width) {
  const Operands o(rows, length, heads, width);
  return Graph(o.reader(softmax(o.scores())));
}

std::vector<std::pair<std::string, Graph>> attention_graphs(const Extent& rows,
                                                            const Extent& length) {
  const Operands o(rows, length);
  return {
      {"attention", attention(kHeads, rows, length, kWidth)},
      {"masked", Graph(o.reader(softmax(mul(o.scores(), 0.125f) + o.mask)))},
      {"causal", causal(o)},
      {"keys_across", of_keys_that_lie_across(o)},
      {"one_head", of_one_head(rows, length)},
      {"given_scores", of_given_scores(o)},
      {"two_products", of_two_products(o)},
      {"with_epilogue", Graph(relu(o.reader(softmax(o.scores()), "sums"), "y"))},
  };
}

}  // namespace emulsion
