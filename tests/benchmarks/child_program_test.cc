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

}  // namespace
}  // namespace emulsion::benchmarks
