#ifndef EMULSION_TESTS_RANDOM_GUARDED_BUFFER_H_
#define EMULSION_TESTS_RANDOM_GUARDED_BUFFER_H_

// Memory for a kernel's argument with a page beside it that ends the process when it is touched,
// and a pattern on the other side that tells of writes. A read past the end is a bug even when what
// it finds does not matter; results cannot show it.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulsion {

class GuardedBuffer {
 public:
  enum class Side : uint8_t { start, end };  // where the forbidden page is

  GuardedBuffer(const std::vector<uint8_t>& bytes, Side side);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  void* data() const { return data_; }
  bool padding_is_intact() const;

 private:
  uint8_t* block_ = nullptr;  // whole pages
  size_t block_size_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  uint8_t* usable_ = nullptr;  // the pages between the forbidden ones
  size_t usable_size_ = 0;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_GUARDED_BUFFER_H_
