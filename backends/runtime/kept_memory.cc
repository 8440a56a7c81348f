#include "backends/runtime/kept_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace emulsion::runtime {
namespace {

// Blocks from here on come from the system in its large pages, where it has them: they are faster
// to be given and to be read across.
constexpr size_t kLeastMapped = size_t{4} << 20;
constexpr size_t kLargePage = size_t{2} << 20;

// At the start of a block, kAlignment bytes before what a kernel gets.
struct Header {
  size_t capacity;       // of what it gets
  void* start;           // of the memory that it is in
  size_t mapping_bytes;  // of a mapping of the system's; 0: memory of the C library
};
static_assert(sizeof(Header) <= kAlignment);

Header* header_of(void* memory) {
  return reinterpret_cast<Header*>(static_cast<char*>(memory) - kAlignment);
}

void* with_header(char* base, const Header& header) {
  new (base) Header(header);
  return base + kAlignment;
}

size_t rounded_up(size_t size, size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

void* allocate(size_t capacity) {
  const size_t bytes = capacity + 2 * kAlignment;
  if (capacity < kLeastMapped) {
    // Aligned here: the C library, asked for that, cuts the ends off a larger block and frees them,
    // which takes several times as long.
    void* const start = std::malloc(bytes + kAlignment);
    if (start == nullptr) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(start);
    char* const base = static_cast<char*>(start) + (rounded_up(address, kAlignment) - address);
    return with_header(base, {capacity, start, 0});
  }
  const size_t mapped = rounded_up(bytes, kLargePage) + kLargePage;
  void* const mapping =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  char* const base = static_cast<char*>(mapping) + (rounded_up(address, kLargePage) - address);
  madvise(base, rounded_up(bytes, kLargePage), MADV_HUGEPAGE);  // a wish: it may be refused
  return with_header(base, {capacity, mapping, mapped});
}

void release(void* memory) {
  const Header header = *header_of(memory);
  if (header.mapping_bytes > 0) {
    munmap(header.start, header.mapping_bytes);
  } else {
    std::free(header.start);
  }
}

// A block that is kept. The thread that takes `memory` out of a slot, leaving null, owns it. The
// other two only say where to look: while several threads put blocks in, they may be of another
// block than `memory`.
struct Slot {
  std::atomic<void*> memory{nullptr};
  std::atomic<size_t> capacity{0};
  std::atomic<uint64_t> since{0};  // of `blocks_kept`
};

constexpr unsigned kSlots = 64;
constexpr uint64_t kNever = UINT64_MAX;
Slot slots[kSlots];
std::atomic<uint64_t> blocks_kept{0};  // so far
std::atomic<int64_t> kept{0};

#ifdef __SANITIZE_ADDRESS__
std::atomic<int64_t> limit{0};  // what is freed is to be seen to be freed
#else
std::atomic<int64_t> limit{kDefaultKept};
#endif

void* take_out(Slot& slot) {
  void* const memory = slot.memory.exchange(nullptr, std::memory_order_acq_rel);
  if (memory != nullptr) kept -= static_cast<int64_t>(header_of(memory)->capacity);
  return memory;
}

bool put_in(void* memory) {
  const size_t capacity = header_of(memory)->capacity;
  kept += static_cast<int64_t>(capacity);
  for (Slot& slot : slots) {
    void* none = nullptr;
    if (slot.memory.load(std::memory_order_relaxed) != nullptr) continue;
    slot.capacity.store(capacity, std::memory_order_relaxed);
    slot.since.store(++blocks_kept, std::memory_order_relaxed);
    if (slot.memory.compare_exchange_strong(none, memory, std::memory_order_acq_rel)) return true;
  }
  kept -= static_cast<int64_t>(capacity);
  return false;
}

// The slot with the least of what `order` says, of those with a block; null where there is none.
template <typename Order>
Slot* least_slot(const Order& order) {
  Slot* best = nullptr;
  uint64_t least = kNever;
  for (Slot& slot : slots) {
    if (slot.memory.load(std::memory_order_relaxed) == nullptr) continue;
    const uint64_t value = order(slot);
    if (value >= least) continue;
    best = &slot;
    least = value;
  }
  return best;
}

// Whether there was one.
bool release_oldest() {
  Slot* const slot =
      least_slot([](const Slot& s) { return s.since.load(std::memory_order_relaxed); });
  if (slot == nullptr) return false;
  if (void* const memory = take_out(*slot)) release(memory);
  return true;
}

void release_beyond(int64_t most) {
  while (kept.load() > most && release_oldest()) {
  }
}

// The smallest block that is large enough, unless half of it would be left over.
void* take_kept(size_t size) {
  const auto fits = [size](size_t capacity) { return capacity >= size && capacity / 2 <= size; };
  for (unsigned tried = 0; tried < kSlots; ++tried) {
    Slot* const slot = least_slot([&](const Slot& s) -> uint64_t {
      const size_t capacity = s.capacity.load(std::memory_order_relaxed);
      return fits(capacity) ? capacity : kNever;
    });
    if (slot == nullptr) return nullptr;
    void* const memory = take_out(*slot);
    if (memory == nullptr) continue;  // somebody was quicker
    if (fits(header_of(memory)->capacity)) return memory;
    if (!put_in(memory)) release(memory);
  }
  return nullptr;
}

// When the program or the library ends, nobody asks for what is kept any more.
[[gnu::destructor]] void keep_nothing() { set_kept_limit(0); }

}  // namespace

void* take_memory(size_t size) noexcept {
  if (size > SIZE_MAX / 2) return nullptr;
  const size_t capacity = rounded_up(size, kAlignment);
  if (capacity >= kLeastKept) {
    if (void* const memory = take_kept(capacity)) return memory;
  }
  void* memory = allocate(capacity);
  while (memory == nullptr && release_oldest()) memory = allocate(capacity);
  return memory;
}

void give_memory_back(void* memory) noexcept {
  if (memory == nullptr) return;
  const size_t capacity = header_of(memory)->capacity;
  if (capacity < kLeastKept || static_cast<int64_t>(capacity) > limit.load()) {
    return release(memory);
  }
  if (!put_in(memory)) {
    release_oldest();
    if (!put_in(memory)) return release(memory);
  }
  release_beyond(limit.load());
}

int64_t set_kept_limit(int64_t bytes) noexcept {
  const int64_t before = limit.exchange(std::max<int64_t>(bytes, 0));
  release_beyond(limit.load());
  return before;
}

int64_t kept_bytes() noexcept { return kept.load(); }

}  // namespace emulsion::runtime
