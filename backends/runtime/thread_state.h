#ifndef EMULSION_BACKENDS_RUNTIME_THREAD_STATE_H_
#define EMULSION_BACKENDS_RUNTIME_THREAD_STATE_H_

// What the runtime remembers for each thread: the message of its last failed kernel and its thread
// limit.
//
// Messages are written into fixed storage: a kernel that has just run out of memory must still be
// able to say so, and no exception may start in code that Halide's frames call.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace emulsion::runtime {

class ErrorMessage {
 public:
  const char* text() const { return text_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    size_ = 0;
    text_[0] = '\0';
  }
  // What does not fit is cut off at the end.
  ErrorMessage& operator<<(std::string_view text);
  ErrorMessage& operator<<(int64_t number);

 private:
  static constexpr size_t kCapacity = 1024;
  size_t size_ = 0;
  char text_[kCapacity] = {};
};

struct ThreadState {
  ErrorMessage message;
  // Grows with every recorded error: tells whether a call on this thread added one.
  uint64_t errors = 0;
  int max_threads = 0;         // 0: no limit of our own
  uint64_t refused_bytes = 0;  // the size of the allocation that failed last
  // This thread came through fork(), and its OpenMP may still count on threads that did not.
  bool lost_team = false;
};

ThreadState& thread_state();

// Starts this thread's next error and returns its message, empty, to be written in place: a message
// of its own on the stack would be too much for the small stacks that kernels may be called on.
ErrorMessage& new_error();

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_THREAD_STATE_H_
