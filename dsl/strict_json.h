#ifndef EMULSION_DSL_STRICT_JSON_H_
#define EMULSION_DSL_STRICT_JSON_H_

// JSON as files of ours are read.

#include <nlohmann/json.hpp>
#include <string>

namespace emulsion {

// The value that a text holds; fields keep their order. Error: what is no JSON, and two fields of
// one name, of which nlohmann keeps the last.
nlohmann::ordered_json parse_strict_json(const std::string& text);

// Whether it is a whole number that int64_t holds.
bool is_int64(const nlohmann::ordered_json& value);

// "an object", "a number with a fraction"; a number that is too large for int64_t as it is: for
// messages.
std::string json_kind_of(const nlohmann::ordered_json& value);

}  // namespace emulsion

#endif  // EMULSION_DSL_STRICT_JSON_H_
