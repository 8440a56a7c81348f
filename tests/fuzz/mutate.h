#ifndef EMULSION_TESTS_FUZZ_MUTATE_H_
#define EMULSION_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/random_numbers.h"

namespace emulsion {

// `text` with some changes: bytes, numbers and words that are others, parts that are left out,
// repeated, taken from one of `others`, nested again and again. The same for the same numbers.
std::string mutate(std::string text, const std::vector<std::string>& others, RandomNumbers* random);

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_MUTATE_H_
