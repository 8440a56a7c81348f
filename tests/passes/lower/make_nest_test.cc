#include "passes/lower/make_nest.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/nest/partition_graphs.h"

namespace emulsion {
namespace {

size_t count(const std::string& text, const std::string& words) {
  size_t times = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++times;
  return times;
}

TEST(MakeNest, IsBeforeThePassesOverNests) {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io"));
  const LoopNest nest = make_nest(schedule.graph(), schedule);
  const std::string text = to_string(nest);
  EXPECT_EQ(count(text, " y.io in"), 1U) << text;
  EXPECT_EQ(count(text, "partition"), 1U) << text;
  EXPECT_NO_THROW(verify_nest(nest));
}

// The nest that a refusal shows has one line for each loop, also where a part of it was wanted.
TEST(MakeNest, ARefusalShowsTheLoopsAsTheDirectivesLeaveThem) {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io")).vectorize(Axis("io"));
  std::string shown;
  try {
    make_nest(schedule.graph(), schedule);
  } catch (const ScheduleError& error) {
    shown = error.what();
  }
  EXPECT_NE(shown.find("expected a loop that is not partitioned, got io"), std::string::npos)
      << shown;
  EXPECT_EQ(count(shown, "\n--> "), 1U) << shown;
  EXPECT_EQ(count(shown, " y.io in 3, partition"), 1U) << shown;
}

// What is computed inline has no type of its own any more.
TEST(MakeNest, ComputesNarrowValuesInFewBits) {
  const Axis i("i", 10);
  const Tensor x = input("x", u8, {10});
  const Tensor wide = compute("wide", {i}, cast(i32, x(i)) * 200);
  const Tensor y = compute("y", {i}, cast(u8, wide(i) / 256));
  Schedule schedule(y);
  EXPECT_NE(to_string(make_nest(schedule.graph(), schedule)).find("u8(wide[i] / 256)"),
            std::string::npos);
  schedule[wide].compute_inline();
  EXPECT_NE(to_string(make_nest(schedule.graph(), schedule)).find("u8(u16(x[i]) * 200u16 / 256u16"),
            std::string::npos);
}

// As what nest_before() finds is simplified: a sum of terms that cancel is not shown.
TEST(MakeNest, ARefusalShowsSimpleIndices) {
  const Axis i("i", 10), j("j", 12), io("io"), ii("ii");
  Tensor a = compute("a", {j}, input("in", f32, {12})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule schedule(z);
  schedule[z].split(i, io, ii, 4);
  schedule[a].compute_at(z, io).parallel(j).vectorize(j);
  std::string shown;
  try {
    make_nest(schedule.graph(), schedule);
  } catch (const ScheduleError& error) {
    shown = error.what();
  }
  EXPECT_NE(shown.find("alloc a[z.io * 4 .. +6]"), std::string::npos) << shown;
}

}  // namespace
}  // namespace emulsion
