#ifndef EMULSION_TESTS_FUZZ_FUZZ_FOLDER_H_
#define EMULSION_TESTS_FUZZ_FUZZ_FOLDER_H_

// Guided fuzzing that goes on where it ended: what is kept and what is found lies in a folder. A
// file that ends the process is found as well, so each round runs in a process of its own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_files.h"
#include "tests/fuzz/fuzz_targets.h"

namespace emulsion {

struct FuzzRound {
  std::string summary;             // one line
  std::vector<std::string> found;  // files of FOLDER/found, each with what is wrong
};

// Mutates `corpus`, and what FOLDER/kept has, until `is_over`, which is asked after each file. Must
// be called before this process starts threads.
FuzzRound fuzz_in_folder(const FuzzTarget& target, const std::vector<FuzzFile>& corpus,
                         const std::filesystem::path& folder, uint64_t seed,
                         const std::function<bool()>& is_over);

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_FUZZ_FOLDER_H_
