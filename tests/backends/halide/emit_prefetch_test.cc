// Prefetches: that the check of emitted statements sees each that is not what the nest says. That
// those of schedules by hand are is in emit_nest_test; what they become is in row_code_test.

#include "backends/halide/emit_prefetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/backends/halide/changed_nest.h"

namespace emulsion {
namespace {

using testing::HasSubstr;

Change<Loop> with_prefetches(const std::function<void(std::vector<Prefetch>*)>& change) {
  return [=](Loop* loop) {
    if (!loop->prefetches.empty()) change(&loop->prefetches);
  };
}

TEST(CheckEmitted, NoticesAPrefetchOneStepOff) {
  for (int which : {0, 1, 2, 3, 4}) {
    const std::string name = which < 4 ? "prefetching" : "prefetching_in_shares";
    for (int64_t off : {-1, 1}) {
      int seen = which < 4 ? 0 : 4;
      EXPECT_THAT(difference_after(nest_of_case(name), with_prefetches([&](auto* all) {
                                     for (Prefetch& prefetch : *all) {
                                       if (seen++ == which) prefetch.distance += off;
                                     }
                                   })),
                  HasSubstr("prefetch e_"))
          << which << ", " << off;
    }
  }
}

TEST(CheckEmitted, NoticesAPrefetchAheadOfAnotherLoop) {
  EXPECT_THAT(difference_after(nest_of_case("prefetching_in_shares"),
                               with_prefetches([](auto* all) { all->front().ahead_of.clear(); })),
              HasSubstr("prefetch e_"));
}

TEST(CheckEmitted, NoticesAddressesOneStepOff) {
  // Of the same number of steps, so that the condition holds as it did.
  EXPECT_THAT(difference_after<UopNode>(nest_of_case("prefetching"),
                                        [](UopNode* node) {
                                          if (node->kind == UopKind::execute &&
                                              node->stage == "mm" && node->part == Part::update) {
                                            node->point[2] = node->point[2] - 1;
                                          }
                                        }),
              HasSubstr("prefetch e_"));
}

TEST(CheckEmitted, NoticesAMissingPrefetch) {
  EXPECT_THAT(difference_after(nest_of_case("prefetching"),
                               with_prefetches([](auto* all) { all->pop_back(); })),
              HasSubstr("the statement \"prefetch"));
}

// The text of what asks for element 5 behind pointer p.
std::string asked_for(const Halide::Type& type) {
  const Halide::Expr pointer = Halide::Internal::Variable::make(Halide::Handle(), "p");
  const Halide::Internal::Stmt near = near_prefetches(Halide::Internal::Evaluate::make(
      Halide::Internal::Call::make(type, Halide::Internal::Call::prefetch, {pointer, 5, 1, 1},
                                   Halide::Internal::Call::Intrinsic)));
  std::ostringstream text;
  text << Halide::Internal::simplify(near);
  return text.str();
}

TEST(NearPrefetches, AreOfBytesAndOfReadsIntoEveryCache) {
  EXPECT_THAT(asked_for(Halide::UInt(8)), HasSubstr("reinterpret<uint64>((void *)p) + (uint64)5"));
  EXPECT_THAT(asked_for(Halide::Float(32)),
              HasSubstr("reinterpret<uint64>((void *)p) + (uint64)20"));
  EXPECT_THAT(asked_for(Halide::Float(64)),
              HasSubstr("reinterpret<uint64>((void *)p) + (uint64)40"));
  EXPECT_THAT(asked_for(Halide::Float(32)), HasSubstr("llvm.prefetch.p0("));
  EXPECT_THAT(asked_for(Halide::Float(32)), HasSubstr(", 0, 3, 1)"));
}

}  // namespace
}  // namespace emulsion
