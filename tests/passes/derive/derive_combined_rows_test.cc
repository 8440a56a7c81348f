// Reductions of many rows with a result for each column, and reductions whose results are read
// where they are made: in derived schedules.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

Tensor sum_of_columns(const Extent& rows, const Extent& columns) {
  return sum(input("x", f32, {rows, columns}), {0}, false, "s");
}

TEST(DeriveCombinedRows, SeveralRowsAreCombinedAtATime) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    EXPECT_EQ(derived(sum_of_columns(800, 1600), target),
              "emulsion schedule 1\ns.split(r0, r0, row, 8)\ns.split(i1, i1, lane, " + lanes +
                  ")\ns.reorder(lane, row, i1, r0)\ns.vectorize(lane)\ns.unroll(row)\n");
  }
}

TEST(DeriveCombinedRows, OnlyTheEndsOfTheLoopsHaveMasks) {
  for (const char* level : kLevels) {
    const std::string text = derived(sum_of_columns(1009, 1009), target_of(level, 1));
    EXPECT_TRUE(has(text, "s.split(r0, r0, row, 8, guard)\n")) << text;
    EXPECT_TRUE(has(text, ", predicate)\n")) << text;
    EXPECT_TRUE(has(text, "s.partition(r0)\ns.partition(i1)\n")) << text;
  }
  // As many rows at a time as divide them all.
  const std::string text = derived(sum_of_columns(700, 1009), target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "s.split(r0, r0, row, 7)\n")) << text;
  EXPECT_FALSE(has(text, "s.partition(r0)")) << text;
}

TEST(DeriveCombinedRows, OfRunTimeSizesThereAreThreeKinds) {
  const std::map<std::string, std::string> enough = {{"x86-64-v2", ">= 196608 && B >= "},
                                                     {"x86-64-v3", ">= 262144 && B >= "},
                                                     {"x86-64-v4", ">= 393216 && B >= "}};
  for (const char* level : kLevels) {
    const Target target = target_of(level, 4);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    const std::string text = derived(sum_of_columns(kSize, kSize), target);
    // Wide and large: in threads. Else as long as there is a whole vector only the ends have masks.
    EXPECT_TRUE(has(text, enough.at(level) + std::to_string(256 * target.vector_lanes(f32)) +
                              ")\ns.split(i1, block, i1, 128, guard)\ns.reorder(i1, r0, block)\n"
                              "s.parallel(block)\ns.partition(block)\ns.partition(r0)\n"))
        << text;
    EXPECT_TRUE(has(text, "s.specialize(B >= " + lanes + ")\ns.partition(r0)\ns.partition(i1)\n"))
        << text;
  }
  const std::string text = derived(sum_of_columns(kSize, kSize), target_of("x86-64-v3", 1));
  EXPECT_FALSE(has(text, "specialize")) << text;
}

TEST(DeriveCombinedRows, EachThreadWalksThroughLongPartsOfTheRows) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 2);
    const std::string vectors = std::to_string(1024 / target.vector_lanes(f32));
    const std::string text = derived(sum_of_columns(4096, 2048), target);
    EXPECT_TRUE(has(text, "s.split(i1, block, i1, " + vectors +
                              ")\ns.reorder(i1, r0, block)\ns.parallel(block)\n"))
        << text;
    EXPECT_FALSE(has(text, "_acc")) << text;
  }
  const std::string text = derived(sum_of_columns(4096, 2050), target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(text,
                  "s.split(i1, block, i1, 129, guard)\ns.reorder(i1, r0, block)\n"
                  "s.parallel(block)\ns.partition(i1)\n"))
      << "threads would not share the last part" << text;
  // Of a run-time number of rows there may be too few.
  const std::string rows = derived(sum_of_columns(kSize, 2050), target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(rows,
                  "s.unroll(row)\ns.specialize(B >= 128)\ns.split(i1, block, i1, 129, guard)\n"
                  "s.reorder(i1, r0, block)\ns.parallel(block)\ns.partition(i1)\ns.partition(r0)\n"
                  "s.specialize(B >= 8)\ns.partition(r0)\ns.partition(i1)\n"))
      << rows;
  const Tensor pictures = sum(input("x", f32, {kSize, 20, 2050}), {0, 1}, false, "s");
  EXPECT_TRUE(has(derived(pictures, target_of("x86-64-v3", 2)), "s.specialize(B >= 1)\n"));
}

// Of short parts of rows the processor fetches little ahead.
TEST(DeriveCombinedRows, ThreadsShareTheRowsWherePartsOfThemWouldBeShort) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 2);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    EXPECT_EQ(derived(sum_of_columns(4096, 512), target),
              "emulsion schedule 1\ns.split(r0, block, r0, 2048)\ns.rfactor(block, s_parts)\n"
              "s.split(i1, i1, lane, " +
                  lanes +
                  ")\ns.reorder(lane, i1, block)\ns.vectorize(lane)\n"
                  "s_parts.cache_write(s_parts_acc)\ns_parts.split(i1, i1, lane, " +
                  lanes +
                  ")\ns_parts.reorder(lane, i1, block)\ns_parts.vectorize(lane)\n"
                  "s_parts.reorder_storage(i1, block)\ns_parts.parallel(block)\n"
                  "s_parts_acc.compute_at(s_parts, block)\n"
                  "s_parts_acc.reorder(i1, block)\ns_parts_acc.split(r0, r0, row, 8)\n"
                  "s_parts_acc.split(i1, i1, lane, " +
                  lanes +
                  ")\ns_parts_acc.reorder(lane, row, i1, r0)\n"
                  "s_parts_acc.vectorize(lane)\ns_parts_acc.unroll(row)\n")
        << "sums in memory of the thread's own";
  }
  // Of few columns each part is summed up in registers.
  const std::string few = derived(sum_of_columns(100000, 64), target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(few, "s.split(r0, block, r0, 50000)\n")) << few;
  EXPECT_TRUE(has(few, "s_parts.cache_write(s_parts_acc)\n")) << few;
  EXPECT_TRUE(has(few, "s_parts.parallel(block)\n")) << few;
  // A mean of these is taken of what all parts make.
  EXPECT_TRUE(
      has(derived(mean(input("x", f32, {100000, 64}), {0}, false, "y"), target_of("x86-64-v3", 2)),
          "y_sum_parts.parallel(block)\n"));
  // A part has whole steps of eight rows; only the last steps of each have guards.
  const std::string text = derived(sum_of_columns(1009, 1009), target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(text, "s.split(r0, block, r0, 512)\n")) << text;
  EXPECT_TRUE(has(text, "s_parts_acc.partition(r0)\n")) << text;
  EXPECT_FALSE(has(text, "partition(block)")) << "threads would not share the last part";
  // Pictures are shared whole, if there are several for each thread.
  const Tensor pictures = input("x", f32, {40, 100, 96});
  EXPECT_TRUE(has(derived(sum(pictures, {0, 1}, false, "s"), target_of("x86-64-v3", 2)),
                  "s.split(r0, block, r0, 20)\ns.rfactor(block, s_parts)\n"));
}

TEST(DeriveCombinedRows, ThreadsShareNoRowsOfLittleOrFewOrOfColumnsThatAreNotKnown) {
  const auto shares = [](const Tensor& y, int64_t cores) {
    return has(derived(y, target_of("x86-64-v3", cores)), "_parts");
  };
  EXPECT_TRUE(shares(sum_of_columns(512, 512), 2));
  EXPECT_TRUE(shares(sum_of_columns(512, 1500), 2));
  EXPECT_FALSE(shares(sum_of_columns(512, 2048), 2)) << "parts of 4 KiB are long";
  EXPECT_FALSE(shares(sum_of_columns(512, 512), 1));
  EXPECT_FALSE(shares(sum_of_columns(500, 500), 2)) << "too little for threads";
  EXPECT_FALSE(shares(sum_of_columns(512, 512), 16)) << "32 rows for each thread";
  EXPECT_TRUE(shares(sum_of_columns(100000, 4), 2));
  EXPECT_FALSE(shares(sum_of_columns(1000000, 3), 2)) << "less than any vector";
  EXPECT_FALSE(shares(sum(input("x", f32, {3, 1000, 100}), {0, 1}, false, "s"), 2));
  EXPECT_FALSE(shares(sum_of_columns(4096, kSize), 2));
  EXPECT_FALSE(shares(sum(input("x", f32, {8, 512, 300}), {1}, false, "s"), 2));
  const Axis i("i", 512), r("r", 4096);
  const Tensor x = input("x", f32, {512, 4096}), z = input("z", f32, {4096, 512});
  EXPECT_FALSE(shares(compute("s", {i}, sum(r, x(i, r))), 2)) << "rows lie along the sums";
  EXPECT_FALSE(shares(compute("s", {i}, sum(r, x(i, r) + z(r, i))), 2));
}

// The pixels of a small picture, and of several: rows of channels, one after another.
TEST(DeriveCombinedRows, ManyRowsOfAllAxesAreCombined) {
  const auto text = [](const Shape& shape, const std::vector<int>& axes) {
    return derived(sum(input("x", f32, shape), axes, false, "s"), target_of("x86-64-v3", 1));
  };
  EXPECT_TRUE(has(text({8, 7, 7, 500}, {1, 2}), "s.split(r2, r2, row, 7)\n"));
  EXPECT_TRUE(has(text({8, 7, 7, 500}, {1, 2}), "s.reorder(lane, row, i3, r2, r1)\n"));
  EXPECT_TRUE(has(text({8, 7, 7, 500}, {0, 1, 2}), "s.reorder(lane, row, i3, r2, r1, r0)\n"));
  EXPECT_TRUE(has(text({kSize, 3, 500}, {0, 1}), "s.split(r1, r1, row, 3)\n"));
  EXPECT_TRUE(has(text({9, 9, 500}, {0, 1}), "s.split(r1, r1, row, 5, guard)\n")) << "5 and 4";
  EXPECT_TRUE(has(text({6, 11, 500}, {0, 1}), "s.split(r1, r1, row, 6, guard)\n"));
  EXPECT_FALSE(has(text({6, 7, 500}, {0, 1}), "row")) << "few";
  EXPECT_FALSE(has(text({63, 500}, {0}), "row")) << "of one axis";
  EXPECT_FALSE(has(text({8, 7, 7, 500}, {2, 3}), "row")) << "along the rows";
  const Axis i("i", 50), j("j", 500), a("a", 7), b("b", 7);
  const Tensor x = input("x", f32, {56, 7, 500});
  EXPECT_FALSE(
      has(derived(compute("s", {i, j}, sum({a, b}, x(i + a, b, j))), target_of("x86-64-v3", 1)),
          "s.split(b, b, row"))
      << "windows";
  for (const char* level : kLevels) {
    for (const Shape& shape : {Shape{3, 7, 7, 40}, {3, 9, 9, 37}, {kSize, 5, 11, 40}}) {
      EXPECT_TRUE(derives(sum(input("x", f32, shape), {1, 2}), target_of(level, 2), {0, 1, 3}));
      EXPECT_TRUE(derives(sum(input("x", i32, shape), {0, 1, 2}), target_of(level, 1), {0, 2}));
    }
  }
}

TEST(DeriveCombinedRows, ThreadsShareOtherAxesFirst) {
  const Tensor y = sum(input("x", f32, {8, 512, 300}), {1}, false, "s");
  const std::string text = derived(y, target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(text, "s.parallel(i0)\n")) << text;
  EXPECT_FALSE(has(text, "block")) << text;
}

TEST(DeriveCombinedRows, NotOfFewColumnsOrFewRowsOrWhatLiesOtherwise) {
  const Target target = target_of("x86-64-v3", 1);
  EXPECT_FALSE(has(derived(sum_of_columns(4096, 1), target), "row"));   // no columns
  EXPECT_FALSE(has(derived(sum_of_columns(4096, 64), target), "row"));  // eight of them
  EXPECT_FALSE(has(derived(sum_of_columns(63, 1024), target), "row"));
  EXPECT_FALSE(has(derived(sum_of_columns(4096, 0), target), "row"));
  const Axis i("i", 300), r("r", 512);
  const Tensor x = input("x", f32, {300, 512}), z = input("z", f32, {512, 300});
  EXPECT_FALSE(has(derived(compute("s", {i}, sum(r, x(i, r))), target), "row"));
  EXPECT_FALSE(has(derived(compute("s", {i}, sum(r, x(i, r) + z(r, i))), target), "row"));
}

// Of columns whose number is known the sums of so few rows are in registers, many at a time.
TEST(DeriveCombinedRows, SomeRowsOfARunTimeLengthAreCombined) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    EXPECT_TRUE(has(derived(sum_of_columns(16, kSize), target), "s.split(r0, r0, row, 8)\n"));
    EXPECT_FALSE(has(derived(sum_of_columns(15, kSize), target), "row"));
    EXPECT_FALSE(has(derived(sum_of_columns(63, 1001), target), "row"));
  }
}

Tensor sum_of_pictures(const Extent& count, const Extent& height, const Extent& width) {
  return sum(input("x", f32, {2, count, height, width}), {1}, false, "s");
}

// A picture is one row where its width is a number that fills no vectors, else its rows are walked
// one after another.
TEST(DeriveCombinedRows, PicturesAreOneLongRow) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const std::string known = derived(sum_of_pictures(21, 9, 27), target);
    EXPECT_TRUE(has(known, "s.fuse(i2, i3, flat)\ns.split(r1, r1, row, 7)\n")) << known;
    for (const std::string& text : {derived(sum_of_pictures(21, kSize, kSize), target),
                                    derived(sum_of_pictures(64, 9, 1000), target)}) {
      EXPECT_TRUE(has(text, "s.reorder(lane, row, i3, i2, r1)\n")) << text;
      EXPECT_FALSE(has(text, "fuse")) << text;
    }
    EXPECT_FALSE(has(derived(sum_of_pictures(15, 9, 27), target), ", row, "));
    EXPECT_FALSE(has(derived(sum_of_pictures(15, kSize, kSize), target), "row"));
  }
}

TEST(DeriveCombinedRows, NotWithAnAxisThatLiesOutsideOrIsReadOtherwise) {
  const Target target = target_of("x86-64-v3", 1);
  const Tensor outside = sum(input("x", f32, {kSize, 64, kSize}), {1}, false, "s");
  EXPECT_TRUE(has(derived(outside, target), "s.reorder(lane, row, i2, r1)\n"));
  const Axis h("h", kSize), w("w", kSize), r("r", 64);
  const Tensor x = input("x", f32, {64, kSize, kSize}), z = input("z", f32, {kSize, 64, kSize});
  const Tensor both = compute("s", {h, w}, sum(r, x(r, h, w) + z(h, r, w)));
  EXPECT_TRUE(has(derived(both, target), "s.reorder(lane, row, w, r)\n")) << derived(both, target);
  const Tensor inside = compute("s", {h, w}, sum(r, x(r, h, w) * x(r, h, w)));
  EXPECT_TRUE(has(derived(inside, target), "s.reorder(lane, row, w, h, r)\n"));
}

// What threads share stays outside.
TEST(DeriveCombinedRows, ThreadsShareTheRowsOfOnePicture) {
  const Tensor one = sum(input("x", f32, {64, 300, 1000}), {0}, false, "s");
  const std::string text = derived(one, target_of("x86-64-v3", 4));
  EXPECT_TRUE(has(text, "s.reorder(lane, row, i2, r0)\n")) << text;
  EXPECT_TRUE(has(text, "parallel(i1)\n")) << text;
  EXPECT_TRUE(has(derived(one, target_of("x86-64-v3", 1)), "s.reorder(lane, row, i2, i1, r0)\n"));
}

TEST(DeriveCombinedRows, PicturesAreWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      const std::vector<int64_t> sizes = {0, 1, 7, 17, 33};
      EXPECT_TRUE(derives(Graph(sum_of_pictures(17, kSize, kSize)), target, sizes));
      EXPECT_TRUE(derives(Graph(sum_of_pictures(kSize, 5, 7)), target, sizes));
      EXPECT_TRUE(derives(Graph(sum_of_pictures(16, kSize, 7)), target, sizes));
      EXPECT_TRUE(derives(Graph(sum_of_pictures(65, 3, 300)), target));
      const Tensor x = input("x", u8, {kSize, 19, kSize, 5});
      EXPECT_TRUE(derives(Graph(reduce_min(x, {1}, false, "s")), target, sizes));
      EXPECT_TRUE(derives(Graph(relu(sum_of_pictures(kSize, kSize, 5))), target, sizes));
      EXPECT_TRUE(
          derives(Graph(relu(sum(input("x", f32, {kSize, 9, kSize}), {0}))), target, sizes));
    }
  }
}

// y[l] = sum(k) x[clamp(d[k, l]), k, l]: each lane is loaded by itself.
Graph sum_of_places(DType dtype, const Extent& rows, const Extent& columns) {
  const Tensor x = input("x", dtype, {5, rows, columns}), d = input("d", i32, {rows, columns});
  const Axis k("k", rows), l("l", columns);
  return Graph(compute("y", {l}, sum(k, x(clamp(d(k, l), 0, 4), k, l))));
}

TEST(DeriveCombinedRows, OfWhatIsLoadedElementByElementThereAreTwoRowsAndFewLanes) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const std::string bytes = derived(sum_of_places(u8, 800, 1600), target);
    EXPECT_TRUE(has(bytes, "y.split(k, k, row, 2)\ny.split(l, l, lane, 16)\n")) << bytes;
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    const std::string floats = derived(sum_of_places(f32, 800, 1600), target);
    EXPECT_TRUE(has(floats, "row, 2)\ny.split(l, l, lane, " + lanes + ")\n")) << floats;
  }
}

TEST(DeriveCombinedRows, ComputeWhatTheGraphSays) {
  for (int cores : {1, 4}) {
    const Target target = target_of("x86-64-v3", cores);
    const std::vector<int64_t> sizes = {0, 1, 7, 8, 9, 17, 64, 67};
    EXPECT_TRUE(derives(Graph(sum_of_columns(kSize, kSize)), target, sizes));
    EXPECT_TRUE(derives(Graph(sum_of_columns(67, kSize)), target, {0, 1, 8, 13, 2048, 2051}));
    EXPECT_TRUE(derives(Graph(sum_of_columns(kSize, 101)), target, sizes));
    EXPECT_TRUE(derives(Graph(sum_of_columns(67, 101)), target));
    EXPECT_TRUE(derives(Graph(sum_of_columns(1000, 300)), target));
    EXPECT_TRUE(derives(Graph(reduce_max(input("x", i8, {3, kSize, 97}), {1})), target, sizes));
    EXPECT_TRUE(derives(Graph(sum(input("x", f64, {1, kSize, 2, kSize}), {1, 2})), target, sizes));
    EXPECT_TRUE(derives(Graph(sum_of_columns(2051, 517)), target));
    EXPECT_TRUE(derives(Graph(sum_of_columns(20001, 50)), target));
    EXPECT_TRUE(derives(Graph(sum(input("x", u8, {40, 300, 97}), {0, 1})), target));
    EXPECT_TRUE(derives(Graph(reduce_max(input("x", f64, {4000, 100}), {0})), target));
    EXPECT_TRUE(derives(sum_of_places(u8, kSize, kSize), target, sizes));
    EXPECT_TRUE(derives(sum_of_places(f32, 67, 101), target));
  }
}

Tensor pooled(const Tensor& x) {
  PoolOptions options;
  options.window_h = options.window_w = options.stride_h = options.stride_w = 2;
  return avg_pool(x, options, "y");
}

// --- a few rows of a product --------------------------------------------------------------------

Tensor product(const Extent& rows, const Extent& depth, const Extent& columns) {
  return matmul(input("x", f32, {rows, depth}), input("w", f32, {depth, columns}), "y");
}

TEST(DeriveFewRows, OneRowIsCombinedOfTheRowsOfTheMatrix) {
  const Axis n("n", 1000), k("k", 200);
  const Tensor x = input("x", f32, {200}), w = input("w", f32, {200, 1000});
  for (const char* level : kLevels) {
    for (const Tensor& y : {product(1, 200, 1000), compute("y", {n}, sum(k, x(k) * w(k, n))),
                            compute("y", {n}, sum(k, abs(x(k) - w(k, n))))}) {
      const std::string text = derived(y, target_of(level, 1));
      EXPECT_TRUE(has(text, "y.split(k, k, row, 8)\n")) << text;
      EXPECT_FALSE(has(text, "store_in(registers)")) << text;
    }
  }
}

TEST(DeriveFewRows, NotOfAPackedWeightOrATurnedMatrixOrFewColumns) {
  const Target target = target_of("x86-64-v3", 1);
  const Tensor x = input("x", f32, {1, 200}), turned = input("w", f32, {1000, 200});
  for (const Tensor& y :
       {matmul(x, weight("w", f32, {200, 1000}), "y"), matmul(x, transpose(turned, {1, 0}), "y"),
        product(1, 200, 16), product(1, 8, 1000), product(8, 200, 1000)}) {
    const std::string text = derived(y, target);
    EXPECT_FALSE(has(text, "y.split(k, k, row, 8)\n")) << text;
  }
  const Tensor many = input("x", f32, {kSize, 200});
  for (const Tensor& y : {matmul(many, weight("w", f32, {200, 1000}), "y"),
                          matmul(many, transpose(turned, {1, 0}), "y"), product(kSize, 200, 16)}) {
    EXPECT_FALSE(has(derived(y, target), "y_few")) << derived(y, target);
  }
}

TEST(DeriveFewRows, OfARunTimeNumberAFewAreComputedByRows) {
  for (const char* level : kLevels) {
    for (const Extent& columns : {Extent(1000), Extent::size("N")}) {
      const std::string text = derived(product(kSize, 200, columns), target_of(level, 1));
      EXPECT_TRUE(has(text, "y_long.alternative(B <= 3, y_few)\n")) << text;
      EXPECT_TRUE(has(text, "y_few.split(k, k, row, 8)\n")) << text;
      EXPECT_TRUE(has(text, "y_few.reorder(lane, row, m, n, k)\n")) << text;
      EXPECT_TRUE(has(text, "y_acc.compute_at(y_long, tile)\n")) << text;
    }
  }
}

// What is behind the product has its own loops in that case.
TEST(DeriveFewRows, WithWhatIsBehindThem) {
  const Tensor y = relu(product(kSize, 200, 1000), "z");
  const std::string text = derived(y, target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "z_long.alternative(B <= 3, z_few)\n")) << text;
  EXPECT_TRUE(has(text, "y.alternative(B <= 3, y_few)\n")) << text;
  EXPECT_TRUE(has(text, "y.compute_at(z_long, tile)\n")) << text;
}

TEST(DeriveFewRows, NotWhereOthersReadThem) {
  const Tensor p = product(kSize, 200, 1000);
  const std::string text = derived(sum(p, {0}, false, "s"), target_of("x86-64-v3", 1));
  EXPECT_FALSE(has(text, "y_few")) << text;
}

TEST(DeriveFewRows, ThreadsShareTheColumnsOfMany) {
  const Target two = target_of("x86-64-v3", 2);
  for (const auto& [depth, columns, expected] :
       {std::tuple(2000, 4096, true), {64, 1000, false}, {2000, 64, false}}) {
    const std::string text = derived(product(kSize, depth, columns), two);
    EXPECT_EQ(has(text, "y_few.parallel(block)\n"), expected) << text;
    EXPECT_FALSE(has(text, "y_few.parallel(m")) << text;
  }
  // Of a run-time depth where it is enough.
  const std::string text = derived(product(kSize, Extent::size("K"), 1024), two);
  EXPECT_TRUE(has(text, "y_few.specialize(K >= 128)\ny_few.split(n, block, n, 64)\n")) << text;
  EXPECT_TRUE(has(text, "y_few.specialize(K >= 8)\ny_few.partition(k)\n")) << text;
}

// Of a known number, where the matrix is larger than the second cache: else tiles are faster.
TEST(DeriveFewRows, OfALargeMatrixThatIsReadOnce) {
  Target target = target_of("x86-64-v3", 1);
  target.l2_bytes = 1 << 20;
  const auto streams = [&](const Tensor& y) {
    return has(derived(y, target), "(lane, row, m, n, k)");
  };
  EXPECT_TRUE(streams(product(2, 1024, 1024)));
  EXPECT_TRUE(streams(product(3, 4096, 1024)));
  EXPECT_TRUE(streams(relu(product(2, 1024, 1024), "z")));
  EXPECT_FALSE(streams(product(2, 512, 1024)));
  EXPECT_FALSE(streams(product(3, 1024, 1024)));
  EXPECT_FALSE(streams(product(4, 4096, 4096)));
  EXPECT_FALSE(streams(product(2, 1024, Extent::size("N"))));
  EXPECT_FALSE(streams(product(2, 60, 100000))) << "few steps";
  EXPECT_FALSE(streams(matmul(input("x", f32, {2, 1024}), weight("w", f32, {1024, 1024}), "y")));
}

TEST(DeriveFewRows, OfALargeMatrixTheyComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      Target target = target_of(level, cores);
      target.l2_bytes = 1 << 10;
      EXPECT_TRUE(derives(Graph(product(2, 65, 131)), target));
      EXPECT_TRUE(derives(Graph(relu(product(3, 72, 128), "z")), target));
      const Tensor x = input("x", f64, {3, 2, 65}), w = input("w", f64, {3, 65, 40});
      EXPECT_TRUE(derives(Graph(matmul(x, w, "y")), target));
    }
  }
}

TEST(DeriveFewRows, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const Graph& graph :
         {Graph(product(1, 70, 131)), Graph(product(kSize, 70, 131)),
          Graph(product(kSize, Extent::size("B"), 40)), Graph(product(kSize, 65, kSize)),
          Graph(relu(product(kSize, 70, 131) + input("b", f32, {131}), "z"))}) {
      EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 3, 4, 9, 67}));
    }
  }
}

// Two products of one matrix, whose panels both copy: by names of their own.
TEST(DeriveFewRows, OfTwoOutputs) {
  const Tensor x = input("x", f32, {kSize, 70}), w = input("w", f32, {70, kSize});
  const Graph graph({matmul(x, w, "y"), matmul(exp(x), w, "z")});
  const std::string text = derived(graph, target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y_few.") && has(text, "z_few.")) << text;
  EXPECT_TRUE(has(text, "copy_in(w, w_panel)\n") && has(text, "copy_in(w, w_panel1)\n")) << text;
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 1), {0, 1, 4, 9}));
}

TEST(DeriveSumsWithReaders, AMeanIsTakenWhereItsSumIsInRegisters) {
  for (const char* level : kLevels) {
    const std::string text =
        derived(pooled(input("x", f32, {1, 128, 128, 32})), target_of(level, 4));
    EXPECT_TRUE(has(text, "y.parallel(rows1)\ny_sum.compute_at(y, tile)\n")) << text;
    EXPECT_FALSE(has(text, "_acc")) << text;
  }
}

TEST(DeriveSumsWithReaders, NotOfWhatIsReadElsewhereOrByOthersToo) {
  const Target target = target_of("x86-64-v3", 1);
  const Axis i("i", 8), j("j", 32), r("r", 9);
  const Tensor x = input("x", f32, {16, 32});
  const Tensor s = compute("s", {i, j}, sum(r, x(i + r, j)));
  const auto apart = [&](const Graph& graph) {
    return has(to_string(derive_schedule(graph, target)), "s_acc");
  };
  EXPECT_FALSE(apart(Graph(compute("y", {i, j}, s(i, j) * 2.0F))));
  EXPECT_TRUE(apart(Graph(compute("y", {i, j}, s(i, j) * s(7 - i, j)))));
  EXPECT_TRUE(apart(Graph({s, compute("y", {i, j}, s(i, j) * 2.0F)})));
  EXPECT_TRUE(apart(Graph({compute("y", {i, j}, s(i, j) * 2.0F), compute("z", {j}, s(0, j))})));
  const Schedule unfused =
      derive_schedule(Graph(compute("y", {i, j}, s(i, j) * 2.0F)), target, {/*fuse=*/false, {}});
  EXPECT_TRUE(has(to_string(unfused), "s_acc")) << to_string(unfused);
}

TEST(DeriveSumsWithReaders, ComputeWhatTheGraphSays) {
  for (int cores : {1, 4}) {
    const Target target = target_of("x86-64-v3", cores);
    for (const Extent& channels : {Extent(1), Extent(3), Extent(16), Extent(19)}) {
      EXPECT_TRUE(derives(Graph(pooled(input("x", f32, {kSize, 6, 10, channels}))), target));
      EXPECT_TRUE(derives(
          Graph(relu(pooled(input("x", f32, {2, 8, kSize * Extent(2) + 2, channels})))), target));
    }
  }
}

}  // namespace
}  // namespace emulsion
