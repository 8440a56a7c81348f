#include "dsl/strict_json.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(json_kind_of(parse_strict_json("99999999999999999999")), "1e+20");
  EXPECT_EQ(json_kind_of(parse_strict_json("9223372036854775808")), "9223372036854775808");
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

TEST(StrictJson, KnowsWhatInt64Holds) {
  for (const char* whole : {"0", "-9223372036854775808", "9223372036854775807"}) {
    EXPECT_TRUE(is_int64(parse_strict_json(whole))) << whole;
  }
  for (const char* other : {"9223372036854775808", "18446744073709551615", "1e3", "0.5", "null"}) {
    EXPECT_FALSE(is_int64(parse_strict_json(other))) << other;
  }
}

TEST(StrictJson, NamesBytesThatAreNoText) {
  expect_refusal([] { parse_strict_json("{\"a\": \"b\xff\xc3\"}"); }, "last read: '\"b\\xff'");
}

}  // namespace
}  // namespace emulsion
