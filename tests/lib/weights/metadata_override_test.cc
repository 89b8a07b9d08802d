// Tests of weights/metadata_override: values by the type of the key, new keys, texts that do not
// fit.
#include "weights/metadata_override.h"

#include <gtest/gtest.h>

#include "support/error_check.h"
#include "weights/json.h"

namespace fathom::weights {

namespace {

using test::expect_error;

Metadata config() {
  Metadata metadata(Source::kHuggingFace, "config.json");
  flatten_json(R"({"layers": 4, "eps": 1e-5, "tied": false, "kind": "llama", "window": null,
                   "rope": {"type": "yarn", "factor": 2.0}, "ids": [1, 2], "scales": [0.5],
                   "names": ["a"], "flags": [true]})",
               "config.json", "", metadata);
  metadata.set("big", uint64_t{1} << 63);
  return metadata;
}

// The value of the key that the override names.
MetadataValue after(std::string_view text, Metadata metadata = config()) {
  apply_override(metadata, text);
  return metadata.entries().find(text.substr(0, text.find('=')))->second;
}

void expect_refused(std::string_view text, std::initializer_list<std::string_view> parts,
                    const Metadata& before = config()) {
  Metadata metadata = before;
  expect_error([&] { apply_override(metadata, text); }, ErrorCode::kInvalidArgument, parts);
  EXPECT_EQ(metadata.entries(), before.entries()) << "nothing has changed";
}

TEST(MetadataOverride, ValuesByTheTypeOfTheKey) {
  EXPECT_EQ(after("layers=12"), MetadataValue(int64_t{12}));
  EXPECT_EQ(after("layers=-1"), MetadataValue(int64_t{-1}));
  EXPECT_EQ(after("eps=2"), MetadataValue(2.0));
  EXPECT_EQ(after("eps=1e-6"), MetadataValue(1e-6));
  EXPECT_EQ(after("tied=true"), MetadataValue(true));
  EXPECT_EQ(after("kind=gemma"), MetadataValue(std::string("gemma")));
  EXPECT_EQ(after("kind="), MetadataValue(std::string()));
  EXPECT_EQ(after("kind=12"), MetadataValue(std::string("12")));
  EXPECT_EQ(after("kind=a=b"), MetadataValue(std::string("a=b")));
  EXPECT_EQ(after("big=18446744073709551615"), MetadataValue(~uint64_t{0}));
  EXPECT_EQ(after("rope.factor=4"), MetadataValue(4.0));
  EXPECT_EQ(after("ids=[3]"), MetadataValue(std::vector<int64_t>{3}));
  EXPECT_EQ(after("ids=[]"), MetadataValue(std::vector<int64_t>{}));
  EXPECT_EQ(after("scales=[1, 2.5]"), MetadataValue(std::vector<double>{1, 2.5}));
  EXPECT_EQ(after("scales=[1]"), MetadataValue(std::vector<double>{1}));
  EXPECT_EQ(after(R"(names=["x", "y"])"), MetadataValue(std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(after("names=[]"), MetadataValue(std::vector<std::string>{}));
  EXPECT_EQ(after("flags=[false]"), MetadataValue(std::vector<bool>{false}));
}

TEST(MetadataOverride, JsonKnowsOneKindOfNumber) {
  EXPECT_EQ(after("layers=2.5"), MetadataValue(2.5));
  Metadata gguf(Source::kGguf, "m.gguf");
  gguf.set("layers", int64_t{4});
  EXPECT_EQ(after("layers=5", gguf), MetadataValue(int64_t{5}));
  expect_refused("layers=2.5", {"'layers': found \"2.5\", expected an integer"}, gguf);
}

TEST(MetadataOverride, NewKeysAndNullsTakeJson) {
  EXPECT_EQ(after("new=3"), MetadataValue(int64_t{3}));
  EXPECT_EQ(after("new=3.0"), MetadataValue(3.0));
  EXPECT_EQ(after("window=true"), MetadataValue(true));
  EXPECT_EQ(after(R"(window="wide")"), MetadataValue(std::string("wide")));
  EXPECT_EQ(after("rope.new=[1, 2]"), MetadataValue(std::vector<int64_t>{1, 2}));
}

TEST(MetadataOverride, NullTakesAKeyAway) {
  EXPECT_EQ(after("layers=null"), MetadataValue(std::monostate{}));
  EXPECT_EQ(after("kind=null"), MetadataValue(std::monostate{}));
  Metadata metadata = config();
  apply_override(metadata, "rope=null");
  EXPECT_FALSE(metadata.contains("rope.factor"));
  EXPECT_EQ(metadata.find_double("rope.factor"), std::nullopt);
  EXPECT_TRUE(metadata.contains("layers"));
}

TEST(MetadataOverride, TextsThatDoNotFitAreNamed) {
  expect_refused("layers=abc", {"'layers': found \"abc\", expected a number"});
  expect_refused("layers=", {"'layers': found \"\", expected a number"});
  expect_refused("layers=12x", {"found \"12x\""});
  expect_refused("layers= 12", {"found \" 12\""});
  expect_refused("eps=tiny", {"'eps': found \"tiny\", expected a number"});
  expect_refused("tied=yes", {"'tied': found \"yes\", expected true or false"});
  expect_refused("tied=1", {"expected true or false"});
  expect_refused("big=-1", {"'big': found \"-1\", expected an unsigned integer"});
  expect_refused("ids=3", {"'ids': found \"3\", expected a JSON array of integers"});
  expect_refused("ids=[1.5]", {"array of integers"});
  expect_refused("ids=[1,", {"array of integers"});
  expect_refused("names=[1]", {"array of strings"});
  expect_refused("flags=[1]", {"array of bools"});
  expect_refused("scales=[\"a\"]", {"array of numbers"});
  expect_refused("new=text", {"'new': found \"text\"", "JSON", "quotes"});
  expect_refused("new={\"a\": 1}", {"'new': found", "JSON scalar"});
  expect_refused("new=[1, \"a\"]", {"'new': found"});
  expect_refused("new=1,\"w\":2", {"'new': found"});
  expect_refused("new=1}", {"'new': found"});
  expect_refused("rope=1", {"'rope': found \"1\"", "rope.factor=..."});
}

TEST(MetadataOverride, TheFormIsKeyAndValue) {
  expect_refused("layers", {"override: found \"layers\", expected KEY=VALUE"});
  expect_refused("=3", {"expected KEY=VALUE"});
  expect_refused("", {"expected KEY=VALUE"});
}

TEST(MetadataOverride, LookUpsSeeTheNewValue) {
  Metadata metadata = config();
  apply_override(metadata, "ids=[7, 8, 9]");
  EXPECT_EQ(metadata.find_ints("ids")->size(), 3U);
  EXPECT_EQ(metadata.find_doubles("ids")->size(), 3U);
  apply_override(metadata, "flags=[true, false]");
  EXPECT_EQ(*metadata.find_ints("flags"), (std::vector<int64_t>{1, 0}));
}

}  // namespace

}  // namespace fathom::weights
