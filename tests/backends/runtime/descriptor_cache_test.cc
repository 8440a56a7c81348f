#include "backends/runtime/descriptor_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace emulsion::runtime {
namespace {

TEST(DescriptorCache, KeepsWhatItParsed) {
  const std::string text = "k\nB\ni x f32 64 1 B\n";
  ErrorMessage reason;
  EXPECT_EQ(find_descriptor(text.c_str()), nullptr);
  const Descriptor* added = add_descriptor(text.c_str(), &reason);
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(find_descriptor(text.c_str()), added);
}

TEST(DescriptorCache, DoesNotKeepWhatIsMalformed) {
  const std::string text = "k\nB\n";
  ErrorMessage reason;
  EXPECT_EQ(add_descriptor(text.c_str(), &reason), nullptr);
  EXPECT_EQ(find_descriptor(text.c_str()), nullptr);
}

TEST(DescriptorCache, DoesNotBelieveAnAddressAlone) {
  std::string text = "k\n\ni x f32 64 1 4\n";
  ErrorMessage reason;
  ASSERT_NE(add_descriptor(text.c_str(), &reason), nullptr);
  text[text.size() - 2] = '5';
  EXPECT_EQ(find_descriptor(text.c_str()), nullptr);
  const Descriptor* added = add_descriptor(text.c_str(), &reason);
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->arguments[0].extents[0].constant, 5);
}

TEST(DescriptorCache, HoldsManyKernelsInTurn) {
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back("kernel_" + std::to_string(i) + "\n\n");
  for (int round = 0; round < 2; ++round) {
    for (const std::string& text : texts) {
      ErrorMessage reason;
      const Descriptor* found = find_descriptor(text.c_str());
      if (found == nullptr) found = add_descriptor(text.c_str(), &reason);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->kernel + "\n\n", text);
    }
  }
}

// The address sanitizer looks whether all of it is given back.
TEST(DescriptorCache, IsEachThreadsOwn) {
  const std::string text = "k\nB\ni x f32 64 1 B\n";
  std::thread([&] {
    ErrorMessage reason;
    EXPECT_NE(add_descriptor(text.c_str(), &reason), nullptr);
    EXPECT_NE(find_descriptor(text.c_str()), nullptr);
  }).join();
  EXPECT_EQ(find_descriptor(text.c_str()), nullptr);
}

}  // namespace
}  // namespace emulsion::runtime
