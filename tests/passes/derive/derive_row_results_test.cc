// Groups of rows with several results: what is derived is interpreted against the graph.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/read_through.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/share_loops.h"
#include "passes/differentiate/differentiate.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("N");

std::vector<Target> targets() {
  std::vector<Target> all;
  for (const char* text : {"x86-64-v2,cores=1", "x86-64-v3,cores=1", "x86-64-v4,cores=4",
                           "x86-64-v3,cores=2,l1=128"}) {
    all.push_back(Target::parse(text));
    all.back().l2_bytes = 64;  // so that short rows pay, too
  }
  return all;
}

// Whether results are computed with each vector of the last: the first cache holds no two rows.
bool has_results_by_vectors(const Target& target) { return target.l1_bytes == 128; }

// Everything is right, and `result` is computed in the rows of `reader`, or with each vector.
void derives_with(const Graph& graph, const std::string& result, const std::string& reader,
                  const std::string& loop) {
  for (const Target& target : targets()) {
    EXPECT_TRUE(derives(graph, target, {0, 1, 3, 17}, 1e-5)) << target.to_string();
    const Graph shared = share_loops(fuse_epilogues(graph), target);
    EXPECT_TRUE(lowers(shared, derive_stages(graph, shared, target), {{"N", 5}}, 1e-5));
    if (!target.has("avx")) continue;
    const std::string text = derived(graph, target);
    const std::string at = "\n" + result + ".compute_at(" + reader + ", ";
    EXPECT_TRUE(has(text, at)) << text;
    EXPECT_EQ(has(text, at + loop + ")\n"), has_results_by_vectors(target)) << text;
  }
}

struct Norm {
  Norm(const Extent& rows, int64_t columns)
      : i("i", rows), k("k", columns), r("r", columns), x(input("x", f32, {rows, columns})) {}

  Axis i, k, r;
  Tensor x;
  Tensor mean = compute("mean", {i}, sum(r, x(i, r)) * 0.25F);
  Tensor most = compute("most", {i}, reduce_max(r, abs(x(i, r) - mean(i))));
  Tensor result(const std::string& name, float scale) const {
    return compute(name, {i, k}, (x(i, k) - mean(i)) / (most(i) + scale));
  }
};

const int64_t kColumns[] = {27, 64, 131, 1000};

TEST(DeriveRowResults, TwoNorms) {
  for (const Extent& rows : {Extent(5), Extent(64), kSize}) {
    for (const int64_t columns : kColumns) {
      const Norm n(rows, columns);
      derives_with(Graph({n.result("y", 1), n.result("z", 2)}), "y", "z", "k");
      derives_with(Graph({n.result("z", 2), n.mean, n.result("y", 1)}), "z", "y", "k");
    }
  }
}

TEST(DeriveRowResults, WhatFollows) {
  for (const int64_t columns : kColumns) {
    const Norm n(kSize, columns);
    const Tensor y = n.result("y", 1);
    derives_with(Graph({y, relu(y, "z")}), "y", "z", "i1");
    const Tensor d = compute("d", {n.i, n.k}, y(n.i, n.k) / (n.mean(n.i) + 9.0F));
    derives_with(Graph({mul(d, n.x, "a"), mul(d, d, "b"), d}), "a", "b", "i1");
  }
}

// Vectors of fewer elements, and of more, than those of the reader.
TEST(DeriveRowResults, OfOtherTypes) {
  for (const int64_t columns : kColumns) {
    const Norm n(6, columns);
    const Tensor y = n.result("y", 1);
    derives_with(Graph({y, compute("m", {n.i, n.k}, n.x(n.i, n.k) > n.mean(n.i)), neg(y, "z")}),
                 columns % 8 == 0 ? "m" : "y", "z", "i1");
    if (columns % 8 != 0) continue;  // not all targets have masks of narrow elements
    const Tensor small = cast(clamp(y, -9, 9), i8, "b");
    derives_with(Graph({small, y, neg(y, "z")}), "b", "z", "i1");
    derives_with(Graph({y, neg(y, "z"), small}), "z", "b", "i1");
  }
}

TEST(DeriveRowResults, OfLargerElements) {
  for (const char* columns : {"64", "131"}) {
    for (const char* last : {"y", "z"}) {
      const std::string all = columns, shape = "[i: 6, k: " + all + "]";
      const std::string y = "  y" + shape + " = f64(x[i, k]) + 1d\n";
      const std::string z = "  z" + shape + " = x[i, k] - s[i]\n";
      const bool ends_in_y = last == std::string("y");
      const Graph graph =
          parse_graph("emulsion graph 1\ninput x: f32[6, " + all + "]\nfused_rows " + last +
                      " over [i] {\n  s[i: 6] = sum(r: " + all + ") x[i, r]\n" +
                      (ends_in_y ? z + y : y + z) + "}\noutput y\noutput z\n");
      for (const Target& target : targets()) {
        const Schedule schedule = derive_stages(graph, graph, target);
        EXPECT_TRUE(lowers(graph, schedule, {}, 1e-5)) << target.to_string();
        const std::string with = ends_in_y ? "\nz.compute_at(y, k)\n" : "\ny.compute_at(z, k)\n";
        EXPECT_EQ(has(to_string(schedule), with), has_results_by_vectors(target));
      }
    }
  }
}

// What is kept for what is behind the loops has memory of its own.
TEST(DeriveRowResults, ReadBehindTheLoops) {
  for (const Extent& rows : {Extent(8), kSize}) {
    const Norm n(rows, 96);
    const Tensor y = n.result("y", 1), z = n.result("z", 2);
    const Axis t("t", rows);
    const Expr turned = extent_value(rows) - 1 - t;
    const Tensor sums = compute("sums", {t}, sum(n.r, y(turned, n.r) * z(t, n.r)));
    derives_with(Graph({sums, z}), "y", "z", "k");
    EXPECT_TRUE(has(derived(Graph({sums, z}), targets()[1]), "\ny.store_root()\n"));
  }
}

TEST(DeriveRowResults, Gradients) {
  for (const Extent& rows : {Extent(5), kSize}) {
    for (const int64_t columns : {64, 131}) {
      const Tensor x = input("x", f32, {rows, columns}), dy = input("dy", f32, {rows, columns});
      const Tensor y = softmax(x, -1, "y");
      const Tensor gradient = gradients(y, {x}, dy)[0];
      derives_with(Graph({y, gradient}), "y", gradient.op()->name, "i1");
      const Tensor z = input("z", f32, {rows, columns});
      const std::vector<Tensor> both = gradients(softmax(x * z), {x, z}, dy);
      derives_with(Graph(both), "grad_x", "grad_z", "i1");
    }
  }
}

TEST(DeriveRowResults, ALossOfEachRow) {
  for (const Extent& rows : {Extent(5), kSize}) {
    for (const int64_t columns : {96, 1000}) {
      const Tensor x = input("x", f32, {rows, columns}), z = input("z", f32, {rows, columns});
      const Tensor c = x - reduce_max(x, {1}, true);
      const Tensor losses = sum(z * (log(sum(exp(c), {1}, true)) - c), {1}, false, "losses");
      const Tensor loss = sum(losses, {0}, false, "loss");
      const Tensor gradient = gradients(loss, {x})[0];
      for (const Target& target : targets()) {
        EXPECT_TRUE(derives(Graph({loss, gradient}), target, {0, 1, 3, 17}, 1e-4));
        const std::string text = derived(Graph({loss, gradient}), target);
        EXPECT_TRUE(has(text, "\nlosses.compute_at(" + gradient.op()->name + ", ")) << text;
      }
    }
  }
}

// Long rows, one at a time: none is stored where a result goes, nor computed with sums of it when
// the results need it in vectors.
// 13 rows of which the first cache holds five are no whole number of tiles of these: the rows past
// the end of one task are those of the next one.
TEST(DeriveRowResults, EachRowIsOfOneTask) {
  const Tensor t = mul(input("x", f32, {1001, 700}), 2.0F, "t");
  const Tensor scale = input("scale", f32, {700}), bias = input("bias", f32, {700});
  const Graph graph({sum(t * t, {1}, false, "s"), layer_norm(t, scale, bias, 1e-5, "y")});
  for (const char* name : {"x86-64-v2,cores=2", "x86-64-v3,cores=2", "x86-64-v4,cores=2"}) {
    const Target target = Target::parse(name);
    const std::string text = derived(graph, target);
    EXPECT_TRUE(has(text, "s.compute_at(y, ")) << text;
    EXPECT_TRUE(has(text, "y.parallel(block)\n")) << text;
    EXPECT_FALSE(has(text, ", row, 5, guard)")) << text;
    EXPECT_TRUE(derives(graph, target, {0}, 1e-3)) << name;
  }
}

TEST(DeriveRowResults, LongRows) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128,l2=256");
  const Axis i("i", 5), k("k", 256), r("r", 256);
  const Tensor x = input("x", f32, {5, 256});
  const Tensor p = compute("p", {i, k}, exp(x(i, k) * 0.125F));
  const Tensor total = compute("total", {i}, sum(r, p(i, r)));
  const Graph graph(
      {compute("y", {i, k}, p(i, k) / total(i)), compute("z", {i, k}, p(i, k) - total(i))});
  EXPECT_TRUE(derives(graph, target, {0}, 1e-4));
  const std::string text = derived(graph, target);
  EXPECT_FALSE(has(text, "store_in_output")) << text;
  EXPECT_TRUE(has(text, "\ny.compute_at(z, k)\n")) << text;
}

// Rows, values of rows, and rows in another order, made of one another by chance, of which some are
// outputs.
class RandomRows {
 public:
  RandomRows(uint64_t seed, int64_t columns)
      : random_(seed), i_("i", 6), k_("k", columns), r_("r", columns) {
    for (const char* name : {"x", "u"}) rows_.push_back(input(name, f32, {6, columns}));
    for (int n = 0; n < 12; ++n) add("t" + std::to_string(n));
  }

  Graph graph() {
    std::vector<Tensor> outputs;
    for (size_t at = 2; at < rows_.size(); ++at) {
      if (at + 1 == rows_.size() || below(3) == 0) outputs.push_back(rows_[at]);
    }
    for (const Tensor& value : values_) {
      if (below(4) == 0) outputs.push_back(value);
    }
    return Graph(outputs);
  }

 private:
  size_t below(size_t count) { return random_() % count; }
  const Tensor& one_of(const std::vector<Tensor>& tensors) {
    // The last ones are rather taken.
    return tensors[tensors.size() - 1 - std::min(below(tensors.size()), below(tensors.size()))];
  }

  void add(const std::string& name) {
    const Tensor a = one_of(rows_), b = one_of(rows_);
    const size_t kind = below(10);
    if (kind < 3) {
      const Expr element = kind == 0 ? max(a(i_, r_), b(i_, r_)) : a(i_, r_);
      values_.push_back(
          compute(name, {i_}, kind == 1 ? reduce_max(r_, element) : sum(r_, element * 0.015625F)));
    } else if (kind == 3) {
      rows_.push_back(compute(name, {i_, k_}, a(Expr(5) - i_, k_) - b(i_, k_)));
    } else if (kind < 7 && !values_.empty()) {
      rows_.push_back(compute(name, {i_, k_}, a(i_, k_) * 0.5F - one_of(values_)(i_)));
    } else {
      rows_.push_back(compute(name, {i_, k_}, max(a(i_, k_), b(i_, k_)) * 0.5F + a(i_, k_)));
    }
  }

  std::mt19937_64 random_;
  Axis i_, k_, r_;
  std::vector<Tensor> rows_, values_;
};

TEST(DeriveRowResults, ByChance) {
  int with_results = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomRows(seed, seed % 2 == 0 ? 64 : 37).graph();
    const Target target = targets()[1 + seed % 3];
    const Graph grouped = fuse_epilogues(graph);
    const Graph shared = share_loops(grouped, target);
    EXPECT_TRUE(lowers(shared, derive_stages(graph, shared, target), {}, 1e-4))
        << to_string(shared);
    EXPECT_TRUE(derives(graph, target, {0}, 1e-4)) << to_string(shared);
    const ReadThrough through = read_through(grouped, target);
    const std::vector<RowGroup> groups = row_groups(through.graph, target);
    with_results += std::any_of(groups.begin(), groups.end(), has_results) ? 1 : 0;
  }
  EXPECT_GE(with_results, 20);
}

// A graph may say it, and its text is read back.
TEST(DeriveRowResults, FromText) {
  const char* text =
      "emulsion graph 1\n"
      "input x: f32[16, 96]\n"
      "fused_rows z over [i] {\n"
      "  s[i: 16] = sum(r: 96) x[i, r]\n"
      "  y[i: 16, k: 96] = x[i, k] / s[i]\n"
      "  z[i: 16, k: 96] = x[i, k] - s[i]\n"
      "}\noutput y\noutput z\n";
  const Graph graph = parse_graph(text);
  const Target target = targets()[1];
  const Schedule schedule = derive_stages(graph, graph, target);
  EXPECT_TRUE(lowers(graph, schedule, {}, 1e-4));
  EXPECT_TRUE(has(to_string(schedule), "\ny.compute_at(z, i)\n"));
  EXPECT_EQ(to_string(share_loops(unfuse(graph), target)), to_string(graph));
}

}  // namespace
}  // namespace emulsion
