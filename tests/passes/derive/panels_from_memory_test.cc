// Weights that a core's cache does not hold: their panels are outside of what would read them again
// and again.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

// 96 KiB of the second cache are for what is read again.
Target small_caches(const std::string& level, int cores) {
  return Target::parse(fmt::format("{},cores={},l2=131072", level, cores));
}
const Target kOne = small_caches("x86-64-v3", 1), kTwo = small_caches("x86-64-v3", 2);

// Of pictures of 6 x 7 pixels.
Tensor convolved(const Extent& pictures, int64_t channels, int64_t columns, int64_t window = 1) {
  const Tensor x = input("x", f32, {pictures, 6, 7, channels});
  const Tensor w = weight("w", f32, {window, window, channels, columns});
  const int border = static_cast<int>(window / 2);
  return conv2d(x, w, {1, 1, border, border, border, border, 1, 1, 1}, "y");
}

const Extent kMany = Extent::size("N");

TEST(PanelsFromMemory, AreOutsideOfAPicture) {
  const std::string one = derived(convolved(1, 192, 160), kOne);
  EXPECT_TRUE(has(one, "tile, y, n, panel)\n")) << one;
  const std::string two = derived(convolved(1, 192, 160), kTwo);
  EXPECT_TRUE(has(two, "tile, y, n, panel)\ny.parallel(panel)\n")) << two;
}

TEST(PanelsFromMemory, AreInsideOfPicturesThatNoCacheHolds) {
  for (const Extent& pictures : {Extent(8), kMany}) {
    const std::string one = derived(convolved(pictures, 192, 160), kOne);
    EXPECT_TRUE(has(one, "tile, y, panel, n)\n")) << one;
    const std::string two = derived(convolved(pictures, 192, 160), kTwo);
    EXPECT_TRUE(has(two, "tile, y, panel, n)\n")) << two;
    EXPECT_TRUE(has(two, "y.parallel(n)\n")) << two;
    EXPECT_FALSE(has(two, "parallel(panel)")) << two;
  }
}

// In a cache, or too few for the threads: each row of pixels reads all of them.
TEST(PanelsFromMemory, ElseAreInsideOfTheRowsOfAPicture) {
  const Target large = Target::parse("x86-64-v3,cores=1,l2=1048576");
  for (const auto& [y, target] : {std::pair{convolved(1, 192, 160), large},
                                  {convolved(1, 64, 160), kOne},
                                  {convolved(1, 800, 32), kTwo}}) {
    const std::string text = derived(y, target);
    EXPECT_TRUE(has(text, "panel, y, n)\n")) << text;
    EXPECT_FALSE(has(text, "parallel(panel)")) << text;
  }
}

TEST(PanelsFromMemory, AreInsideOfWhatHasOthers) {
  const Tensor x = input("x", f32, {6, 12, 192}), w = weight("w", f32, {6, 192, 160});
  const std::string text = derived(matmul(x, w, "y"), kOne);
  EXPECT_TRUE(has(text, "tile, panel, b0)\n")) << text;
}

// Threads share the tiles of rows where these are more equal parts, but not for that price.
TEST(PanelsFromMemory, AreSharedByThreadsWhereRowsWouldReadThemAgain) {
  const Tensor y = matmul(input("x", f32, {36, 400}), weight("w", f32, {400, 80}), "y");
  const std::string cached = derived(y, Target::parse("x86-64-v3,cores=2,l2=1048576"));
  EXPECT_TRUE(has(cached, "panel, tile)\ny.parallel(tile)\n")) << cached;
  const std::string text = derived(y, kTwo);
  EXPECT_TRUE(has(text, "tile, panel)\ny.parallel(panel)\n")) << text;
  // One panel is no work for two.
  const Tensor narrow = matmul(input("x", f32, {36, 2000}), weight("w", f32, {2000, 16}), "y");
  EXPECT_TRUE(has(derived(narrow, kTwo), "y.parallel(tile)\n")) << derived(narrow, kTwo);
}

TEST(PanelsFromMemory, MeanWhatTheGraphMeans) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      // 3 KiB are for what is read again.
      const Target target = Target::parse(fmt::format("{},cores={},l1=1024,l2=4096", level, cores));
      EXPECT_TRUE(derives(Graph(relu(convolved(1, 4, 150, 3))), target)) << level;
      EXPECT_TRUE(derives(Graph(relu(convolved(2, 10, 100))), target)) << level;
      EXPECT_TRUE(derives(Graph(convolved(kMany, 10, 101)), target, {0, 1, 3})) << level;
      const Tensor x = input("x", f32, {20, 10}), w = weight("w", f32, {10, 101});
      EXPECT_TRUE(derives(Graph(relu(matmul(x, w))), target)) << level;
    }
  }
}

}  // namespace
}  // namespace emulsion
