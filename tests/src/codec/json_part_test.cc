// Values that know their place: each wrong type and each broken text is named with its path.
// Called by ctest. Read next: src/codec/json_part.cc.
#include "codec/json_part.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using fathom::test::expect_error;

JsonPart parse(std::string_view text) {
  return JsonPart::parse(text, "t.json");
}

TEST(JsonPart, ReadsEveryType) {
  const JsonPart part =
      parse(R"({"t":"\u00e9\ud83d\ude00","n":-1.5,"b":true,"l":[1,[]],"z":null})");
  EXPECT_EQ(part.get_text("t"), "\u00e9\U0001F600");
  EXPECT_EQ(part.get("n").number(), -1.5);
  EXPECT_TRUE(part.get("b").flag());
  EXPECT_EQ(part.get("l").items()[0].count(1), 1);
  EXPECT_EQ(part.find("z"), nullptr);  // null counts as missing
  EXPECT_EQ(part.find("none"), nullptr);
  EXPECT_EQ(part.find_text("z"), std::nullopt);
  EXPECT_TRUE(part.flag_or("b", false));
  EXPECT_TRUE(part.flag_or("none", true));
  EXPECT_EQ(part.fields().size(), 5u);
  EXPECT_EQ(part.fields()[0].first, "t");
  EXPECT_TRUE(parse("null").is_null());
}

TEST(JsonPart, NamesThePathOfAWrongType) {
  const JsonPart part = parse(R"({"a":[{"b":"x"}]})");
  const JsonPart& b = part.get("a").items()[0].get("b");
  EXPECT_EQ(b.where(), "t.json.a.0.b");
  expect_error([&] { static_cast<void>(b.number()); }, ErrorCode::kCorruptFile,
               {"t.json.a.0.b: found a text, expected a number"});
  expect_error([&] { static_cast<void>(b.flag()); }, ErrorCode::kCorruptFile, {"true or false"});
  expect_error([&] { static_cast<void>(b.items()); }, ErrorCode::kCorruptFile, {"a list"});
  expect_error([&] { static_cast<void>(b.fields()); }, ErrorCode::kCorruptFile, {"an object"});
  expect_error([&] { static_cast<void>(part.text()); }, ErrorCode::kCorruptFile,
               {"found an object, expected a text"});
  expect_error([&] { static_cast<void>(part.get("c")); }, ErrorCode::kCorruptFile,
               {"key 'c' is missing"});
  expect_error([&] { b.refuse_kind("no"); }, ErrorCode::kUnsupported, {"t.json.a.0.b: no"});
}

TEST(JsonPart, CountsAreWholeAndInRange) {
  for (const char* text : {"-1", "11", "1.5", "1e300"}) {
    expect_error([&] { static_cast<void>(parse(text).count(10)); }, ErrorCode::kCorruptFile,
                 {"expected a whole number from 0 to 10"});
  }
  EXPECT_EQ(parse("10").count(10), 10);
  EXPECT_EQ(parse("1e1").count(10), 10);
}

TEST(JsonPart, RefusesBrokenText) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "\"\\ud800\"", "\"\\udc00x\"", "\"\xFF\"",
                           "nul", "1 2", "\"a\nb\"", "NaN"}) {
    expect_error([&] { parse(text); }, ErrorCode::kCorruptFile, {"t.json: JSON is broken"});
  }
}

TEST(JsonPart, RefusesDeepText) {
  EXPECT_NO_THROW(parse(std::string(64, '[') + std::string(64, ']')));
  expect_error([&] { parse(std::string(1'000'000, '[')); }, ErrorCode::kCorruptFile,
               {"more than 64 levels"});
}

}  // namespace
}  // namespace fathom::codec
