// Halide's runtime archive is an input of every kernel's link: the same one must come out of every
// build.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(HalideRuntimeArchive, IsTheSameInTwoRuns) {
  const std::string archive = read("backends/runtime/libemulsion_halide_runtime.a");
  EXPECT_GT(archive.size(), 1000u);
  EXPECT_EQ(archive.substr(0, 8), "!<arch>\n");
  // Not EXPECT_EQ: nobody wants to see the difference of two archives.
  EXPECT_TRUE(archive == read("tests/backends/runtime/again/libemulsion_halide_runtime.a"));
}

}  // namespace
