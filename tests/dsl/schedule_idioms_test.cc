#include "dsl/schedule_idioms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/schedule_text.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

const Axis m("m", 128), n("n", 512), k("k", 256), a("a", 3);
const RegisterTile kTile{6, 64, 16};

struct Linear {
  Tensor x = input("x", f32, {128, 256}), w = weight("w", f32, {256, 512});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
};

std::string text_of(const StageSchedule& stage) {
  std::string text;
  for (const Directive& d : stage.directives()) text += to_string(d) + "\n";
  return text;
}

Schedule empty() { return Schedule(Linear().y); }

TEST(ScheduleIdioms, ARegisterTile) {
  Schedule s = empty();
  register_tile(s["y"], m, n, kTile);
  EXPECT_EQ(text_of(s["y"]),
            "split(n, panel, column, 64)\nsplit(column, column, lane, 16)\nvectorize(lane)\n"
            "unroll(column)\nsplit(m, tile, row, 6, guard)\nunroll(row)\n"
            "reorder(lane, column, row, tile, panel)\n");
}

TEST(ScheduleIdioms, ATileOfOneVectorAndOneRow) {
  Schedule s = empty();
  register_tile(s["y"], m, n, {1, 16, 16}, TileLoops(), {}, Tail::predicate);
  EXPECT_EQ(
      text_of(s["y"]),
      "split(n, panel, column, 16, predicate)\nvectorize(column)\nreorder(column, m, panel)\n");
}

TEST(ScheduleIdioms, ATileWithoutRows) {
  Schedule s = empty();
  register_tile(s["y"], std::nullopt, n, kTile);
  EXPECT_EQ(text_of(s["y"]),
            "split(n, panel, column, 64)\nsplit(column, column, lane, 16)\nvectorize(lane)\n"
            "unroll(column)\nreorder(lane, column, panel)\n");
}

TEST(ScheduleIdioms, TheLoopsAroundATileInAnyOrder) {
  Schedule s = empty();
  const TileLoops loops;
  register_tile(s["y"], m, n, {1, 16, 16}, loops, {loops.panel, row_loop(m, {1, 16, 16}, loops)});
  EXPECT_EQ(to_string(s["y"].directives().back()), "reorder(column, panel, m)");
}

TEST(ScheduleIdioms, SumsInRegisters) {
  Schedule s = empty();
  accumulate_in_registers(s["mm"], "y", Axis("tile"), m, n, {a, k}, kTile);
  EXPECT_EQ(
      text_of(s["mm"]),
      "compute_at(y, tile)\nstore_in(registers)\nreorder(n, m, k, a)\nvectorize(n)\nunroll(m)\n");
}

TEST(ScheduleIdioms, SumsOfOneRowAndOneVector) {
  Schedule s = empty();
  accumulate_in_registers(s["mm"], "y", Axis("panel"), std::nullopt, n, {k}, {1, 16, 16});
  EXPECT_EQ(text_of(s["mm"]),
            "compute_at(y, panel)\nstore_in(registers)\nreorder(n, k)\nvectorize(n)\n");
}

TEST(ScheduleIdioms, BlocksLeaveTheNamesInside) {
  Schedule s = empty();
  cache_block(s["mm"], {{m, 32, Tail::guard}, {k, 64}});
  EXPECT_EQ(text_of(s["mm"]),
            "split(m, m_block, m, 32, guard)\nsplit(k, k_block, k, 64)\n"
            "reorder(k, m, k_block, m_block)\n");
  EXPECT_NO_THROW(parse_schedule(to_string(s), s.graph()));
}

TEST(ScheduleIdioms, BlocksWithNamesOfTheirOwn) {
  Schedule s = empty();
  cache_block(s["mm"], {{m, 32, Tail::automatic, m, Axis("row")}, {n, 64}});
  EXPECT_EQ(text_of(s["mm"]),
            "split(m, m, row, 32)\nsplit(n, n_block, n, 64)\nreorder(n, row, n_block, m)\n");
  EXPECT_NO_THROW(parse_schedule(to_string(s), s.graph()));
}

TEST(ScheduleIdioms, NoBlocksSayNothing) {
  Schedule s = empty();
  cache_block(s["mm"], {});
  EXPECT_EQ(text_of(s["mm"]), "");
}

TEST(ScheduleIdioms, RowsAreFusedAndShared) {
  Schedule s = empty();
  parallel_rows(s["y"], {m});
  parallel_rows(s["mm"], {m, n, a});
  EXPECT_EQ(text_of(s["y"]), "parallel(m)\n");
  EXPECT_EQ(text_of(s["mm"]), "fuse(m, n, rows1)\nfuse(rows1, a, rows2)\nparallel(rows2)\n");
}

TEST(ScheduleIdioms, RowsAreFusedIntoTheLoopThatIsReturned) {
  Schedule s = empty();
  EXPECT_EQ(fuse_rows(s["y"], {m}).name(), "m");
  EXPECT_EQ(fuse_rows(s["mm"], {m, n, a}, {Axis("t"), Axis("u")}).name(), "u");
  EXPECT_EQ(text_of(s["y"]), "");
  EXPECT_EQ(text_of(s["mm"]), "fuse(m, n, t)\nfuse(t, a, u)\n");
}

TEST(ScheduleIdioms, BlocksAreShared) {
  Schedule s = empty();
  parallel_blocks(s["y"], m, 8, Axis("mo"), Axis("mi"));
  EXPECT_EQ(text_of(s["y"]), "split(m, mo, mi, 8, guard)\nparallel(mo)\n");
}

TEST(ScheduleIdioms, VectorsOfEveryLength) {
  const auto line = [](const Extent& extent, bool pure) {
    Schedule s = empty();
    return text_of(vectorize_last(s["y"], Axis("n", extent), 16, pure));
  };
  const Extent batch = Extent::size("B");
  EXPECT_EQ(line(0, true), "");
  EXPECT_EQ(line(1, true), "");
  EXPECT_EQ(line(5, true), "vectorize(n)\n");
  EXPECT_EQ(line(64, true), "split(n, n, n_v, 16)\nvectorize(n_v)\n");
  EXPECT_EQ(line(70, true), "split(n, n, n_v, 16, shift_inwards)\nvectorize(n_v)\n");
  EXPECT_EQ(line(70, false), "split(n, n, n_v, 16, predicate)\nvectorize(n_v)\n");
  EXPECT_EQ(line(batch, true), "split(n, n, n_v, 16, predicate)\nvectorize(n_v)\n");
  EXPECT_EQ(line(batch + Extent(16), true),
            "split(n, n, n_v, 16, shift_inwards)\nvectorize(n_v)\n");
  EXPECT_EQ(line(batch * Extent(32), true), "split(n, n, n_v, 16)\nvectorize(n_v)\n");
}

TEST(ScheduleIdioms, VectorsAcrossPixels) {
  const auto pixels = [](const Extent& extent, bool pure) {
    Schedule s = empty();
    return text_of(vectorize_pixels(s["y"], Axis("n", extent), Axis("c"), Axis("lane"), 16, pure));
  };
  const std::string order = "reorder(lane, c)\nvectorize(lane)\nunroll(c)\n";
  EXPECT_EQ(pixels(64, true), "split(n, n, lane, 16)\n" + order);
  EXPECT_EQ(pixels(70, true), "split(n, n, lane, 16, shift_inwards)\n" + order);
  EXPECT_EQ(pixels(70, false), "split(n, n, lane, 16, predicate)\n" + order);
  EXPECT_EQ(pixels(Extent::size("B"), true), "split(n, n, lane, 16, predicate)\n" + order);
}

TEST(ScheduleIdioms, AnOperandAtALoopOfItsReader) {
  Schedule s = empty();
  stage_operand(s, "mm", "x", "x_tile", m).unroll(Axis("i0"));
  EXPECT_EQ(text_of(s["mm"]), "copy_in(x, x_tile)\n");
  EXPECT_EQ(text_of(s["x_tile"]), "compute_at(mm, m)\nunroll(i0)\n");
}

TEST(ScheduleIdioms, AnOperandAtALoopOfItsReadersConsumer) {
  Schedule s = empty();
  stage_operand(s, "mm", "x", "x_tile", "y", Axis("panel"));
  EXPECT_EQ(text_of(s["mm"]), "copy_in(x, x_tile)\n");
  EXPECT_EQ(text_of(s["x_tile"]), "compute_at(y, panel)\n");
}

TEST(ScheduleIdioms, AnOperandInALayoutOfItsOwn) {
  Schedule s = empty();
  pack_operand(s, "mm", "w", "w_tile", Axis("panel"), {Axis("i0"), Axis("i1")});
  EXPECT_EQ(text_of(s["w_tile"]), "compute_at(mm, panel)\nreorder_storage(i0, i1)\n");
}

TEST(ScheduleIdioms, AWindowThatSlides) {
  Schedule s = empty();
  sliding_window(s["mm"], "y", Axis("strip"), m);
  EXPECT_EQ(text_of(s["mm"]), "store_at(y, strip)\ncompute_at(y, m)\n");
}

TEST(ScheduleIdioms, AReductionInLanes) {
  Schedule s = empty();
  reduce_in_lanes(s, "mm", {a, k}, Axis("lane"), 8, "partial").unroll(k);
  EXPECT_EQ(text_of(s["mm"]), "split(k, k, lane, 8)\nrfactor(lane, partial)\n");
  EXPECT_EQ(text_of(s["partial"]), "reorder(lane, k, a)\nvectorize(lane)\nunroll(k)\n");
}

TEST(ScheduleIdioms, AReductionInSeveralVectorsOfLanes) {
  Schedule s = empty();
  reduce_in_lanes(s, "mm", {a, k}, Axis("lane"), 8, "partial", 4);
  EXPECT_EQ(text_of(s["mm"]), "split(k, k, lane, 32)\nrfactor(lane, partial)\n");
  EXPECT_EQ(text_of(s["partial"]),
            "reorder(lane, k, a)\nsplit(lane, lane, lane_v, 8)\nvectorize(lane_v)\nunroll(lane)\n");
}

TEST(ScheduleIdioms, LanesThatAreCombinedInVectors) {
  Schedule s = empty();
  reduce_in_lanes(s, "mm", {k}, Axis("lane"), 8, "partial");
  combine_lanes(s, "mm", Axis("lane"), Axis("part"), 2, "fewer");
  EXPECT_EQ(text_of(s["mm"]),
            "split(k, k, lane, 8)\nrfactor(lane, partial)\n"
            "split(lane, lane, part, 2)\nrfactor(part, fewer)\n");
  EXPECT_EQ(text_of(s["fewer"]), "reorder(part, lane)\nvectorize(part)\nunroll(lane)\n");
}

class IdiomRefusal : public RefusalTest {};
TEST_P(IdiomRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, IdiomRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"TileWithoutRows",
         [] {
           register_tile(empty()["y"], m, n, {0, 64, 16});
         },
         "register_tile: expected a tile of positive rows, columns and lanes, got 0 x 64 in 16"},
        {"TileOfNegativeColumns",
         [] {
           register_tile(empty()["y"], m, n, {6, -1, 16});
         },
         "got 6 x -1 in 16"},
        {"SumsWithoutLanes",
         [] {
           accumulate_in_registers(empty()["mm"], "y", m, m, n, {k}, {6, 64, 0});
         },
         "accumulate_in_registers: expected a tile of positive"},
        {"BlockOfNothing",
         [] {
           cache_block(empty()["y"], {{m, 0}});
         },
         "argument 4 (factor) of split: expected a positive integer, got 0"},
        {"NoRows", [] { parallel_rows(empty()["y"], {}); },
         "fuse_rows: expected at least one axis, got none"},
        {"TooFewNames",
         [] {
           parallel_rows(empty()["y"], {m, n, a}, {Axis("t")});
         },
         "fuse_rows: expected 2 names for 3 axes, got 1"},
        {"LanesOfNoReduction",
         [] {
           Schedule s = empty();
           reduce_in_lanes(s, "mm", {}, Axis("lane"), 8, "partial");
         },
         "reduce_in_lanes: expected at least one reduction axis, got none"},
        {"LanesInNoVector",
         [] {
           Schedule s = empty();
           reduce_in_lanes(s, "mm", {k}, Axis("lane"), 8, "partial", 0);
         },
         "reduce_in_lanes: expected at least one vector of lanes, got 0"},
        {"VectorsOfAnAxisWithoutExtent", [] { vectorize_last(empty()["y"], Axis("n"), 16); },
         "axis n"},
        {"PixelsOfAnAxisWithoutExtent",
         [] { vectorize_pixels(empty()["y"], Axis("n"), a, Axis("lane"), 16); }, "axis n"},
        {"PixelsInNoLanes",
         [] { vectorize_pixels(empty()["y"], Axis("n", 8), a, Axis("lane"), 0); },
         "argument 4 (factor) of split: expected a positive integer, got 0"},
        {"CopyToAKeyword",
         [] {
           Schedule s = empty();
           stage_operand(s, "mm", "x", "for", m);
         },
         "stage made by copy_in 'for'"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion
