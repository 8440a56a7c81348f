#include "dsl/text_hash.h"

#include <fmt/format.h>

#include <cstdint>

namespace emulsion {

std::string text_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace emulsion
