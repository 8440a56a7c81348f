#ifndef EMULSION_TESTS_FUZZ_FUZZ_TARGETS_H_
#define EMULSION_TESTS_FUZZ_FUZZ_TARGETS_H_

// What reads files that somebody else wrote. Each target takes any bytes: they are read, or refused
// with an Error. What was read is printed, and has to be read again as the same.

#include <string>
#include <vector>

namespace emulsion {

struct FuzzTarget {
  std::string name;    // "graph": of the target, and of its folder in the corpus
  std::string ending;  // of the files there
  // Whether `bytes` were accepted. `file` is the file of the corpus that they were made of: its
  // name up to the first dot says which graph a schedule is for. Throws when something is wrong.
  bool (*look_at)(const std::string& bytes, const std::string& file);
};

const std::vector<FuzzTarget>& fuzz_targets();

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_FUZZ_TARGETS_H_
