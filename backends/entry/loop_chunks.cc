#include "backends/entry/loop_chunks.h"

#include <pthread.h>

#include <atomic>

namespace emulsion {
namespace {

std::atomic<bool> used{false}, lost{false};

[[maybe_unused]] const int atfork_code = pthread_atfork(nullptr, nullptr, [] {
  if (used) lost = true;
});

}  // namespace

bool pool_is_lost() {
  if (lost) return true;
  used = true;
  return false;
}

}  // namespace emulsion
