#ifndef EMULSION_TESTS_RANDOM_TEST_ENVIRONMENT_H_
#define EMULSION_TESTS_RANDOM_TEST_ENVIRONMENT_H_

// What the caller asks of a run with --test_env=EMULSION_SEED=7 and the like.

#include <cstdint>
#include <cstdlib>

namespace emulsion {

// The number that an environment variable holds; `otherwise` when it is not there, or empty.
inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_TEST_ENVIRONMENT_H_
