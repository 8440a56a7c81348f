#include "bazel/user_path.h"

#include <cstdlib>
#include <filesystem>

namespace emulsion {

std::string user_path(const std::string& path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || directory == nullptr) return path;
  return (std::filesystem::path(directory) / path).string();
}

}  // namespace emulsion
