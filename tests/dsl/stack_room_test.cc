#include "dsl/stack_room.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "dsl/error.h"
#include "tests/passes/expect_error.h"
#include "tests/small_stack.h"

namespace emulsion {
namespace {

constexpr size_t kSmall = size_t{256} << 10, kLarge = size_t{16} << 20;

std::thread::id where_it_runs() {
  std::thread::id id;
  with_stack_room([&] { id = std::this_thread::get_id(); });
  return id;
}

// Takes more of the stack at each level than a page.
int sum_to(int n) {
  int sum = 0;
  with_stack_room([&] {
    volatile char room[8192] = {};
    room[0] = 1;
    sum = n == 0 ? 0 : sum_to(n - 1) + n * room[0];
  });
  return sum;
}

TEST(StackRoom, IsHereWhereThereIsEnough) {
  run_on_stack(kLarge, [] {
    EXPECT_FALSE(stack_is_short());
    EXPECT_EQ(where_it_runs(), std::this_thread::get_id());
  });
}

TEST(StackRoom, IsElsewhereWhereLittleIsLeft) {
  run_on_stack(kSmall, [] {
    EXPECT_TRUE(stack_is_short());
    EXPECT_NE(where_it_runs(), std::this_thread::get_id());
    with_stack_room([] { EXPECT_FALSE(stack_is_short()); });
  });
}

// More than one large stack holds.
TEST(StackRoom, ThereIsAsMuchAsIsAskedFor) {
  run_on_stack(kSmall, [] { EXPECT_EQ(sum_to(50000), 1250025000); });
}

TEST(StackRoom, WhatIsThrownThereIsThrownHere) {
  run_on_stack(kSmall, [] {
    EXPECT_EQ(error_of([] { with_stack_room([] { fail("thrown elsewhere"); }); }),
              "thrown elsewhere");
  });
}

}  // namespace
}  // namespace emulsion
