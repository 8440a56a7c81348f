#ifndef EMULSION_DSL_NEAREST_NAME_H_
#define EMULSION_DSL_NEAREST_NAME_H_

// What a refused name was meant to be. An error that lists forty legal names says too much; one
// that says only which was wrong says too little.

#include <cstddef>
#include <string>
#include <vector>

namespace emulsion {

// The fewest insertions, deletions and replacements of one letter that make one word of the other
// (Levenshtein, 1966).
size_t edit_distance(const std::string& from, const std::string& to);
// The one of `legal` at the least distance from `wanted`; the first of several; empty when there is
// none.
std::string nearest_name(const std::string& wanted, const std::vector<std::string>& legal);

// "expected a loop of y (mo, mi or n), got m; nearest: mo". `what`: "a loop of y".
std::string expected_name(const std::string& what, const std::vector<std::string>& legal,
                          const std::string& wanted);

}  // namespace emulsion

#endif  // EMULSION_DSL_NEAREST_NAME_H_
