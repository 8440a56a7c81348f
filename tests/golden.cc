#include "tests/golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace emulsion {
namespace {

constexpr size_t kMostBytes = 1024;

std::optional<std::string> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

std::string golden_path() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return std::string("tests/golden/") + test.test_suite_name() + "/" + test.name() + ".txt";
}

testing::AssertionResult matches_golden(const std::string& actual) {
  const std::string path = golden_path();
  if (actual.size() > kMostBytes) {
    return testing::AssertionFailure()
           << path << ": expected at most " << kMostBytes << " bytes, got " << actual.size()
           << ": choose a smaller shape\n"
           << actual;
  }
  if (const char* root = std::getenv("EMULSION_UPDATE_GOLDENS")) {
    const std::filesystem::path target = std::filesystem::path(root) / path;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream file(target, std::ios::binary);
    file << actual;
    file.close();
    if (!file) return testing::AssertionFailure() << target << ": cannot be written";
    return testing::AssertionSuccess();
  }
  const std::optional<std::string> expected = contents(path);
  if (!expected) {
    return testing::AssertionFailure() << path << ": not there; the text would be\n" << actual;
  }
  if (*expected == actual) return testing::AssertionSuccess();
  return testing::AssertionFailure() << path << ": expected\n" << *expected << "got\n" << actual;
}

}  // namespace emulsion
