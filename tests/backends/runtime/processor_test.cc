#include "backends/runtime/processor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

// What Linux lists of the first processor, a source of its own beside CPUID.
std::set<std::string> listed_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}

TEST(Processor, IsZenOnlyWithTheInstructionsOfAmd) {
  const std::set<std::string> flags = listed_flags();
  ASSERT_FALSE(flags.empty());
  int expected = flags.count("sse4a") > 0 ? 4 : 0;
  if (expected == 4 && flags.count("avx512_vp2intersect") > 0 && flags.count("avx_vnni") > 0) {
    expected = 5;
  }
  EXPECT_EQ(emulsion_zen_generation(), expected);
}

TEST(Processor, SaysTheSameEachTime) {
  EXPECT_EQ(emulsion_zen_generation(), emulsion_zen_generation());
}

}  // namespace
