#ifndef EMULSION_DSL_SPLIT_TEXT_H_
#define EMULSION_DSL_SPLIT_TEXT_H_

// One line of a stranger's text, in parts: a target, a tile machine.

#include <string>
#include <vector>

namespace emulsion {

// What is between the separators: one part more than there are of them.
std::vector<std::string> split_text(const std::string& text, char separator);

// A word for a message: cut, so that a hostile text neither floods it nor takes long to compare.
std::string shown(const std::string& word);

}  // namespace emulsion

#endif  // EMULSION_DSL_SPLIT_TEXT_H_
