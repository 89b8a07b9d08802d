// JSON by the letter of RFC 8259: what is read, where it lies, and what is refused.
// Called by ctest. Read next: src/codec/json_scanner.cc.
#include "codec/json_scanner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/error_check.h"

namespace fathom::codec {
namespace {

JsonScanner scan(std::string_view text) {
  return {text, "t.json"};
}

TEST(JsonScanner, ReadsEveryType) {
  const std::string text =
      R"( { "t" : "ab" , "n":[-12,1.5e1,0],"b":[true,false],"z":null,"o":{} } )";
  JsonScanner scanner = scan(text);
  std::vector<std::string> keys;
  scanner.read_object([&](std::string_view key) {
    keys.emplace_back(key);
    if (key == "t") {
      EXPECT_EQ(scanner.peek(), JsonScanner::Type::kText);
      const std::string_view value = scanner.read_text();
      EXPECT_EQ(value, "ab");
      EXPECT_EQ(value.data(), text.data() + text.find("ab"));  // where it lies
    } else if (key == "n") {
      size_t n = 0;
      scanner.read_list([&] {
        if (n == 1) {
          EXPECT_EQ(scanner.read_number(), 15.0);
        } else {
          EXPECT_EQ(scanner.read_integer(), n == 0 ? -12 : 0);
        }
        ++n;
      });
      EXPECT_EQ(n, 3u);
    } else if (key == "b") {
      EXPECT_EQ(scanner.read_raw(), "[true,false]");
    } else if (key == "z") {
      EXPECT_TRUE(scanner.skip_null());
    } else {
      EXPECT_FALSE(scanner.skip_null());
      EXPECT_EQ(scanner.peek(), JsonScanner::Type::kObject);
      EXPECT_EQ(scanner.read_raw(), "{}");
    }
  });
  scanner.finish();
  EXPECT_EQ(keys, (std::vector<std::string>{"t", "n", "b", "z", "o"}));
}

TEST(JsonScanner, EscapesBecomeTheirCharacters) {
  JsonScanner scanner =
      scan(R"(["a\"\\\/\b\f\n\r\tz","\u00e9\u4F60\ud83d\ude00","\u0000", "1234567\"890"])");
  const std::vector<std::string> expected = {"a\"\\/\b\f\n\r\tz", "\u00e9\u4f60\U0001F600",
                                             std::string(1, '\0'), "1234567\"890"};
  std::vector<std::string_view> found;
  scanner.read_list([&] { found.push_back(scanner.read_text()); });
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], expected[i]);  // all of them, after the last was read
  }
}

TEST(JsonScanner, NumbersKeepTheirBits) {
  const std::string text = "[9223372036854775807,-9223372036854775808,-0.0,5e-324,0.1]";
  JsonScanner scanner = scan(text);
  std::vector<double> numbers;
  size_t n = 0;
  scanner.read_list([&] {
    if (n < 2) {
      EXPECT_EQ(scanner.read_integer(), n == 0 ? INT64_MAX : INT64_MIN);
    } else {
      numbers.push_back(scanner.read_number());
    }
    ++n;
  });
  EXPECT_EQ(numbers, (std::vector<double>{-0.0, 5e-324, 0.1}));
}

void expect_broken(const std::string& text, std::string_view says) {
  fathom::test::expect_error(
      [&] {
        JsonScanner scanner = scan(text);
        scanner.read_raw();
        scanner.finish();
      },
      ErrorCode::kCorruptFile, {"t.json", "JSON is broken", says});
}

TEST(JsonScanner, RefusesBrokenText) {
  expect_broken("", "found the end of the file, expected a value");
  expect_broken("[1,]", "byte 3: found \"]\", expected a value");
  expect_broken("{\"a\" 1}", "byte 5: found \"1}\", expected ':'");
  expect_broken("{1:2}", "expected a text");
  expect_broken("[1 2]", "expected ','");
  expect_broken("[1", "expected ','");
  // What is shown ends between characters.
  expect_broken("[" + std::string(18, 'x') + "\xE4\xBD\xA0\"", "expected a value");
  expect_broken("[y\"p0\", \"added_token\xDC\x86l7s\"]", "found \"y");
  expect_broken("1 2", "byte 2: found \"2\", expected the end of the file");
  expect_broken("nul", "expected null");
  expect_broken("tru", "expected true or false");
  for (const char* number : {"-", "1.", ".5", "1e", "+1", "1e+"}) {
    expect_broken(number, "expected");
  }
  expect_broken("01", "expected the end of the file");
  expect_broken("\"a", "closing quote");
  expect_broken("\"12345678\n\"", "control characters");
  expect_broken(R"("\x")", "an escape sequence");
  expect_broken(R"("\u12g4")", "four hexadecimal digits");
  expect_broken("\"\\u12", "four hexadecimal digits");
  for (const char* lone :
       {R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\ud800\ud800")"}) {
    expect_broken(lone, "surrogate pair");
  }
  expect_broken("\"\xC3\"", "not valid UTF-8");
  expect_broken(std::string(100'000, '['), "at most 1000 levels");
}

TEST(JsonScanner, RefusesOtherTypes) {
  const auto refused = [](std::string_view text, auto read, std::string_view says) {
    fathom::test::expect_error(
        [&] {
          JsonScanner scanner = scan(text);
          read(scanner);
        },
        ErrorCode::kCorruptFile, {"of another shape", says});
  };
  refused(
      "1.0", [](auto& s) { s.read_integer(); }, "byte 0: found \"1.0\", expected a whole");
  refused(
      "9223372036854775808", [](auto& s) { s.read_integer(); }, "64 bits");
  refused(
      "1e999", [](auto& s) { s.read_number(); }, "a number of 64 bits");
  refused(
      "\"1\"", [](auto& s) { s.read_number(); }, "a number");
  refused(
      "1", [](auto& s) { s.read_text(); }, "a text");
  refused(
      "null", [](auto& s) { s.read_bool(); }, "true or false");
  refused(
      "[]", [](auto& s) { s.read_object([](std::string_view) {}); }, "an object");
  refused(
      "{}", [](auto& s) { s.read_list([] {}); }, "a list");
}

// Random damage: never another answer than that of a strict parser.
TEST(JsonScanner, AgreesWithAStrictParser) {
  const std::string good =
      R"({"a":[1,-2.5e3,"x\u00e9\ud83d\ude00"],"b":{"c":null,"d":[true,false,[]]},"é":"\n"})";
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 3);
      } else {
        text[at] = "{}[]\",:\\u019ade.-+ nul\x01\xC3\xA9"[random() % 25];
      }
      if (text.empty()) {
        break;
      }
    }
    bool is_good = true;
    try {
      JsonScanner scanner = scan(text);
      scanner.read_raw();
      scanner.finish();
    } catch (const Error&) {
      is_good = false;
    }
    ASSERT_EQ(is_good, nlohmann::json::accept(text)) << text;
  }
}

}  // namespace
}  // namespace fathom::codec
