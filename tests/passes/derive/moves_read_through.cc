#include "tests/passes/derive/moves_read_through.h"

#include <gtest/gtest.h>

#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/read_through.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {

std::set<std::string> moves_read_through(const Graph& graph, const std::vector<int64_t>& batches,
                                         double tolerance) {
  std::set<std::string> found;
  for (const char* name : kReadThroughTargets) {
    const Target target = Target::parse(name);
    const std::set<std::string> here = read_through(fuse_epilogues(graph), target).moves;
    EXPECT_TRUE(name == kReadThroughTargets[0] || here == found) << name;
    found = here;
    EXPECT_TRUE(derives(graph, target, batches, tolerance)) << name;
    const Schedule schedule = derive_schedule(graph, target);
    for (const Stage& stage : lower(graph, schedule).stages) {
      EXPECT_EQ(here.count(stage.name), 0U) << to_string(schedule);
    }
  }
  return found;
}

}  // namespace emulsion
