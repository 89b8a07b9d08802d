// Steps that cut: what becomes of delimiters, blanks, bytes and scripts.
// Called by ctest. Read next: src/codec/pre_tokenizer.cc, src/codec/split_stage.cc.
#include "codec/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "codec/unicode.h"

namespace fathom::codec {
namespace {

using Texts = std::vector<std::string>;

template <class... Step>
Texts split(std::string_view text, bool at_start, Step... step) {
  std::vector<PreTokenizerStepPtr> steps;
  (steps.push_back(std::move(step)), ...);
  Words words;
  PreTokenizer(std::move(steps)).split(text, at_start, words);
  return {words.list.begin(), words.list.end()};
}

PreTokenizerStepPtr split_at_commas(SplitBehavior behavior, bool invert = false) {
  return make_split_step(SplitStage(","), behavior, invert);
}

TEST(PreTokenizer, WithoutStepsATextIsOneWord) {
  EXPECT_EQ(split("a b", true), Texts{"a b"});
  EXPECT_EQ(split("", true), Texts{});
}

TEST(PreTokenizer, DelimitersByBehavior) {
  const std::string text = ",a,,b";
  EXPECT_EQ(split(text, true, split_at_commas(SplitBehavior::kIsolated)),
            (Texts{",", "a", ",", ",", "b"}));
  EXPECT_EQ(split(text, true, split_at_commas(SplitBehavior::kRemoved)), (Texts{"a", "b"}));
  EXPECT_EQ(split(text, true, split_at_commas(SplitBehavior::kMergedWithPrevious)),
            (Texts{",", "a,", ",", "b"}));
  EXPECT_EQ(split(text, true, split_at_commas(SplitBehavior::kMergedWithNext)),
            (Texts{",a", ",", ",b"}));
  EXPECT_EQ(split(text, true, split_at_commas(SplitBehavior::kContiguous)),
            (Texts{",", "a", ",,", "b"}));
  EXPECT_EQ(split(text, true, split_at_commas(SplitBehavior::kRemoved, true)),
            (Texts{",", ",", ","}));
}

TEST(PreTokenizer, StepsCutTheWordsOfTheStepBefore) {
  EXPECT_EQ(
      split("a,b c", true, make_delimiter_step(' '), split_at_commas(SplitBehavior::kIsolated)),
      (Texts{"a", ",", "b", "c"}));
}

TEST(PreTokenizer, CharactersByKind) {
  EXPECT_EQ(split("a\u3000b!", true, make_character_step(is_white_space, SplitBehavior::kRemoved),
                  make_character_step(is_punctuation, SplitBehavior::kIsolated)),
            (Texts{"a", "b", "!"}));
}

TEST(PreTokenizer, FixedLengthsCountCharacters) {
  EXPECT_EQ(split("\u00e9\u00e9\u00e9\u00e9", true, make_fixed_length_step(3)),
            (Texts{"\u00e9\u00e9\u00e9", "\u00e9"}));
}

TEST(PreTokenizer, ScriptsPart) {
  EXPECT_EQ(split("ab \u4f60\u304b\u0436", true, make_script_step()),
            (Texts{"ab ", "\u4f60\u304b", "\u0436"}));
}

TEST(PreTokenizer, ByteLevelSpellsAndPrefixes) {
  EXPECT_EQ(split("a b", true, make_byte_level_step({})), (Texts{"a", "\u0120b"}));
  EXPECT_EQ(split("a b", true, make_byte_level_step({.add_prefix_space = true})),
            (Texts{"\u0120a", "\u0120b"}));
  EXPECT_EQ(split("a b", true, make_byte_level_step({.use_regex = false})), Texts{"a\u0120b"});
  EXPECT_EQ(split("\u00e9", true, make_byte_level_step({.respell = false})), Texts{"\u00e9"});
}

TEST(PreTokenizer, MetaspacePrependsByScheme) {
  const auto step = [](PrependScheme scheme, bool cuts) {
    return make_metaspace_step("_", scheme, cuts);
  };
  EXPECT_EQ(split("a b", true, step(PrependScheme::kAlways, true)), (Texts{"_a", "_b"}));
  EXPECT_EQ(split("a b", true, step(PrependScheme::kNever, true)), (Texts{"a", "_b"}));
  EXPECT_EQ(split("a b", true, step(PrependScheme::kFirst, false)), Texts{"_a_b"});
  EXPECT_EQ(split("a b", false, step(PrependScheme::kFirst, false)), Texts{"a_b"});
  EXPECT_EQ(split(" a", true, step(PrependScheme::kAlways, true)), Texts{"_a"});
}

}  // namespace
}  // namespace fathom::codec
