#include "dsl/nearest_name.h"

#include <gtest/gtest.h>

namespace emulsion {
namespace {

TEST(NearestName, TheOneThatIsThere) { EXPECT_EQ(nearest_name("mi", {"mo", "mi"}), "mi"); }

TEST(NearestName, OneLetterReplaced) { EXPECT_EQ(nearest_name("nx", {"mo", "mi", "ni"}), "ni"); }

TEST(NearestName, OneLetterAddedOrGone) {
  EXPECT_EQ(nearest_name("m", {"k", "mo", "no"}), "k");  // one replaced, and it comes first
  EXPECT_EQ(nearest_name("row", {"column", "rows"}), "rows");
  EXPECT_EQ(nearest_name("rows", {"column", "row"}), "row");
}

TEST(NearestName, TheFirstOfSeveral) { EXPECT_EQ(nearest_name("q", {"m", "n", "k"}), "m"); }

TEST(NearestName, AnEmptyNameIsFarFromLongOnes) {
  EXPECT_EQ(nearest_name("", {"long", "n"}), "n");
  EXPECT_EQ(nearest_name("n", {""}), "");
}

TEST(EditDistance, CountsLetters) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "avx2"), 4U);
  EXPECT_EQ(edit_distance("fma", "fma"), 0U);
}

TEST(NearestName, NoneOfNone) { EXPECT_EQ(nearest_name("m", {}), ""); }

TEST(ExpectedName, ListsTheLegalOnesAndTheNearest) {
  EXPECT_EQ(expected_name("a loop of y", {"k", "mo", "mi"}, "mj"),
            "expected a loop of y (k, mo or mi), got mj; nearest: mo");
}

TEST(ExpectedName, SaysWhenThereIsNone) {
  EXPECT_EQ(expected_name("a reduction axis of y", {}, "k"),
            "expected a reduction axis of y (none), got k; legal: none");
}

}  // namespace
}  // namespace emulsion
