#include "dsl/nearest_name.h"

#include <algorithm>

#include "dsl/text_lexer.h"

namespace emulsion {

size_t edit_distance(const std::string& from, const std::string& to) {
  // From the letters of `from` so far to each start of `to`.
  std::vector<size_t> row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_name(const std::string& wanted, const std::vector<std::string>& legal) {
  auto closer = [&](const std::string& a, const std::string& b) {
    return edit_distance(wanted, a) < edit_distance(wanted, b);
  };
  auto best = std::min_element(legal.begin(), legal.end(), closer);
  return best == legal.end() ? "" : *best;
}

std::string expected_name(const std::string& what, const std::vector<std::string>& legal,
                          const std::string& wanted) {
  std::string text = "expected " + what + " (" + list_names(legal) + "), got " + wanted;
  return legal.empty() ? text + "; legal: none"
                       : text + "; nearest: " + nearest_name(wanted, legal);
}

}  // namespace emulsion
