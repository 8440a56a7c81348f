#ifndef EMULSION_DSL_STRICT_JSON_H_
#define EMULSION_DSL_STRICT_JSON_H_

// JSON as files of ours are read.

#include <nlohmann/json.hpp>
#include <string>

namespace emulsion {

// The value that a text holds; fields keep their order. Error: what is no JSON, two fields of one
// name, of which nlohmann keeps the last, and an integer that int64_t does not hold.
nlohmann::ordered_json parse_strict_json(const std::string& text);

// "an object", "a number with a fraction": for messages.
std::string json_kind_of(const nlohmann::ordered_json& value);

}  // namespace emulsion

#endif  // EMULSION_DSL_STRICT_JSON_H_
