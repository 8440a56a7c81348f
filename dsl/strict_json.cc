#include "dsl/strict_json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "dsl/error.h"

namespace emulsion {
namespace {

using Json = nlohmann::ordered_json;

// What nlohmann says of a text that is not UTF-8 quotes the bytes that are not: as "\xff" here, so
// that the message itself is text.
std::string with_bytes_named(const std::string& message) {
  std::string result;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x80 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return result;
}

}  // namespace

nlohmann::ordered_json parse_strict_json(const std::string& text) {
  std::vector<std::set<std::string>> open;  // the fields so far, of each object around
  auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      fail("expected each field once, got \"{}\" twice", value.get<std::string>());
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    std::string what = error.what();
    if (what.find("ill-formed UTF-8") != std::string::npos) what = with_bytes_named(what);
    const size_t message = what.find("] ");
    fail("{}", message == std::string::npos ? what : what.substr(message + 2));
  }
}

bool is_int64(const nlohmann::ordered_json& value) {
  const bool is_too_large = value.is_number_unsigned() &&
                            value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  return value.is_number_integer() && !is_too_large;
}

std::string json_kind_of(const nlohmann::ordered_json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
      return "an integer";
    case Json::value_t::number_unsigned:
      return is_int64(value) ? "an integer" : value.dump();
    case Json::value_t::number_float:
      return std::abs(value.get<double>()) < 0x1p63 ? "a number with a fraction" : value.dump();
    default:
      return "something else";
  }
}

}  // namespace emulsion
