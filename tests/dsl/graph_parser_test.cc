#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

// The third line and what follows; the first two are there.
void parse(const std::string& text) {
  parse_graph("emulsion graph 1\ninput x: f32[4, 8]\n" + text);
}

std::string repeated(const std::string& unit, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += unit;
  return text;
}

std::string loop_group(const std::string& word, const std::string& axes) {
  return word + " y over [" + axes + "] {\n a[m: 4] = x[m, 0]\n y[m: 4] = a[m]\n}\n";
}

class GraphTextRefusal : public RefusalTest {};
TEST_P(GraphTextRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Statements, GraphTextRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"Nothing", [] { parse_graph(""); },
         "line 1, column 1: expected 'emulsion graph 1' on the first line, got end of text"},
        {"AnotherFile",
         [] {
           parse_graph(
               "\x7f"
               "ELF\x02");
         },
         "got byte 0x7f"},
        {"NewerVersion", [] { parse_graph("emulsion graph 2\n"); },
         "line 1, column 16: expected a version of the graph format that this library reads "
         "(known: "
         "1), got '2'"},
        {"NoOutput", [] { parse(""); },
         "expected at least one line 'output NAME', got end of text"},
        {"UnknownStatement", [] { parse("outputs x\n"); },
         "line 3, column 1: expected size, input, weight, constant, fused, output"},
        {"NumberFirst", [] { parse("3\n"); }, "got '3'"},
        {"TwoOnALine", [] { parse("output x output x\n"); },
         "line 3, column 10: expected end of line, got 'output'"},
        {"UnknownOutput", [] { parse("output y\n"); },
         "line 3, column 8: expected an operation that stands above (x), got 'y'"},
        {"OneOutputTwice", [] { parse("output x\noutput x\n"); },
         "line 4, column 8: expected distinct outputs, got 'x' twice"},
        {"OneNameTwice", [] { parse("weight x: f32[3]\n"); },
         "line 3, column 8: expected a name that is not used yet, got 'x' again"},
        {"OneSizeTwice", [] { parse("size B\nsize B\n"); }, "got 'B' again"},
        {"SizeNamedAsAnOperation", [] { parse("size x\n"); }, "got 'x' again"},
        {"SizeWithAKeyword", [] { parse("size for\n"); }, "column 6: run-time size 'for'"},
        {"SizeWithoutName", [] { parse("size\n"); },
         "expected the name of a run-time size, got end of line"},
        {"NulByte", [] { parse(std::string("output x\0", 9)); }, "got byte 0x00"},
    }),
    refusal_name);
INSTANTIATE_TEST_SUITE_P(
    Arguments, GraphTextRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"UnknownType", [] { parse("input a: f16[3]\n"); },
         "line 3, column 10: expected a type (bool, i8, u8, i16, u16, i32, f32 or f64), got 'f16'"},
        {"TypeWithoutKernels", [] { parse("input a: bf16[3]\n"); },
         "line 3, column 7: input a: expected a type with kernels"},
        {"NoShape", [] { parse("input a: f32\n"); }, "expected '[', got end of line"},
        {"OpenShape", [] { parse("input a: f32[3, \n"); }, "expected an extent"},
        {"UnknownSize", [] { parse("input a: f32[B]\n"); },
         "line 3, column 14: expected a run-time size (none), got 'B'"},
        {"NegativeExtent", [] { parse("input a: f32[-3]\n"); },
         "input a: axis 0: expected an extent of 0 or greater, got -3"},
        {"HugeExtent", [] { parse("input a: f32[99999999999999999999]\n"); },
         "expected an extent that fits 64 bits"},
        {"HugeShape", [] { parse("input a: f32[4294967296, 4294967296]\n"); },
         "input a: expected at most 2147483647 bytes"},
        {"HugeRank", [] { parse("input a: f32[1" + repeated(", 1", 100000) + "]\n"); },
         "expected rank 8 or less, got 100001"},
        {"TooFewValues", [] { parse("constant c: f32[2] = {1f}\n"); },
         "line 3, column 10: constant c: expected 2 values (8 bytes) for shape [2], got 1"},
        {"HugeConstant", [] { parse("constant c: f32[500000000] = {}\n"); }, "got 0 (0 bytes)"},
        {"ValueOfAnotherType", [] { parse("constant c: f32[2] = {1f, 2}\n"); },
         "line 3, column 27: expected a value of type f32, got one of type i32"},
        {"OpenValues", [] { parse("constant c: f32[2] = {1f, 2f"); },
         "expected ',' or '}', got end of text"},
        {"NoValues", [] { parse("constant c: f32[2]\n"); }, "expected '=', got end of line"},
        {"ShortWord", [] { parse("constant c: f32[1] = hex {3f8}\n"); },
         "expected a f32 of 8 hexadecimal digits, or '}', got '3f8'"},
        {"WordThatIsNotHex", [] { parse("constant c: f32[1] = hex {3f80000g}\n"); },
         "expected a f32 of 8 hexadecimal digits"},
        {"OpenHex", [] { parse("constant c: f32[1] = hex {\n3f800000\n"); },
         "line 5, column 1: expected a f32 of 8 hexadecimal digits, or '}', got end of text"},
        {"BoolByte", [] { parse("constant c: bool[1] = hex {02}\n"); },
         "expected bool values 0 or 1, got 2"},
        {"RunTimeConstant", [] { parse("size B\nconstant c: f32[B] = {}\n"); },
         "line 4, column 10: constant c: expected a shape of numbers, got [B]"},
    }),
    refusal_name);
INSTANTIATE_TEST_SUITE_P(
    Operations, GraphTextRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"UnknownName", [] { parse("y[m: 4] = z[m]\n"); },
         "line 3, column 11: expected an operation that stands above (x), got 'z'"},
        {"ReadsItself", [] { parse("y[m: 4] = y[m]\n"); }, "stands above (x), got 'y'"},
        {"ReadsWhatComesLater", [] { parse("y[m: 4] = z[m]\nz[m: 4] = x[m, 0]\n"); }, "got 'z'"},
        {"UnknownAxis", [] { parse("y[m: 4] = x[m, k]\n"); },
         "line 3, column 16: expected an axis or a size (m), got 'k'"},
        {"WrongRank", [] { parse("y[m: 4] = x[m]\n"); },
         "line 3, column 11: read of x: expected 2 indices for shape [4, 8], got 1"},
        {"OutOfBounds", [] { parse("y[m: 4] = x[m, 8]\n"); },
         "line 3, column 1: y: read of x, axis 1: expected an index from 0 to 7"},
        {"TypeMismatch", [] { parse("y[m: 4] = x[m, 0] + 1d\n"); },
         "line 3, column 19: arguments of add: expected one type, got f32 and f64"},
        {"AxisTwice", [] { parse("y[m: 4, m: 4] = 1f\n"); }, "got m twice"},
        {"ReductionAxisTwice", [] { parse("y[m: 4] = sum(m: 4) x[m, 0]\n"); }, "got m twice"},
        {"AxisWithoutExtent", [] { parse("y[m] = x[m, 0]\n"); },
         "line 3, column 4: expected ':', got ']'"},
        {"NegativeAxis", [] { parse("y[m: -4] = 1f\n"); },
         "line 3, column 3: axis m: expected an extent of 0 or greater"},
        {"HugeResult", [] { parse("y[m: 99999, n: 99999] = 1f\n"); },
         "line 3, column 1: y: expected at most 2147483647 bytes"},
        {"NoBody", [] { parse("y[m: 4] =\n"); }, "expected an expression, got end of line"},
        {"NoEquals", [] { parse("y[m: 4]\n"); }, "expected '=', got end of line"},
        {"KeywordAsName", [] { parse("if[m: 4] = 1f\n"); }, "operation 'if'"},
        {"TooDeep", [] { parse("y[] = " + repeated("(", 1000000)); }, "levels of nesting"},
        {"WrappedIndex", [] { parse("y[m: 4] = x[m * 65536 * 65536 * 65536 * 65536, 0]\n"); },
         "does not fit 64 bits"},
    }),
    refusal_name);
INSTANTIATE_TEST_SUITE_P(
    Fused, GraphTextRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"NotNamedAsItsLastMember", [] { parse("fused z {\n  y[m: 4] = x[m, 0]\n}\n"); },
         "line 3, column 7: expected the name of the last member (y), got 'z'"},
        {"Empty", [] { parse("fused y {\n}\n"); }, "expected the name of the last member"},
        {"NeverClosed", [] { parse("fused y {\n  y[m: 4] = x[m, 0]\n"); },
         "expected a member, name[axes] = ..., or '}', got end of text"},
        {"InputInside", [] { parse("fused y {\n  input a: f32[3]\n}\n"); },
         "line 4, column 9: expected '[' and the axes of a member, got 'a'"},
        {"FusedInside", [] { parse(repeated("fused y {\n", 100000)); }, "line 4, column 7"},
        {"MemberReadFromOutside",
         [] { parse("fused y {\n a[m: 4] = x[m, 0]\n y[m: 4] = a[m]\n}\nz[m: 4] = a[m]\n"); },
         "line 7, column 11: expected an operation that stands above (x or y), got 'a'"},
        {"MemberAsOutput",
         [] { parse("fused y {\n a[m: 4] = x[m, 0]\n y[m: 4] = a[m]\n}\noutput a\n"); },
         "line 7, column 8: expected an operation that stands above"},
        {"NameOfAMemberAgain",
         [] { parse("fused y {\n a[m: 4] = x[m, 0]\n y[m: 4] = a[m]\n}\na[m: 4] = y[m]\n"); },
         "line 7, column 1: expected a name that is not used yet, got 'a' again"},
        {"TwoMembersOnALine", [] { parse("fused y { a[] = 1f b[] = 2f }\n"); },
         "expected end of line, got 'b'"},
    }),
    refusal_name);
INSTANTIATE_TEST_SUITE_P(
    LoopGroups, GraphTextRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"OfNoKind", [] { parse(loop_group("fused_rowss", "m")); },
         "line 3, column 1: expected fused_rows, fused_columns, fused_row_blocks, fused_windows "
         "or fused_waiting_sums in front of what shares loops, got 'fused_rowss'"},
        {"OverNothing", [] { parse(loop_group("fused_rows", "")); },
         "line 3, column 20: expected an axis of the last member, got ']'"},
        {"OverAnotherAxis", [] { parse(loop_group("fused_rows", "n")); },
         "line 3, column 14: expected axes of y in their order, got n"},
        {"OverMoreThanItHas", [] { parse(loop_group("fused_rows", "m, n")); },
         "expected axes of y in their order, got n"},
        {"BlocksOverAnotherAxis", [] { parse(loop_group("fused_row_blocks", "n")); },
         "line 3, column 20: expected the first axes of y in their order, got n"},
        {"ColumnsOverAnotherAxis", [] { parse(loop_group("fused_columns", "n")); },
         "line 3, column 17: expected axes of y in their order, got n"},
        {"ColumnsOverAnAxisTwice", [] { parse(loop_group("fused_columns", "m, m")); },
         "expected axes of y in their order, got m"},
        {"ColumnsOverOtherAxesThanTheLast",
         [] {
           parse(
               "fused_columns y over [m] {\n a[n: 3] = max(k: 4) x[k, n]\n"
               " y[m: 4, n: 3] = x[m, n] - a[n]\n}\n");
         },
         "expected the last axis of y among those of its columns, got m"},
        {"OverWithoutBrackets", [] { parse("fused_rows y over m {\n"); },
         "line 3, column 19: expected '[', got 'm'"},
        {"AxesNeverClosed", [] { parse("fused_rows y over [m {\n"); },
         "expected ',' or ']', got '{'"},
        {"OfOne", [] { parse("fused_rows y over [m] {\n y[m: 4] = x[m, 0]\n}\n"); },
         "line 3, column 12: expected several members, got one"},
        {"OfNone", [] { parse("fused_rows y over [m] {\n}\n"); },
         "expected the name of the last member (there is none), got 'y'"},
        {"NotNamedAsTheLast",
         [] { parse("fused_rows z over [m] {\n a[m: 4] = x[m, 0]\n y[m: 4] = a[m]\n}\n"); },
         "line 3, column 12: expected the name of the last member (y), got 'z'"},
        {"AnArgumentInside", [] { parse("fused_rows y over [m] {\n input a: f32[3]\n}\n"); },
         "line 4, column 8: expected '[' and the axes of a member, got 'a'"},
        {"OneInAnother", [] { parse("fused_rows y over [m] {\n fused_rows a over [m] {\n"); },
         "line 4, column 15: expected '{', got 'over'"},
        {"AMemberReadFromOutside",
         [] { parse(loop_group("fused_row_blocks", "m") + "z[m: 4] = a[m]\n"); },
         "line 7, column 11: expected an operation that stands above (x or y), got 'a'"},
        {"AMemberAsOutput", [] { parse(loop_group("fused_row_blocks", "m") + "output a\n"); },
         "line 7, column 8: expected an operation that stands above (x or y), got 'a'"},
        {"NeverClosed", [] { parse("fused_rows y over [m] {\n y[m: 4] = x[m, 0]\n"); },
         "expected a member, name[axes] = ..., or '}', got end of text"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion
