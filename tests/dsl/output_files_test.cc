#include "dsl/output_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "tests/small_files.h"
#include "tests/test_folder.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFilesTest : public TestFolder {
 protected:
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string contents(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  template <typename Callable>
  static std::string error_of(Callable&& callable) {
    try {
      callable();
    } catch (const Error& error) {
      return error.what();
    }
    return "no Error";
  }
};

// A few bytes stay in a buffer until the file is closed; many do not fit one.
TEST_F(OutputFilesTest, AFullDiskIsAnError) {
  OutputFiles files(folder_.string());
  for (const size_t bytes : {200, 200000}) {
    const std::string text(bytes, '#');
    const auto write = [&] {
      const SmallFiles full(100);
      files.write_scratch("a", text.data(), text.size());
    };
    EXPECT_THAT(error_of(write), HasSubstr(" bytes to be written, got: File too large"));
  }
}

TEST_F(OutputFilesTest, CommittedFilesAreThereAndNothingElse) {
  {
    OutputFiles files((folder_ / "").string());
    files.write_scratch("a", "123", 3);
    files.write_scratch("b", "", 0);
    files.write_scratch("scratch", "x", 1);
    files.commit({"a", "b"});
  }
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(contents("a"), "123");
  EXPECT_EQ(contents("b"), "");
}

TEST_F(OutputFilesTest, NothingIsLeftWithoutACommit) {
  {
    OutputFiles files(folder_.string());
    files.write_scratch("a", "123", 3);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(OutputFilesTest, ACommitReplacesAFile) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "old";
  OutputFiles files(folder_.string());
  files.write_scratch("a", "new", 3);
  EXPECT_EQ(contents("a"), "old");
  files.commit({"a"});
  EXPECT_EQ(contents("a"), "new");
}

// The second file cannot be replaced: the first is as it was, and what was new is gone.
TEST_F(OutputFilesTest, AllFilesAreReplacedOrNone) {
  fs::create_directories(folder_ / "c");
  std::ofstream(folder_ / "a") << "old";
  {
    OutputFiles files(folder_.string());
    for (const char* name : {"a", "b", "c"}) files.write_scratch(name, "new", 3);
    EXPECT_THAT(error_of([&] {
                  files.commit({"a", "b", "c"});
                }),
                HasSubstr("expected one that can be replaced"));
  }
  EXPECT_EQ(contents("a"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "b"));
  EXPECT_EQ(entries(), 2u);
}

// From here on this process cannot give a file a second name, as on some file systems.
bool refuse_hard_links() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  sock_filter steps[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kNumber},
      {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_link},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_linkat},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
  };
  const sock_fprog filter = {static_cast<uint16_t>(std::size(steps)), steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(OutputFilesTest, AllOrNoneWhereAFileHasOneNameOnly) {
  fs::create_directories(folder_ / "c");
  std::ofstream(folder_ / "a") << "old";
  const pid_t child = fork();
  if (child == 0) {
    bool refused =
        refuse_hard_links() && link((folder_ / "a").c_str(), (folder_ / "d").c_str()) != 0;
    {
      OutputFiles files(folder_.string());
      for (const char* name : {"a", "b", "c"}) files.write_scratch(name, "new", 3);
      const std::string error = error_of([&] { files.commit({"a", "b", "c"}); });
      refused = refused && error.find("expected one that can be replaced") != std::string::npos;
    }
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(OutputFilesTest, WhatAKilledProcessLeavesIsTakenAway) {
  const pid_t child = fork();
  if (child == 0) {
    OutputFiles files(folder_.string());
    files.write_scratch("a", "123", 3);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(entries(), 1u);
  const OutputFiles files(folder_.string());
  EXPECT_EQ(entries(), 1u);
  EXPECT_FALSE(fs::exists(fs::path(files.scratch_path("a"))));
}

TEST_F(OutputFilesTest, WhatWasLeftBeforeItWasLockedIsTakenAway) {
  fs::create_directories(folder_ / ".emulsion-abcdef" / "deep");
  std::ofstream(folder_ / ".emulsion-abcdef" / "a.o") << "half";
  std::ofstream(folder_ / "of-the-user") << "kept";
  const OutputFiles files(folder_.string());
  EXPECT_EQ(entries(), 2u);
  EXPECT_TRUE(fs::exists(folder_ / "of-the-user"));
}

TEST_F(OutputFilesTest, AScriptMayHaveLockedTheDirectory) {
  fs::create_directories(folder_);
  const int directory = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(directory, LOCK_EX), 0);
  {
    OutputFiles files(folder_.string());
    files.write_scratch("a", "123", 3);
    files.commit({"a"});
  }
  close(directory);
  EXPECT_EQ(contents("a"), "123");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFilesTest, WhatIsBeingWrittenStays) {
  const OutputFiles first(folder_.string());
  first.write_scratch("a", "123", 3);
  const OutputFiles second(folder_.string());
  EXPECT_EQ(entries(), 2u);
  EXPECT_TRUE(fs::exists(fs::path(first.scratch_path("a"))));
}

// Two processes that write the same files again and again, one of them killed at any moment: the
// files are always those of one of them, and never cut off.
TEST_F(OutputFilesTest, KillsAtAnyMomentLeaveWholeFiles) {
  const std::string text(1 << 16, 'x');
  const auto write = [&](char who) {
    OutputFiles files(folder_.string());
    const std::string mine = who + text;
    for (const char* name : {"a", "b"}) files.write_scratch(name, mine.data(), mine.size());
    files.commit({"a", "b"});
  };
  write('0');
  int in_the_middle = 0;
  for (int round = 0; round < 200; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);  // a kill of -1 would be one of all processes
    if (child == 0) {
      if (::write(ready[1], "1", 1) != 1) _exit(1);
      while (true) write('1');
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);  // it runs, however busy the machine is
    for (const int end : ready) close(end);
    usleep(static_cast<useconds_t>(round * 37 % 3000));
    if (round % 2 == 0) write('2');
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << round << ": it ended before it was killed";
    in_the_middle += entries() > 2 ? 1 : 0;
    for (const char* name : {"a", "b"}) ASSERT_EQ(contents(name).substr(1), text) << round;
  }
  EXPECT_GE(in_the_middle, 50) << "kills that left something half written";
  write('3');
  EXPECT_EQ(contents("a")[0], '3');
  EXPECT_EQ(contents("b")[0], '3');
  EXPECT_EQ(entries(), 2u);
}

// Two processes that write the same files again and again: between their commits, all files are of
// one of them.
TEST_F(OutputFilesTest, OfTwoWritersAtOnceOneComesAfterTheOther) {
  std::vector<pid_t> writers;
  for (const char* who : {"1", "2"}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);  // a kill of -1 would be one of all processes
    if (child == 0) {
      while (true) {
        OutputFiles files(folder_.string());
        for (const char* name : {"a", "b"}) files.write_scratch(name, who, 1);
        files.commit({"a", "b"});
      }
    }
    writers.push_back(child);
  }
  constexpr int kChanges = 100;
  std::string last;
  int changes = 0, mixed = 0;
  for (int looks = 0; changes < kChanges && looks < 100000; ++looks) {
    usleep(100);
    const int directory = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
    if (directory < 0) continue;
    flock(directory, LOCK_EX);
    const std::string a = contents("a"), b = contents("b");
    close(directory);
    changes += a != last ? 1 : 0;
    mixed += a != b ? 1 : 0;
    last = a;
  }
  for (const pid_t writer : writers) {
    kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  EXPECT_EQ(changes, kChanges);
  EXPECT_EQ(mixed, 0);
}

// Kills seldom come between two steps of a commit; somebody who reads all the time does.
TEST_F(OutputFilesTest, WhoeverReadsSeesWholeFiles) {
  const std::string text(1 << 12, 'x');
  const auto write = [&] {
    OutputFiles files(folder_.string());
    files.write_scratch("a", text.data(), text.size());
    files.commit({"a"});
  };
  write();
  const pid_t child = fork();
  ASSERT_GE(child, 0);  // a kill of -1 would be one of all processes
  if (child == 0) {
    while (true) write();
  }
  int broken = 0;
  for (int i = 0; i < 20000; ++i) broken += contents("a") != text ? 1 : 0;
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(broken, 0);
}

// A generator compiles into the folder in which it has written its own files.
TEST_F(OutputFilesTest, AScratchFolderMayBeAnOutputDirectory) {
  OutputFiles files(folder_.string());
  {
    OutputFiles inside(files.scratch_path(""));
    inside.write_scratch("a", "123", 3);
    inside.commit({"a"});
  }
  files.commit({"a"});
  EXPECT_EQ(contents("a"), "123");
}

TEST_F(OutputFilesTest, RefusesAFolderInsideAFile) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "file";
  EXPECT_THAT(error_of([&] { OutputFiles((folder_ / "a" / "b").string()); }),
              HasSubstr("expected one that can be made"));
}

TEST_F(OutputFilesTest, RefusesAFileAsAFolder) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "file";
  EXPECT_THAT(error_of([&] { OutputFiles((folder_ / "a").string()); }),
              HasSubstr("output directory"));
}

TEST_F(OutputFilesTest, RefusesAFolderThatCannotBeWritten) {
  EXPECT_THAT(error_of([] { OutputFiles("/proc/self"); }),
              HasSubstr("expected one that can be written"));
}

TEST_F(OutputFilesTest, RefusesAScratchFileInNoFolder) {
  OutputFiles files(folder_.string());
  EXPECT_THAT(error_of([&] { files.write_scratch("no/such", "x", 1); }),
              HasSubstr("expected one that can be made"));
}

TEST_F(OutputFilesTest, RefusesToCommitWhatWasNotWritten) {
  OutputFiles files(folder_.string());
  EXPECT_THAT(error_of([&] { files.commit({"missing"}); }), HasSubstr("missing"));
}

}  // namespace
}  // namespace emulsion
