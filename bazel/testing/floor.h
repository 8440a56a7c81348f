// A floor under the number of test cases that a suite executes.
//
// A suite can pass because its cases did not run: a generator of parameters came out empty, a skip
// was meant for one machine and holds on all, a file was dropped from the BUILD file. So each suite
// states how many cases it executes at least (`floor` of emulsion_cc_test), and fewer is a failure.
// A skipped case was not executed, and needs a reason. It counts only when the reason is a need of
// the processor that this one really does not meet (needs.h).
//
// A shard sees its own cases alone, so it cannot know what the others executed. It knows two
// things that together are enough:
// - how many cases the whole suite registers: every shard holds that number against the floor;
// - which of them are its own: GoogleTest gives case k to shard k % shards. So of the first `floor`
//   cases a known part is this shard's, and it executes at least as many as that. Over all shards
//   these parts add up to the floor, and Bazel asks that all shards pass.
// Whoever asks for cases by name (--gtest_filter, --test_filter) asks for a part of the suite: then
// only what is registered is held against the floor, and the output says so.

#ifndef EMULSION_BAZEL_TESTING_FLOOR_H_
#define EMULSION_BAZEL_TESTING_FLOOR_H_

#include <string>
#include <vector>

namespace emulsion::test_run {

struct Skip {
  std::string name;
  std::string reason;
};

struct SuiteRun {
  int registered = 0;  // in all shards, whatever the filter; disabled cases are not
  int executed = 0;    // in this shard: passed or failed
  std::vector<Skip> skipped;
  int shards = 1;
  int shard = 0;
  bool filtered = false;
  const char* floor = nullptr;  // as the environment has it; null for none
};

// What is wrong with the run, one sentence; empty when nothing is.
std::string WhyBelowFloor(const SuiteRun& run);

}  // namespace emulsion::test_run

#endif  // EMULSION_BAZEL_TESTING_FLOOR_H_
