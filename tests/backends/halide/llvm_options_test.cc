#include "backends/halide/llvm_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <regex>
#include <string>

#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "tests/backends/halide/kernel_code.h"
#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Tile {
  int64_t rows, vectors, lanes;
};

// A product of which `rows` rows of `vectors` vectors are summed at once, row by row.
LoopNest product(const Tile& tile) {
  const int64_t columns = tile.vectors * tile.lanes;
  Tensor x = input("x", f32, {4 * tile.rows, 64});
  Tensor w = input("w", f32, {64, 4 * columns});
  Axis m("m", 4 * tile.rows), n("n", 4 * columns), k("k", 64);
  Axis mo("mo"), mi("mi"), no("no"), ni("ni"), nv("nv");
  Func y("y");
  y(m, n) = sum(k, x(m, k) * w(k, n));
  Schedule schedule(y);
  schedule[y]
      .cache_write("sums")
      .tile(m, n, mo, no, mi, ni, tile.rows, columns)
      .vectorize(ni, tile.lanes)
      .unroll(ni)
      .unroll(mi);
  schedule["sums"]
      .compute_at(y, no)
      .store_in(Memory::registers)
      .split(n, no, nv, tile.lanes)
      .reorder({nv, no, m, k})
      .vectorize(nv)
      .unroll(no)
      .unroll(m);
  return lower(schedule.graph(), schedule);
}

class LlvmOptions : public KernelCode {};

// A vector that is stored to the stack or loaded from there.
bool spills_vectors(const std::string& assembly) {
  return std::regex_search(assembly,
                           std::regex("\\(%rsp\\), %[yz]mm|%[yz]mm[0-9]+, -?[0-9]*\\(%rsp\\)"));
}

TEST_F(LlvmOptions, SixRowsOfTwoVectorsStayInSixteenRegisters) {
  const std::string code = assembly(product({6, 2, 8}), Target::parse("x86-64-v3"));
  EXPECT_THAT(code, HasSubstr("vfmadd"));
  EXPECT_FALSE(spills_vectors(code)) << code;
}

TEST_F(LlvmOptions, FourRowsOfThreeVectorsStayInSixteenRegisters) {
  const std::string code = assembly(product({4, 3, 8}), Target::parse("x86-64-v3"));
  EXPECT_FALSE(spills_vectors(code)) << code;
}

TEST_F(LlvmOptions, TwelveRowsOfTwoVectorsStayInThirtyTwoRegisters) {
  const std::string code = assembly(product({12, 2, 8}), Target::parse("x86-64-v4"));
  EXPECT_FALSE(spills_vectors(code)) << code;
}

// What is looked for above is there where it must be.
TEST_F(LlvmOptions, TwelveRowsDoNotFitIntoSixteenRegisters) {
  EXPECT_TRUE(spills_vectors(assembly(product({12, 2, 8}), Target::parse("x86-64-v3"))));
}

// A filter of so many taps, all steps of which are written out: one multiply-add for each vector
// of each step, none of a single lane, and nothing multiplied and added by itself.
TEST_F(LlvmOptions, LongChainsOfMultiplyAddsAreVectors) {
  const auto count = [](const std::string& code, const std::string& instruction) {
    const std::regex found("\\s" + instruction + "\\s");
    return std::distance(std::sregex_iterator(code.begin(), code.end(), found), {});
  };
  constexpr int kVectors = 2;
  for (const int taps : {15, 64}) {
    for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
      const int64_t lanes = Target::parse(target).vector_lanes(f32);
      const Axis i("i", 8 * lanes * kVectors), k("k", taps);
      const Tensor x = input("x", f32, {i.extent() + (taps - 1)}), h = input("h", f32, {taps});
      const Graph graph(compute("y", {i}, sum(k, x(i + k) * h(k))));
      const std::string at_a_time = std::to_string(lanes * kVectors), each = std::to_string(lanes);
      const Schedule schedule = parse_schedule(
          "emulsion schedule 1\ny.cache_write(sums)\ny.split(i, tile, i, " + at_a_time +
              ")\ny.split(i, i, lane, " + each + ")\ny.vectorize(lane)\ny.unroll(i)\n" +
              "sums.compute_at(y, tile)\nsums.reorder(i, k)\nsums.split(i, i, lane, " + each +
              ")\nsums.vectorize(lane)\nsums.unroll(i)\nsums.unroll(k)\n",
          graph);
      const std::string code = assembly(lower(graph, schedule), Target::parse(target));
      EXPECT_EQ(count(code, "vfmadd[0-9]+ps"), taps * kVectors) << target;
      EXPECT_EQ(count(code, "vfmadd[0-9]+ss"), 0) << target;
      EXPECT_EQ(count(code, "vmul[ps]s"), 0) << target;
    }
  }
}

// Of the last vector of each row one lane is used: the sums are vectors all the same
// (summed_vectors.h).
TEST_F(LlvmOptions, SumsOf33ColumnsAreWholeVectors) {
  const Axis m("m", 90), n("n", 33), k("k", 64);
  const Tensor x = input("x", f32, {90, 64}), w = weight("w", f32, {64, 33});
  const Tensor sums = compute("sums", {m, n}, sum(k, x(m, k) * w(k, n)));
  const Graph graph(gelu(sums + input("b", f32, {33}), Gelu::tanh, "y"));
  const Schedule schedule = parse_schedule(R"(emulsion schedule 1
y.split(i0, block, i0, 6)
y.split(i1, panel, column, 48, predicate)
y.split(column, column, lane, 16)
y.vectorize(lane)
y.unroll(column)
y.reorder(lane, column, i0, panel, block)
y.unroll(i0)
add.compute_inline()
sums.compute_at(y, panel)
sums.store_in(registers)
sums.reorder(n, m, k)
sums.vectorize(n)
sums.unroll(m)
sums.pack(w, n, 48)
)",
                                           graph);
  const std::string code = assembly(lower(graph, schedule), Target::parse("x86-64-v4"));
  EXPECT_THAT(code, HasSubstr("vfmadd"));
  EXPECT_THAT(code, Not(HasSubstr("vpermt2")));
}

TEST(LlvmOptionsDeathTest, TheEnvironmentIsWhatItWas) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const ScopedVariable none("HL_LLVM_ARGS", std::nullopt);
  EXPECT_EXIT(
      {
        char** const before = environ;
        set_llvm_options();
        set_llvm_options();
        std::exit(environ == before && std::getenv("HL_LLVM_ARGS") == nullptr ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

void set_and_end() {
  set_llvm_options();
  std::exit(0);
}

TEST(LlvmOptionsDeathTest, TheOptionMayBeThereAlready) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const ScopedVariable same("HL_LLVM_ARGS", "-disable-vector-combine");
  EXPECT_EXIT(set_and_end(), testing::ExitedWithCode(0), "");
}

// LLVM names what it does not know.
TEST(LlvmOptionsDeathTest, OptionsOfTheEnvironmentHoldAsWell) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const ScopedVariable other("HL_LLVM_ARGS", "-no-such-option-of-llvm");
  EXPECT_EXIT(set_and_end(), testing::ExitedWithCode(1), "no-such-option-of-llvm");
}

}  // namespace
}  // namespace emulsion
