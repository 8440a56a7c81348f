// Groups of rows of a run-time length: several at a time where they are short, or each in a lane.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/differentiate/differentiate.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("R"), kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");

Tensor rows() { return input("x", f32, {kRows, kSize}); }

// The mean and the variance of each row, fused into what reads them.
Graph norms() {
  return Graph(layer_norm(rows(), input("g", f32, {kSize}), input("b", f32, {kSize}), 1e-5, "y"));
}

// The place of the greatest of each row.
Graph places() {
  const Axis i("i", kRows), j("j", kSize);
  const Tensor x = rows(), top = reduce_max(x, {1});
  const Expr place = select(x(i, j) == top(i), Expr(j), extent_value(kSize));
  return Graph(compute("y", {i}, reduce_min(j, place)));
}

// How far it is from each point to the nearest of the centres.
Graph distances() {
  const Axis i("i", kRows), j("j", kSize), d("d", 3);
  const Tensor x = input("x", f32, {kRows, 3}), z = input("z", f32, {kSize, 3});
  const Tensor p = compute("p", {i, j}, sum(d, (x(i, d) - z(j, d)) * (x(i, d) - z(j, d))));
  return Graph(sqrt(reduce_min(p, {1}), "y"));
}

const Extent kHeight = Extent::size("H"), kWidth = Extent::size("W");

Tensor pictures(const Extent& height = kHeight, const Extent& width = kWidth, DType type = f32) {
  return input("x", type, {kSize, 12, height, width});
}

// Each picture less its mean, which is a sum of its own and what is fused onto it.
Graph centred(const Tensor& x) { return Graph(sub(x, mean(x, {2, 3}, true), "y")); }

// What is stored of each picture is as large as it.
Graph shares(const Tensor& x) {
  const Tensor e = exp(x - reduce_max(x, {2, 3}, true));
  return Graph(div(e, sum(e, {2, 3}, true), "y"));
}

// Two axes say which row.
Graph deep() { return Graph(softmax(input("x", f32, {3, kRows, kSize}), -1, "y")); }

TEST(DeriveGroupByLength, ShortRowsAreComputedSeveralAtATime) {
  const std::string text = derived(softmax_by_hand(64, kSize), kV3);
  for (const char* stage : {"highest", "p", "total", "y"}) {
    const std::string name = stage;
    EXPECT_TRUE(has(text, name + ".alternative(B <= 8, " + name + "_few)\n" + name +
                              ".alternative(B < 64 && B % 8 != 0, " + name + "_uneven)\n" + name +
                              ".alternative(B <= 256, " + name + "_short)\n"))
        << text;
  }
  EXPECT_TRUE(has(text, "y_short.store_in_output(y)\n")) << text;
  EXPECT_TRUE(has(text, "y_short.split(i, i, row, 8)\n")) << text;
  EXPECT_TRUE(has(text, "p_short.compute_at(y_short, i)\n")) << text;
  EXPECT_TRUE(has(text, "total_short.split(r, r, lane, 16)\n")) << text;
  // In the memory of the output, but for what a part of a vector stores at the end of each row.
  EXPECT_TRUE(has(text, "p_short.store_in_output(y_short)\n")) << text;
  EXPECT_TRUE(has(text, "p_uneven.compute_at(y_uneven, i)\n")) << text;
  EXPECT_FALSE(has(text, "p_uneven.store_in_output")) << text;
  // Long ones, each by itself in the memory of the output.
  EXPECT_TRUE(has(text, "p.store_in_output(y)\n")) << text;
  EXPECT_TRUE(has(text, "p.compute_at(y, i)\n")) << text;
  EXPECT_TRUE(has(text, "total.split(r, r, lane, 32)\n")) << text;
  EXPECT_TRUE(has(text,
                  "\ny.specialize(B <= 8)\ny.specialize(B < 64 && B % 8 != 0)\n"
                  "y.specialize(B <= 256)\n"))
      << text;
  EXPECT_FALSE(has(text, "parallel")) << text;
}

// Bytes that lie a row apart are loaded one by one, each by code of its own.
TEST(DeriveGroupByLength, FewRowsOfBytesHaveFewLanes) {
  const Axis i("i", kRows), j("j", kSize);
  const Tensor x = input("x", u8, {kRows, kSize}), top = reduce_max(x, {1}, false, "top");
  const Graph below(compute("y", {i, j}, top(i) - x(i, j)));
  const std::string text = derived(below, Target::parse("x86-64-v4,cores=1"));
  EXPECT_TRUE(has(text, "y_few.split(i, tile, lane, 16, predicate)\n")) << text;
  EXPECT_TRUE(has(text, "y.split(j, j, j_v, 64, predicate)\n")) << text;
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(below, target_of(level, 4), {0, 1, 2, 3, 5, 8, 9, 16, 17, 33}));
  }
}

TEST(DeriveGroupByLength, RowsOfAFewElementsHaveALaneEach) {
  const std::string text = derived(softmax_by_hand(kRows, kSize), kV3);
  EXPECT_TRUE(has(text,
                  "y_few.store_in_output(y)\ny_few.split(i, tile, lane, 8, predicate)\n"
                  "y_few.reorder(lane, k, tile)\ny_few.vectorize(lane)\ny_few.partition(tile)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "p_few.reorder(i, k)\np_few.vectorize(i)\np_few.reorder_storage(i, k)\n"
                  "p_few.compute_at(y_few, tile)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "total_few.reorder(i, r)\ntotal_few.vectorize(i)\n"
                  "total_few.compute_at(y_few, tile)\n"))
      << text;
}

// Each of the shortest lengths has loops without a loop over a row; rows of five are a loop.
TEST(DeriveGroupByLength, TheElementsOfTheShortestRowsAreWrittenOut) {
  const Graph graph = softmax_by_hand(kRows, kSize);
  const std::string text = derived(graph, kV3);
  for (const char* length : {"2", "3", "4"}) {
    for (const auto& [stage, axis] :
         {std::pair("y_few", "k"), {"p_few", "k"}, {"total_few", "r"}, {"highest_few", "r"}}) {
      const std::string name = stage;
      EXPECT_TRUE(
          has(text, name + ".specialize(B == " + length + ")\n" + name + ".unroll(" + axis + ")\n"))
          << text;
    }
  }
  EXPECT_FALSE(has(text, "specialize(B == 1)") || has(text, "specialize(B == 5)")) << text;
  EXPECT_FALSE(has(text, "y_few.unroll(i)")) << text;
  const std::string shared = derived(graph, Target::parse("x86-64-v3,cores=4"));
  EXPECT_TRUE(has(shared,
                  "y_few.specialize(B == 3 && min(R, 32768) * min(B, 32768) >= 41391)\n"
                  "y_few.unroll(k)\ny_few.parallel(tile)\n"
                  "y_few.specialize(B == 3)\ny_few.unroll(k)\n"))
      << shared;
  // What each row has one of is the same for all lengths, and another axis is a loop.
  const std::string places_text = derived(places(), kV3);
  EXPECT_TRUE(has(places_text, "y_acc_few.specialize(B == 3)\ny_acc_few.unroll(j)\n"));
  EXPECT_FALSE(has(places_text, "y_few.specialize")) << places_text;
  const Tensor x = input("x", f32, {kRows, kSize, 3});
  const std::string others = derived(Graph(exp(x - reduce_max(x, {1, 2}, true), "y")), kV3);
  EXPECT_TRUE(has(others, "y_few.specialize(B == 3)\ny_few.unroll(i1)\n")) << others;
  EXPECT_FALSE(has(others, "_few.unroll(i2)") || has(others, "_few.unroll(r2)")) << others;
}

TEST(DeriveGroupByLength, AReductionIsComputedInTheMemoryOfTheOutputInEveryCase) {
  const std::string text = derived(places(), kV3);
  EXPECT_TRUE(has(text, "y.cache_write(y_long)\ny.specialize(B <= 8)\ny.specialize(B <= 256)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "y_long.alternative(B <= 8, y_few)\ny_long.alternative(B <= 256, y_short)\n"
                  "y_long.store_in_output(y)\n"))
      << text;
  EXPECT_TRUE(has(text, "y_few.store_in_output(y)\ny_few.cache_write(y_acc_few)\n")) << text;
  EXPECT_TRUE(has(text, "y_short.store_in_output(y)\n")) << text;
  const std::string nest = to_string(lower(places(), derive_schedule(places(), kV3)));
  EXPECT_FALSE(has(nest, "store y[")) << nest;
}

// The graph that the pipeline lowers says that they are computed together.
TEST(DeriveGroupByLength, EveryWayIsInTheLoopsOfTheGroup) {
  for (const Graph& graph : {places(), norms()}) {
    const LoopNest nest = run_pipeline(graph, kV3).nest;
    for (int64_t length : {3, 20, 270}) {
      EXPECT_TRUE(computes(nest, graph, {{"R", 9}, {"B", length}}, 1e-5)) << length;
    }
  }
}

TEST(DeriveGroupByLength, OfFewRowsNoneHasALaneOfItsOwn) {
  const std::string text = derived(softmax_by_hand(15, kSize), kV3);
  EXPECT_FALSE(has(text, "_few")) << text;
  EXPECT_TRUE(has(text, "y.alternative(B <= 256, y_short)\n")) << text;
}

TEST(DeriveGroupByLength, RowsThatEndInAPartOfAVectorHaveTheirMemoryOnTheStack) {
  const Graph graph = softmax_by_hand(64, kSize);
  const std::string nest = to_string(lower(graph, derive_schedule(graph, kV3)));
  EXPECT_TRUE(has(nest, "alloc p_uneven[y_uneven.i * 8 .. +8, 0 .. +B room 63] in stack")) << nest;
  EXPECT_TRUE(has(nest, "alloc p_short[y_short.i * 8 .. +8, 0 .. +B] in output y_short")) << nest;
  EXPECT_TRUE(has(nest, "alloc p[y.i .. +1, 0 .. +B] in output y")) << nest;
}

// Rows as long as 32 vectors, or as what is stored of four of them leaves room for in the first
// cache.
TEST(DeriveGroupByLength, RowsAreShortWhereSeveralStayInTheCache) {
  const Tensor x = rows(), y = softmax(x, -1, "p");
  const Graph gradient(gradients(y, {x}, input("dy", f32, {kRows, kSize})));
  const auto least = [](const Graph& graph, const std::string& target, int64_t most) {
    const std::string text = derived(graph, Target::parse(target));
    return has(text, fmt::format("B <= {}, ", most)) ? "" : text;
  };
  const Graph soft(softmax(x, -1, "y"));
  EXPECT_EQ(least(soft, "x86-64-v2,cores=1", 32 * 4), "");
  EXPECT_EQ(least(soft, "x86-64-v4,cores=1", 32 * 16), "");
  EXPECT_EQ(least(soft, "x86-64-v4,cores=1,l1=8192", 16 * 16), "");
  EXPECT_EQ(least(soft, "x86-64-v4,cores=1,l1=1024", 8 * 16), "");
  // Nothing is stored of the rows, however long they are.
  EXPECT_EQ(least(places(), "x86-64-v4,cores=1,l1=1024", 32 * 16), "");
  EXPECT_EQ(least(gradient, "x86-64-v4,cores=1,l1=32768", 32 * 16), "");
  EXPECT_EQ(least(gradient, "x86-64-v4,cores=1,l1=16384", 16 * 16), "");
}

// Eight rows where the longest of them leave as much room, else four. None is across a vector.
TEST(DeriveGroupByLength, EightShortRowsAtATimeWhereThereIsRoom) {
  const auto rows_of = [](const Graph& graph, const std::string& target) {
    const std::string text = derived(graph, Target::parse(target));
    for (const int rows : {4, 8, 16}) {
      if (has(text, fmt::format("y_short.split(i0, i0, row, {}, guard)\n", rows))) return rows;
    }
    return 0;
  };
  const Graph soft(softmax(input("x", f32, {Extent::size("R"), kSize}), -1, "y"));
  EXPECT_EQ(rows_of(soft, "x86-64-v4,cores=1,l1=32768"), 8);
  EXPECT_EQ(rows_of(soft, "x86-64-v4,cores=1,l1=16384"), 4);
  EXPECT_EQ(rows_of(soft, "x86-64-v3,cores=1,l1=16384"), 8);
  const std::string text = derived(norms(), kV3);
  EXPECT_FALSE(has(text, "y_scale_short.vectorize")) << text;
}

TEST(DeriveGroupByLength, EveryLengthIsRight) {
  for (const char* level : kLevels) {
    for (int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const Graph& graph :
           {Graph(softmax(rows(), -1, "y")), norms(), places(), distances(), deep()}) {
        const Schedule schedule = derive_schedule(graph, target);
        EXPECT_TRUE(has(to_string(schedule), ".store_in_output(y)\n"));
        for (int64_t length : {0, 1, 2, 3, 4, 8, 9, 65, 128, 129, 257, 513}) {
          for (int64_t count : {0, 1, length > 129 ? 6 : 19}) {
            EXPECT_TRUE(lowers(graph, schedule, {{"R", count}, {"B", length}}, 1e-5))
                << level << " " << count << " x " << length;
          }
        }
      }
    }
  }
}

TEST(DeriveGroupByLength, RowsMayBeAsLongAsWhatIsLeftOfASize) {
  const Graph graph(softmax(input("x", f32, {kRows, kSize - 2}), -1, "y"));
  const std::string text = derived(graph, kV3);
  EXPECT_TRUE(has(text,
                  "y.alternative(B - 2 <= 8, y_few)\n"
                  "y.alternative(B - 2 < 64 && (B - 2) % 8 != 0, y_uneven)\n"
                  "y.alternative(B - 2 <= 256, y_short)\n"))
      << text;
  EXPECT_TRUE(has(text, "y_few.specialize(B - 2 == 3)\n")) << text;
  const std::string nest = to_string(lower(graph, derive_schedule(graph, kV3)));
  EXPECT_TRUE(has(nest, "+(B - 2) room 63] in stack")) << nest;
  for (const char* level : kLevels) {
    const Schedule schedule = derive_schedule(graph, target_of(level, 1));
    for (int64_t length : {0, 1, 3, 8, 9, 128, 129, 257}) {
      EXPECT_TRUE(lowers(graph, schedule, {{"R", 19}, {"B", length + 2}}, 1e-5)) << length;
    }
  }
}

TEST(DeriveGroupByLength, ThreadsShareRowsOfEitherLength) {
  const std::string text =
      derived(softmax_by_hand(kRows, kSize), Target::parse("x86-64-v3,cores=4"));
  const std::string enough = "specialize(min(R, 32768) * min(B, 32768) >= 41391)\n";
  EXPECT_TRUE(has(text, "y.specialize(B <= 256)\ny." + enough + "y.parallel(i)\n")) << text;
  EXPECT_TRUE(has(text, "y_uneven." + enough + "y_uneven.parallel(i)\n")) << text;
  EXPECT_TRUE(has(text, "y_few." + enough + "y_few.parallel(tile)\n")) << text;
  EXPECT_TRUE(has(text, "y_short." + enough + "y_short.parallel(i)\n")) << text;
}

// What others read, and rows of no size's length.
TEST(DeriveGroupByLength, OneWayOfWhatIsNoOutputOrHasOtherRows) {
  const Tensor x = rows();
  const Tensor wide = input("x", f32, {kRows, kSize * 2});
  const Tensor padded = input("x", f32, {kRows, kSize + 1});
  const Tensor w = input("w", f32, {kSize, 64});
  // Some rows have an element more.
  const Axis i("i", kRows), j("j", kSize), one_more("j", kSize + 1), one_less("j", kSize - 1);
  const Tensor p = compute("p", {i, one_more}, padded(i, one_more) * 2.0f);
  const Tensor top = reduce_max(p, {1}), most = reduce_max(x, {1});
  for (const Graph& graph : {Graph(softmax(wide, -1, "y")), Graph(softmax(padded, -1, "y")),
                             Graph(softmax(input("x", f32, {kRows, 48}), -1, "y")),
                             Graph(compute("y", {i, j}, p(i, j) - top(i))),
                             Graph(compute("y", {i, one_less}, x(i, one_less) - most(i))),
                             Graph(sum(softmax(x, -1, "p"), {0}, false, "y")),
                             Graph(matmul(softmax(x, -1, "p"), w, "y"))}) {
    EXPECT_FALSE(has(derived(graph, kV3), "alternative")) << derived(graph, kV3);
  }
}

TEST(DeriveGroupByLength, SmallPicturesAreComputedSeveralAtATime) {
  const std::string text =
      derived(centred(pictures()), Target::parse("x86-64-v3,cores=1,l1=32768"));
  const std::string small = "min(H, 32768) * min(W, 32768) < 1025";
  EXPECT_TRUE(has(text, "y.alternative(" + small + ", y_small)\n")) << text;
  EXPECT_TRUE(has(text, "mean_sum.alternative(" + small + ", mean_sum_small)\n")) << text;
  EXPECT_TRUE(has(text, "y_small.split(i1, i1, row, 4)\n")) << text;
  EXPECT_TRUE(has(text, "mean_sum_small.compute_at(y_small, i1)\n")) << text;
  EXPECT_FALSE(has(text, "y.split(i1")) << text;
  // Down their columns, and large ones along their rows.
  EXPECT_TRUE(has(text, "y_small.reorder(i2, i3)\ny_small.partition(i3)\n")) << text;
  EXPECT_TRUE(has(text, "mean_sum_lanes_small.reorder(r2, r3)\n")) << text;
  EXPECT_FALSE(has(text, "y.reorder") || has(text, "mean_sum_lanes.reorder(r2, r3)")) << text;
  const std::string squares =
      derived(centred(pictures(kWidth, kWidth)), Target::parse("x86-64-v3,cores=1,l1=32768"));
  EXPECT_TRUE(has(squares, "y.alternative(min(W, 32768) * min(W, 32768) < 1025, y_small)\n"))
      << squares;
  const std::string shared =
      derived(centred(pictures()), Target::parse("x86-64-v3,cores=4,l1=32768"));
  EXPECT_TRUE(has(shared, "y_small.parallel(i0)\n") && has(shared, "y.parallel(i0)\n")) << shared;
}

// As many as half of the first cache has room for, with what is stored of them.
TEST(DeriveGroupByLength, PicturesAreSmallWhereSeveralStayInTheCache) {
  const auto small = [](const Graph& graph, const std::string& l1, const std::string& condition) {
    const std::string text = derived(graph, Target::parse("x86-64-v4,cores=1,l1=" + l1));
    return has(text, "y.alternative(" + condition + ", y_small)\n") ? "" : text;
  };
  const std::string area = "min(H, 32768) * min(W, 32768) < ";
  EXPECT_EQ(small(centred(pictures()), "49152", area + "1537"), "");
  EXPECT_EQ(small(shares(pictures()), "49152", area + "769"), "");
  EXPECT_EQ(small(centred(pictures(kHeight, kWidth - 2)), "49152",
                  "min(H, 32768) * min(W - 2, 32768) < 1537"),
            "");
  // An axis of a number is a part of the picture, unless it has few steps.
  EXPECT_EQ(small(centred(pictures(16, kWidth)), "32768", "W < 65"), "");
  const Tensor planes = input("x", f32, {kRows, 3, kHeight, kWidth});
  EXPECT_EQ(small(Graph(sub(planes, mean(planes, {1, 2, 3}, true), "y")), "32768", area + "1025"),
            "");
}

TEST(DeriveGroupByLength, OneWayOfOtherPictures) {
  const Tensor x = pictures(), last = input("x", f32, {kSize, kHeight, kWidth, 16});
  const Tensor all = mean(x, {0, 2, 3}, true);  // of which a row lies in pieces
  for (const Graph& graph :
       {Graph(mean(x, {2, 3}, false, "y")),               // each is read once
        Graph(sub(x, all, "y")),                          //
        centred(pictures(kHeight, 9)),                    // as long as a number
        Graph(sub(last, mean(last, {1, 2}, true), "y")),  // whose channels are last
        centred(pictures(4096, kWidth)),                  // never small
        Graph(sum(sub(x, mean(x, {2, 3}, true)), {0}, false, "y"))}) {
    EXPECT_FALSE(has(derived(graph, kV3), "_small")) << derived(graph, kV3);
  }
}

TEST(DeriveGroupByLength, EveryPictureIsRight) {
  for (const char* level : kLevels) {
    for (int cores : {1, 4}) {
      const Target target = Target::parse(fmt::format("{},cores={},l1=4096", level, cores));
      const Tensor bytes = pictures(kHeight, kWidth, u8);
      for (const Graph& graph :
           {centred(pictures()), shares(pictures()), centred(pictures(kHeight, kWidth - 2)),
            Graph(sub(reduce_max(bytes, {2, 3}, true), bytes, "y"))}) {
        const Schedule schedule = derive_schedule(graph, target);
        EXPECT_TRUE(has(to_string(schedule), "y_small.store_in_output(y)\n")) << level;
        for (const auto& [height, width] :
             {std::pair(0, 2), {1, 3}, {3, 7}, {7, 9}, {16, 18}, {2, 33}}) {
          const SizeValues sizes = {{"B", height == 1 ? 0 : 2}, {"H", height}, {"W", width}};
          EXPECT_TRUE(lowers(graph, schedule, sizes, 1e-5))
              << level << " " << height << " x " << width;
        }
      }
    }
  }
}

// Threads share the rows of both axes as one, by a run-time number: one picture is as many as that.
TEST(DeriveGroupByLength, RowsOfOneOfARunTimeNumberAreSharedByThreads) {
  for (const char* level : kLevels) {
    for (const Extent& length : {kWidth, Extent(1000)}) {
      const Graph graph(softmax(input("x", f32, {1, kHeight, length}), -1, "y"));
      const Schedule schedule = derive_schedule(graph, target_of(level, 2));
      EXPECT_TRUE(has(to_string(schedule), ".fuse(i0, i1, rows1)\n")) << to_string(schedule);
      EXPECT_TRUE(lowers(graph, schedule, {{"H", 5}, {"W", 9}}, 1e-5)) << level;
    }
  }
}

TEST(DeriveGroupByLength, NamesThatAreTakenAreNotTakenAgain) {
  const Tensor x = input("y_short", f32, {kRows, kSize});
  const Graph graph(softmax(x, -1, "y"));
  const Schedule schedule = derive_schedule(graph, kV3);
  EXPECT_TRUE(has(to_string(schedule), "y.alternative(B <= 256, y_short1)\n"));
  EXPECT_TRUE(lowers(graph, schedule, {{"R", 5}, {"B", 9}}, 1e-5));
}

}  // namespace
}  // namespace emulsion
