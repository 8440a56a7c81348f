#include "dsl/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>

#include "tests/dsl/refusal.h"
#include "tests/small_files.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "files_test_" + std::to_string(getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  std::string folder_;
};

TEST_F(Files, ReadBackWhatWasWritten) {
  const std::string bytes("a\0b\r\n\xff", 6);
  write_file("text", path("a"), bytes);
  EXPECT_EQ(read_file("text", path("a")), bytes);
}

TEST_F(Files, MayBeEmpty) {
  write_file("text", path("a"), "");
  EXPECT_EQ(read_file("text", path("a")), "");
}

TEST_F(Files, ReplaceTheOldOneAndLeaveNothingBeside) {
  write_file("text", path("a"), std::string(100000, '#'));
  write_file("text", path("a"), "new");
  EXPECT_EQ(read_file("text", path("a")), "new");
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, AreWrittenPieceByPiece) {
  FileWriter file("text", path("a"));
  for (int i = 0; i < 3; ++i) file.stream() << i;
  EXPECT_FALSE(fs::exists(path("a")));
  file.commit();
  EXPECT_EQ(read_file("text", path("a")), "012");
}

TEST_F(Files, KeepTheOldOneWithoutCommit) {
  write_file("text", path("a"), "old");
  FileWriter("text", path("a")).stream() << "half of the ne";
  EXPECT_EQ(read_file("text", path("a")), "old");
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, AreNotChangedByTheQuestionWhetherTheyCanBe) {
  write_file("text", path("a"), "old");
  check_writable("text", path("a"));
  check_writable("text", path("b"));
  EXPECT_EQ(read_file("text", path("a")), "old");
  EXPECT_EQ(count(), 1U);
  expect_refusal([&] { check_writable("text", path("none/a")); }, "cannot write text ");
}

TEST_F(Files, KeepALinkAndReplaceWhatItPointsTo) {
  write_file("text", path("a"), "old");
  fs::create_symlink(path("a"), path("link"));
  write_file("text", path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file("text", path("a")), "new");
}

// As of --json=/dev/stdout: renaming would put a file in the place of the device.
TEST_F(Files, WriteIntoWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file("text", path("pipe"), "through");
  std::array<char, 16> got{};
  EXPECT_EQ(read(reader, got.data(), got.size()), 7);
  EXPECT_STREQ(got.data(), "through");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, NameThePathThatIsNotThere) {
  expect_refusal([&] { read_file("text", path("none")); },
                 "cannot read text " + path("none") + ": No such file or directory");
}

TEST_F(Files, AFolderCannotBeRead) {
  expect_refusal([&] { read_file("text", folder_); },
                 "cannot read text " + folder_ + ": Is a directory");
}

TEST_F(Files, AFolderCannotBeReplaced) {
  expect_refusal([&] { write_file("text", folder_, "x"); },
                 "cannot write text " + folder_ + ": Is a directory");
  EXPECT_EQ(count(), 0U);
}

TEST_F(Files, AFolderThatIsNotThereIsNotMade) {
  expect_refusal([&] { write_file("text", path("none/a"), "x"); },
                 "cannot write text " + path("none/a") + ": No such file or directory");
}

TEST_F(Files, NoPathIsNoFile) {
  expect_refusal([] { write_file("text", "", "x"); }, "cannot write text ");
  expect_refusal([] { read_file("text", ""); }, "cannot read text : No such file or directory");
}

// What a buffer holds is written when the file is closed, and that is when a full disk shows.
TEST_F(Files, WhatIsWrittenInPartIsNotPutInPlace) {
  write_file("text", path("a"), "old");
  for (const size_t bytes : {200, 200000}) {
    const auto write = [&] {
      const SmallFiles full(100);
      write_file("text", path("a"), std::string(bytes, '#'));
    };
    expect_refusal(write, "cannot write text " + path("a") + ": File too large");
  }
  EXPECT_EQ(read_file("text", path("a")), "old");
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, AFullDeviceIsAnErrorAndStaysADevice) {
  fs::create_symlink("/dev/full", path("full"));
  expect_refusal([&] { write_file("text", path("full"), "x"); },
                 "cannot write text " + path("full") + ": No space left on device");
  EXPECT_TRUE(fs::is_symlink(path("full")));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace emulsion
