#ifndef EMULSION_DSL_TEXT_HASH_H_
#define EMULSION_DSL_TEXT_HASH_H_

// Tells texts and files apart: equal bytes have one hash on every machine. Nobody is kept from
// finding two texts of one hash.

#include <string>
#include <string_view>

namespace emulsion {

// 16 hexadecimal digits: FNV-1a of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/).
std::string text_hash(std::string_view text);

}  // namespace emulsion

#endif  // EMULSION_DSL_TEXT_HASH_H_
