// Lines that are no directive.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kText[] = {
    {"UnknownDirective", "linear", "! y.vectorise(n)", "; nearest: vectorize"},
    {"DirectiveInTheWrongCase", "linear", "! y.Vectorize(n)", "expected a directive"},
    {"NoArguments", "linear", "! y.vectorize()", "expected vectorize(axis) or vectorize(axis, factor[, tail]), got 0 arguments"},
    {"TooManyArguments", "linear", "! y.parallel(m, n)", "expected parallel(axis), got 2 arguments"},
    {"TooFewArguments", "linear", "! y.split(n, no, ni)", "expected split(axis, outer, inner, factor[, tail]), got 3 arguments"},
    {"ReorderOfNothing", "linear", "! y.reorder()", "expected reorder(innermost axis, ..., outermost axis), got 0 arguments"},
    {"BracesOfCpp", "linear", "! y.reorder({n, m})", "expected names without the braces of C++, as in y.reorder(n, m), got '{'"},
    {"NumberForAnAxis", "linear", "! y.vectorize(4)", "expected an axis for argument 1 of vectorize"},
    {"NumberForAnOperation", "linear", "! mm.compute_at(4, m)", "expected an operation for argument 1 of compute_at(operation, axis)"},
    {"NameForAFactor", "linear", "! y.split(n, no, ni, four)", "expected an integer for argument 4 of split"},
    {"FractionForAFactor", "linear", "! y.split(n, no, ni, 4.5)", "4.5"},
    {"UnknownTail", "linear", "! y.split(n, no, ni, 4, guarded)", "expected a tail"},
    {"HalidesNameOfATail", "linear", "! y.split(n, no, ni, 4, GuardWithIf)", "got 'GuardWithIf'"},
    {"UnknownMemory", "linear", "! mm.store_in(disk)", "expected a memory"},
    {"NumberForAMemory", "linear", "! mm.store_in(1)", "got '1'"},
    {"NoDot", "linear", "! vectorize(n)", "expected"},
    {"NoParenthesis", "linear", "! y.vectorize n", "n"},
    {"NoClosingParenthesis", "linear", "! y.vectorize(n", "expected ',' or ')'"},
    {"TwoOnALine", "linear", "! y.vectorize(n) y.unroll(m)", "y"},
    {"ASchedulesHeaderAgain", "linear", "! emulsion schedule 1", "operation 'emulsion'"},
    {"KeywordOfCForAnAxis", "linear", "! y.split(n, while, ni, 5)", "axis 'while'"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Text, Illegal, testing::ValuesIn(kText), name_of_case);

}  // namespace
}  // namespace emulsion
