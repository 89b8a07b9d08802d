// Tests of weights/json: what becomes of each JSON value, and errors that say where.
#include "weights/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/error_check.h"

namespace fathom::weights {

namespace {

using test::expect_error;

Metadata flatten(std::string_view text, std::string_view prefix = "") {
  Metadata metadata(Source::kHuggingFace, "config.json");
  flatten_json(text, "config.json", prefix, metadata);
  return metadata;
}

void expect_corrupt(std::string_view text, std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)flatten(text); }, ErrorCode::kCorruptFile, parts);
}

TEST(Json, KeepsTheKindOfEachScalar) {
  const Metadata m = flatten(R"({"i": -3, "d": 1e-05, "whole": 2.0, "u": 18446744073709551615,
      "b": true, "s": "\u00e9\n", "n": null})");
  EXPECT_EQ(m.entries().at("i"), MetadataValue(int64_t{-3}));
  EXPECT_EQ(m.entries().at("d"), MetadataValue(1e-05));
  EXPECT_EQ(m.entries().at("whole"), MetadataValue(2.0));
  EXPECT_EQ(m.entries().at("u"), MetadataValue(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(m.entries().at("b"), MetadataValue(true));
  EXPECT_EQ(m.entries().at("s"), MetadataValue(std::string("\xc3\xa9\n")));
  EXPECT_EQ(m.entries().at("n"), MetadataValue(std::monostate{}));
}

TEST(Json, NestedObjectsJoinTheirKeysWithDots) {
  const Metadata m = flatten(R"({"a": {"b": {"c": 1}, "d": {}}, "e": 2})", "p.");
  EXPECT_EQ(m.entries().size(), 2U);
  EXPECT_EQ(m.get_int("p.a.b.c"), 1);
  EXPECT_EQ(m.get_int("p.e"), 2);
}

TEST(Json, ArraysOfOneKindStayArrays) {
  const Metadata m = flatten(R"({"i": [1, 2], "d": [1, 2.5], "b": [true, false], "s": ["x", "y"],
      "none": []})");
  EXPECT_EQ(*m.find_ints("i"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*m.find_doubles("i"), (std::vector<double>{1, 2}));
  EXPECT_EQ(*m.find_doubles("d"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(*m.find_ints("b"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(*m.find_strings("s"), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(m.find_strings("none")->empty());
}

TEST(Json, OtherArraysAreNumbered) {
  const Metadata m = flatten(R"({"a": [1, "x", null], "o": [{"k": 1}, {"k": 2}], "n": [[1], [2]],
      "m": [7, [8]]})");
  EXPECT_EQ(m.get_int("a.0"), 1);
  EXPECT_EQ(m.get_string("a.1"), "x");
  EXPECT_TRUE(m.contains("a.2"));
  EXPECT_EQ(m.find_int("a.2"), std::nullopt);
  EXPECT_EQ(m.get_int("o.1.k"), 2);
  EXPECT_EQ(*m.find_ints("n.1"), (std::vector<int64_t>{2}));
  EXPECT_EQ(m.get_int("m.0"), 7);
  EXPECT_EQ(*m.find_ints("m.1"), (std::vector<int64_t>{8}));
}

TEST(Json, NonFiniteNumbersAsPythonWritesThem) {
  const Metadata m = flatten(R"({"a": Infinity, "b": -Infinity, "c": NaN, "d": [0.0, Infinity],
      "e": 1})");
  EXPECT_EQ(m.get_double("a"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(m.get_double("b"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(m.get_double("c")));
  EXPECT_TRUE(std::isinf(m.find_doubles("d")->back()));
  EXPECT_EQ(m.get_int("e"), 1);
}

TEST(Json, ObjectsAndMixedListsAreKnownAsSuch) {
  const Metadata m =
      flatten(R"({"o": {"k": 1}, "empty": {}, "m": [1, "x"], "l": [[1]], "i": [1]})", "p.");
  EXPECT_EQ(m.find_container("p.o"), Container::kObject);
  EXPECT_EQ(m.find_container("p.empty"), Container::kObject);
  EXPECT_EQ(m.find_container("p.m"), Container::kList);
  EXPECT_EQ(m.find_container("p.l"), Container::kList);
  EXPECT_EQ(m.find_container("p.i"), std::nullopt);
  EXPECT_EQ(m.find_container("p.o.k"), std::nullopt);
}

TEST(Json, BrokenTextsNameTheKey) {
  expect_corrupt(R"({"a": 1, "b": tru})", {"at or behind key \"b\""});
  expect_corrupt(R"({"a": 1 "b": 2})", {"at or behind key \"a\""});
  expect_corrupt(R"({"a": {"b": {"c": 01}}})", {"at or behind key \"a.b.c\""});
  expect_corrupt(R"({"a": [1, {"b": xyz}]})", {"at or behind key \"a.1.b\""});
  expect_corrupt(R"({"a": [1, 2.5.6]})", {"at or behind key \"a.1\""});
}

TEST(Json, BrokenTextsNameFileAndByte) {
  for (const char* text :
       {"", " ", "[1]", "3", "{\"a\": }", "{\"a\" 1}", "{\"a\": 1", "{\"a\": nul}", "{\"a\": xyz}",
        "{\"a\": 1} {}", "{\"a\": [1, 2}", "{\"a\": \"\xff\"}", "{\"a\": \"\\q\"}", "{\"a\": 01}",
        "{\"a\": 1e999}", "{\"a\": \"x}"}) {
    SCOPED_TRACE(text);
    expect_corrupt(text, {"config.json: byte ", "found ", "allowed "});
  }
}

TEST(Json, KeysStandOnce) {
  expect_corrupt(R"({"a": 1, "a": 2})", {"config.json: byte ", "key \"a\" a second time"});
  expect_corrupt(R"({"a.b": 1, "a": {"b": 2}})", {"key \"a.b\" a second time"});
  expect_corrupt(R"({"a": {"b": 1}, "a": {"c": 2}})", {"key \"a\" a second time"});
  expect_corrupt(R"({"a": 1, "a": {}})", {"key \"a\" a second time"});
  expect_corrupt(R"({"a": [1, "x"], "a": 1})", {"key \"a\" a second time"});
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) {
      text += "{\"a\":";
    }
    return text + "1" + std::string(static_cast<size_t>(depth), '}');
  };
  EXPECT_NO_THROW((void)flatten(nested(16)));
  expect_corrupt(nested(17), {"nested deeper", "16 levels"});
  expect_corrupt(nested(100'000), {"config.json: byte "});
  expect_corrupt("{\"a\":" + std::string(100'000, '['), {"config.json: byte "});
}

TEST(Json, RandomByteFlipsNeverCrash) {
  const std::string whole =
      R"({"a": [1, 2.5, -3e4], "b": {"c": "text \u00e9", "d": [true, {"e": null}]}, "f": 12})";
  constexpr std::string_view kLetters = "{}[]:,\"\\0159.-+eEtfnu \x01\xc3I";
  std::mt19937 random(3);
  int n_refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (uint32_t n = 0; n <= random() % 3; ++n) {
      text[random() % text.size()] = kLetters[random() % kLetters.size()];
    }
    try {
      (void)flatten(text);
    } catch (const Error& error) {
      ++n_refused;
      ASSERT_EQ(name_of(error.code()), name_of(ErrorCode::kCorruptFile)) << error.what();
    }
  }
  EXPECT_GT(n_refused, 1000);
}

TEST(Json, SafetensorsHeaderFields) {
  const auto entries = parse_safetensors_header(
      R"({"__metadata__": {"format": "pt"}, "a.b": {"shape": [2, 3], "dtype": "F32",
          "data_offsets": [0, 24]}, "s": {"dtype": "I64", "shape": [], "data_offsets": [24, 32]}})",
      "m.safetensors");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "a.b");
  EXPECT_EQ(entries[0].dtype, "F32");
  EXPECT_EQ(entries[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(entries[0].begin, 0U);
  EXPECT_EQ(entries[0].end, 24U);
  EXPECT_TRUE(entries[1].shape.empty());
  EXPECT_GT(entries[1].text_offset, entries[0].text_offset);
}

TEST(Json, SafetensorsHeaderErrorsNameTheTensor) {
  const auto expect = [](std::string_view text, std::initializer_list<std::string_view> parts) {
    SCOPED_TRACE(std::string(text));
    expect_error([&] { (void)parse_safetensors_header(text, "m.safetensors"); },
                 ErrorCode::kCorruptFile, parts);
  };
  expect(R"({"w": {"dtype": "F32", "shape": [1]}})", {"tensor \"w\"", "a field missing"});
  expect(R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", {"[begin, end]"});
  expect(R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1, 2]}})", {"[begin, end]"});
  expect(R"({"w": {"dtype": "F32", "dtype": "F16"}})", {"dtype a second time"});
  expect(R"({"w": {"type": "F32"}})", {"field \"type\"", "dtype, shape and data_offsets"});
  expect(R"({"w": {"dtype": "F32", "shape": [1,1,1,1,1,1,1,1,1]}})", {"at most 8"});
  expect(R"({"w": {"dtype": 3}})", {"m.safetensors: byte ", "key \"w\"", "dtype (a text)"});
  expect(R"({"w": {"dtype": "F32", "shape": [1.5]}})", {"m.safetensors: byte "});
  expect(R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}})", {"byte "});
  expect(R"({"w": 3})", {"m.safetensors: byte "});
}

TEST(Json, WeightMap) {
  const auto map = parse_weight_map(
      R"({"metadata": {"total_size": 8}, "weight_map": {"a": "1.st", "b": "2.st"}})", "i.json");
  EXPECT_EQ(map, (std::map<std::string, std::string>{{"a", "1.st"}, {"b", "2.st"}}));
  expect_error([] { (void)parse_weight_map(R"({"x": 1})", "i.json"); }, ErrorCode::kCorruptFile,
               {"i.json", "weight_map"});
  expect_error([] { (void)parse_weight_map(R"({"weight_map": {"a": "1", "a": "2"}})", "i.json"); },
               ErrorCode::kCorruptFile, {"tensor \"a\" a second time"});
  expect_error([] { (void)parse_weight_map(R"({"weight_map": {}, "weight_map": {}})", "i.json"); },
               ErrorCode::kCorruptFile, {"\"weight_map\" a second time"});
  expect_error([] { (void)parse_weight_map(R"({"weight_map": {"a": 1}})", "i.json"); },
               ErrorCode::kCorruptFile,
               {"i.json: byte ", "key \"weight_map.a\"", "allowed the name of a file"});
  expect_error([] { (void)parse_weight_map(R"({"weight_map": 3})", "i.json"); },
               ErrorCode::kCorruptFile, {"key \"weight_map\"", "from tensor name to file name"});
}

TEST(Json, NumberMap) {
  const auto read = [](std::string_view text) { return parse_number_map(text, "a.json", "ranks"); };
  EXPECT_EQ(read(R"({"x": [], "ranks": {"b": 2, "a": 1.5}})"),
            (std::vector<std::pair<std::string, double>>{{"b", 2}, {"a", 1.5}}));
  EXPECT_TRUE(read(R"({"ranks": null})").empty());
  expect_error([&] { read(R"({"ranks": {"b": "2"}})"); }, ErrorCode::kCorruptFile,
               {"a.json: byte ", "key \"ranks.b\"", "allowed a number"});
  expect_error([&] { read(R"({"ranks": 7})"); }, ErrorCode::kCorruptFile,
               {"key \"ranks\"", "null, or an object of numbers"});
}

}  // namespace

}  // namespace fathom::weights
