#ifndef EMULSION_TESTS_FUZZ_MUTATE_H_
#define EMULSION_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/random_numbers.h"

namespace emulsion {

// One of `corpus` with some changes: bytes, numbers and words that are others, parts that are left
// out, repeated, taken from another file, nested again and again. The same for the same numbers.
std::string mutate(const std::vector<std::string>& corpus, RandomNumbers* random);

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_MUTATE_H_
