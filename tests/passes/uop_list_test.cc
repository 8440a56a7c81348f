#include "passes/uop_list.h"

#include <gtest/gtest.h>

#include "tests/passes/test_nests.h"

namespace emulsion {
namespace {

UopRegion box(int32_t buffer, std::vector<int32_t> min, std::vector<int32_t> extent) {
  UopRegion region;
  region.buffer = buffer;
  region.rank = static_cast<int32_t>(min.size());
  std::copy(min.begin(), min.end(), region.min.begin());
  std::copy(extent.begin(), extent.end(), region.extent.begin());
  return region;
}

TEST(UopRegion, CountsItsElements) {
  EXPECT_EQ(box(0, {5, 7}, {3, 4}).elements(), 12);
  EXPECT_EQ(box(0, {}, {}).elements(), 1);
  EXPECT_EQ(box(0, {5, 7}, {3, 0}).elements(), 0);
}

TEST(UopRegion, IsEqualInEveryPart) {
  const UopRegion region = box(0, {5, 7}, {3, 4});
  EXPECT_EQ(region, box(0, {5, 7}, {3, 4}));
  EXPECT_NE(region, box(1, {5, 7}, {3, 4}));
  EXPECT_NE(region, box(0, {5, 8}, {3, 4}));
  EXPECT_NE(region, box(0, {5, 7}, {3, 5}));
  EXPECT_NE(region, box(0, {5}, {3}));
}

TEST(UopText, NamesWhatIsReadAndWritten) {
  const LoopNest nest = copy_nest(Extent(64));
  Uop uop;
  uop.kind = NodeKind::store;
  uop.stage = 0;
  uop.index = 3;
  uop.write = box(1, {32}, {16});
  uop.reads = {box(0, {32}, {16})};
  uop.bytes = 128;
  EXPECT_EQ(to_string(uop, nest), "3: store y[32 .. +16] <- x[32 .. +16], 128 bytes");
  uop.kind = NodeKind::execute;
  uop.part = Part::init;
  uop.reads.clear();
  uop.bytes = 0;
  EXPECT_EQ(to_string(uop, nest), "3: init y[32 .. +16] <-");
}

}  // namespace
}  // namespace emulsion
