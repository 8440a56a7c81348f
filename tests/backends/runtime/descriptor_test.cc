#include "backends/runtime/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emulsion::runtime {
namespace {

using ::testing::HasSubstr;

Descriptor parse(const std::string& text) {
  Descriptor descriptor;
  ErrorMessage reason;
  EXPECT_TRUE(parse_descriptor(text.c_str(), &descriptor, &reason)) << reason.text();
  return descriptor;
}

// One more of each is refused, below.
TEST(Descriptor, ReadsTheMostThatThereMayBe) {
  std::string sizes = "B0", extents;
  for (int i = 1; i < 64; ++i) sizes += ",B" + std::to_string(i);
  for (int i = 0; i < 64; ++i) extents += " B" + std::to_string(i);
  const Descriptor descriptor = parse("k\n" + sizes + "\ni x f32 64 64" + extents + "\n");
  EXPECT_EQ(descriptor.sizes.size(), 64U);
  EXPECT_EQ(descriptor.arguments[0].extents.size(), 64U);
  const Descriptor large = parse("k\nB\ni x f32 64 2 2147483647 2147483647*B-2147483647\n");
  EXPECT_EQ(large.arguments[0].extents[0].constant, 2147483647);
  EXPECT_EQ(large.arguments[0].extents[1].constant, -2147483647);
  EXPECT_EQ(large.arguments[0].extents[1].terms[0].coefficient, 2147483647);
}

TEST(Descriptor, ReadsEveryField) {
  const Descriptor descriptor = parse(
      "linear_relu\n"
      "B,T\n"
      "i x f32 64 2 B 256\n"
      "o y$1 bool 0 3 T B+2*T-3 0\n");
  EXPECT_EQ(descriptor.kernel, "linear_relu");
  EXPECT_THAT(descriptor.sizes, ::testing::ElementsAre("B", "T"));
  ASSERT_EQ(descriptor.arguments.size(), 2u);
  const ArgumentSpec& x = descriptor.arguments[0];
  EXPECT_FALSE(x.is_output);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, "f32");
  EXPECT_EQ(x.alignment, 64);
  ASSERT_EQ(x.extents.size(), 2u);
  EXPECT_EQ(x.extents[0].terms.size(), 1u);
  EXPECT_EQ(x.extents[1].constant, 256);
  const ArgumentSpec& y = descriptor.arguments[1];
  EXPECT_TRUE(y.is_output);
  EXPECT_EQ(y.name, "y$1");
  EXPECT_EQ(y.alignment, 1);
  ASSERT_EQ(y.extents.size(), 3u);
  EXPECT_EQ(y.extents[1].text, "B+2*T-3");
  EXPECT_EQ(y.extents[1].constant, -3);
  ASSERT_EQ(y.extents[1].terms.size(), 2u);
  EXPECT_EQ(y.extents[1].terms[1].size, 1);
  EXPECT_EQ(y.extents[1].terms[1].coefficient, 2);
}

TEST(Descriptor, KnowsWhatIsPacked) {
  const Descriptor descriptor = parse("k\n\np w w_packed f32 0 1 8\ni p f32 0 0\n");
  EXPECT_EQ(descriptor.arguments[0].name, "w_packed");
  EXPECT_EQ(descriptor.arguments[0].packed_from, "w");
  EXPECT_FALSE(descriptor.arguments[0].is_output);
  EXPECT_EQ(descriptor.arguments[1].packed_from, "");
}

TEST(Descriptor, BindsSizesInTheOrderOfArgumentsAndAxes) {
  const Descriptor descriptor =
      parse("k\nB,T\ni x f32 0 2 8 B+T\ni y f32 0 2 T T\no z f32 0 1 B\n");
  ASSERT_EQ(descriptor.bindings.size(), 2u);
  EXPECT_EQ(descriptor.bindings[0].size, 1);  // T, by y's axis 0
  EXPECT_EQ(descriptor.bindings[0].argument, 1);
  EXPECT_EQ(descriptor.bindings[0].axis, 0);
  EXPECT_EQ(descriptor.bindings[1].size, 0);  // B, by x's axis 1, now that T is known
  EXPECT_EQ(descriptor.bindings[1].argument, 0);
  EXPECT_EQ(descriptor.bindings[1].axis, 1);
}

TEST(Descriptor, AddsUpTheTermsOfOneSize) {
  const Descriptor descriptor = parse("k\nB\ni x f32 0 3 -B+3*B+1 B-B+4 0*B+7\ni y f32 0 1 B\n");
  const ArgumentSpec& x = descriptor.arguments[0];
  ASSERT_EQ(x.extents[0].terms.size(), 1u);
  EXPECT_EQ(x.extents[0].terms[0].coefficient, 2);
  EXPECT_TRUE(x.extents[1].terms.empty());
  EXPECT_TRUE(x.extents[2].terms.empty());
  EXPECT_EQ(x.extents[2].constant, 7);
}

struct Malformed {
  std::string name;
  std::string text;
  std::string reason;
};

class DescriptorRefuses : public ::testing::TestWithParam<Malformed> {};

TEST_P(DescriptorRefuses, WithAReason) {
  Descriptor descriptor;
  ErrorMessage reason;
  EXPECT_FALSE(parse_descriptor(GetParam().text.c_str(), &descriptor, &reason));
  EXPECT_THAT(reason.text(), HasSubstr(GetParam().reason));
}

std::string many_sizes() {
  std::string text = "k\nS0";
  for (int i = 1; i <= Descriptor::kMaxSizes; ++i) text += ",S" + std::to_string(i);
  return text + "\n";
}

const Malformed kMalformed[] = {
    {"Empty", "", "lines that each end"},
    {"UnfinishedLine", "k\n\ni x f32 0 0", "lines that each end"},
    {"NoKernelName", "\n\n", "line 1: expected the kernel's name"},
    {"NoSizes", "k\n", "line 2: expected the names"},
    {"EmptySize", "k\nB,,T\n", "line 2: expected the names"},
    {"CommaAtTheEnd", "k\nB,\ni x f32 0 1 B\n", "line 2: expected the names"},
    {"NumberAsSize", "k\n4B\n", "line 2: expected the names"},
    {"SizeTwice", "k\nB,B\n", "line 2: size B occurs twice"},
    {"TooManySizes", many_sizes(), "line 2: expected at most 64 run-time sizes, got 65"},
    {"EmptyLine", "k\n\n\n", "line 3: expected i, o or p"},
    {"UnknownDirection", "k\n\ni x f32 0 0\nx y f32 0 0\n", "line 4: expected i, o or p"},
    {"NoName", "k\n\ni\n", "line 3: expected the argument's name"},
    {"NameThatIsNone", "k\n\ni x* f32 0 0\n", "line 3: expected the argument's name"},
    {"PackedFromNothing", "k\n\np\n", "line 3: expected the weight's name"},
    {"NoType", "k\n\ni x\n", "line 3: expected a type"},
    {"UnknownType", "k\n\ni x f16 0 0\n", "line 3: expected a type"},
    {"NoAlignment", "k\n\ni x f32\n", "line 3: expected a power of two"},
    {"AlignmentOf48", "k\n\ni x f32 48 0\n", "line 3: expected a power of two"},
    {"NegativeAlignment", "k\n\ni x f32 -64 0\n", "line 3: expected a power of two"},
    {"NoRank", "k\n\ni x f32 64\n", "line 3: expected a rank"},
    {"RankOf65", "k\n\ni x f32 64 65\n", "line 3: expected a rank of at most 64"},
    {"RankThatOverflows", "k\n\ni x f32 64 99999999999999999999\n", "line 3: expected a rank"},
    {"TooFewExtents", "k\n\ni x f32 64 2 3\n", "line 3: expected one extent for each axis"},
    {"TooManyExtents", "k\n\ni x f32 64 1 3 4\n", "line 3: expected as many extents as the rank"},
    {"ExtentOf31Bits", "k\n\ni x f32 64 1 2147483648\n", "affine in the run-time sizes"},
    {"CoefficientOf31Bits", "k\nB\ni x f32 64 1 2147483648*B\n", "affine in the run-time sizes"},
    {"UnknownSize", "k\nB\ni x f32 64 1 C\n", "affine in the run-time sizes"},
    {"ProductOfSizes", "k\nB\ni x f32 64 1 B*B\n", "affine in the run-time sizes"},
    {"SizeTimesNumber", "k\nB\ni x f32 64 1 B*2\n", "affine in the run-time sizes"},
    {"ProductOfNumbers", "k\nB\ni x f32 64 1 2*3\n", "affine in the run-time sizes"},
    {"SignAtTheEnd", "k\nB\ni x f32 64 1 B+\n", "affine in the run-time sizes"},
    {"TwoSigns", "k\nB\ni x f32 64 1 B+-1\n", "affine in the run-time sizes"},
    {"ExtentThatOverflows", "k\n\ni x f32 64 1 2147483648\n", "affine in the run-time sizes"},
    {"CoefficientsThatOverflow", "k\nB\ni x f32 64 1 2147483647*B+B\n", "affine in the run-time"},
    {"SizeThatNothingBinds", "k\nB\ni x f32 64 1 4\n", "no argument's extent says what size B is"},
    {"SizesThatNothingSeparates", "k\nB,T\ni x f32 64 1 B+T\n", "says what size B is"},
    {"SizeThatCancels", "k\nB\ni x f32 64 1 B-B\n", "no argument's extent says what size B is"},
};

INSTANTIATE_TEST_SUITE_P(OneMistake, DescriptorRefuses, ::testing::ValuesIn(kMalformed),
                         [](const auto& info) { return info.param.name; });

TEST(Descriptor, EveryPrefixIsRefusedOrRead) {
  const std::string text = "k\nB,T\ni x f32 64 2 B+2*T 256\no y f32 64 2 T B\n";
  int read = 0;
  for (size_t length = 0; length <= text.size(); ++length) {
    Descriptor descriptor;
    ErrorMessage reason;
    const bool parsed = parse_descriptor(text.substr(0, length).c_str(), &descriptor, &reason);
    EXPECT_NE(parsed, !reason.empty());
    read += parsed;
  }
  EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace emulsion::runtime
