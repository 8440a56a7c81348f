#ifndef EMULSION_TESTS_FUZZ_FUZZ_FILES_H_
#define EMULSION_TESTS_FUZZ_FUZZ_FILES_H_

// Files that a fuzz target looks at, and what came of it.

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_targets.h"

namespace emulsion {

struct FuzzFile {
  std::string name, bytes;
};

// Those of `folder` that are for `target`, by name. A folder that is not there has none.
std::vector<FuzzFile> files_of(const FuzzTarget& target, const std::string& folder);

// Bytes as a person can read them.
std::string printable(const std::string& bytes);

struct FuzzOutcome {
  bool accepted = false;
  std::string failure;  // what is wrong, with the file; empty when nothing is
};

// Takes what the target throws, and too long a time, for a failure.
FuzzOutcome look_at(const FuzzTarget& target, const FuzzFile& file);

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_FUZZ_FILES_H_
