// Tests of weights/metadata: conversions that are allowed, and errors that name key and types.
#include "weights/metadata.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "support/error_check.h"

namespace fathom::weights {

namespace {

using test::expect_error;

class MetadataTest : public testing::Test {
 protected:
  Metadata gguf_{Source::kGguf, "m.gguf"};
  Metadata json_{Source::kHuggingFace, "config.json"};
};

TEST_F(MetadataTest, NumbersConvertOnlyWithoutLoss) {
  gguf_.set("i", int64_t{-7});
  gguf_.set("u", uint64_t{7});
  gguf_.set("big", std::numeric_limits<uint64_t>::max());
  gguf_.set("d", 2.5);
  gguf_.set("whole", 4096.0);
  gguf_.set("huge", 1e300);
  EXPECT_EQ(gguf_.find_int("i"), -7);
  EXPECT_EQ(gguf_.find_int("u"), 7);
  EXPECT_EQ(gguf_.find_int("whole"), 4096);
  EXPECT_EQ(gguf_.find_double("i"), -7.0);
  EXPECT_EQ(gguf_.find_double("u"), 7.0);
  EXPECT_EQ(gguf_.find_double("d"), 2.5);
  expect_error([&] { (void)gguf_.find_int("d"); }, ErrorCode::kCorruptFile,
               {"m.gguf: key 'd'", "found a number (2.5)", "expected an integer"});
  expect_error([&] { (void)gguf_.find_int("big"); }, ErrorCode::kCorruptFile, {"below 2^63"});
  expect_error([&] { (void)gguf_.find_int("huge"); }, ErrorCode::kCorruptFile, {"an integer"});
}

TEST_F(MetadataTest, AbsentAndNullAreNothing) {
  json_.set("null", std::monostate{});
  EXPECT_TRUE(json_.contains("null"));
  EXPECT_FALSE(json_.contains("absent"));
  for (const char* key : {"null", "absent"}) {
    EXPECT_EQ(json_.find_int(key), std::nullopt);
    EXPECT_EQ(json_.find_double(key), std::nullopt);
    EXPECT_EQ(json_.find_bool(key), std::nullopt);
    EXPECT_EQ(json_.find_string(key), std::nullopt);
    EXPECT_EQ(json_.find_strings(key), nullptr);
    EXPECT_EQ(json_.find_ints(key), nullptr);
    EXPECT_EQ(json_.find_doubles(key), nullptr);
  }
}

TEST_F(MetadataTest, GetNamesTheMissingKey) {
  gguf_.set("a", int64_t{1});
  gguf_.set("b", 1.5);
  gguf_.set("c", std::string("text"));
  EXPECT_EQ(gguf_.get_int("a"), 1);
  EXPECT_EQ(gguf_.get_double("b"), 1.5);
  EXPECT_EQ(gguf_.get_string("c"), "text");
  expect_error([&] { (void)gguf_.get_int("x"); }, ErrorCode::kCorruptFile,
               {"m.gguf: key 'x' is missing"});
  expect_error([&] { (void)gguf_.get_double("x"); }, ErrorCode::kCorruptFile, {"'x' is missing"});
  expect_error([&] { (void)gguf_.get_string("x"); }, ErrorCode::kCorruptFile, {"'x' is missing"});
}

TEST_F(MetadataTest, EveryWrongTypeIsAnError) {
  gguf_.set("text", std::string("t"));
  gguf_.set("ints", std::vector<int64_t>{1});
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { (void)gguf_.find_int("text"); }, [&] { (void)gguf_.find_double("text"); },
           [&] { (void)gguf_.find_bool("text"); }, [&] { (void)gguf_.find_strings("text"); },
           [&] { (void)gguf_.find_ints("text"); }, [&] { (void)gguf_.find_doubles("text"); }}) {
    expect_error(call, ErrorCode::kCorruptFile, {"key 'text'", "found a string (\"t\")"});
  }
  expect_error([&] { (void)gguf_.find_string("ints"); }, ErrorCode::kCorruptFile,
               {"found an array of integers ([1])", "expected a string"});
  expect_error([&] { (void)gguf_.find_doubles("ints"); }, ErrorCode::kCorruptFile,
               {"expected an array of numbers"});
}

// An object or a list in place of a value is a wrong type, not a missing key.
TEST_F(MetadataTest, ObjectsAndListsAreNoValues) {
  json_.set_container("theta", Container::kObject);
  json_.set_container("layers", Container::kList);
  EXPECT_EQ(json_.find_container("theta"), Container::kObject);
  EXPECT_EQ(json_.find_container("none"), std::nullopt);
  const std::vector<std::pair<std::function<void(const char*)>, const char*>> reads = {
      {[&](const char* key) { (void)json_.find_int(key); }, "expected an integer"},
      {[&](const char* key) { (void)json_.find_double(key); }, "expected a number"},
      {[&](const char* key) { (void)json_.find_bool(key); }, "expected a bool"},
      {[&](const char* key) { (void)json_.find_string(key); }, "expected a string"},
      {[&](const char* key) { (void)json_.find_strings(key); }, "expected an array of strings"},
      {[&](const char* key) { (void)json_.find_ints(key); }, "expected an array of integers"},
      {[&](const char* key) { (void)json_.find_doubles(key); }, "expected an array of numbers"},
      {[&](const char* key) { (void)json_.get_int(key); }, "expected an integer"}};
  for (const auto& [read, expected] : reads) {
    expect_error([&read = read] { read("theta"); }, ErrorCode::kCorruptFile,
                 {"config.json: key 'theta': found an object, ", expected});
    expect_error([&read = read] { read("layers"); }, ErrorCode::kCorruptFile,
                 {"config.json: key 'layers': found a list of several kinds, ", expected});
  }
  json_.set("theta", 3.0);
  EXPECT_EQ(json_.find_double("theta"), 3.0) << "set() replaces";
  json_.erase("layers");
  EXPECT_EQ(json_.find_int("layers"), std::nullopt);
}

TEST_F(MetadataTest, WhatStandsAboveAKeyIsAnObject) {
  for (const char* above : {"rope", "rope.full"}) {
    json_.set(above, int64_t{7});
    expect_error(
        [&] { (void)json_.find_double("rope.full.factor"); }, ErrorCode::kCorruptFile,
        {"config.json: key '", above, "': found an integer (7), expected an object, with"});
    json_.set(above, std::monostate{});
    EXPECT_EQ(json_.find_double("rope.full.factor"), std::nullopt) << "null is no value";
    json_.erase(above);
  }
  json_.set_container("rope", Container::kList);
  expect_error([&] { (void)json_.find_double("rope.factor"); }, ErrorCode::kCorruptFile,
               {"key 'rope': found a list of several kinds, expected an object, with the key "
                "'factor'"});
  json_.set_container("rope", Container::kObject);
  EXPECT_EQ(json_.find_double("rope.factor"), std::nullopt);
  gguf_.set("llama.rope", int64_t{1});
  EXPECT_EQ(gguf_.find_double("llama.rope.freq_base"), std::nullopt) << "a dot is a letter there";
}

TEST_F(MetadataTest, RemembersWhatWasAskedFor) {
  json_.set("there", int64_t{1});
  (void)json_.find_int("before");
  const auto& read = json_.record_reads();
  (void)json_.find_int("there");
  (void)json_.find_strings("absent");
  (void)json_.contains("asked");
  json_.stop_recording();
  (void)json_.find_int("behind");
  EXPECT_EQ(read, (std::set<std::string, std::less<>>{"absent", "asked", "there"}));
}

TEST_F(MetadataTest, ArraysWidenWhereTheSourceHasNoTypes) {
  json_.set("factors", std::vector<int64_t>{1, 2});
  ASSERT_NE(json_.find_doubles("factors"), nullptr);
  EXPECT_EQ(*json_.find_doubles("factors"), (std::vector<double>{1.0, 2.0}));
  json_.set("empty", std::vector<int64_t>{});
  EXPECT_TRUE(json_.find_strings("empty")->empty());
  EXPECT_TRUE(json_.find_doubles("empty")->empty());
  gguf_.set("none", std::vector<std::string>{});
  EXPECT_TRUE(gguf_.find_ints("none")->empty());
  EXPECT_TRUE(gguf_.find_doubles("none")->empty());
  gguf_.set("flags", std::vector<bool>{true, false, true});
  EXPECT_EQ(*gguf_.find_ints("flags"), (std::vector<int64_t>{1, 0, 1}));
  gguf_.set("flags", std::vector<bool>{false});
  EXPECT_EQ(*gguf_.find_ints("flags"), (std::vector<int64_t>{0})) << "set() replaces";
}

TEST_F(MetadataTest, EraseTakesTheKeysBelowWithIt) {
  for (const char* key : {"rope", "rope.factor", "rope.type.kind", "rope_theta", "a.rope"}) {
    json_.set(key, std::vector<int64_t>{1});
  }
  json_.erase("rope");
  EXPECT_EQ(json_.entries().size(), 2U);
  EXPECT_EQ(json_.find_doubles("rope.factor"), nullptr);
  EXPECT_NE(json_.find_doubles("rope_theta"), nullptr);
  json_.erase("absent");
  EXPECT_TRUE(json_.contains("a.rope"));
}

TEST_F(MetadataTest, FormatsOneLineForPeople) {
  EXPECT_EQ(format_value(std::monostate{}), "null");
  EXPECT_EQ(format_value(true), "true");
  EXPECT_EQ(format_value(int64_t{-3}), "-3");
  EXPECT_EQ(format_value(std::string("a\nb")), "\"a\\nb\"");
  EXPECT_EQ(format_value(std::vector<bool>{true, false}), "[true, false]");
  EXPECT_EQ(format_value(std::vector<double>{0.5, 2}), "[0.5, 2]");
  EXPECT_EQ(format_value(std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}),
            "[1, 2, 3, 4, 5, 6, ... (7 entries)]");
  EXPECT_EQ(format_value(std::vector<std::string>{"x"}), "[\"x\"]");
}

}  // namespace

}  // namespace fathom::weights
