#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");
const Extent kT = Extent::size("T");

INSTANTIATE_TEST_SUITE_P(Reshape, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"Flattens",
                              [] {
                                return reshape(in({2, 3, 4}), {24});
                              },
                              "f32[24]"},
                             {"Splits",
                              [] {
                                return reshape(in({24}, i32), {2, 3, 4});
                              },
                              "i32[2, 3, 4]"},
                             {"Regroups",
                              [] {
                                return reshape(in({4, 6}), {3, 8});
                              },
                              "f32[3, 8]"},
                             {"KeepsTheBatch",
                              [] {
                                return reshape(in({kB, 8, 8}), {kB, 64});
                              },
                              "f32[B, 64]"},
                             {"TakesTheBatchIn",
                              [] {
                                return reshape(in({kB, 8, 8}), {kB * 64});
                              },
                              "f32[64*B]"},
                             {"GivesTheBatchOut",
                              [] {
                                return reshape(in({kB * 64}), {kB, 8, 8});
                              },
                              "f32[B, 8, 8]"},
                             {"MovesTheBatch",
                              [] {
                                return reshape(in({kB, 8}), {8, kB});
                              },
                              "f32[8, B]"},
                             {"TwoSizes",
                              [] {
                                return reshape(in({kB, kT, 8, 8}), {kB, kT, 64});
                              },
                              "f32[B, T, 64]"},
                             {"Remainder",
                              [] {
                                return reshape(in({kB, 8, 8}), {kB, -1});
                              },
                              "f32[B, 64]"},
                             {"RemainderIsTheBatch",
                              [] {
                                return reshape(in({kB, 8, 8}), {-1, 64});
                              },
                              "f32[B, 64]"},
                             {"RemainderOfTwoSizes",
                              [] {
                                return reshape(in({kB, kT, 8, 8}), {kB, kT, -1});
                              },
                              "f32[B, T, 64]"},
                             {"RemainderOfAMultiple",
                              [] {
                                return reshape(in({kB * 8}), {kB, 2, -1});
                              },
                              "f32[B, 2, 4]"},
                             {"ToRankZero",
                              [] {
                                return reshape(in({1, 1}), {});
                              },
                              "f32[]"},
                             {"FromRankZero",
                              [] {
                                return reshape(in({}), {1, -1});
                              },
                              "f32[1, 1]"},
                             {"AddsOnes",
                              [] {
                                return reshape(in({kB, 3}), {1, kB, 1, 3, 1});
                              },
                              "f32[1, B, 1, 3, 1]"},
                             {"Empty",
                              [] {
                                return reshape(in({0, 4}), {7, 0});
                              },
                              "f32[7, 0]"},
                             {"EmptyRemainder",
                              [] {
                                return reshape(in({0, 4}), {-1, 2});
                              },
                              "f32[0, 2]"},
                             {"EmptyAndRunTime",
                              [] {
                                return reshape(in({kB, 0}), {0, 3});
                              },
                              "f32[0, 3]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Reshape, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"FewerElements",
         [] {
           return reshape(in({2, 3}), {5});
         },
         {"argument 2 (shape) of reshape: expected as many elements as x [2, 3] has", "got [5]"}},
        {"MoreElements",
         [] {
           return reshape(in({2, 3}), {2, 3, 2});
         },
         {"x [2, 3] has", "got [2, 3, 2]"}},
        {"TooFewAtTheEnd",
         [] {
           return reshape(in({2, 3, 2}), {2, 3});
         },
         {"as many elements"}},
        {"NothingFromSomething",
         [] {
           return reshape(in({2, 3}), {0});
         },
         {"got [0]"}},
        {"SomethingFromNothing",
         [] {
           return reshape(in({0, 3}), {3});
         },
         {"x [0, 3] has", "got [3]"}},
        {"ANumberForTheBatch",
         [] {
           return reshape(in({kB, 8}), {16});
         },
         {"x [B, 8] has", "got [16]"}},
        {"TheBatchForANumber", [] { return reshape(in({16}), {kB}); }, {"x [16] has", "got [B]"}},
        {"OtherSize",
         [] {
           return reshape(in({kB, 8}), {kT, 8});
         },
         {"x [B, 8] has", "got [T, 8]"}},
        {"NotAffine",
         [] {
           return reshape(in({kB, kT}), {kT, kB});
         },
         {"whatever the sizes, got [T, B]"}},
        {"ExtentOffByOne", [] { return reshape(in({kB + 1}), {kB}); }, {"x [B + 1] has"}},
        {"TwoRemainders",
         [] {
           return reshape(in({6}), {-1, -1});
         },
         {"expected at most one -1"}},
        {"NegativeExtent",
         [] {
           return reshape(in({6}), {-2, -3});
         },
         {"extents of 0 or more, or one -1"}},
        {"NoWholeRemainder",
         [] {
           return reshape(in({6}), {4, -1});
         },
         {"expected the other extents to divide the elements of x [6], got [4, -1]"}},
        {"NoWholeRemainderOfAMultiple",
         [] {
           return reshape(in({kB * 9}), {kB * 2, -1});
         },
         {"the other extents to divide the elements of x [9*B], got [2*B, -1]"}},
        {"RemainderOfTwoSizes",
         [] {
           return reshape(in({kB, Extent::size("W")}), {-1});
         },
         {"expected elements that are a number of times one run-time size, or more, got those of "
          "[B, W] for the -1 of [-1]; a product of two sizes is no extent: keep their axes apart"}},
        {"NoAffineRemainder",
         [] {
           return reshape(in({kB, 3}), {2, -1});
         },
         {"the other extents to divide"}},
        {"RemainderBesideZero",
         [] {
           return reshape(in({0}), {0, -1});
         },
         {"beside an extent of 0"}},
        {"Overflow",
         [] {
           return reshape(in({6}), {Extent(int64_t{1} << 40), Extent(int64_t{1} << 40)});
         },
         {"argument 2 (shape) of reshape: expected as many elements"}},
        {"OverflowBesideARemainder",
         [] {
           return reshape(in({6}), {Extent(int64_t{1} << 40), Extent(int64_t{1} << 40), -1});
         },
         {"argument 2 (shape) of reshape: expected the other extents"}},
        {"TooManyAxes",
         [] {
           return reshape(in({1}), {1, 1, 1, 1, 1, 1, 1, 1, 1});
         },
         {"result of reshape: expected rank 8 or less, got 9"}},
        {"NoKernels",
         [] { return reshape(without_kernels({6}, bf16), {6}); },
         {"(x) of reshape", "bf16"}},
        {"Undefined", [] { return reshape(Tensor(), {6}); }, {"(x) of reshape", "undefined"}},
    }),
    case_name<RefusalCase>);

struct IndexCase {
  const char* name;
  Shape from, to;
  const char* body;
};
void PrintTo(const IndexCase& c, std::ostream* out) { *out << c.name; }

class ReshapeIndices : public ::testing::TestWithParam<IndexCase> {};

TEST_P(ReshapeIndices, Are) {
  EXPECT_EQ(body_of(reshape(in(GetParam().from), GetParam().to)), GetParam().body);
}

INSTANTIATE_TEST_SUITE_P(
    Reshape, ReshapeIndices,
    ::testing::ValuesIn(std::vector<IndexCase>{
        {"KeepEqualAxes", {2, 3, 4}, {2, 3, 4}, "x[i0, i1, i2]"},
        {"DivideOnlyWhatMerges", {kB, 8, 8}, {kB, 64}, "x[i0, i1 / 8, i1 % 8]"},
        {"SplitWithoutDivision", {kB, 64}, {kB, 8, 8}, "x[i0, i1 * 8 + i2]"},
        {"KeepTheTail", {2, 8, 8, 5}, {2, 64, 5}, "x[i0, i1 / 8, i1 % 8, i2]"},
        {"AreZeroForOnes", {1, 8, 1}, {8}, "x[0, i0, 0]"},
        {"SkipOnes", {8, 3}, {8, 1, 3}, "x[i0, i2]"},
        {"NeedNoModuloOutermost", {kB, 4, 2}, {kB * 8}, "x[i0 / 8, i0 / 2 % 4, i0 % 2]"},
        {"Regroup", {4, 6}, {3, 8}, "x[(i0 * 8 + i1) / 6, (i0 * 8 + i1) % 6]"},
        {"ClampRunTimeQuotients",
         {4, kB},
         {kB * 4},
         "x[max(min(i0 / B, 3), 0), max(min(i0 % B, B - 1), 0)]"},
    }),
    case_name<IndexCase>);

}  // namespace
}  // namespace emulsion
