// The parts of derive_schedule: the register tile, fresh names, vectors along an axis, and what
// each strategy writes down.

#include "passes/derive/derive_stage.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "backends/entry/check_cpu_limits.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"

namespace emulsion {
namespace {

const char* const kTargets[] = {"x86-64-linux", "x86-64-v3", "x86-64-v4"};

int64_t registers_of(const RegisterTile& tile) {
  const int64_t vectors = tile.columns / tile.lanes;
  return tile.rows * vectors + vectors + 1;  // accumulators, a row of the panel, a broadcast
}

TEST(ChooseRegisterTile, FitsTheRegisters) {
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    for (DType type : {f32, f64, i32, u8}) {
      for (int64_t rows : {1, 2, 3, 5, 6, 7, 12, 64, 1000}) {
        for (int64_t columns : {1, 3, 8, 16, 17, 64, 100, 1024}) {
          for (bool padded : {true, false}) {
            const RegisterTile tile = choose_register_tile(target, type, rows, columns, padded);
            const bool fused = is_float(type) && target.has_fma();
            EXPECT_LE(registers_of(tile) + (fused ? 0 : 1), target.vector_registers())
                << name << " " << rows << " x " << columns;
            EXPECT_EQ(tile.columns % tile.lanes, 0);
            EXPECT_LE(tile.columns, code_limits(target).lanes);
            EXPECT_GE(tile.rows, 1);
            EXPECT_LE(tile.rows, rows);
            if (!padded) {
              EXPECT_LE(tile.columns, columns);
            }
          }
        }
      }
    }
  }
}

// Each tile of rows reads the panel again, and a vector of 64 bytes is much to read for few rows.
TEST(ChooseRegisterTile, VectorsOf64BytesTakeMoreThanFourRows) {
  const Target target = Target::parse("x86-64-v4");
  for (int64_t rows : {6, 8, 16, 128, 256, 1024}) {
    for (int64_t columns : {512, 768, 1024}) {
      EXPECT_GT(choose_register_tile(target, f32, rows, columns, true).rows, 4) << rows;
    }
  }
  // Of vectors of 32 bytes four rows are enough; more than there are is never asked for.
  EXPECT_EQ(choose_register_tile(Target::parse("x86-64-v3"), f32, 256, 1200, true).rows, 4);
  EXPECT_EQ(choose_register_tile(target, f32, 4, 512, true).rows, 4);
}

TEST(ChooseRegisterTile, UsesMostRegistersOfALargeProduct) {
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    for (int64_t rows : {128, 512, 1024}) {
      for (int64_t columns : {512, 1024, 3072}) {
        const RegisterTile tile = choose_register_tile(target, f32, rows, columns, true);
        EXPECT_EQ(tile.lanes, target.vector_lanes(f32));
        EXPECT_GE(2 * registers_of(tile), target.vector_registers()) << name;
        EXPECT_GE(tile.rows, 4) << name << " " << rows << " x " << columns;
        EXPECT_GE(tile.rows * tile.columns / tile.lanes, 12)
            << name << " " << rows << " x " << columns;
      }
    }
  }
}

TEST(ChooseRegisterTile, OneRowIsWide) {
  const RegisterTile tile = choose_register_tile(Target::parse("x86-64-v4"), f32, 1, 4096, true);
  EXPECT_EQ(tile.rows, 1);
  EXPECT_GE(tile.columns, 4 * 16);
}

TEST(ChooseRegisterTile, NarrowWithoutPaddingIsAsNarrowAsTheColumns) {
  const RegisterTile tile = choose_register_tile(Target::parse("x86-64-v4"), f32, 100, 10, false);
  EXPECT_EQ(tile.columns, 10);
  EXPECT_EQ(tile.lanes, 10);
  EXPECT_EQ(tile.rows, 12);  // sums enough to hide what each of them waits for
}

TEST(ChooseRegisterTile, NarrowWithPaddingIsAVector) {
  const RegisterTile tile = choose_register_tile(Target::parse("x86-64-v4"), f32, 100, 10, true);
  EXPECT_EQ(tile.columns, 16);
}

TEST(ChooseRegisterTile, NoVectorIsNothingButPadding) {
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    for (int64_t rows : {1, 3, 100}) {
      for (int64_t columns : {3, 5, 17, 33}) {
        const RegisterTile tile = choose_register_tile(target, f32, rows, columns, true);
        EXPECT_LT(tile.columns - tile.lanes, columns) << name << " " << rows << " x " << columns;
      }
    }
  }
}

// A row of a convolution of each channel alone: its sums wait for those of the panel before little.
TEST(ChooseRegisterTile, ShortSumsOfARunTimeNumberOfColumnsTakeNoWidePanel) {
  const Target target = Target::parse("x86-64-v3");
  const Extent columns = Extent::size("W");
  const auto tile_of_sums = [&](int64_t window) {
    const Axis c("c", 16), j("j", columns), b("b", window);
    const Tensor x = input("x", f32, {16, columns + window}), w = input("w", f32, {16, window});
    const Tensor y = compute("y", {c, j}, sum(b, x(c, Expr(j) + b) * w(c, b)));
    return register_tile_of(*y.op(), 1, false, std::nullopt, target);
  };
  EXPECT_EQ(tile_of_sums(9).columns, 4 * 8);
  EXPECT_EQ(tile_of_sums(63).columns, 4 * 8);
  EXPECT_GT(tile_of_sums(64).columns, 4 * 8);
}

TEST(ChooseRegisterTile, DividesAPanelThatIsFixed) {
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    for (int64_t panel : {16, 32, 48, 64}) {
      const RegisterTile tile = choose_register_tile(target, f32, 64, 512, true, panel);
      EXPECT_EQ(panel % tile.columns, 0) << name << " " << panel;
      EXPECT_LE(registers_of(tile), target.vector_registers()) << name << " " << panel;
    }
  }
}

TEST(ChooseRegisterTile, RunTimeRows) {
  const RegisterTile tile =
      choose_register_tile(Target::parse("x86-64-v4"), f32, std::nullopt, 512, true);
  EXPECT_GE(tile.rows, 2);
}

TEST(ChooseRegisterTile, RunTimeColumns) {
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    for (const auto& rows : {std::optional<int64_t>(), std::optional<int64_t>(100)}) {
      const RegisterTile tile = choose_register_tile(target, f32, rows, std::nullopt, false);
      EXPECT_LE(registers_of(tile) + (target.has_fma() ? 0 : 1), target.vector_registers()) << name;
      EXPECT_GE(2 * registers_of(tile), target.vector_registers()) << name;
      EXPECT_EQ(tile.columns & (tile.columns - 1), 0) << name << " " << tile.columns;
    }
  }
}

TEST(ChooseRegisterTile, LeavesRegistersForTheValuesBetween) {
  const Target target = Target::parse("x86-64-v3");
  for (int64_t between : {0, 1, 2, 5}) {
    const RegisterTile tile =
        choose_register_tile(target, f32, 512, 512, true, std::nullopt, between);
    EXPECT_LE(registers_of(tile) + between, target.vector_registers()) << between;
  }
}

// Each row of a tile reads the whole panel again, from the second cache where the first is smaller.
TEST(ChooseRegisterTile, TakesMoreRowsWhereThePanelIsFar) {
  const auto rows_of = [](const char* level, std::optional<int64_t> rows, int64_t steps) {
    return choose_register_tile(Target::parse(std::string(level) + ",l1=32768"), f32, rows, 528,
                                true, std::nullopt, std::nullopt, steps)
        .rows;
  };
  for (const std::optional<int64_t> rows : {std::optional<int64_t>(192), {}}) {
    EXPECT_GE(rows_of("x86-64-v4", rows, 1000), 8);
    EXPECT_LE(rows_of("x86-64-v4", rows, 100), 6) << "the first cache holds it";
    EXPECT_EQ(rows_of("x86-64-v3", rows, 1000), rows_of("x86-64-v3", rows, 100)) << "half as wide";
  }
  EXPECT_EQ(rows_of("x86-64-v4", 1, 1000), 1);
}

// The panels of a packed weight are not copied.
TEST(ChooseRegisterTile, TakesNoMoreRowsOfAPanelThatIsCopied) {
  const Tensor x = input("x", f32, {192, 1000});
  const auto text_of = [&](const Tensor& w) {
    return to_string(derive_schedule(Graph(matmul(x, w, "y")), Target::parse("x86-64-v4,cores=1")));
  };
  EXPECT_NE(text_of(weight("w", f32, {1000, 528})).find("row, 8, guard"), std::string::npos);
  EXPECT_EQ(text_of(input("w", f32, {1000, 528})).find("row, 8, guard"), std::string::npos);
}

TEST(FreshAxis, KeepsANameThatIsFree) {
  Tensor y = relu(input("x", f32, {4, 5}));
  EXPECT_EQ(fresh_axis(*y.op(), "tile"), "tile");
}

TEST(FreshAxis, NumbersOneThatIsTaken) {
  const Axis tile("tile", 4), tile1("tile1", 5);
  Tensor y = compute("y", {tile, tile1}, input("x", f32, {4, 5})(tile, tile1) * 2.0f);
  EXPECT_EQ(fresh_axis(*y.op(), "tile"), "tile2");
}

TEST(FreshStage, NumbersWhatOperationsSizesAndStagesHave) {
  Tensor x = input("acc", f32, {Extent::size("acc1"), 4});
  Tensor y = relu(x, "y");
  Schedule schedule(y);
  schedule["acc2"].vectorize(Axis("i"));
  EXPECT_EQ(fresh_stage(schedule, "acc"), "acc3");
  EXPECT_EQ(fresh_stage(schedule, "other"), "other");
}

TEST(DerivePointwise, VectorsGoAcrossThePixels) {
  const Target target = Target::parse("x86-64-v3,cores=1");
  const Graph graph(relu(input("picture", f32, {9, Extent::size("W"), 3}), "y"));
  Schedule schedule(graph);
  derive_pointwise(*graph.outputs()[0], target, &schedule);
  EXPECT_EQ(to_string(schedule),
            "emulsion schedule 1\ny.specialize(W >= 8)\n"
            "y.split(i1, i1, pixel, 8, shift_inwards)\ny.fuse(pixel, i2, lane)\n"
            "y.vectorize(lane)\ny.specialize(W >= 1)\ny.split(i1, i1, lane, 8, predicate)\n"
            "y.reorder(lane, i2)\ny.vectorize(lane)\ny.unroll(i2)\n");
}

std::string pointwise(const Tensor& tensor, const Target& target) {
  const Graph graph(tensor);
  Schedule schedule(graph);
  derive_pointwise(*graph.outputs()[0], target, &schedule);
  return to_string(schedule);
}

// More is computed of an element than is written for each row of a tile (transposed_tiles.h).
Expr much_of(Expr value) {
  for (int i = 0; i < 8; ++i) value = max(value * 2.0f, 0.0f);
  return value;
}

Tensor across(const Extent& rows, const Extent& columns) {
  const Axis i("i", columns), j("j", rows);
  return compute("y", {i, j}, much_of(input("x", f32, {rows, columns})(j, i)));
}

TEST(DerivePointwise, RowsThatAnOperandLiesAcrossAreBlocked) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=32768");
  const std::string text = pointwise(across(520, 40), target);
  EXPECT_NE(text.find("y.split(i, i, row, 16, guard)\ny.split(j, j, lane, 8)\n"
                      "y.reorder(lane, row, j, i)\ny.vectorize(lane)\n"),
            std::string::npos)
      << text;
  const Axis n("n", 2), i("i", 32), k("k", 3), j("j", 600);
  const std::string between = pointwise(
      compute("y", {n, i, k, j}, much_of(input("x", f32, {2, 600, 3, 32})(n, j, k, i))), target);
  EXPECT_NE(between.find("y.split(i, i, row, 16)\ny.split(j, j, lane, 8)\n"
                         "y.reorder(lane, row, j, i)\ny.vectorize(lane)\ny.reorder(j, k)\n"),
            std::string::npos)
      << between;
}

// A run-time length is taken for a long one, and only its last vector has masks.
TEST(DerivePointwise, RowsOfARunTimeLengthThatAnOperandLiesAcrossAreBlocked) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=32768");
  const std::string text = pointwise(across(Extent::size("B"), 40), target);
  EXPECT_NE(text.find("y.split(i, i, row, 16, guard)\ny.split(j, j, lane, 8, predicate)\n"
                      "y.reorder(lane, row, j, i)\ny.vectorize(lane)\ny.partition(j)\n"),
            std::string::npos)
      << text;
}

// Lines that lie a power of two apart meet in few sets of the cache: 8 ways hold 8 of 4096 bytes.
TEST(DerivePointwise, RowsThatMeetInFewSetsOfTheCacheAreBlocked) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=32768");
  const auto is_blocked = [&](int64_t rows, int64_t columns) {
    return pointwise(across(rows, columns), target).find("row, 16") != std::string::npos;
  };
  EXPECT_TRUE(is_blocked(16, 1024));
  EXPECT_TRUE(is_blocked(64, 512));
  EXPECT_FALSE(is_blocked(16, 512)) << "two sets of 8";
  EXPECT_FALSE(is_blocked(256, 1040)) << "all sets";
  EXPECT_FALSE(is_blocked(256, 1000)) << "no multiple of a line";
}

TEST(DerivePointwise, RowsThatAreShortFewOrContiguousAreNot) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=32768");
  for (const Tensor& y : {across(512, 40), across(520, 15), relu(input("x", f32, {40, 520})),
                          transpose(input("x", f32, {3, 40, 520}), {1, 0, 2})}) {
    EXPECT_EQ(pointwise(y, target).find("row"), std::string::npos) << pointwise(y, target);
  }
}

TEST(DerivePointwise, ThreadsShareRowsOfPixels) {
  const Target target = Target::parse("x86-64-v3,cores=4");
  const Graph graph(relu(input("picture", f32, {512, 640, 3}), "y"));
  Schedule schedule(graph);
  derive_pointwise(*graph.outputs()[0], target, &schedule);
  EXPECT_EQ(schedule["y"].directives().back().axes, std::vector<std::string>{"block"});
  EXPECT_EQ(schedule["y"].directives().back().kind, DirectiveKind::parallel);
}

TEST(DerivePointwise, ThreadsShareBlocksOfARowOfPixels) {
  const Target target = Target::parse("x86-64-v3,cores=4");
  const Graph graph(relu(input("points", f32, {Extent::size("B"), 3}), "y"));
  Schedule schedule(graph);
  derive_pointwise(*graph.outputs()[0], target, &schedule);
  EXPECT_EQ(to_string(schedule),
            "emulsion schedule 1\ny.specialize(B >= 43691)\n"
            "y.split(i0, block, within, 4096, shift_inwards)\ny.split(within, within, pixel, 8)\n"
            "y.fuse(pixel, i1, lane)\ny.vectorize(lane)\n"
            "y.parallel(block)\ny.specialize(B >= 8)\ny.split(i0, i0, pixel, 8, shift_inwards)\n"
            "y.fuse(pixel, i1, lane)\ny.vectorize(lane)\ny.specialize(B >= 1)\n"
            "y.split(i0, i0, lane, 8, predicate)\ny.reorder(lane, i1)\ny.vectorize(lane)\n"
            "y.unroll(i1)\n");
}

std::string reduction_text(const Tensor& y) {
  const Graph graph(y);
  Schedule schedule(graph);
  derive_reduction(*graph.outputs()[0], Target::parse("x86-64-v3,cores=1"), &schedule);
  return to_string(schedule);
}

TEST(DeriveReduction, SumsOfPixelsAreVectorsOfEachColour) {
  EXPECT_EQ(reduction_text(sum(input("frames", f32, {5, 9, 64, 3}), {0}, false, "y")),
            "emulsion schedule 1\ny.cache_write(y_acc)\ny.split(i2, i2, lane, 8)\n"
            "y.reorder(lane, i3)\ny.vectorize(lane)\ny.unroll(i3)\n"
            "y_acc.compute_at(y, i2)\ny_acc.store_in(registers)\ny_acc.reorder(i2, i3, r0)\n"
            "y_acc.vectorize(i2)\ny_acc.unroll(i3)\ny_acc.reorder_storage(i2, i3, i1)\n"
            "y_acc.unroll(r0)\n");
}

TEST(DeriveReduction, WhatDoesNotWalkPixelsIsNotTakenForThem) {
  const Tensor over_columns = sum(input("x", f32, {64, 9, 3}), {1});
  const Tensor long_dot = matmul(input("x", f32, {64, 512}), input("w", f32, {512, 1}));
  for (const Tensor& y : {over_columns, long_dot}) {
    EXPECT_TRUE(match_pixels(*y.op(), 8));
    EXPECT_EQ(reduction_text(y).find("reorder_storage"), std::string::npos) << reduction_text(y);
  }
}

std::string parallel_text(const std::vector<Extent>& extents, int64_t least) {
  StageSchedule stage;
  parallel_from(stage, Axis("i"), extents, least);
  std::string text;
  for (const Directive& d : stage.directives()) text += to_string(d) + ";";
  return text;
}

TEST(ParallelFrom, NumbersDecideAtOnce) {
  EXPECT_EQ(parallel_text({10, 10}, 100), "parallel(i);");
  EXPECT_EQ(parallel_text({10, 10}, 101), "");
  EXPECT_EQ(parallel_text({}, 1), "parallel(i);");
  EXPECT_EQ(parallel_text({int64_t{1} << 62, int64_t{1} << 62}, INT64_MAX), "parallel(i);");
}

TEST(ParallelFrom, NothingIsNotShared) {
  EXPECT_EQ(parallel_text({0, 10}, 1), "");
  EXPECT_EQ(parallel_text({0, Extent::size("B")}, 1), "");
}

TEST(ParallelFrom, ARunTimeSizeDecidesAtEachCall) {
  const Extent batch = Extent::size("B");
  EXPECT_EQ(parallel_text({batch, 10}, 100), "specialize(B >= 10);parallel(i);");
  EXPECT_EQ(parallel_text({batch, 10}, 101), "specialize(B >= 11);parallel(i);");
  EXPECT_EQ(parallel_text({batch * 4 + 1}, 100), "specialize(4 * B + 1 >= 100);parallel(i);");
}

TEST(ParallelFrom, WhereEverySizeIsEnoughThereIsNoCase) {
  const Extent batch = Extent::size("B");
  EXPECT_EQ(parallel_text({batch, 100}, 100), "parallel(i);");
  EXPECT_EQ(parallel_text({batch + 10, 10}, 100), "parallel(i);");
}

TEST(ParallelFrom, SeveralSizesCannotOverflow) {
  EXPECT_EQ(parallel_text({Extent::size("B"), Extent::size("T")}, 100),
            "specialize(min(B, 32768) * min(T, 32768) >= 100);parallel(i);");
}

TEST(DeriveContraction, LeavesNothingWhereItDoesNotApply) {
  const Target target = Target::parse("x86-64-v4");
  Tensor empty = matmul(input("x", f32, {4, 5}), input("w", f32, {5, 0}));
  Tensor reduction = sum(input("x", f32, {4, 5}), {1});
  for (const Tensor& tensor : {empty, reduction}) {
    const Graph graph(tensor);
    Schedule schedule(graph);
    const Op* op = graph.outputs()[0].get();
    EXPECT_FALSE(derive_contraction({op, op}, target, {}, &schedule)) << op->name;
    EXPECT_EQ(schedule, Schedule(graph)) << to_string(schedule);
  }
}

TEST(DeriveContraction, LeavesAPanelThatItsVectorsDoNotDivide) {
  const Graph graph(matmul(input("x", f32, {4, 5}), weight("w", f32, {5, 64})));
  Schedule schedule(graph);
  DeriveOptions options;
  options.panels["w"] = 24;
  const Op* op = graph.outputs()[0].get();
  EXPECT_FALSE(derive_contraction({op, op}, Target::parse("x86-64-v4"), options, &schedule));
  EXPECT_EQ(schedule, Schedule(graph));
}

TEST(ShareASize, ExtentsOfOneSize) {
  const Extent b = Extent::size("B"), c = Extent::size("C");
  EXPECT_TRUE(share_a_size(b * 2 + c, b - 2));
  EXPECT_FALSE(share_a_size(b + 1, c + 1));
  EXPECT_FALSE(share_a_size(b, 7));
}

}  // namespace
}  // namespace emulsion
