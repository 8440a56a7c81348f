#include "benchmarks/peers/memory_traffic.h"

#include <gtest/gtest.h>

#include <numeric>

namespace emulsion::benchmarks {
namespace {

TEST(ReadAll, ReadsEveryWordOnce) {
  for (size_t count : {0, 1, 2, 3, 63, 64, 65, 1000}) {
    std::vector<uint32_t> words(count);
    std::iota(words.begin(), words.end(), 1);
    const uint32_t expected = static_cast<uint32_t>(count * (count + 1) / 2);
    for (int threads : {1, 2, 3, 7}) {
      EXPECT_EQ(read_all(words, threads), expected) << count << " words, " << threads << " threads";
    }
  }
}

TEST(Evict, LeavesTheDataAsItIs) {
  std::vector<uint32_t> words(1001);
  std::iota(words.begin(), words.end(), 0);
  const std::vector<uint32_t> before = words;
  for (size_t bytes : {0, 1, 63, 64, 65, 4003}) evict(words.data(), bytes);
  EXPECT_EQ(words, before);
}

}  // namespace
}  // namespace emulsion::benchmarks
