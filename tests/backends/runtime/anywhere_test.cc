// Kernels are called from wherever an application calls: out of a shared library that is loaded and
// unloaded, when the program ends, and again and again.

#include <dirent.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "HalideRuntime.h"
#include "backends/runtime/check_arguments.h"
#include "backends/runtime/emulsion_runtime.h"
#include "tests/backends/runtime/emulsion_test_twice.h"
#include "tests/backends/runtime/test_buffer.h"

namespace emulsion::runtime {
namespace {

using ::testing::HasSubstr;

constexpr char kDescriptor[] = "twice\nB\ni x f32 0 2 B 8\no y f32 0 2 B 8\n";

int call(TestBuffer* x, TestBuffer* y) {
  const halide_buffer_t* arguments[] = {&x->raw, &y->raw};
  const int code = emulsion_check_arguments(kDescriptor, arguments);
  return code != 0 ? code : emulsion_test_twice(&x->raw, &y->raw);
}

int wrong_values(int rows) {
  TestBuffer x(kF32, {rows, 8}), y(kF32, {rows, 8});
  for (int i = 0; i < rows * 8; ++i) x.data<float>()[i] = static_cast<float>(i);
  if (call(&x, &y) != 0) return -1;
  int wrong = 0;
  for (int i = 0; i < rows * 8; ++i) wrong += y.data<float>()[i] != 2.0f * static_cast<float>(i);
  return wrong;
}

// Of this process: pages in memory, and what is open.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int entries_of(const char* folder) {
  DIR* entries = opendir(folder);
  int count = 0;
  while (readdir(entries) != nullptr) ++count;
  closedir(entries);
  return count;
}

// Whether a loaded library was right for a call of each of these numbers of rows: of one thread,
// and of a team.
int load_call_and_unload(const std::vector<int>& rows = {1, 64}) {
  void* library = dlopen("tests/backends/runtime/libkernel_plugin.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return -1;
  }
  const auto wrong = reinterpret_cast<int (*)(int)>(dlsym(library, "wrong_values_of_plugin"));
  int found = wrong == nullptr ? -1 : 0;
  for (const int count : rows) found += wrong == nullptr ? 0 : wrong(count);
  EXPECT_EQ(dlclose(library), 0);
  return found;
}

TEST(Anywhere, OutOfALibraryThatIsUnloaded) {
  omp_set_num_threads(4);
  for (int turn = 0; turn < 20; ++turn) EXPECT_EQ(load_call_and_unload(), 0) << turn;
  std::thread([] {
    omp_set_num_threads(3);
    EXPECT_EQ(load_call_and_unload(), 0);
  }).join();
  EXPECT_EQ(wrong_values(64), 0);  // of this program, still
  // What the library has told the C library of is gone with it.
  const pid_t child = fork();
  if (child == 0) _exit(wrong_values(64) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Anywhere, ALibraryThatIsUnloadedKeepsNoMemory) {
  omp_set_num_threads(1);
  constexpr int kManyRows = 1 << 19;  // 16 MiB of storage
  const auto turns = [&](int count) {
    for (int turn = 0; turn < count; ++turn) EXPECT_EQ(load_call_and_unload({kManyRows}), 0);
    malloc_trim(0);  // the buffers' memory, which the C library keeps
    return resident_bytes();
  };
  const int64_t before = turns(1);
  EXPECT_LT(turns(4) - before, int64_t{kManyRows} * 8 * 4);
}

void call_when_the_program_ends() {
  omp_set_num_threads(4);
  if (wrong_values(64) != 0) _exit(3);
}

TEST(AnywhereDeathTest, WhenTheProgramEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        omp_set_num_threads(4);
        if (wrong_values(64) != 0) _exit(2);
        std::atexit(call_when_the_program_ends);
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  // The first call of all, and from another thread than the one that ends, which gets no signals.
  EXPECT_EXIT(
      {
        std::atexit([] {
          sigset_t all;
          sigfillset(&all);
          pthread_sigmask(SIG_BLOCK, &all, nullptr);
          std::thread(call_when_the_program_ends).join();
        });
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

// A thread needs memory for its stack, and from here on there is little.
void refuse_threads() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (1 << 20);
  setrlimit(RLIMIT_AS, &limit);
}

// What README.md says of OpenMP, and what helps.
TEST(AnywhereDeathTest, WhereTheSystemRefusesThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        omp_set_num_threads(4);
        refuse_threads();
        wrong_values(64);
        _exit(0);
      },
      ::testing::ExitedWithCode(1), "Thread creation failed");
  EXPECT_EXIT(
      {
        omp_set_num_threads(4);
        refuse_threads();
        emulsion_set_max_threads(1);
        _exit(wrong_values(64) == 0 ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

// Of a process that has started no thread the child has teams as any other.
TEST(AnywhereDeathTest, InTheChildOfAProcessOfOneThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        constexpr int kOneThread = 3;  // and what stands for folders
        if (entries_of("/proc/self/task") != kOneThread) _exit(2);
        const pid_t child = fork();
        if (child == 0) {
          omp_set_num_threads(4);
          const bool is_right = wrong_values(64) == 0;
          _exit(is_right && entries_of("/proc/self/task") > kOneThread ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Anywhere, ThreeHundredThousandCallsGrowNothing) {
  constexpr int kCalls = 300000, kOfATeam = 500, kFirst = 1000;
  omp_set_num_threads(2);
  TestBuffer x(kF32, {4, 8}), y(kF32, {4, 8}), other(kF32, {5, 8});
  int64_t before = 0;
  int open_before = 0, threads_before = 0, failures = 0;
  for (int n = 0; n < kCalls; ++n) {
    if (n == kFirst) {
      before = resident_bytes();
      open_before = entries_of("/proc/self/fd");
      threads_before = entries_of("/proc/self/task");
    }
    emulsion_set_max_threads(n % (kCalls / kOfATeam) == 0 ? 2 : 1);
    failures +=
        n % 10 == 9 ? call(&x, &other) != EMULSION_ERROR_INCONSISTENT_SIZE : call(&x, &y) != 0;
  }
  emulsion_set_max_threads(0);
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("expected extent B = 4, got 5"));
  // A byte for each of the calls would be more, and the least that is allocated for those refused.
  EXPECT_LE(resident_bytes() - before, kCalls);
  EXPECT_EQ(entries_of("/proc/self/fd"), open_before);
  EXPECT_LE(entries_of("/proc/self/task"),
            threads_before);  // some of other tests may end meanwhile
}

}  // namespace
}  // namespace emulsion::runtime

extern "C" int emulsion_test_visit(int /*x*/, int /*y*/) { return 0; }
