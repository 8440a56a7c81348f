#include "dsl/strict_json.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

TEST(StrictJson, KeepsTheOrderOfFields) {
  EXPECT_EQ(parse_strict_json(R"({"b": 1, "a": {"b": [true]}})").dump(),
            R"({"b":1,"a":{"b":[true]}})");
}

TEST(StrictJson, NamesKinds) {
  EXPECT_EQ(json_kind_of(parse_strict_json("[]")), "an array");
  EXPECT_EQ(json_kind_of(parse_strict_json("1")), "an integer");
  EXPECT_EQ(json_kind_of(parse_strict_json("1.5")), "a number with a fraction");
  EXPECT_EQ(json_kind_of(parse_strict_json("99999999999999999999")), "a number of 2^63 or more");
  EXPECT_EQ(json_kind_of(parse_strict_json("null")), "null");
}

TEST(StrictJson, RefusesAFieldTwice) {
  expect_refusal([] { parse_strict_json(R"({"a": 1, "a": 2})"); },
                 "expected each field once, got \"a\" twice");
}

TEST(StrictJson, RefusesWhatIsNoJson) {
  expect_refusal([] { parse_strict_json("{"); }, "parse error");
  expect_refusal([] { parse_strict_json(""); }, "parse error");
}

TEST(StrictJson, RefusesIntegersThatAreTooLarge) {
  EXPECT_EQ(parse_strict_json("[9223372036854775807]").at(0).get<int64_t>(), INT64_MAX);
  expect_refusal([] { parse_strict_json("[9223372036854775808]"); },
                 "expected an integer below 2^63, got 9223372036854775808");
  expect_refusal([] { parse_strict_json(R"({"a": 18446744073709551615})"); },
                 "expected an integer below 2^63, got 18446744073709551615");
}

TEST(StrictJson, NamesBytesThatAreNoText) {
  expect_refusal([] { parse_strict_json("{\"a\": \"b\xff\xc3\"}"); }, "last read: '\"b\\xff'");
}

}  // namespace
}  // namespace emulsion
