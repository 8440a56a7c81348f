#ifndef EMULSION_TESTS_FUZZ_GUIDED_FUZZ_H_
#define EMULSION_TESTS_FUZZ_GUIDED_FUZZ_H_

// Mutated files, guided: one that made a comparison come out as it never did is kept, and mutated
// in turn. So what takes five lucky changes is found by one at a time. Only code that was compiled
// with -fsanitize-coverage=trace-cmp guides (comparisons.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_files.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/random/random_numbers.h"

namespace emulsion {

class GuidedFuzz {
 public:
  GuidedFuzz(FuzzTarget target, uint64_t seed);

  // A mutation of one that is kept. At least one is.
  FuzzFile next();
  // Keeps it when it went somewhere new; the first one anyhow.
  FuzzOutcome look(const FuzzFile& file);

  const std::vector<FuzzFile>& kept() const { return kept_; }
  size_t outcomes() const { return outcomes_; }  // that comparisons had, over all files

 private:
  FuzzTarget target_;
  RandomNumbers random_;
  std::vector<FuzzFile> kept_;
  std::vector<std::string> texts_;  // of kept_
  std::vector<bool> is_seen_;
  size_t outcomes_ = 0;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_GUIDED_FUZZ_H_
