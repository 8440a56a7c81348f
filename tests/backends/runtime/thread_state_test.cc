#include "backends/runtime/thread_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

namespace emulsion::runtime {
namespace {

TEST(ErrorMessage, WritesNumbersOfEverySize) {
  ErrorMessage message;
  message << 0 << " " << INT64_MAX << " " << INT64_MIN;
  EXPECT_STREQ(message.text(), "0 9223372036854775807 -9223372036854775808");
}

TEST(ErrorMessage, CutsWhatDoesNotFit) {
  ErrorMessage message;
  message << "begin " << std::string(2000, 'x') << " end" << 7;
  EXPECT_THAT(message.text(), ::testing::StartsWith("begin xxx"));
  EXPECT_EQ(std::string(message.text()).size(), 1023u);
  message.clear();
  EXPECT_TRUE(message.empty());
  message << "again";
  EXPECT_STREQ(message.text(), "again");
}

TEST(ThreadState, CountsErrorsAndStartsEachWithAnEmptyMessage) {
  const uint64_t before = thread_state().errors;
  new_error() << "one";
  new_error() << "two";
  EXPECT_EQ(thread_state().errors, before + 2);
  EXPECT_STREQ(thread_state().message.text(), "two");
}

TEST(ThreadState, IsEachThreadsOwn) {
  thread_state().max_threads = 5;
  std::thread([] { EXPECT_EQ(thread_state().max_threads, 0); }).join();
  thread_state().max_threads = 0;
}

}  // namespace
}  // namespace emulsion::runtime
