#include "backends/entry/run_in_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "dsl/error.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_in_child(const std::function<void()>& body) {
  return error_of([&] { run_in_child("working", body); });
}

// Whether all children of this process have been waited for.
bool has_no_children() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

TEST(RunInChild, RunsInAnotherProcess) {
  int* shared = static_cast<int*>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int own = 1;
  run_in_child("working", [&] {
    own = 2;
    *shared = getpid();
  });
  EXPECT_EQ(own, 1);
  EXPECT_NE(*shared, 0);
  EXPECT_NE(*shared, getpid());
  munmap(shared, sizeof(int));
  EXPECT_TRUE(has_no_children());
}

TEST(RunInChild, ThrowsTheErrorOfTheBody) {
  EXPECT_EQ(error_in_child([] { throw Error("expected 1, got 2"); }), "expected 1, got 2");
  const std::string long_text(200000, 'x');
  EXPECT_EQ(error_in_child([&] { throw Error(long_text); }), long_text);
}

TEST(RunInChild, ThrowsTheInternalErrorOfTheBody) {
  EXPECT_THROW(run_in_child("working", [] { throw InternalError("ours"); }), InternalError);
  EXPECT_THROW(run_in_child("working", [] { throw std::runtime_error("other"); }), InternalError);
  EXPECT_THROW(run_in_child("working", [] { throw 42; }), InternalError);
}

TEST(RunInChild, SaysThatMemoryRanOut) {
  EXPECT_EQ(error_in_child([] { throw std::bad_alloc(); }),
            "working: expected memory, got none; legal: more memory, or fewer targets at once");
}

TEST(RunInChild, OutlivesASignal) {
  EXPECT_EQ(error_in_child([] { std::abort(); }),
            "working: expected its process to return, got signal 6 (Aborted); legal: more memory, "
            "or fewer targets at once");
  EXPECT_THAT(error_in_child([] { raise(SIGKILL); }), HasSubstr("got signal 9 (Killed)"));
  EXPECT_TRUE(has_no_children());
}

// LLVM's own way out; code 0 is no success either, when the body has not returned.
TEST(RunInChild, OutlivesAnExit) {
  EXPECT_THAT(error_in_child([] { _exit(1); }), HasSubstr("to return, got exit code 1"));
  EXPECT_THAT(error_in_child([] { _exit(0); }), HasSubstr("to return, got exit code 0"));
}

TEST(RunInChild, RunsNothingThatTheParentRunsAtItsEnd) {
  const int status = system("exit 0");  // a process of ours works at all
  ASSERT_EQ(status, 0);
  static int* ends = static_cast<int*>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::atexit([] { ++*ends; });
  run_in_child("working", [] {});
  EXPECT_EQ(*ends, 0);
}

// Whether `holds` does within ten seconds.
bool comes_to_hold(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    usleep(10000);
  }
  return false;
}

// What compiles for somebody who is gone would go on for minutes.
TEST(RunInChild, EndsWithItsParent) {
  auto* child = static_cast<std::atomic<pid_t>*>(mmap(nullptr, sizeof(std::atomic<pid_t>),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that it is ours to wait for
  const pid_t parent = fork();
  if (parent == 0) {
    run_in_child("working", [&] {
      *child = getpid();
      for (;;) pause();
    });
    _exit(0);
  }
  ASSERT_TRUE(comes_to_hold([&] { return *child != 0; }));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  int status = 0;
  EXPECT_TRUE(comes_to_hold([&] { return waitpid(*child, &status, WNOHANG) == *child; }));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  if (!WIFSIGNALED(status)) kill(*child, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  munmap(child, sizeof(std::atomic<pid_t>));
}

TEST(RunInChild, MayBeNested) {
  EXPECT_THAT(error_in_child([] { run_in_child("inside", [] { std::abort(); }); }),
              StartsWith("inside: expected its process to return, got signal 6"));
}

}  // namespace
}  // namespace emulsion
