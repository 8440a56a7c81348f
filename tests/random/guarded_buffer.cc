#include "tests/random/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace emulsion {
namespace {

constexpr uint8_t kPattern = 0xa5;

}  // namespace

GuardedBuffer::GuardedBuffer(const std::vector<uint8_t>& bytes, Side side) : size_(bytes.size()) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  usable_size_ = std::max<size_t>(1, (size_ + page - 1) / page) * page;
  block_size_ = usable_size_ + 2 * page;
  void* block = mmap(nullptr, block_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::runtime_error("mmap failed");
  block_ = static_cast<uint8_t*>(block);
  usable_ = block_ + page;
  if (mprotect(usable_, usable_size_, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("mprotect failed");
  }
  std::memset(usable_, kPattern, usable_size_);
  data_ = side == Side::start ? usable_ : usable_ + usable_size_ - size_;
  if (size_ > 0) std::memcpy(data_, bytes.data(), size_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : block_(other.block_),
      block_size_(other.block_size_),
      data_(other.data_),
      size_(other.size_),
      usable_(other.usable_),
      usable_size_(other.usable_size_) {
  other.block_ = nullptr;
}

GuardedBuffer::~GuardedBuffer() {
  if (block_ != nullptr) munmap(block_, block_size_);
}

bool GuardedBuffer::padding_is_intact() const {
  auto is_pattern = [](uint8_t byte) { return byte == kPattern; };
  return std::all_of(usable_, data_, is_pattern) &&
         std::all_of(data_ + size_, usable_ + usable_size_, is_pattern);
}

}  // namespace emulsion
