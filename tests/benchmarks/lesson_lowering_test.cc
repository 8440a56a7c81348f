#include "benchmarks/lesson_lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

// A lesson that runs these words of a shell; $1 is its option.
std::string lesson(const std::string& words) {
  const std::string path = testing::TempDir() + "/lesson_77";
  std::ofstream(path) << "#!/bin/sh\nfile=${1#--lowering=}\n" << words << '\n';
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST(ParseLowering, ReadsWhatALessonWrites) {
  const Row row =
      parse_lowering("lesson", R"({"loops": 7, "seconds": [0.25, 0.5], "step": "1. One."})");
  EXPECT_EQ(row.name, "lesson, 1. One. (7 loops)");
  EXPECT_EQ(row.unit, "ms");
  EXPECT_EQ(row.work, 0);
  EXPECT_EQ(row.limit, kLoweringLimit);
  EXPECT_THAT(row.seconds, ElementsAre(0.25, 0.5));
}

TEST(ParseLowering, RefusesAnythingElse) {
  for (const char* line : {"", "12 ms", "{\"step\": \"one\"}", "{\"step\": 1, \"loops\": 2}"}) {
    EXPECT_THAT([line] { parse_lowering("lesson_77", line); },
                ThrowsMessage<Error>(StartsWith("lesson_77: expected a step")))
        << line;
  }
}

std::string list_of(const std::string& text) {
  const std::string path = testing::TempDir() + "/lessons.txt";
  std::ofstream(path) << text;
  return path;
}

std::string in_folder(const std::string& line) { return "/folder/" + line; }

TEST(LessonsIn, AreTheLinesOfAFile) {
  EXPECT_THAT(lessons_in(list_of("a/one\nb/two\n"), in_folder),
              ElementsAre("/folder/a/one", "/folder/b/two"));
}

TEST(LessonsIn, RefusesAListOfNoneAndAFileThatIsNotThere) {
  EXPECT_THAT([] { lessons_in(list_of(""), in_folder); },
              ThrowsMessage<Error>(HasSubstr("expected a lesson in each line, got none")));
  EXPECT_THAT([] { lessons_in(testing::TempDir() + "/no_such.txt", in_folder); },
              ThrowsMessage<Error>(HasSubstr("no_such.txt")));
}

TEST(LoweringsOfLesson, AreThoseThatItWrites) {
  const std::vector<Row> rows = lowerings_of_lesson(
      lesson("echo '{\"loops\": 1, \"seconds\": [1], \"step\": \"one\"}' >$file\n"
             "echo '{\"loops\": 2, \"seconds\": [2], \"step\": \"two\"}' >>$file"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].name, "lesson_77, two (2 loops)");
}

// It would leave its files there.
TEST(LoweringsOfLesson, DoesNotTellItWhereTheUserIs) {
  setenv("BUILD_WORKING_DIRECTORY", "/nowhere", 1);
  const std::vector<Row> rows =
      lowerings_of_lesson(lesson("echo \"{\\\"loops\\\": 1, \\\"seconds\\\": [1], \\\"step\\\": "
                                 "\\\"[$BUILD_WORKING_DIRECTORY]\\\"}\" >$file"));
  unsetenv("BUILD_WORKING_DIRECTORY");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "lesson_77, [] (1 loops)");
}

TEST(LoweringsOfLesson, RefusesALessonThatFailsOrMeasuresNothing) {
  EXPECT_THAT([] { lowerings_of_lesson(lesson("exit 3")); },
              ThrowsMessage<Error>(HasSubstr("failed")));
  EXPECT_THAT([] { lowerings_of_lesson(lesson("true")); },
              ThrowsMessage<Error>(HasSubstr("expected at least one step, got none")));
}

}  // namespace
}  // namespace emulsion::benchmarks
