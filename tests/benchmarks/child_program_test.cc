#include "benchmarks/child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  run_program_lines("child", command, [&](const std::string& line) { lines.push_back(line); });
  return lines;
}

TEST(RunProgramLines, PassesEveryLineOn) {
  EXPECT_THAT(lines_of("printf 'a b\\n\\nlast'"), ElementsAre("a b", "", "last"));
}

TEST(RunProgramLines, RefusesAProgramThatFails) {
  EXPECT_THAT([] { lines_of("echo before; exit 3"); },
              ThrowsMessage<Error>(HasSubstr("child: failed")));
}

TEST(Quoted, IsOneWordOfAShell) {
  const std::string odd = "it's a \"word\" $HOME `x` \\";
  EXPECT_THAT(lines_of("printf '%s\\n' " + quoted(odd)), ElementsAre(odd));
}

TEST(ScratchDirectory, IsThereAndThenNot) {
  std::string path;
  {
    const ScratchDirectory scratch;
    path = scratch.path();
    std::ofstream(path + "/file") << "text";
    EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchDirectory, IsEachItsOwn) {
  EXPECT_NE(ScratchDirectory().path(), ScratchDirectory().path());
}

TEST(AnsweringProgram, AnswersLineByLine) {
  AnsweringProgram program("child", {"sed", "-u", "s/^/got /"});
  EXPECT_EQ(program.ask("one"), "got one");
  EXPECT_EQ(program.ask(std::string(10000, 'x')), "got " + std::string(10000, 'x'));
  EXPECT_EQ(program.ask(""), "got ");
}

TEST(AnsweringProgram, KeepsWhatCameEarly) {
  AnsweringProgram program("child", {"sh", "-c", "printf 'a\\nb\\n'; cat"});
  EXPECT_EQ(program.ask("c"), "a");
  EXPECT_EQ(program.ask("d"), "b");
  EXPECT_EQ(program.ask("e"), "c");
}

TEST(AnsweringProgram, RefusesWhatCannotBeStarted) {
  EXPECT_THAT([] { AnsweringProgram("child", {"/no/such/program"}); },
              ThrowsMessage<Error>(HasSubstr("child: cannot be started: No such file")));
}

TEST(AnsweringProgram, SaysThatTheProgramEnded) {
  AnsweringProgram program("child", {"head", "-n", "1"});
  EXPECT_EQ(program.ask("one"), "one");
  EXPECT_THAT([&] { program.ask("two"); }, ThrowsMessage<Error>(HasSubstr("child: ended")));
}

}  // namespace
}  // namespace emulsion::benchmarks
