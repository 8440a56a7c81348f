// What a refused schedule shows: the nest as it stood before the directive, with the loop in
// question marked, and the nearest legal choice.

#include "passes/lower/refusal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "dsl/error.h"
#include "dsl/schedule_file.h"
#include "dsl/schedule_json.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

class Refusals : public LowerRefuses {
 protected:
  std::string message() const {
    try {
      lower(y_, schedule_);
    } catch (const ScheduleError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  // The lines behind "-->", without the arrow and the indentation.
  std::string marked() const {
    const std::string text = message();
    std::string result;
    for (size_t at = text.find("\n-->"); at != std::string::npos; at = text.find("\n-->", at + 1)) {
      const size_t begin = text.find_first_not_of(' ', at + 4);
      result += text.substr(begin, text.find('\n', begin) - begin) + "\n";
    }
    return result;
  }
};

TEST_F(Refusals, TheFirstLineStandsAlone) {
  y().vectorize(Axis("nn"));
  const std::string text = message();
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "y.vectorize(nn): expected a loop of y (m or n), got nn; nearest: n");
}

TEST_F(Refusals, HaveTheFirstLineAndTheNestApart) {
  y().vectorize(Axis("nn"));
  try {
    lower(schedule_.graph(), schedule_);
    FAIL() << "expected a ScheduleError";
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.message(),
              "y.vectorize(nn): expected a loop of y (m or n), got nn; nearest: n");
    EXPECT_EQ(error.nest().substr(0, 19), "the nest before it:");
    EXPECT_EQ(error.what(), error.message() + '\n' + error.nest());
  }
}

TEST_F(Refusals, ShowTheNestBeforeTheDirective) {
  const Axis i("i", 4), j("j", 10);
  y_ = compute("y", {i, j}, b_(j) * 2.0f);
  schedule_ = Schedule(y_);
  y().split(j, no, ni, 5).vectorize(ni).split(ni, q, t, 2).parallel(i);
  const std::string text = message();
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "the nest before it:\n"
            "    kernel y(b: f32[10]) -> y: f32[4, 10]\n"
            "    for y.i in 4\n"
            "      for y.no in 2\n"
            "-->     vectorized y.ni in 5\n"
            "          store y[i, j] = b[j] * 2f  where j = y.no * 5 + y.ni");
}

TEST_F(Refusals, MarkTheLoopThatTheDirectiveNames) {
  mm().unroll(m).parallel(k);
  EXPECT_EQ(marked(), "for mm.k in 6\n");
}

TEST_F(Refusals, MarkTheLoopOfTheConsumer) {
  y().vectorize(n);
  biased().compute_at(y_, n);
  EXPECT_EQ(marked(), "vectorized y.n in 10\n");
}

TEST_F(Refusals, MarkTheNearestLoopOfAWrongName) {
  y().split(n, no, ni, 5).vectorize(Axis("nj"));
  EXPECT_EQ(marked(), "for y.no in 2\n");
}

TEST_F(Refusals, MarkBothNestsOfAReduction) {
  mm().parallel(m).unroll(m);
  EXPECT_EQ(marked(), "parallel mm.m in 4\nparallel mm.m in 4\n");
}

TEST_F(Refusals, MarkTheOperationWhenThereIsNoLoop) {
  y().store_in(Memory::stack);
  EXPECT_EQ(marked(), "store y[m, n] = max(biased[m, n], v[n, n])\n");
}

TEST_F(Refusals, OfTwoEqualDirectivesTheSecondIsMeant) {
  y().vectorize(n).vectorize(n);
  EXPECT_EQ(marked(), "vectorized y.n in 10\n");
}

TEST_F(Refusals, OfTwoEqualDirectivesTheFirstIsMeantWhenItIsIllegal) {
  mm().vectorize(k).vectorize(k);
  EXPECT_EQ(marked(), "for mm.k in 6\n");
}

TEST_F(Refusals, AnotherIllegalDirectiveBeforeItIsLeftOut) {
  y().vectorize(m).vectorize(n);  // refused last
  mm().parallel(k);               // refused first
  EXPECT_EQ(message().rfind("mm.parallel(k)", 0), 0U) << message();
  EXPECT_EQ(marked(), "for mm.k in 6\n");
}

TEST_F(Refusals, NothingIsMarkedWhenTheOperationIsNotThere) {
  schedule_["nobody"].vectorize(n);
  EXPECT_EQ(marked(), "");
  EXPECT_NE(message().find("\n    kernel y("), std::string::npos);
}

TEST_F(Refusals, LeaveTheScheduleAsItWas) {
  y().vectorize(n);
  const std::string before = to_string(schedule_);
  y().unroll(n);
  EXPECT_THROW(lower(y_, schedule_), ScheduleError);
  Schedule without(y_);
  without[y_].vectorize(n);
  EXPECT_EQ(to_string(without), before);
  EXPECT_NO_THROW(lower(y_, without));
}

TEST_F(Refusals, ShowOnlyAPartOfALongNest) {
  Tensor value = y_;
  for (int i = 0; i < 30; ++i) {
    value = compute("z" + std::to_string(i), {m, n}, value(m, n) + 1.0f);
  }
  Schedule schedule(value);
  schedule["z20"].vectorize(q);
  try {
    lower(value, schedule);
    FAIL() << "expected a ScheduleError";
  } catch (const ScheduleError& error) {
    const std::string text = error.what();
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60);
    EXPECT_NE(text.find("\n    ...\n"), std::string::npos);
    EXPECT_NE(text.find("for z20.m in 4\n"), std::string::npos);
    EXPECT_EQ(text.find("z5.m"), std::string::npos);
  }
}

TEST_F(Refusals, NameTheLineOfATextInFront) {
  schedule_ = parse_schedule("emulsion schedule 1\n\ny.parallel(m)\nmm.parallel(k)\n", Graph(y_));
  EXPECT_EQ(message().rfind("line 4: mm.parallel(k): expected ", 0), 0U) << message();
}

TEST_F(Refusals, NameTheLineOfWhatALineStandsFor) {
  schedule_ = parse_schedule("emulsion schedule 1\nmm.vectorize(k, 2)\n", Graph(y_));
  EXPECT_EQ(message().rfind("line 2: mm.vectorize(k_v): expected ", 0), 0U) << message();
}

// Found when all is placed, long after the directive was applied.
TEST_F(Refusals, NameTheLineOfAPlace) {
  schedule_ =
      parse_schedule("emulsion schedule 1\ny.parallel(m)\ny.compute_with(mm, m)\n", Graph(y_));
  EXPECT_EQ(message().rfind("line 3: y.compute_with(mm, m): expected ", 0), 0U) << message();
}

TEST_F(Refusals, NameTheFileAndItsLine) {
  const std::string path = testing::TempDir() + "/refusals.schedule";
  std::ofstream(path) << "emulsion schedule 1\n# sums in threads\nmm.parallel(k)\n";
  schedule_ = read_schedule(path, Graph(y_));
  EXPECT_EQ(message().rfind("schedule " + path + ": line 3: mm.parallel(k): ", 0), 0U) << message();
}

TEST_F(Refusals, NameThePlaceInJson) {
  mm().unroll(n).parallel(k);
  schedule_ = schedule_from_json(to_json(schedule_), Graph(y_));
  EXPECT_EQ(message().rfind("schedule JSON: /directives/1: mm.parallel(k): ", 0), 0U) << message();
}

TEST_F(Refusals, NameNoPlaceOfWhatWasNeverText) {
  mm().parallel(k);
  EXPECT_EQ(message().rfind("mm.parallel(k): ", 0), 0U) << message();
}

TEST(Refuse, NamesTheDirective) {
  Directive d;
  d.kind = DirectiveKind::vectorize;
  d.axes = {"q"};
  EXPECT_TRUE(throws_with<ScheduleError>([&] { refuse("y", d, "why"); }, "y.vectorize(q): why"));
}

TEST(SchedulesBefore, EndWithTheEmptyOne) {
  const Axis i("i", 4);
  Tensor y = compute("y", {i}, input("x", f32, {4})(i) * 2.0f);
  Schedule schedule(y);
  schedule[y].split(i, Axis("io"), Axis("ii"), 2).unroll(Axis("ii"));
  const Directive unroll = schedule[y].directives()[1];
  const auto before = schedules_before(schedule, ScheduleRefusal("y", unroll, "why"));
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(to_string(before[0]), "emulsion schedule 1\ny.split(i, io, ii, 2)\n");
  EXPECT_EQ(to_string(before[1]), "emulsion schedule 1\n");
}

}  // namespace
}  // namespace emulsion
