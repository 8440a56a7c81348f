// Contractions that read rows which are combined before: which are computed by blocks of rows, how
// many rows a block has, and which are not and why.

#include "passes/derive/row_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/attention_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");

// The blocks of a graph, and the grouped graph whose operations they are of.
struct Blocks {
  explicit Blocks(const Graph& graph, const Target& target = kV3,
                  const std::vector<std::string>& taken = {})
      : grouped(fuse_epilogues(graph)), all(find(target, taken)) {}

  std::vector<BlockGroup> find(const Target& target, const std::vector<std::string>& taken) const {
    std::unordered_set<const Op*> ops;
    for (const std::string& name : taken) ops.insert(op_of(grouped, name).get());
    return row_blocks(grouped, target, ops);
  }

  Graph grouped;
  std::vector<BlockGroup> all;
};

size_t count(const Tensor& y) { return Blocks(Graph(y)).all.size(); }

int64_t block_of(const Graph& graph, const Target& target = kV3) {
  const Blocks blocks(graph, target);
  return blocks.all.size() == 1 ? blocks.all[0].block : 0;
}

const Axis h("h", 2), s("s", 64), t("t", 64), d("d", 32);
Tensor given(const char* name) {
  static std::map<std::string, Tensor> all;
  return all.try_emplace(name, input(name, f32, {2, 64, 32})).first->second;
}
Tensor q() { return given("q"); }
Tensor k() { return given("k"); }
Tensor v() { return given("v"); }
Tensor scores() { return compute("e", {h, s, t}, sum(d, q()(h, s, d) * k()(h, t, d))); }
Tensor times_v(const Tensor& p) {
  return compute("y", {h, s, d}, sum(t, p(h, s, t) * v()(h, t, d)));
}

TEST(RowBlocks, AllOfAnAttention) {
  for (const Extent& rows : {Extent(48), kSize}) {
    for (const Extent& length : {Extent(80), kSize}) {
      for (const auto& [name, graph] : attention_graphs(rows, length)) {
        const Blocks blocks(graph);
        ASSERT_EQ(blocks.all.size(), 1U) << name;
        EXPECT_EQ(blocks.all[0].reader, blocks.grouped.outputs()[0].get()) << name;
        size_t computed = 0;
        for (const OpPtr& op : blocks.grouped.ops()) {
          if (op->kind == OpKind::compute || op->kind == OpKind::fused) ++computed;
        }
        const BlockGroup& found = blocks.all[0];
        EXPECT_EQ(found.products.size() + found.rows.members.size() + 1, computed) << name;
        EXPECT_EQ(found.products.size(), name == "given_scores"   ? 0U
                                         : name == "two_products" ? 2U
                                                                  : 1U);
      }
    }
  }
}

TEST(RowBlocks, OneBehindAnother) {
  Tensor first = times_v(softmax(scores()));
  Tensor second = compute(
      "z", {h, s, d},
      sum(t, softmax(compute("f", {h, s, t}, sum(d, first(h, s, d) * k()(h, t, d))))(h, s, t) *
                 v()(h, t, d)));
  EXPECT_EQ(count(second), 2U);
}

// A register tile has six rows here.
TEST(RowBlocks, ABlockStaysInACache) {
  EXPECT_EQ(block_of(attention(2, 512, 64, 32)), 128);
  const Target small = Target::parse("x86-64-v3,cores=1,l2=65536");
  EXPECT_EQ(block_of(attention(2, 512, 64, 32), small), 29);
  EXPECT_EQ(block_of(attention(2, 512, 128, 32), small), 12);
  EXPECT_EQ(block_of(attention(2, 512, 256, 32), small), 8);
  EXPECT_EQ(block_of(attention(2, 512, 2048, 32), small), 8) << "longer than that cache";
}

TEST(RowBlocks, ABlockIsNoLongerThanTheRowsAndLeavesLittleOver) {
  EXPECT_EQ(block_of(attention(2, 16, 64, 32)), 16);
  EXPECT_EQ(block_of(attention(2, 17, 64, 32)), 17);
  EXPECT_EQ(block_of(attention(2, 1, 64, 32)), 1);
  EXPECT_EQ(block_of(attention(2, 200, 64, 32)), 25) << "eight of them are 200";
  EXPECT_EQ(block_of(attention(2, 40, 64, 32)), 40);
  EXPECT_EQ(block_of(attention(2, 512, kSize, 32)), 35) << "a row of any length";
}

// The last block of 18 would compute most of its rows for nothing where there are few.
TEST(RowBlocks, ABlockOfAnyNumberOfRowsIsOneTileOfEveryProduct) {
  for (const Extent& length : {Extent(64), kSize}) {
    EXPECT_EQ(block_of(attention(2, kSize, length, 64)), 5) << "16 registers hold no sixth row";
    EXPECT_EQ(block_of(attention(2, kSize, length, 64), Target::parse("x86-64-v4")), 8);
  }
  EXPECT_EQ(block_of(attention(2, kSize, kSize, 24)), 4) << "five fit the first product alone";
}

TEST(RowBlocks, NotWhereNoRowsAreCombined) {
  EXPECT_EQ(count(times_v(scores())), 0U);
  EXPECT_EQ(count(times_v(relu(scores()))), 0U);
}

TEST(RowBlocks, NotWhatOthersReadToo) {
  Tensor p = softmax(scores());
  Tensor y = times_v(p);
  EXPECT_EQ(Blocks(Graph({y, p})).all.size(), 0U) << "an output";
  Tensor z = compute("z", {h, s}, reduce_max(t, p(h, s, t)));
  EXPECT_EQ(Blocks(Graph({y, z})).all.size(), 0U);
}

TEST(RowBlocks, AProductThatOthersReadTooIsStoredWhole) {
  Tensor e = scores();
  const Blocks blocks(Graph({times_v(softmax(e)), e}));
  ASSERT_EQ(blocks.all.size(), 1U);
  EXPECT_TRUE(blocks.all[0].products.empty());
}

TEST(RowBlocks, NotOfRowsOfAnotherPlace) {
  Tensor p = softmax(scores());
  EXPECT_EQ(count(compute("y", {h, s, d}, sum(t, p.at({h, Expr(63) - s, t}) * v()(h, t, d)))), 0U);
  const Axis g("g", 2);
  EXPECT_EQ(count(compute("y", {s, g, d}, sum(t, p(g, s, t) * v()(g, t, d)))), 0U) << "turned";
  // The columns of a softmax, along t, are what is summed up here.
  EXPECT_EQ(count(compute("y", {h, t, d}, sum(s, p(h, s, t) * v()(h, s, d)))), 0U);
}

TEST(RowBlocks, NotWhatIsPacked) {
  Tensor w = weight("w", f32, {64, 32});
  EXPECT_EQ(count(compute("y", {h, s, d}, sum(t, softmax(scores())(h, s, t) * w(t, d)))), 0U);
}

TEST(RowBlocks, NotOfVectorsOrOfWhatHasNoElements) {
  Tensor u = input("u", f32, {2, 64});
  Tensor p = softmax(scores());
  EXPECT_EQ(count(compute("y", {h, s}, sum(t, p(h, s, t) * u(h, t)))), 0U);
  for (const auto& [name, graph] : attention_graphs(0, 64)) {
    EXPECT_TRUE(Blocks(graph).all.empty()) << name;
  }
  for (const auto& [name, graph] : attention_graphs(64, 0)) {
    EXPECT_TRUE(Blocks(graph).all.empty()) << name;
  }
}

TEST(RowBlocks, NotWhatIsTaken) {
  const Graph graph = attention(2, 64, 64, 32);
  EXPECT_EQ(Blocks(graph, kV3, {"y"}).all.size(), 0U);
  const Blocks without_product(graph, kV3, {"e"});
  ASSERT_EQ(without_product.all.size(), 1U);
  EXPECT_TRUE(without_product.all[0].products.empty());
}

}  // namespace
}  // namespace emulsion
