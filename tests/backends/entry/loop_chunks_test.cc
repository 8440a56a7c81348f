// A parallel loop in chunks: every step once, in a pool that is told of few.

#include "backends/entry/loop_chunks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <vector>

namespace emulsion {
namespace {

struct Context {
  std::vector<int64_t> indices;
  int chunks = 0;          // that the pool was asked for
  int fails_at = INT_MIN;  // the index whose step returns 7
};

int note(Context* context, int index, uint8_t* closure) {
  context->indices.push_back(index);
  EXPECT_EQ(*closure, 42);
  return index == context->fails_at ? 7 : 0;
}

// A pool of one thread, which goes on after a code as others would.
int one_after_another(Context* context, LoopTask<Context> task, int min, int size,
                      uint8_t* closure) {
  context->chunks = size;
  int first = 0;
  for (int i = 0; i < size; ++i) {
    const int code = task(context, min + i, closure);
    if (first == 0) first = code;
  }
  return first;
}

int threads_of_pool = 0;
int pool_size() { return threads_of_pool; }

int share(Context* context, int min, int size, int threads) {
  uint8_t closure = 42;
  threads_of_pool = threads;
  return share_chunks<Context>(context, note, min, size, &closure, pool_size, one_after_another);
}

TEST(LoopChunks, RunEveryStepOnceInOrder) {
  for (const int threads : {0, 1, 2, 3}) {
    for (const int size : {0, 1, 2, 63, 64, 65, 127, 129, 200, 1000}) {
      Context context;
      EXPECT_EQ(share(&context, -5, size, threads), 0);
      ASSERT_EQ(context.indices.size(), static_cast<size_t>(size)) << threads << " " << size;
      for (int i = 0; i < size; ++i) EXPECT_EQ(context.indices[static_cast<size_t>(i)], i - 5);
    }
  }
}

TEST(LoopChunks, AreAtMost64ForEachThread) {
  const auto run_the_first = [](Context* c, LoopTask<Context> task, int min, int n, uint8_t* b) {
    c->chunks = n;
    return task(c, min, b);
  };
  for (const auto& [size, threads, chunks] :
       {std::tuple(1000, 2, 128), {1000, 0, 64}, {100, 2, 100}, {INT_MAX, 1, 64}}) {
    Context context;
    context.fails_at = 0;
    uint8_t closure = 42;
    threads_of_pool = threads;
    EXPECT_EQ(share_chunks<Context>(&context, note, 0, size, &closure, pool_size, run_the_first),
              7);
    EXPECT_EQ(context.chunks, chunks);
  }
}

TEST(LoopChunks, OneStepAsksThePoolForNothing) {
  Context context;
  context.fails_at = 3;
  EXPECT_EQ(share(&context, 3, 1, 2), 7);
  EXPECT_EQ(context.indices, std::vector<int64_t>{3});
  EXPECT_EQ(context.chunks, 0);
  EXPECT_EQ(share(&context, 3, 0, 2), 0);
  EXPECT_EQ(context.chunks, 0);
  EXPECT_EQ(share(&context, 3, 2, 2), 7);
  EXPECT_EQ(context.chunks, 2);
}

// A pool whose threads round to nearest, and leave denormal numbers as they are.
int as_another_thread_does(Context* context, LoopTask<Context> task, int min, int size,
                           uint8_t* closure) {
  constexpr unsigned kPlain = 0x1f80;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kPlain);
  const int code = one_after_another(context, task, min, size, closure);
  EXPECT_EQ(_mm_getcsr(), kPlain | _MM_EXCEPT_INEXACT);  // and the thread goes on so
  _mm_setcsr(before);
  return code;
}

TEST(LoopChunks, ComputeFloatsAsTheThreadThatCalls) {
  constexpr unsigned kControl = 0xffc0, kZeroDenormals = 0x8040;
  static std::vector<unsigned> found;
  const LoopTask<Context> look = [](Context*, int, uint8_t*) {
    found.push_back(_mm_getcsr() & kControl);
    volatile float three = 3, third = 1 / three;
    static_cast<void>(third);
    return 0;
  };
  threads_of_pool = 2;
  const unsigned before = _mm_getcsr();
  for (const unsigned control : {0U, kZeroDenormals, 0U + _MM_ROUND_UP, 0U + _MM_ROUND_DOWN}) {
    found.clear();
    _mm_setcsr((before & ~0x6000U) | control);
    const unsigned wanted = _mm_getcsr() & kControl;
    Context context;
    share_chunks<Context>(&context, look, 0, 200, nullptr, pool_size, as_another_thread_does);
    _mm_setcsr(before);
    EXPECT_EQ(found, std::vector<unsigned>(200, wanted)) << control;
  }
}

TEST(LoopChunks, ReachTheLargestIndex) {
  Context context;
  EXPECT_EQ(share(&context, INT_MAX - 199, 200, 1), 0);
  EXPECT_EQ(context.indices.back(), INT_MAX);
  EXPECT_EQ(context.indices.size(), 200U);
}

TEST(LoopChunks, ACodeEndsItsChunkAndIsReturned) {
  Context context;
  context.fails_at = 1;
  EXPECT_EQ(share(&context, 0, 640, 1), 7);  // 64 chunks of ten
  EXPECT_EQ(context.indices.size(), 640U - 8U);
}

// What the pool's threads held when the process was copied stays locked in the child: it is asked
// nothing, not even how many threads it has.
TEST(LoopChunks, RunOnOneThreadWhereForkLeftThePoolBehind) {
  Context used;
  ASSERT_EQ(share(&used, 0, 100, 2), 0);
  EXPECT_FALSE(pool_is_lost());
  const pid_t child = fork();
  if (child == 0) {
    Context context;
    context.fails_at = 250;
    uint8_t closure = 42;
    const ParallelFor<Context> lost = [](auto...) { return 1; };
    const auto locked = [] { return std::abort(), 0; };
    const auto run = [&](int size) {
      return share_chunks<Context>(&context, note, -5, size, &closure, locked, lost);
    };
    const bool right = run(0) == 0 && context.indices.empty() && run(200) == 0 &&
                       context.indices.size() == 200 && context.indices.back() == 194 &&
                       run(300) == 7 && context.indices.size() == 456;
    _exit(right ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(pool_is_lost());
}

}  // namespace
}  // namespace emulsion
