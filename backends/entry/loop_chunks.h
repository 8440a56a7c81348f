#ifndef EMULSION_BACKENDS_ENTRY_LOOP_CHUNKS_H_
#define EMULSION_BACKENDS_ENTRY_LOOP_CHUNKS_H_

// Runs a parallel loop in chunks of several steps, for a pool of threads that takes a lock for each
// step that it is told of.

#include <xmmintrin.h>

#include <algorithm>
#include <cstdint>

#include "backends/runtime/float_control.h"

namespace emulsion {

template <typename Context>
using LoopTask = int (*)(Context*, int index, uint8_t* closure);
// Calls the task for each index from `min` on, and returns 0, or a code that one returned.
template <typename Context>
using ParallelFor = int (*)(Context*, LoopTask<Context>, int min, int size, uint8_t* closure);

// Whether the threads of the pool are those of another process: fork() copies one thread, and what
// the others held stays locked. Else the pool counts as used from now on.
bool pool_is_lost();

// Runs the loop on `pool`, in at most 64 chunks for each of its `threads`; on this thread where it
// has one step, or where the pool is lost. A code ends its chunk; whether other chunks end is for
// the pool to say. Each chunk computes floats as the thread does that calls.
template <typename Context>
int share_chunks(Context* context, LoopTask<Context> task, int min, int size, uint8_t* closure,
                 int (*threads)(), ParallelFor<Context> pool) {
  constexpr int64_t kChunksOfThread = 64;  // so many that nobody waits long for the last
  struct Chunks {
    LoopTask<Context> task;
    int64_t min, size, count;
    uint8_t* closure;
    unsigned float_control;
  };
  const bool alone = size <= 1 || pool_is_lost();
  const int64_t most = alone ? 1 : kChunksOfThread * std::max(threads(), 1);
  Chunks chunks = {task, min, size, std::min<int64_t>(size, most), closure, _mm_getcsr()};
  const LoopTask<Context> run = [](Context* c, int chunk, uint8_t* bytes) {
    const Chunks& all = *reinterpret_cast<const Chunks*>(bytes);
    const runtime::FloatControl as_the_caller(all.float_control);
    const int64_t end = all.min + all.size * (int64_t{chunk} + 1) / all.count;
    int code = 0;
    for (int64_t i = all.min + all.size * chunk / all.count; code == 0 && i < end; ++i) {
      code = all.task(c, static_cast<int>(i), all.closure);
    }
    return code;
  };
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(&chunks);
  if (alone) return size > 0 ? run(context, 0, bytes) : 0;
  return pool(context, run, 0, static_cast<int>(chunks.count), bytes);
}

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_LOOP_CHUNKS_H_
