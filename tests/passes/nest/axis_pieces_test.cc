#include "passes/nest/axis_pieces.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace emulsion {
namespace {

const Extent kHalf = Extent::size("C");
const Expr i = axis_value("i"), j = axis_value("j"), half = size_value("C");

// Of y[i, j], with i in 4 and j in 2 * C: in pieces of C.
Stage stage_of(const Expr& body) {
  Stage stage;
  stage.name = "y";
  stage.dtype = body.dtype();
  stage.axes = {Axis("i", 4), Axis("j", kHalf * 2)};
  stage.body = body;
  stage.cuts = {{"j", kHalf}};
  return stage;
}

Expr x(const Expr& index) { return read_buffer("x", f32, {index}); }

// The body in the first or the second piece. x has C elements, w 2 * C, n holds indices.
std::string in_piece(const Expr& body, size_t number) {
  const Stage stage = stage_of(body);
  const auto shape_of = [](const std::string& buffer) {
    return Shape{buffer == "x" ? kHalf : kHalf * 2};
  };
  return to_string(body_in_pieces(stage, body, {pieces_of(stage, "j")[number]}, shape_of));
}

struct PieceCase {
  const char* name;
  Expr body;
  const char* first;
  const char* second;
};

class BodyInPieces : public testing::TestWithParam<PieceCase> {};

TEST_P(BodyInPieces, IsAsExpected) {
  const PieceCase& c = GetParam();
  EXPECT_EQ(in_piece(c.body, 0), c.first);
  EXPECT_EQ(in_piece(c.body, 1), c.second);
}

const Expr a = x(0), b = x(1);

std::vector<PieceCase> decided() {
  return {
      {"Less", select(j < half, a, b), "x[0]", "x[1]"},
      {"AtMost", select(j <= half - 1, a, b), "x[0]", "x[1]"},
      {"Greater", select(j > half - 1, a, b), "x[1]", "x[0]"},
      {"AtLeast", select(half <= j, a, b), "x[1]", "x[0]"},
      {"Not", select(!(j < half), a, b), "x[1]", "x[0]"},
      {"Never", select(j < 0, a, b), "x[1]", "x[1]"},
      {"Always", select(j < 2 * half, a, b), "x[0]", "x[0]"},
      {"Equal", select(j == 2 * half, a, b), "x[1]", "x[1]"},
      {"OneOfTwo", select(j < half || i < 2, a, b), "x[0]", "select(i < 2, x[0], x[1])"},
      {"BothOfTwo", select(j < half && i < 2, a, b), "select(i < 2, x[0], x[1])", "x[1]"},
      {"Inside", select(j < half, a, b) + 1.0f, "x[0] + 1f", "x[1] + 1f"},
      {"OfTheOther", select(i < 2, select(j < half, a, b), b), "select(i < 2, x[0], x[1])",
       "select(i < 2, x[1], x[1])"},
      {"AClamp", select(j < half, x(min(j, half - 1)), x(max(j - half, 0))), "x[j]", "x[j - C]"},
      {"ARemainder", x(j % half), "x[j]", "x[j % C]"},
      {"AChoiceOfAnIndex", x(select(j < half, j, j - half)), "x[j]", "x[j - C]"},
      {"AReflection", x(min(abs(j - half), half - 1)), "x[min(0 - (j - C), C - 1)]", "x[j - C]"},
  };
}

INSTANTIATE_TEST_SUITE_P(Decided, BodyInPieces, testing::ValuesIn(decided()),
                         [](const auto& info) { return info.param.name; });

std::vector<PieceCase> left() {
  const auto same = [](const char* name, const Expr& body, const char* text) {
    return PieceCase{name, body, text, text};
  };
  const Expr n = read_buffer("n", i32, {j});
  return {
      {"ABorderInsideTheFirst", select(2 * j < half, a, b), "select(2 * j < C, x[0], x[1])",
       "x[1]"},
      same("AConditionOfAnotherAxis", select(i < 2, a, b), "select(i < 2, x[0], x[1])"),
      same("AConditionOfBothAxes", select(i < j, a, b), "select(i < j, x[0], x[1])"),
      same("AConditionOfData", select(n < half, a, b), "select(n[j] < C, x[0], x[1])"),
      same("AValue", cast(f32, min(j, 2 * half)) * a, "f32(min(j, 2 * C)) * x[0]"),
      same("AnIndexOfData", x(max(min(n, half - 1), 0)), "x[max(min(n[j], C - 1), 0)]"),
  };
}

INSTANTIATE_TEST_SUITE_P(Left, BodyInPieces, testing::ValuesIn(left()),
                         [](const auto& info) { return info.param.name; });

// A backend brings inside what the stage's own body has; another index it takes as proved.
TEST(AxisPieces, AnIndexThatMayBeOutsideStays) {
  EXPECT_EQ(in_piece(x(min(j, 2 * half)), 1), "x[min(j, 2 * C)]");
  EXPECT_EQ(in_piece(x(min(j, 2 * half)), 0), "x[j]");
}

TEST(AxisPieces, AreInOrder) {
  Stage stage = stage_of(a);
  stage.cuts = {{"j", 2}, {"i", 1}, {"j", kHalf + 2}};
  const std::vector<AxisPiece> pieces = pieces_of(stage, "j");
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_TRUE(pieces[1] == (AxisPiece{"j", 2, kHalf}));
  EXPECT_TRUE(pieces[2] == (AxisPiece{"j", kHalf + 2, kHalf - 2}));
  EXPECT_EQ(pieces_of(stage, "i").size(), 2U);
  EXPECT_EQ(cut_axes(stage), (std::vector<std::string>{"i", "j"}));
  const auto both = combinations_of_pieces(stage, {"i", "j"});
  ASSERT_EQ(both.size(), 6U);
  EXPECT_TRUE(both[1][1] == pieces[1]);
  EXPECT_EQ(combinations_of_pieces(stage, {}).size(), 1U);
}

TEST(AxisPieces, AnAxisThatIsNotCutIsOne) {
  Stage stage = stage_of(a);
  stage.cuts.clear();
  EXPECT_TRUE(pieces_of(stage, "j").front() == (AxisPiece{"j", 0, kHalf * 2}));
  EXPECT_TRUE(cut_axes(stage).empty());
}

TEST(AxisPieces, KnowsTheAxesOfALoop) {
  Stage stage = stage_of(a);
  stage.transforms = {{LoopTransform::Kind::split, "j", "jo", "ji", 4},
                      {LoopTransform::Kind::fuse, "t", "i", "jo"}};
  EXPECT_EQ(axes_of_loop(stage, "t"), (std::set<std::string>{"i", "j"}));
  EXPECT_EQ(axes_of_loop(stage, "ji"), (std::set<std::string>{"j"}));
  EXPECT_TRUE(is_of_cut_axis(stage, "t"));
  stage.cuts = {{"i", 2}};
  EXPECT_FALSE(is_of_cut_axis(stage, "ji"));
}

TEST(AxisPieces, SayWhereARegionStartsAndHowLongItIs) {
  const Stage stage = stage_of(a);
  const AxisPiece piece = pieces_of(stage, "j")[1];
  const Expr four = int_constant(4), row = axis_value("z.i");
  EXPECT_EQ(to_string(extents_in_pieces(stage, {four, 2 * half}, {piece})[1]), "C");
  const std::vector<Expr> starts = starts_in_pieces(stage, {row, int_constant(0)}, {piece});
  EXPECT_EQ(to_string(starts[0]), "z.i");
  EXPECT_EQ(to_string(starts[1]), "C");
}

}  // namespace
}  // namespace emulsion
