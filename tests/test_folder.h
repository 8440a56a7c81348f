#ifndef EMULSION_TESTS_TEST_FOLDER_H_
#define EMULSION_TESTS_TEST_FOLDER_H_

#include <gtest/gtest.h>

#include <filesystem>

namespace emulsion {

// A folder for the files of each test case, which does not exist when the case starts and is
// removed behind it.
class TestFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_TEST_FOLDER_H_
