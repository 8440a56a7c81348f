// Siblings in derived schedules: which share loops on a target, whether it pays, what is written
// down, and that the nests compute what the graphs say at every size.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/sibling_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/sibling_graphs.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;

const Extent kSize = Extent::size("B");

// Two outputs of one input, with vectors of different lengths.
Graph pair_of_types(const Shape& shape) {
  const Tensor x = input("x", f32, shape);
  return Graph({relu(x, "a"), cast(x, f64, "b")});
}

// Of the only two that could be siblings; what else has loops of others is another test's.
std::string said_of_siblings(FusionReport report) {
  auto& decisions = report.decisions;
  decisions.erase(std::remove_if(decisions.begin(), decisions.end(), is_of_loops), decisions.end());
  return decisions.size() == 1 ? decisions[0].reason : to_string(report);
}

// What is said of the only candidate, where it is not refused for its price.
std::string refused(const Graph& graph, const std::string& target = kOneCore) {
  FusionReport report;
  const Schedule schedule = shared(graph, target, &report);
  EXPECT_EQ(to_string(schedule).find("compute_with"), std::string::npos) << to_string(schedule);
  return said_of_siblings(report);
}

// What is said of its price.
std::string price(const Graph& graph, const std::string& target) {
  FusionReport report;
  shared(graph, target, &report, std::nullopt);
  return said_of_siblings(report);
}

TEST(DeriveSiblings, VectorsOfRowsInOneLoopThatThreadsShare) {
  EXPECT_EQ(text_of(pair_of_polynomials({512, 1024}), kFourCores),
            "emulsion schedule 1\n"
            "b.split(i1, i1, i1_v, 8)\nb.vectorize(i1_v)\nb.parallel(i0)\nb.compute_with(a, i1)\n"
            "a.split(i1, i1, i1_v, 8)\na.vectorize(i1_v)\na.parallel(i0)\n");
}

// Of pixels what lies between the elements of a colour is in a cache, too.
TEST(DeriveSiblings, BlocksOfLongRowsCountWhatLiesApart) {
  const std::string text = text_of(planes_of_pixels(100, 503 * 8), kOneCore);
  EXPECT_THAT(text, HasSubstr("a.split(j, block, within, 512, guard)\n"));
}

TEST(DeriveSiblings, ALongRowInBlocks) {
  const std::string text = text_of(pair_of_polynomials({1 << 20}), kFourCores);
  for (const char* line : {"a.split(i0, block, within, 1024, guard)\n", "a.parallel(block)\n",
                           "b.split(i0, block, within, 1024, guard)\n", "b.parallel(block)\n",
                           "b.compute_with(a, within)\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

// What all read is loaded once for a vector of each. Where vectors differ, it is to be in a cache.
TEST(DeriveSiblings, RowsThatNoCacheHoldsInBlocksWhereVectorsDiffer) {
  const std::string text = text_of(pair_of_types({4, 1 << 20}), kFourCores);
  EXPECT_THAT(text, HasSubstr("a.split(i1, block, within, 1024, guard)\n"));
  EXPECT_THAT(text, HasSubstr("a.parallel(i0)\n"));
  EXPECT_THAT(text, HasSubstr("b.compute_with(a, block)\n"));
  EXPECT_EQ(text_of(pair_of_types({4, 1 << 10}), kFourCores).find("block"), std::string::npos);
  EXPECT_EQ(text_of(pair_of_polynomials({4, 1 << 20}), kFourCores).find("block"),
            std::string::npos);
}

TEST(DeriveSiblings, PlanesOfPixelsInOneLoopOverVectors) {
  const std::string text = text_of(planes_of_pixels(9, 40), kOneCore);
  EXPECT_THAT(text, HasSubstr("b.compute_with(a, j)\n"));
  EXPECT_EQ(text.find("partition"), std::string::npos) << text;
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const std::string target = std::string(level) + ",cores=" + std::to_string(cores);
      for (const int columns : {1, 3, 40}) {
        EXPECT_TRUE(computes_at(planes_of_pixels(9, columns), target)) << target;
      }
      EXPECT_TRUE(computes_at(planes_of_pixels(kSize, kSize), target, {0, 1, 19})) << target;
    }
  }
}

// Of a run-time length the last vector of a row alone is made of what is between its elements, or
// element by element; the others are as long as any where there are masks for that.
TEST(DeriveSiblings, VectorsWithMasksAreCutOff) {
  EXPECT_THAT(text_of(planes_of_pixels(9, kSize), kOneCore), HasSubstr("a.partition(j)\n"));
  EXPECT_EQ(text_of(pair_of({9, kSize}), kOneCore).find("partition"), std::string::npos);
  const auto words = [](int step) {
    const Tensor x = input("x", i16, {9, kSize, step});
    const Axis i("i", 9), j("j", kSize);
    return Graph({compute("a", {i, j}, x(i, j, 0) + x(i, j, 1)),
                  compute("b", {i, j}, x(i, j, 0) - x(i, j, 1))});
  };
  EXPECT_THAT(text_of(words(3), "x86-64-v4,cores=1"),
              HasSubstr("a.split(j, j, j_v, 32, predicate)"));
  EXPECT_THAT(text_of(words(5), "x86-64-v4,cores=1"),
              HasSubstr("a.split(j, j, j_v, 16, predicate)"));
  for (const char* level : kLevels) {
    EXPECT_TRUE(computes_at(words(3), std::string(level) + ",cores=1", {0, 1, 19, 33, 70}))
        << level;
  }
}

TEST(DeriveSiblings, ShortRowsThatAllHaveAreOne) {
  const std::string text = text_of(pair_of({32, 7, 7}), kOneCore);
  EXPECT_THAT(text, HasSubstr("b.fuse(i0, flat1, flat)\n"));
  EXPECT_THAT(text, HasSubstr("b.compute_with(a, flat)\n"));
  EXPECT_TRUE(computes_at(pair_of({64, 7, 7}), kOneCore));
  // A bias is read along one axis alone.
  const Tensor x = input("x", f32, {64, 7}), bias = input("bias", f32, {7});
  const Graph graph({relu(x, "a"), add(x, bias, "b")});
  EXPECT_EQ(text_of(graph, kOneCore).find("flat"), std::string::npos) << text_of(graph, kOneCore);
  EXPECT_TRUE(computes_at(graph, kOneCore));
  EXPECT_EQ(text_of(pair_of({64, 64, 64}), kFourCores).find("flat"), std::string::npos)
      << "of rows that threads share";
}

TEST(DeriveSiblings, ARunTimeSizeDecidesWhetherThreadsAreWoken) {
  const std::string text = text_of(pair_of({kSize, 64}), kFourCores);
  EXPECT_THAT(text, HasSubstr("a.specialize(B >= 1229)\na.parallel(i0)\n"));
  EXPECT_EQ(text.find("b.parallel"), std::string::npos) << text;
  EXPECT_EQ(text.find("b.specialize"), std::string::npos) << text;
  EXPECT_TRUE(computes_at(pair_of({kSize, 64}), kFourCores, {0, 1, 2, 33}));
}

// Of two columns of a run-time number of rows one had whole vectors of both columns in a block, the
// other one had not, and the loops over them were to be one.
TEST(DeriveSiblings, VectorsOfABlockAreOthersThanThoseOfARow) {
  const Tensor x = input("x", f32, {kSize, 2}), s = input("s", f32, {kSize});
  const Axis i("i", kSize), j("j", 2);
  const Graph graph({compute("a", {i, j}, x(i, j) * (1.0f / s(i))),
                     compute("b", {i, j}, x(i, j) * 3.0f + select(x(i, j) == s(i), s(i), 0.0f))});
  EXPECT_THAT(text_of(graph, "x86-64-v2,cores=8"), HasSubstr("b.compute_with(a, block)\n"));
  for (const char* level : kLevels) {
    const std::string target = std::string(level) + ",cores=8";
    EXPECT_TRUE(computes_at(graph, target, {0, 1, 2, 33, 1027})) << target;
  }
}

TEST(DeriveSiblings, OutputsGroupsAndWhatIsStored) {
  const Tensor x = input("x", f32, {6, 20}), w = weight("w", f32, {20, 4});
  const Tensor a = relu(x, "a"), b = mul(x, x, "b");
  EXPECT_TRUE(computes_at(Graph(add(matmul(a, w, "p"), matmul(b, w, "q"), "y")), kOneCore));
  const Tensor z = input("z", f32, {6, 20});
  EXPECT_TRUE(computes_at(
      Graph({relu(add(x, z, "s"), "a"), neg(mul(x, z, "m"), "b"), max(sub(x, z, "d"), x, "c")}),
      kOneCore));
}

TEST(DeriveSiblings, OfAnySize) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const std::string target = std::string(level) + ",cores=" + std::to_string(cores);
      for (const Shape& shape :
           {Shape{kSize}, {kSize, 3}, {kSize, 37}, {5, kSize}, {kSize, kSize}, {2, 3, kSize}}) {
        EXPECT_TRUE(computes_at(pair_of(shape), target, {0, 1, 2, 17}))
            << target << to_string(shape);
      }
      for (const Shape& shape : {Shape{5}, {100}, {3, 1}, {7, 33}, {2, 3, 4, 5}}) {
        EXPECT_TRUE(computes_at(pair_of(shape), target)) << target << to_string(shape);
      }
    }
  }
}

TEST(DeriveSiblings, AxesOfOtherNames) {
  const Tensor x = input("x", f32, {kSize, 3, 16});
  const Axis m("m", kSize), c("c", 3), n("n", 16), i("i", kSize), j("c0", 3), k("m", 16);
  const Graph graph(
      {compute("a", {m, c, n}, x(m, c, n) * 2.0f), compute("b", {i, j, k}, x(i, j, k) + 1.0f)});
  for (const char* target : {kOneCore, kFourCores}) {
    EXPECT_TRUE(computes_at(graph, target, {0, 1, 3, 18}));
  }
  const Tensor pair = input("x", f32, {64, 16});
  const Axis r("r", 64), s("s", 64);
  const Graph others(
      {compute("a", {r, n}, pair(r, n) * 2.0f), compute("b", {s, k}, pair(s, k) + 1.0f)});
  EXPECT_TRUE(computes_at(others, kFourCores));
  const Tensor table = input("x", f32, {64, 300});
  const Axis u("u", 300), v("v", 300);
  const Graph longer(
      {compute("a", {r, u}, table(r, u) * 2.0f), compute("b", {s, v}, table(s, v) + 1.0f)});
  EXPECT_THAT(text_of(longer, kOneCore), HasSubstr("b.compute_with(a, row0)\n"))
      << "the loops over vectors have other names";
  EXPECT_TRUE(computes_at(longer, kOneCore));
}

// The loops that they share have names that neither has for an axis.
TEST(DeriveSiblings, AxesThatAreNamedLikeTheSharedLoops) {
  const Tensor x = input("x", f32, {100});
  const Axis block("block", 100), within("within", 100);
  const Graph graph(
      {compute("a", {block}, x(block) * 2.0f), compute("b", {within}, x(within) + 1.0f)});
  EXPECT_TRUE(computes_at(graph, kOneCore));
  EXPECT_THAT(text_of(graph, kOneCore), HasSubstr("a.split(block, block1, within1, 128, guard)\n"));
}

// A short row is one block of whole vectors; of a small cache a block is not too short for loops.
TEST(DeriveSiblings, BlocksAreNeverShort) {
  EXPECT_THAT(text_of(pair_of_types({100}), kOneCore),
              HasSubstr("a.split(i0, block, within, 128, guard)\n"));
  const char kSmallCache[] = "x86-64-v3,cores=1,l1=1024";
  EXPECT_EQ(text_of(pair_of_types({4, 256}), kSmallCache).find("block"), std::string::npos);
  EXPECT_THAT(text_of(pair_of_types({4, 257}), kSmallCache),
              HasSubstr("a.split(i1, block, within, 256, guard)\n"));
}

TEST(DeriveSiblings, OtherTypesHaveVectorsOfTheirOwn) {
  const Tensor x = input("x", i32, {9, 40});
  const Graph graph({cast(x, i16, "a"), add(x, x, "b"), cast(x, f64, "c")});
  EXPECT_TRUE(computes_at(graph, kOneCore));
  EXPECT_THAT(text_of(graph, kOneCore), HasSubstr("c.split(within, within, within_v, 4)\n"));
  EXPECT_THAT(text_of(graph, kOneCore), HasSubstr("c.compute_with(a, block)\n"));
}

TEST(DeriveSiblings, WhatIsBetweenThemComesBeforeOrAfter) {
  const Tensor x = input("x", f32, {6, 20}), z = input("z", f32, {6, 20});
  const Tensor a = relu(x, "a"), c = neg(z, "c");
  EXPECT_TRUE(computes_at(Graph({a, neg(a, "after"), c, add(c, x, "b")}), kOneCore));
  // b1 reads a1, and a2 reads b2.
  const Tensor a1 = relu(x, "a1"), b1 = add(a1, z, "b1");
  const Tensor b2 = relu(z, "b2"), a2 = add(b2, x, "a2");
  EXPECT_TRUE(computes_at(Graph({a1, b1, b2, a2}), kOneCore));
}

TEST(DeriveSiblings, StackedDiamonds) {
  Tensor x = input("x", f32, {2, 4});
  const Tensor w = constant("w", {4, 4}, std::vector<float>(16, 1));
  for (int i = 0; i < 64; ++i) {
    const std::string number = std::to_string(i);
    const Tensor a = relu(x, "a" + number), b = neg(x, "b" + number);
    x = add(matmul(a, w, "p" + number), matmul(b, w, "q" + number), "x" + number);
  }
  FusionReport report;
  const Schedule schedule = shared(Graph(x), kOneCore, &report);
  EXPECT_EQ(report.fused_count(), 64) << to_string(report);
  EXPECT_NO_THROW(run_pipeline(Graph(x), schedule));
}

TEST(DeriveSiblings, NothingWithBorders) {
  const Tensor x = input("x", f32, {6, 100});
  const Axis i("i", 6), j("j", 100);
  EXPECT_EQ(refused(Graph({compute("a", {i, j}, select(Expr(j) < 50, x(i, j), 0.0f)),
                           compute("b", {i, j}, x(i, j) * 2.0f)})),
            "expected a to be the same at all places of a loop, got borders");
  const Tensor a = compute("a", {i, j}, select(Expr(j) < 50, x(i, j), 0.0f));
  EXPECT_EQ(refused(Graph({relu(a * 2.0f, "y"), compute("b", {i, j}, x(i, j) * 2.0f)})),
            "expected y to be the same at all places of a loop, got borders")
      << "of a member";
}

TEST(DeriveSiblings, NothingThatReadsAcrossItsRows) {
  const Tensor x = input("x", f32, {1024, 1024});
  const Axis i("i", 1024), j("j", 1024);
  EXPECT_EQ(refused(Graph({relu(x, "a"), compute("b", {i, j}, x(i, j) + x(j, i))})),
            "expected b to read along its rows, got an operand that lies across them");
  EXPECT_EQ(refused(Graph({relu(x, "a"), relu(compute("b", {i, j}, x(i, j) + x(j, i)), "c")})),
            "expected c to read along its rows, got an operand that lies across them")
      << "a member of a group";
}

// Members that each read the one before them twice: written out they are 2^12 sums.
TEST(DeriveSiblings, NothingThatFitsNoExpression) {
  const Tensor x = input("x", f32, {64, 64}), b = relu(x, "b");
  std::vector<OpPtr> members;
  Tensor t = x;
  for (int i = 0; i < 12; ++i) {
    t = add(t, t, "a" + std::to_string(i));
    members.push_back(t.op());
  }
  const OpPtr group = make_group(members);
  const Graph grouped({x.op(), group, b.op()}, {group, b.op()});
  DeriveOptions options;
  options.siblings = share_always;
  FusionReport report;
  derive_schedule(Graph({t, b}), grouped, Target::parse(kOneCore), options, &report);
  EXPECT_EQ(said_of_siblings(report), "expected a11 to be a group that fits one expression");
}

TEST(DeriveSiblings, NothingThatIsComputedWithOthers) {
  const Tensor x = input("x", f32, {64, 64});
  const Axis i("i", 64), j("j", 64), k("k", 64);
  const Tensor a = compute("a", {i, j}, x(i, j) * 2.0f);
  const Tensor total = compute("total", {i}, sum(k, a(i, k)));
  EXPECT_EQ(refused(Graph({compute("y", {i, j}, a(i, j) / total(i)), relu(x, "b")})),
            "expected loops of its own for a, got those of what it is computed in");
}

TEST(DeriveSiblings, NothingOperatorByOperator) {
  DeriveOptions options;
  options.fuse = false;
  options.siblings = share_always;
  const Graph graph = pair_of({512, 1024});
  EXPECT_EQ(to_string(derive_schedule(graph, Target::parse(kFourCores), options)).find("with"),
            std::string::npos);
}

TEST(DeriveSiblings, PayWhereNoCacheHoldsThemOrThreadsAreWoken) {
  EXPECT_EQ(price(pair_of({512, 1024}), kOneCore), "");
  EXPECT_EQ(price(pair_of({kSize, 1024}), kOneCore), "");
  EXPECT_EQ(price(pair_and_more({1024, 128}), "x86-64-v3,cores=4,l2=16777216,l3=33554432"), "");
  EXPECT_THAT(price(pair_and_more({1024, 128}), "x86-64-v3,cores=1,l2=16777216,l3=33554432"),
              HasSubstr("got 2621440 bytes and 131072 points"));
  EXPECT_THAT(price(pair_and_more({64, 64}), kFourCores),
              HasSubstr("expected more than the 1048576 bytes that stay in a cache from a to b"));
}

// Wherever it comes from, it is loaded once.
TEST(DeriveSiblings, PayWhereHalfOfWhatOneReadsIsReadByTheOthers) {
  EXPECT_EQ(price(pair_of({64, 64}), kOneCore), "");
  EXPECT_EQ(price(planes_of_pixels(8, 64), kOneCore), "");
  const Axis i("i", 64), j("j", 64);
  const auto read = [&](const char* name) { return input(name, f32, {64, 64})(i, j); };
  const Expr x = read("x"), y = read("y"), z = read("z");
  EXPECT_EQ(price(Graph({compute("a", {i, j}, x * 2.0f), compute("b", {i, j}, x * y)}), kOneCore),
            "");
  EXPECT_THAT(
      price(Graph({compute("a", {i, j}, x * 2.0f), compute("b", {i, j}, x * y * z)}), kOneCore),
      HasSubstr("got 81920 bytes and 4096 points"));
  // What is one value for a row counts for neither.
  const Tensor r = input("r", f32, {64}), s = input("s", f32, {64});
  EXPECT_EQ(price(Graph({compute("a", {i, j}, x * r(i)), compute("b", {i, j}, x * s(i) + r(j))}),
                  kOneCore),
            "");
  // The names of axes do not matter.
  const Axis k("k", 64), l("l", 64);
  const Tensor t = input("t", f32, {64, 64});
  EXPECT_EQ(price(Graph({compute("a", {i, j}, t(i, j) * 2.0f), compute("b", {k, l}, -t(k, l))}),
                  kOneCore),
            "");
}

// The third one reads half of what it reads with the first two together.
TEST(DeriveSiblings, WhatAllOfAGroupReadIsReadByTheOthers) {
  const Axis i("i", 64);
  const auto read = [&](const char* name) { return input(name, f32, {64})(i); };
  const Expr x = read("x"), y = read("y"), z = read("z"), w = read("w");
  const Graph graph(
      {compute("a", {i}, x * 2.0f), compute("b", {i}, x * y), compute("c", {i}, x * y + z * w)});
  FusionReport report;
  shared(graph, kOneCore, &report, std::nullopt);
  EXPECT_EQ(report.fused_count(), 2) << to_string(report);
}

// Bytes that move with each point: not those of a bias, and of what both read once.
TEST(DeriveSiblings, WhatTheyMoveIsCountedOnce) {
  EXPECT_THAT(price(pair_and_more({64, 64}), kOneCore),
              HasSubstr("got 81920 bytes and 4096 points"));
}

TEST(DeriveSiblings, ABiasInCommonIsNotEnough) {
  const Tensor x = input("x", f32, {512, 1024}), z = input("z", f32, {512, 1024});
  const Tensor bias = input("bias", f32, {1024});
  EXPECT_EQ(price(Graph({add(x, bias, "a"), add(z, bias, "b")}), kFourCores),
            "expected a and b to read one tensor of [512, 1024]");
}

TEST(DeriveSiblings, NotFunctionsThatTakeLongerThanMemory) {
  const Tensor x = input("x", f32, {512, 1024});
  EXPECT_EQ(price(Graph({relu(x, "a"), tanh(x, "b")}), kOneCore),
            "expected b to wait for memory, got tanh of each element");
  EXPECT_EQ(price(Graph({relu(exp(x, "e"), "a"), neg(x, "b")}), kOneCore),
            "expected a to wait for memory, got exp of each element")
      << "in a group";
  EXPECT_EQ(price(Graph({relu(x, "a"), neg(x, "b")}), kOneCore), "");
}

// What one loop goes through, two go through as well: x is no nearer for the second of them.
TEST(DeriveSiblings, AreNoSlowerByTheModelWhereACacheHoldsEachAlone) {
  const Target target = Target::parse("x86-64-v3,cores=1,l3=33554432");
  const Lowered lowered = run_pipeline(pair_of({2048, 2048}), target);
  ASSERT_EQ(lowered.fusion.decisions.size(), 1u);
  EXPECT_NEAR(lowered.fusion.decisions[0].gain.value().speed_up(), 4.0 / 3, 0.01);
}

TEST(DeriveSiblings, InTheLedgerOfThePipeline) {
  const Graph graph = pair_of({512, 1024});
  const Lowered lowered = run_pipeline(graph, Target::parse(kFourCores));
  ASSERT_EQ(lowered.fusion.decisions.size(), 1u);
  const FusionDecision& decision = lowered.fusion.decisions[0];
  EXPECT_TRUE(decision.fused);
  EXPECT_EQ(decision.pattern, "siblings");
  EXPECT_EQ(decision.gain.value().bytes_saved, 512 * 1024 * 4);
  EXPECT_EQ(lowered.fusion.gain.value().bytes_saved, 512 * 1024 * 4);
  EXPECT_THAT(to_string(lowered.nest), HasSubstr("parallel a.i0 with b.i0 in 512"));
  const FusionConfig off = parse_fusion_config(R"({"patterns": ["elementwise chain"]})");
  const Lowered apart = run_pipeline(graph, Target::parse(kFourCores), {}, nullptr, off);
  EXPECT_EQ(apart.fusion.fused_count(), 0);
  EXPECT_EQ(to_string(apart.nest).find("with"), std::string::npos);
  FusionConfig strict = off;
  strict.fail_on_unfused = {"siblings"};
  EXPECT_ANY_THROW(run_pipeline(graph, Target::parse(kFourCores), {}, nullptr, strict));
}

}  // namespace
}  // namespace emulsion
