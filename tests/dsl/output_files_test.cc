#include "dsl/output_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/error.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string contents(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  template <typename Callable>
  static std::string error_of(Callable&& callable) {
    try {
      callable();
    } catch (const Error& error) {
      return error.what();
    }
    return "no Error";
  }

  fs::path folder_;
};

TEST_F(OutputFilesTest, CommittedFilesAreThereAndNothingElse) {
  {
    OutputFiles files((folder_ / "").string());
    files.write_scratch("a", "123", 3);
    files.write_scratch("b", "", 0);
    files.write_scratch("scratch", "x", 1);
    files.commit({"a", "b"});
  }
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(contents("a"), "123");
  EXPECT_EQ(contents("b"), "");
}

TEST_F(OutputFilesTest, NothingIsLeftWithoutACommit) {
  {
    OutputFiles files(folder_.string());
    files.write_scratch("a", "123", 3);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(OutputFilesTest, ACommitReplacesAFile) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "old";
  OutputFiles files(folder_.string());
  files.write_scratch("a", "new", 3);
  EXPECT_EQ(contents("a"), "old");
  files.commit({"a"});
  EXPECT_EQ(contents("a"), "new");
}

TEST_F(OutputFilesTest, RefusesAFolderInsideAFile) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "file";
  EXPECT_THAT(error_of([&] { OutputFiles((folder_ / "a" / "b").string()); }),
              HasSubstr("expected one that can be made"));
}

TEST_F(OutputFilesTest, RefusesAFileAsAFolder) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "file";
  EXPECT_THAT(error_of([&] { OutputFiles((folder_ / "a").string()); }),
              HasSubstr("output directory"));
}

TEST_F(OutputFilesTest, RefusesAFolderThatCannotBeWritten) {
  EXPECT_THAT(error_of([] { OutputFiles("/proc/self"); }),
              HasSubstr("expected one that can be written"));
}

TEST_F(OutputFilesTest, RefusesAScratchFileInNoFolder) {
  OutputFiles files(folder_.string());
  EXPECT_THAT(error_of([&] { files.write_scratch("no/such", "x", 1); }),
              HasSubstr("expected one that can be made"));
}

TEST_F(OutputFilesTest, RefusesToCommitWhatWasNotWritten) {
  OutputFiles files(folder_.string());
  EXPECT_THAT(error_of([&] { files.commit({"missing"}); }), HasSubstr("missing"));
}

}  // namespace
}  // namespace emulsion
