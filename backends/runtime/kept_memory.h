#ifndef EMULSION_BACKENDS_RUNTIME_KEPT_MEMORY_H_
#define EMULSION_BACKENDS_RUNTIME_KEPT_MEMORY_H_

// The heap memory of kernels, kept from one call to the next.
//
// The system gives memory page by page, each zeroed when it is first touched, and the C library
// gives large blocks back to the system when they are freed. A kernel that takes its storage from
// it at each call then waits for that as long as for its values, or longer
// (`//benchmarks:kept_memory`). So a large block that a kernel gives back is kept, and whoever asks
// next for about as much gets it. How much is kept at most is said by emulsion_set_kept_memory().
//
// No lock is taken: these may be called from any number of threads, after a fork(), and at exit.
// When the library that holds this is unloaded, it keeps nothing.

#include <cstddef>
#include <cstdint>

namespace emulsion::runtime {

// Halide asks for 64 bytes on x86, for a size rounded up to that, and for 8 readable bytes on both
// sides. Twice as much keeps two threads' allocations off one pair of cache lines that is fetched
// together.
inline constexpr size_t kAlignment = 128;
// Smaller blocks are the C library's business, which is quick with them.
inline constexpr size_t kLeastKept = size_t{64} << 10;
// In bytes, unless emulsion_set_kept_memory() says otherwise.
inline constexpr int64_t kDefaultKept = int64_t{256} << 20;

// `size` bytes at a multiple of kAlignment, with as many readable bytes on both sides; what is in
// them is undefined. Null when there is no memory.
void* take_memory(size_t size) noexcept;
// Of take_memory(), or null.
void give_memory_back(void* memory) noexcept;

// At most so many bytes are kept from now on; below 0 as 0. Returns what it was before.
int64_t set_kept_limit(int64_t bytes) noexcept;
// The bytes that are kept now, for nobody.
int64_t kept_bytes() noexcept;

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_KEPT_MEMORY_H_
