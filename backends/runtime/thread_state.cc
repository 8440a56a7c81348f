#include "backends/runtime/thread_state.h"

#include <algorithm>
#include <charconv>

namespace emulsion::runtime {

ErrorMessage& ErrorMessage::operator<<(std::string_view text) {
  const size_t length = std::min(text.size(), kCapacity - 1 - size_);
  std::copy_n(text.data(), length, text_ + size_);
  size_ += length;
  text_[size_] = '\0';
  return *this;
}

ErrorMessage& ErrorMessage::operator<<(int64_t number) {
  char digits[24];
  const std::to_chars_result result = std::to_chars(digits, digits + sizeof(digits), number);
  return *this << std::string_view(digits, static_cast<size_t>(result.ptr - digits));
}

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

ErrorMessage& new_error() {
  ThreadState& state = thread_state();
  ++state.errors;
  state.message.clear();
  return state.message;
}

}  // namespace emulsion::runtime
