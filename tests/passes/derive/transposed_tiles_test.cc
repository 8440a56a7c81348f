// Tiles of operands that lie across the rows of the result: where there is one, its loops, and that
// the kernels of derived schedules compute the same.

#include "passes/derive/transposed_tiles.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const char* const kSizes = "size M\nsize N\n";

Graph graph_of(const std::string& lines) {
  const bool has_sizes =
      lines.find("M,") != std::string::npos || lines.find("M]") != std::string::npos;
  return parse_graph(std::string("emulsion graph 1\n") + (has_sizes ? kSizes : "") + lines +
                     "\noutput y\n");
}

// "axis 0: 16 x 8 if M >= 16"; "" where there is none.
std::string tile_of(const std::string& lines, const std::string& level = "x86-64-v4") {
  const Graph graph = graph_of(lines);
  const auto tile = transposed_tile(**graph.find("y"), target_of(level, 1));
  if (!tile) return "";
  std::string text = "axis " + std::to_string(tile->across) + ": " + std::to_string(tile->rows) +
                     " x " + std::to_string(tile->lanes);
  if (tile->condition.defined()) text += " if " + to_string(tile->condition);
  return text;
}

// y[i, j] of [rows, columns], of the body.
std::string matrix(const std::string& rows, const std::string& columns, const std::string& body,
                   const std::string& type = "f32") {
  return "input x: " + type + "[" + columns + ", " + rows + "]\ninput z: " + type + "[" + columns +
         ", " + rows + "]\ninput a: " + type + "[" + rows + ", " + columns + "]\ny[i: " + rows +
         ", j: " + columns + "] = " + body;
}

TEST(TransposedTiles, OfALineOfTheCache) {
  for (const char* const level : kLevels) {
    EXPECT_EQ(tile_of(matrix("100", "90", "x[j, i]"), level), "axis 0: 16 x 16");
    EXPECT_EQ(tile_of(matrix("100", "90", "x[j, i]", "i32"), level), "axis 0: 16 x 16");
    EXPECT_EQ(tile_of(matrix("100", "90", "x[j, i]", "f64"), level), "axis 0: 8 x 8");
    EXPECT_EQ(tile_of(matrix("100", "90", "x[j, i]", "u8"), level), "axis 0: 8 x 8");
  }
}

TEST(TransposedTiles, NoLargerThanTheResult) {
  EXPECT_EQ(tile_of(matrix("10", "90", "x[j, i]")), "axis 0: 10 x 16");
  EXPECT_EQ(tile_of(matrix("90", "9", "x[j, i]")), "axis 0: 16 x 9");
  EXPECT_EQ(tile_of(matrix("7", "90", "x[j, i]")), "axis 0: 7 x 16");
  EXPECT_EQ(tile_of(matrix("90", "8", "x[j, i]")), "axis 0: 16 x 8");
}

// Of words there is none of so few rows that a gather of each takes no longer.
TEST(TransposedTiles, OfFewRows) {
  EXPECT_EQ(tile_of(matrix("5", "90", "x[j, i] + z[j, i]")), "axis 0: 5 x 16");
  EXPECT_EQ(tile_of(matrix("4", "90", "x[j, i]")), "");
  EXPECT_EQ(tile_of(matrix("4", "90", "x[j, i]", "i32")), "");
  for (const char* const type : {"u8", "i16", "f64"}) {
    EXPECT_EQ(tile_of(matrix("2", "90", "x[j, i]", type)), "axis 0: 2 x 8") << type;
    EXPECT_EQ(tile_of(matrix("1", "90", "x[j, i]", type)), "") << type;
    EXPECT_EQ(tile_of(matrix("2", "7", "x[j, i]", type)), "") << type;
  }
}

// No row is computed twice that need not be: two tiles of nine rows are fewer than two of sixteen.
TEST(TransposedTiles, OfAsManyRowsEach) {
  const std::pair<int, int> kRowsOfTiles[] = {{15, 15}, {17, 17}, {24, 24}, {25, 13}, {33, 11},
                                              {48, 16}, {50, 13}, {63, 16}, {65, 16}};
  for (const auto& [rows, of_tile] : kRowsOfTiles) {
    EXPECT_EQ(tile_of(matrix(std::to_string(rows), "90", "x[j, i]")),
              "axis 0: " + std::to_string(of_tile) + " x 16");
  }
  EXPECT_EQ(tile_of(matrix("9", "90", "x[j, i]", "f64")), "axis 0: 8 x 8");
}

TEST(TransposedTiles, WhereRunTimeSizesAreAsLong) {
  EXPECT_EQ(tile_of(matrix("M", "N", "x[j, i]")), "axis 0: 16 x 16 if M >= 16 && N >= 16");
  EXPECT_EQ(tile_of(matrix("M", "90", "x[j, i]")), "axis 0: 16 x 16 if M >= 16");
  EXPECT_EQ(tile_of(matrix("12", "M", "x[j, i]")), "axis 0: 12 x 16 if M >= 16");
  EXPECT_EQ(tile_of(matrix("7", "M", "x[j, i]")), "axis 0: 7 x 16 if M >= 16");
  EXPECT_EQ(tile_of(matrix("4", "M", "x[j, i]")), "");
}

TEST(TransposedTiles, OfTheAxisThatOperandsLieAlong) {
  EXPECT_EQ(tile_of("input x: f32[2, 56, 60, 64]\ny[n: 2, c: 64, h: 56, w: 60] = x[n, h, w, c]"),
            "axis 1: 16 x 16");
  EXPECT_EQ(tile_of("input x: f32[2, 64, 56, 60]\ny[n: 2, h: 56, w: 60, c: 64] = x[n, c, h, w]"),
            "axis 2: 15 x 16");
}

TEST(TransposedTiles, OfOperandsThatLieAlike) {
  EXPECT_EQ(tile_of(matrix("50", "90", "x[j, i] * z[j, i] + a[i, j]")), "axis 0: 13 x 16");
  const std::string cubes =
      "input x: f32[40, 50, 60]\ninput z: f32[40, 60, 50]\ny[i: 50, j: 60, k: 40] = ";
  EXPECT_EQ(tile_of(cubes + "x[k, i, j]"), "axis 1: 15 x 16");
  EXPECT_EQ(tile_of(cubes + "z[k, j, i]"), "axis 0: 13 x 16");
  EXPECT_EQ(tile_of(cubes + "x[k, i, j] + z[k, j, i]"), "") << "along different axes";
}

// "x 0": vectors go across the rows.
TEST(TransposedTiles, AcrossShortRows) {
  const auto rows = [](const std::string& count, const std::string& type) {
    return tile_of("input x: " + type + "[3, 2, " + count + "]\ny[i: " + count +
                   ", j: 2, k: 3] = x[k, j, i]");
  };
  for (const std::string type : {"u8", "i16", "f32"}) {
    EXPECT_EQ(rows("100", type), "axis 0: 16 x 0");
    EXPECT_EQ(rows("40", type), "axis 0: 8 x 0");
  }
  EXPECT_EQ(rows("100", "f64"), "axis 0: 8 x 0");
  EXPECT_EQ(rows("M", "f32"), "axis 0: 16 x 0 if M >= 16");
  EXPECT_EQ(rows("7", "f32"), "") << "few of them";
  EXPECT_EQ(tile_of(matrix("90", "7", "x[j, i]")), "axis 0: 16 x 0");
  EXPECT_EQ(tile_of("input x: f32[40, 3, 9, 5]\ny[n: 40, i: 9, j: 5, k: 3] = x[n, k, i, j]"),
            "axis 1: 8 x 0");
  EXPECT_EQ(tile_of("input x: f32[3, 2, 100]\ninput z: f32[2, 100, 3]\n"
                    "y[i: 100, j: 2, k: 3] = x[k, j, i] * z[j, i, k]"),
            "axis 0: 16 x 0")
      << "another operand steps by three";
  EXPECT_EQ(tile_of("input x: f32[5, 100, 2]\ny[i: 100, j: 5, k: 2] = x[j, i, k]"),
            "axis 0: 16 x 0")
      << "pairs";
}

// Vectors across them are interleaved, and stored as one piece.
TEST(TransposedTiles, AcrossRowsOfSomeNarrowElements) {
  const auto rows = [](const std::string& count, const std::string& columns,
                       const std::string& type) {
    return tile_of(matrix(count, columns, "x[j, i]", type));
  };
  EXPECT_EQ(rows("90", "8", "u8"), "axis 0: 32 x 0");
  EXPECT_EQ(rows("90", "13", "i8"), "axis 0: 32 x 0");
  EXPECT_EQ(rows("90", "16", "u8"), "axis 0: 16 x 0");
  EXPECT_EQ(rows("90", "8", "i16"), "axis 0: 16 x 0");
  EXPECT_EQ(rows("90", "16", "u16"), "axis 0: 16 x 0");
  EXPECT_EQ(rows("M", "12", "u8"), "axis 0: 32 x 0 if M >= 32");
  EXPECT_EQ(rows("90", "17", "u8"), "axis 0: 8 x 8") << "many of them";
  EXPECT_EQ(rows("40", "12", "u8"), "axis 0: 8 x 8") << "few rows";
  EXPECT_EQ(rows("90", "12", "f32"), "axis 0: 16 x 12") << "four bytes";
}

TEST(TransposedTiles, NotAcrossRowsWhoseElementsAreNear) {
  EXPECT_EQ(tile_of("input x: f32[100, 3, 2]\ny[i: 100, j: 2, k: 3] = x[i, k, j]"), "");
  EXPECT_EQ(tile_of("input x: f32[5, 100, 6]\ny[i: 100, j: 5, k: 6] = x[j, i, k]"), "")
      << "rows of six";
  EXPECT_EQ(tile_of("input x: f32[5, 100]\ninput z: f32[5, 20, 100]\n"
                    "y[i: 100, j: 20, k: 5] = x[k, i] + z[k, j, i]"),
            "axis 0: 16 x 0");
  EXPECT_EQ(tile_of("input x: f32[5, 100]\ninput z: f32[100, 7, 5]\n"
                    "y[i: 100, j: 7, k: 5] = x[k, i] + z[i, j, k]"),
            "")
      << "an operand of long rows";
  EXPECT_EQ(tile_of("input x: f32[3, M, 100]\ny[i: 100, j: M, k: 3] = x[k, j, i]"), "")
      << "a run-time size is behind the axis";
  EXPECT_EQ(tile_of("input x: f32[3, 400, 100]\ny[i: 100, j: 400, k: 3] = x[k, j, i]"), "")
      << "1200 elements are";
}

// Each step of the axis stores as many elements far apart.
TEST(TransposedTiles, NotAcrossWhatIsTooLong) {
  const auto across = [](const std::string& rows) {
    return tile_of("input x: f32[4, " + rows + ", 100]\ny[i: 100, j: " + rows +
                   ", k: 4] = x[k, j, i]");
  };
  EXPECT_EQ(across("256"), "axis 0: 16 x 0");
  EXPECT_EQ(across("257"), "");
}

TEST(TransposedTiles, NotOfRowsOrOfWhatLiesApart) {
  EXPECT_EQ(tile_of(matrix("50", "90", "a[i, j]")), "");
  EXPECT_EQ(tile_of(matrix("50", "50", "x[j, 2 * (i / 2)]")), "");
  EXPECT_EQ(tile_of(matrix("50", "90", "x[j, 3]")), "") << "along none of its axes";
  EXPECT_EQ(tile_of(matrix("50", "90", "x[j, i] + x[(j + 1) % 90, i]")), "") << "of a turn";
  EXPECT_EQ(tile_of("input x: f32[90, 50]\ninput d: i32[90]\n"
                    "y[i: 50, j: 90] = x[max(min(d[j], 89), 0), i]"),
            "")
      << "at places that data say";
  EXPECT_EQ(tile_of(matrix("50", "90", "select(j < 40, x[j, i], a[i, j])")), "") << "of a border";
}

// Rows are unrolled: neither long bodies nor many operands.
TEST(TransposedTiles, NotOfLongCode) {
  std::string body = "x[j, i]";
  for (int i = 0; i < 4; ++i) body = "max(" + body + " * 2f, 0f)";
  EXPECT_EQ(tile_of(matrix("50", "90", body)), "axis 0: 13 x 16");
  for (int i = 0; i < 4; ++i) body = "max(" + body + " * 2f, 0f)";
  EXPECT_EQ(tile_of(matrix("50", "90", body)), "");
  std::string operands, sum;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "x" + std::to_string(i);
    operands += "input " + name + ": f32[90, 50]\n";
    sum += (i > 0 ? " + " : "") + name + "[j, i]";
    EXPECT_EQ(tile_of(operands + "y[i: 50, j: 90] = " + sum) == "", i >= 3) << sum;
  }
}

TEST(TransposedTiles, RowsAreUnrolled) {
  EXPECT_EQ(derived(graph_of(matrix("100", "64", "x[j, i]")), target_of("x86-64-v4", 1)),
            "emulsion schedule 1\ny.split(i, i, row, 16, shift_inwards)\n"
            "y.split(j, j, lane, 32)\ny.reorder(lane, row, j, i)\n"
            "y.split(lane, lane, lane_v, 16)\ny.vectorize(lane_v)\ny.unroll(lane)\n"
            "y.unroll(row)\n");
  // What lies between the two stays in its place.
  const std::string channels =
      derived(graph_of("input x: f32[2, 56, 60, 64]\ny[n: 2, c: 64, h: 56, w: 60] = x[n, h, w, c]"),
              target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(channels, "y.reorder(lane, row, w, c)\n")) << channels;
  EXPECT_TRUE(has(channels, "y.reorder(w, h)\n")) << channels;
}

// As many elements of each row as fit in registers; the others are loops inside.
TEST(TransposedTiles, ElementsOfShortRowsAreUnrolled) {
  const auto text = [](const std::string& lines) {
    return derived(graph_of(lines), target_of("x86-64-v4", 1));
  };
  EXPECT_EQ(text("input x: f32[3, 2, 100]\ny[i: 100, j: 2, k: 3] = x[k, j, i]"),
            "emulsion schedule 1\ny.split(i, i, lane, 16, shift_inwards)\n"
            "y.reorder(lane, k, j)\ny.vectorize(lane)\ny.unroll(k)\ny.unroll(j)\n");
  EXPECT_EQ(text("input x: f32[3, 6, 48]\ny[i: 48, j: 6, k: 3] = x[k, j, i]"),
            "emulsion schedule 1\ny.split(i, i, lane, 8)\ny.reorder(lane, k, j)\n"
            "y.vectorize(lane)\ny.unroll(k)\n");
}

// What a row of one tile leaves of a line of the cache, that of the next one fills.
TEST(TransposedTiles, SeveralSideBySide) {
  const auto columns = [](const std::string& count, const std::string& type) {
    const std::string text =
        derived(graph_of(matrix("100", count, "x[j, i]", type)), target_of("x86-64-v4", 1));
    const size_t at = text.find("y.split(j, j, lane, ");
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + 20));
  };
  for (const char* const count : {"64", "300", "1000", "32"}) EXPECT_EQ(columns(count, "f32"), 32);
  for (const char* const count : {"31", "36", "49"}) {
    EXPECT_EQ(columns(count, "f32"), 16) << "too many would be computed twice";
  }
  EXPECT_EQ(columns("512", "f64"), 32);
  EXPECT_EQ(columns("48", "f64"), 16);
  EXPECT_EQ(columns("512", "u8"), 8) << "of bytes a line has more";
  const std::string sizes =
      derived(graph_of(matrix("M", "N", "x[j, i] * 2f")), target_of("x86-64-v4", 1));
  const size_t several = sizes.find("M >= 16 && N >= 128)"),
               one = sizes.find("M >= 16 && N >= 16)");
  EXPECT_LT(several, one) << sizes;
  EXPECT_NE(one, std::string::npos) << sizes;
  const std::string rows =
      derived(graph_of(matrix("100", "M", "x[j, i] * 2f")), target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(rows, "y.specialize(M >= 128)\n")) << rows;
  EXPECT_TRUE(derives_on_all(graph_of(matrix("M", "N", "x[j, i] - a[i, j]")), {1, 16, 130}));
  EXPECT_TRUE(derives_on_all(graph_of(matrix("33", "M", "x[j, i]", "f64")), {0, 40, 129}));
  EXPECT_TRUE(derives_on_all(graph_of(matrix("33", "300", "x[j, i]")), {1}));
}

// Columns of two operands whose rows are a quarter of a page long would have 16 lines in a place of
// the cache for eight.
TEST(TransposedTiles, OneOfOperandsWhoseLinesMeetInTheCache) {
  const auto is_one = [](const std::string& rows, const std::string& body) {
    const std::string text =
        derived(graph_of(matrix(rows, "320", body)), target_of("x86-64-v4", 1));
    return has(text, "y.split(j, j, lane, 16)\n");
  };
  EXPECT_TRUE(is_one("256", "x[j, i] + z[j, i]"));
  EXPECT_TRUE(is_one("512", "x[j, i] + z[j, i]"));
  EXPECT_TRUE(is_one("M", "x[j, i] + z[j, i]")) << "who knows";
  EXPECT_FALSE(is_one("250", "x[j, i] + z[j, i]"));
  EXPECT_FALSE(is_one("128", "x[j, i] + z[j, i]"));
  EXPECT_FALSE(is_one("512", "x[j, i] * x[j, i]")) << "one operand";
  EXPECT_FALSE(is_one("256", "x[j, i] + a[i, j]")) << "one across";
}

TEST(TransposedTiles, ThreadsShareThem) {
  const std::string matrices =
      derived(graph_of(matrix("1000", "1000", "x[j, i]")), target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(matrices, "y.unroll(row)\ny.parallel(i)\n")) << matrices;
  const std::string sizes =
      derived(graph_of(matrix("M", "N", "x[j, i]")), target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(sizes, "y.unroll(row)\ny.parallel(i)\n")) << sizes;
}

// Calling a task takes as long as a few tiles across short rows.
TEST(TransposedTiles, ATaskHasSeveralSmallOnes) {
  const Target target = target_of("x86-64-v3", 2);
  const std::string text = derived(graph_of(matrix("300000", "6", "x[j, i]")), target);
  EXPECT_TRUE(has(text, "y.split(i, task, i, 42, guard)\ny.parallel(task)\n")) << text;
  const std::string large =
      derived(graph_of("input x: f32[5, 6, 30000]\ny[i: 30000, j: 6, k: 5] = x[k, j, i]"), target);
  EXPECT_TRUE(has(large, "y.split(i, task, i, 8, guard)\ny.parallel(task)\n")) << large;
}

TEST(TransposedTiles, ComputeTheSame) {
  const std::string graphs[] = {
      matrix("33", "25", "x[j, i] - z[j, i] * a[i, j]"),
      matrix("9", "40", "x[j, i]", "f64"),
      matrix("40", "9", "x[j, i]", "u8"),
      matrix("2", "90", "x[j, i]", "u8"),
      matrix("3", "37", "x[j, i] + a[i, j]", "i16"),
      matrix("5", "90", "x[j, i] - z[j, i]"),
      matrix("M", "N", "x[j, i] + a[i, j]"),
      matrix("M", "20", "x[j, i]", "i16"),
      matrix("97", "11", "x[j, i]", "u8"),
      matrix("M", "16", "x[j, i]", "i16"),
      matrix("30001", "8", "x[j, i]", "i8"),
      matrix("90001", "5", "x[j, i]"),
      // As many lanes as a vector of doubles has.
      "input x: f64[1, M, 10, 10]\ny[i: 10, j: 10, n: 1, m: M] = x[n, m, i, j]",
      // Across short rows.
      "input x: f32[3, 2, 100]\ninput z: i32[100, 2]\n"
      "y[i: 100, j: 2, k: 3] = x[k, j, i] * f32(z[i, j])",
      "input x: f64[3, 5, M, 6]\ny[n: 5, i: M, j: 6, k: 3] = x[k, n, i, j]",
      "input x: f32[3, M, 2]\ny[i: M, j: 3, k: 2] = x[j, i, k]",
      "input x: u8[40, 3, 9, 5]\ny[n: 40, i: 9, j: 5, k: 3] = x[n, k, i, j]",
      "input x: f32[3, 2, 70000]\ny[i: 70000, j: 2, k: 3] = x[k, j, i]",
      "input x: f32[M, 5, N, 12]\ny[n: M, c: 12, h: 5, w: N] = max(x[n, h, w, c], 0f)",
  };
  for (const std::string& lines : graphs) {
    EXPECT_TRUE(derives_on_all(graph_of(lines), {0, 1, 15, 16, 37})) << lines;
  }
}

}  // namespace
}  // namespace emulsion
