#include "backends/tile_machine/plan/scratchpad_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace emulsion {
namespace {

TEST(ScratchpadPlan, EverythingHasANameOfItsOwn) {
  EXPECT_EQ(to_string(EvictionPolicy::lru), "LRU");
  EXPECT_EQ(to_string(EvictionPolicy::belady), "Belady");
  std::set<std::string> kinds, reasons;
  for (int i = 0; i <= static_cast<int>(PlannedKind::drop); ++i) {
    kinds.insert(to_string(static_cast<PlannedKind>(i)));
  }
  for (int i = 0; i <= static_cast<int>(PlannedReason::stale); ++i) {
    reasons.insert(to_string(static_cast<PlannedReason>(i)));
  }
  EXPECT_EQ(kinds.size(), 4U);
  EXPECT_EQ(reasons.size(), 9U);
}

}  // namespace
}  // namespace emulsion
