#include <cmath>
#include <limits>

#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");
const Extent kT = Extent::size("T");

INSTANTIATE_TEST_SUITE_P(Transpose, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"Reverses",
                              [] {
                                return transpose(in({2, 3, kB}, i32));
                              },
                              "i32[B, 3, 2]"},
                             {"Permutes",
                              [] {
                                return transpose(in({2, 3, 4}), {1, 2, 0});
                              },
                              "f32[3, 4, 2]"},
                             {"NegativeAxes",
                              [] {
                                return transpose(in({2, 3, 4}, bool_), {0, -1, -2});
                              },
                              "bool[2, 4, 3]"},
                             {"RankZero", [] { return transpose(in({})); }, "f32[]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(Transpose, Refusals,
                         ::testing::ValuesIn(std::vector<RefusalCase>{
                             {"Length",
                              [] {
                                return transpose(in({2, 3}), {0});
                              },
                              {"argument 2 (perm) of transpose: expected 2 entries, one for each "
                               "axis of x [2, 3], got 1"}},
                             {"Twice",
                              [] {
                                return transpose(in({2, 3}), {1, -1});
                              },
                              {"each axis once, got axis 1 twice"}},
                             {"NoSuchAxis",
                              [] {
                                return transpose(in({2, 3}), {0, 2});
                              },
                              {"from -2 to 1 for rank 2, got 2"}},
                             {"NoKernels",
                              [] { return transpose(without_kernels({2}, bf16)); },
                              {"(x) of transpose", "bf16"}},
                         }),
                         case_name<RefusalCase>);

INSTANTIATE_TEST_SUITE_P(
    Slice, Shapes,
    ::testing::ValuesIn(std::vector<ShapeCase>{
        {"Columns",
         [] {
           return slice(in({kB, 10}), {0, 2}, {kB, 8});
         },
         "f32[B, 6]"},
        {"Steps",
         [] {
           return slice(in({10, 10}), {0, 1}, {10, 10}, {3, 3});
         },
         "f32[4, 3]"},
        {"Backwards", [] { return slice(in({10}), {9}, {-1}, {-1}); }, "f32[10]"},
        {"BackwardsInSteps", [] { return slice(in({10}), {8}, {1}, {-3}); }, "f32[3]"},
        {"Nothing", [] { return slice(in({10}), {4}, {4}); }, "f32[0]"},
        {"NothingOfNothing", [] { return slice(in({0}), {0}, {0}); }, "f32[0]"},
        {"NothingOfNothingBackwards", [] { return slice(in({0}), {-1}, {-1}, {-1}); }, "f32[0]"},
        {"AllButTheFirst", [] { return slice(in({kB + 1}), {1}, {kB + 1}); }, "f32[B]"},
        {"EverySecond", [] { return slice(in({kB * 2}), {0}, {kB * 2}, {2}); }, "f32[B]"},
        {"EverySecondRoundsUp", [] { return slice(in({kB * 2 + 1}), {0}, {kB * 2 + 1}, {2}); },
         "f32[B + 1]"},
        {"AsManyAsThereAlwaysAre", [] { return slice(in({kB + 4}), {0}, {4}); }, "f32[4]"},
        {"TheLastOnes", [] { return slice(in({kB + 2}), {kB}, {kB + 2}); }, "f32[2]"},
        {"BackwardsFromOneThatAlwaysIs", [] { return slice(in({kB + 3}), {2}, {-1}, {-1}); },
         "f32[3]"},
        {"RankZero", [] { return slice(in({}), {}, {}); }, "f32[]"},
    }),
    case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Slice, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"LengthOfBegin",
         [] {
           return slice(in({2, 3}), {0}, {2, 3});
         },
         {"argument 2 (begin) of slice"}},
        {"LengthOfEnd",
         [] {
           return slice(in({2, 3}), {0, 0}, {2});
         },
         {"argument 3 (end) of slice"}},
        {"LengthOfStep",
         [] {
           return slice(in({2, 3}), {0, 0}, {2, 3}, {1});
         },
         {"argument 4 (step) of slice: expected 2 entries"}},
        {"NegativeBegin",
         [] { return slice(in({10}), {-1}, {10}); },
         {"argument 2 (begin) of slice: axis 0: expected a position from 0 to 10", "got -1"}},
        {"EndBeyond",
         [] {
           return slice(in({4, 10}), {0, 0}, {4, 11});
         },
         {"argument 3 (end) of slice: axis 1: expected a position from 0 to 10", "got 11"}},
        {"EndBeforeBegin", [] { return slice(in({10}), {5}, {4}); }, {"from 5 to 10", "got 4"}},
        {"EndFarBeyond",
         [] { return slice(in({10}), {0}, {std::numeric_limits<int64_t>::min()}); },
         {"argument 3 (end) of slice: axis 0: expected a position"}},
        {"StepOfZero",
         [] { return slice(in({10}), {0}, {10}, {0}); },
         {"(step) of slice", "other than 0"}},
        {"BackwardsFromBeyond",
         [] { return slice(in({10}), {10}, {0}, {-1}); },
         {"(begin)", "from -1 to 9"}},
        {"BackwardsToBeforeTheFirst",
         [] { return slice(in({10}), {9}, {-2}, {-1}); },
         {"(end) of slice", "from -1 to 9", "got -2"}},
        {"StepFarBackwards",
         [] { return slice(in({10}), {9}, {-1}, {-(int64_t{1} << 31) - 1}); },
         {"(step) of slice", "other than 0 that fits i32, got -2147483649"}},
        {"StepFarForwards",
         [] { return slice(in({10}), {0}, {10}, {int64_t{1} << 31}); },
         {"(step) of slice", "other than 0 that fits i32, got 2147483648"}},
        {"MayBeShorter",
         [] { return slice(in({kB}), {0}, {4}); },
         {"(end) of slice",
          "from 0 to B whatever the sizes, got 4; B may be 0; legal: an axis of B + 4"}},
        {"MayBeginBeforeTheFirst",
         [] { return slice(in({kB}), {kB - 2}, {kB}); },
         {"(begin) of slice", "got B - 2; B may be 0; legal: an axis of B + 2"}},
        {"BackwardsFromBehindTheEnd",
         [] { return slice(in({kB + 1}), {2}, {-1}, {-1}); },
         {"(begin) of slice", "got 2; B may be 0; legal: an axis of B + 3"}},
        {"OtherSize", [] { return slice(in({kB}), {0}, {kT}); }, {"from 0 to B", "got T"}},
        {"StepOfRunTimeSize",
         [] { return slice(in({kB}), {0}, {kB}, {2}); },
         {"argument 4 (step) of slice: axis 0: expected a step that divides the run-time extent "
          "B"}},
    }),
    case_name<RefusalCase>);

INSTANTIATE_TEST_SUITE_P(Concat, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"Two",
                              [] {
                                return concat({in({2, 3}), in({2, 4})}, 1);
                              },
                              "f32[2, 7]"},
                             {"LastAxis",
                              [] {
                                return concat({in({2, 3}), in({2, 4}), in({2, 1})}, -1);
                              },
                              "f32[2, 8]"},
                             {"One",
                              [] {
                                return concat({in({2, 3}, bool_)}, 0);
                              },
                              "bool[2, 3]"},
                             {"RunTime",
                              [] {
                                return concat({in({kB, 3}), in({2, 3}), in({kB, 3})}, 0);
                              },
                              "f32[2*B + 2, 3]"},
                             {"BesideRunTime",
                              [] {
                                return concat({in({kB, 3}), in({kB, 3})}, 1);
                              },
                              "f32[B, 6]"},
                             {"WithNothing",
                              [] {
                                return concat({in({0, 3}), in({2, 3})}, 0);
                              },
                              "f32[2, 3]"},
                             {"OnlyNothing",
                              [] {
                                return concat({in({0, 3}), in({0, 3})}, 0);
                              },
                              "f32[0, 3]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Concat, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"NoTensors", [] { return concat({}, 0); }, {"argument 1 (tensors) of concat", "got none"}},
        {"Axis", [] { return concat({in({2})}, 1); }, {"argument 2 (axis) of concat", "-1 to 0"}},
        {"Scalars",
         [] {
           return concat({in({}), in({})}, 0);
         },
         {"(axis) of concat", "rank 0"}},
        {"Shapes",
         [] {
           return concat({in({2, 3}), in({3, 4})}, 1);
         },
         {"agree but for axis 1, got [2, 3] and (number 2) [3, 4]"}},
        {"Ranks",
         [] {
           return concat({in({2, 3}), in({2, 3}), in({2})}, 1);
         },
         {"(number 3) [2]"}},
        {"RunTimeSizes",
         [] {
           return concat({in({kB, 3}), in({kT, 3})}, 1);
         },
         {"(number 2) [T, 3]"}},
        {"Types",
         [] {
           return concat({in({2}), in({2}, f64)}, 0);
         },
         {"expected tensors of one type, got f32 and (number 2) f64"}},
        {"Undefined",
         [] {
           return concat({in({2}), Tensor()}, 0);
         },
         {"(tensors) of concat", "undefined"}},
    }),
    case_name<RefusalCase>);

INSTANTIATE_TEST_SUITE_P(Pad, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"BothEnds",
                              [] {
                                return pad(in({2, kB}), {1, 0}, {2, 3});
                              },
                              "f32[5, B + 3]"},
                             {"Nothing", [] { return pad(in({2}), {0}, {0}); }, "f32[2]"},
                             {"AroundNothing",
                              [] {
                                return pad(in({0, 3}), {1, 0}, {1, 0}, 7);
                              },
                              "f32[2, 3]"},
                             {"Integers", [] { return pad(in({2}, i32), {1}, {1}, -3); }, "i32[4]"},
                             {"Bool", [] { return pad(in({2}, bool_), {1}, {1}, 1); }, "bool[4]"},
                             {"MinusInfinity", [] { return pad(in({2}), {1}, {1}, -INFINITY); },
                              "f32[4]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Pad, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"LengthOfLow",
         [] {
           return pad(in({2, 3}), {1}, {1, 1});
         },
         {"argument 2 (low) of pad"}},
        {"LengthOfHigh",
         [] {
           return pad(in({2}), {1}, {1, 1});
         },
         {"argument 3 (high) of pad"}},
        {"Negative",
         [] { return pad(in({2}), {-1}, {1}); },
         {"(low) of pad: axis 0: expected 0 to"}},
        {"TooMuch",
         [] { return pad(in({2}), {0}, {std::numeric_limits<int64_t>::max()}); },
         {"argument 3 (high) of pad: axis 0: expected 0 to 2147483647 elements"}},
        {"TooManyBytes",
         [] { return pad(in({2}), {0}, {1 << 30}); },
         {"result of pad", "at most 2147483647"}},
        {"ValueForInteger",
         [] { return pad(in({2}, i32), {1}, {1}, 0.5); },
         {"argument 4 (value) of pad"}},
        {"Undefined", [] { return pad(Tensor(), {1}, {1}); }, {"(x) of pad", "undefined"}},
    }),
    case_name<RefusalCase>);

TEST(MovementTest, TransposeReadsPermutedAxes) {
  EXPECT_EQ(body_of(transpose(in({2, 3, 4}), {1, 2, 0})), "x[i2, i0, i1]");
}

TEST(MovementTest, SliceReadsAffineIndices) {
  Tensor y = slice(in({4, 10, 5}), {0, 2, 4}, {4, 10, -1}, {1, 3, -1});
  EXPECT_EQ(body_of(y), "x[i0, i1 * 3 + 2, i2 * -1 + 4]");
}

TEST(MovementTest, ConcatClampsWhatItDoesNotChoose) {
  Tensor y = concat({in({2}, f32, "a"), in({3}, f32, "b"), in({4}, f32, "c")}, 0);
  EXPECT_EQ(body_of(y),
            "select(i0 < 2, a[min(i0, 1)], select(i0 < 5, b[max(min(i0 - 2, 2), 0)], c[max(i0 - 5, "
            "0)]))");
}

TEST(MovementTest, ConcatLeavesOutWhatIsAlwaysEmpty) {
  EXPECT_EQ(body_of(concat({in({0}, f32, "a"), in({3}, f32, "b"), in({0}, f32, "c")}, 0)), "b[i0]");
}

TEST(MovementTest, PadClampsWhatItDoesNotChoose) {
  EXPECT_EQ(body_of(pad(in({4, 3}), {1, 0}, {2, 0})),
            "select(i0 >= 1 && i0 < 5, x[max(min(i0 - 1, 3), 0), i1], 0f)");
  EXPECT_EQ(body_of(pad(in({4}), {2}, {0})), "select(i0 >= 2, x[max(i0 - 2, 0)], 0f)");
}

TEST(MovementTest, PadAroundNothingIsTheValue) {
  EXPECT_EQ(body_of(pad(in({0}), {1}, {1}, 7)), "7f");
}

}  // namespace
}  // namespace emulsion
