#ifndef EMULSION_BAZEL_USER_PATH_H_
#define EMULSION_BAZEL_USER_PATH_H_

// `bazel run` starts a program in a folder of its own. What a path on the command line is relative
// to is where the user was.

#include <string>

namespace emulsion {

// As it is when it is absolute, empty, or Bazel did not start the program.
std::string user_path(const std::string& path);

}  // namespace emulsion

#endif  // EMULSION_BAZEL_USER_PATH_H_
