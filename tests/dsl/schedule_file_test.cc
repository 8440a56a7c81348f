#include "dsl/schedule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "dsl/schedule_json.h"
#include "dsl/schedule_text.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Schedule by_hand() {
  const Axis m("m", 128), n("n", 512), k("k", 256);
  Tensor x = input("x", f32, {128, 256}), w = weight("w", f32, {256, 512});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
  Schedule s(y);
  s[y].split(m, Axis("mo"), Axis("mi"), 6, Tail::guard).parallel(Axis("mo"));
  s[mm].split(k, Axis("ko"), Axis("ki"), 4).compute_at(y, n);
  return s;
}

class ScheduleFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "schedule_file_test_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::string folder_;
};

TEST_F(ScheduleFile, ReadsBackWhatWasWritten) {
  Schedule s = by_hand();
  write_schedule(path("a.schedule"), s);
  EXPECT_TRUE(read_schedule(path("a.schedule"), s.graph()) == s);
}

TEST_F(ScheduleFile, ReplacesTheOldFileAndLeavesNothingBeside) {
  std::ofstream(path("a.schedule")) << std::string(10000, '#');
  write_schedule(path("a.schedule"), by_hand());
  std::stringstream text;
  text << std::ifstream(path("a.schedule")).rdbuf();
  EXPECT_EQ(text.str(), to_string(by_hand()));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ScheduleFile, WhoseNameEndsInJsonIsJson) {
  const Schedule s = by_hand();
  write_schedule(path("a.json"), s);
  std::stringstream written;
  written << std::ifstream(path("a.json")).rdbuf();
  EXPECT_EQ(written.str(), to_json(s));
  EXPECT_TRUE(read_schedule(path("a.json"), s.graph()) == s);
}

TEST_F(ScheduleFile, TheNameDecidesAndNotTheContent) {
  std::ofstream(path("text.json")) << to_string(by_hand());
  expect_refusal([&] { read_schedule(path("text.json"), by_hand().graph()); },
                 "schedule " + path("text.json") + ": parse error at line 1");
  std::ofstream(path("json")) << to_json(by_hand());
  expect_refusal([&] { read_schedule(path("json"), by_hand().graph()); },
                 "schedule " + path("json") + ": line 1, column 1: expected 'emulsion schedule 1'");
}

TEST_F(ScheduleFile, NamesThePathAndTheDirectiveOfAMistakeInJson) {
  std::ofstream(path("bad.json")) << R"({"version": 1, "directives": [
      {"kind": "Parallel", "func": "y", "vars": [{"name": "q"}]}]})";
  EXPECT_THAT([&] { read_schedule(path("bad.json"), by_hand().graph()); },
              testing::ThrowsMessage<ScheduleError>(testing::StartsWith(
                  "schedule " + path("bad.json") + ": /directives/0: y.parallel(q)")));
  std::ofstream(path("bad.json")) << R"({"version": 1, "directives": [{"kind": "Parallel"}]})";
  expect_refusal([&] { read_schedule(path("bad.json"), by_hand().graph()); },
                 "schedule " + path("bad.json") + ": /directives/0: expected the field");
}

TEST_F(ScheduleFile, ADirectiveKnowsWhereItWasRead) {
  write_schedule(path("a.json"), by_hand());
  write_schedule(path("a.schedule"), by_hand());
  const Graph graph = by_hand().graph();
  auto place = [&](const std::string& name) {
    return read_schedule(path(name), graph).find("y")->directives().at(1).place;
  };
  EXPECT_EQ(place("a.json"), "schedule " + path("a.json") + ": /directives/1");
  EXPECT_EQ(place("a.schedule"), "schedule " + path("a.schedule") + ": line 3");
}

TEST_F(ScheduleFile, NamesThePathOfAFileThatIsNotThere) {
  expect_refusal([&] { read_schedule(path("none"), by_hand().graph()); },
                 "cannot read schedule " + path("none") + ": No such file or directory");
}

TEST_F(ScheduleFile, NamesThePathAndTheLineOfAMistake) {
  std::ofstream(path("bad")) << "emulsion schedule 1\ny.parallel(q)\n";
  expect_refusal([&] { read_schedule(path("bad"), by_hand().graph()); },
                 "schedule " + path("bad") + ": line 2, column 1: y.parallel(q)");
}

TEST_F(ScheduleFile, ADirectoryIsNoSchedule) {
  expect_refusal([&] { read_schedule(folder_, by_hand().graph()); }, "Is a directory");
  expect_refusal([&] { write_schedule(folder_, by_hand()); }, "cannot write schedule " + folder_);
  EXPECT_EQ(files(), 0u);
}

TEST_F(ScheduleFile, AFolderThatIsNotThereCannotBeWritten) {
  expect_refusal(
      [&] { write_schedule(path("none/a.schedule"), by_hand()); },
      "cannot write schedule " + path("none/a.schedule") + ": No such file or directory");
}

TEST_F(ScheduleFile, AFailedWriteKeepsTheOldFile) {
  std::filesystem::create_directories(path("taken/inside"));
  expect_refusal([&] { write_schedule(path("taken"), by_hand()); }, "cannot write schedule");
  EXPECT_TRUE(std::filesystem::exists(path("taken/inside")));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace emulsion
