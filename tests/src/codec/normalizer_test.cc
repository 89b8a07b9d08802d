// Each step of normalization on its own, with texts written out by hand.
// Called by ctest. Read next: src/codec/normalizer.cc, src/codec/piece_normalizer.cc.
#include "codec/normalizer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace fathom::codec {
namespace {

std::string normalized(const NormalizerPtr& normalizer, std::string text) {
  normalizer->apply(text);
  return text;
}

TEST(Normalizer, Forms) {
  EXPECT_EQ(normalized(make_form_normalizer(NormalForm::kNfc), "e\u0301"), "\u00e9");
  EXPECT_EQ(normalized(make_form_normalizer(NormalForm::kNfd), "\u00e9"), "e\u0301");
  EXPECT_EQ(normalized(make_form_normalizer(NormalForm::kNfkc), "\ufb01\u00b2"), "fi2");
  EXPECT_EQ(normalized(make_form_normalizer(NormalForm::kNfkd), "\u00e9\u2461"), "e\u03012");
}

TEST(Normalizer, Lowercase) {
  EXPECT_EQ(normalized(make_lowercase(), "A\u00c9\u0130\u03a3"), "a\u00e9i\u0307\u03c3");
}

TEST(Normalizer, StripsEnds) {
  EXPECT_EQ(normalized(make_strip(true, true), " \u00a0a b\u3000\n"), "a b");
  EXPECT_EQ(normalized(make_strip(true, false), " a "), "a ");
  EXPECT_EQ(normalized(make_strip(false, true), " a "), " a");
  EXPECT_EQ(normalized(make_strip(true, true), " \t "), "");
}

TEST(Normalizer, StripAccentsDropsMarksOnly) {
  EXPECT_EQ(normalized(make_strip_accents(), "e\u0301\u00e9"), "e\u00e9");
}

TEST(Normalizer, PrependLeavesTheEmptyText) {
  EXPECT_EQ(normalized(make_prepend("_"), "a"), "_a");
  EXPECT_EQ(normalized(make_prepend("_"), ""), "");
}

TEST(Normalizer, Replace) {
  EXPECT_EQ(normalized(make_replace_text("aa", "b"), "aaaaa"), "bba");
  EXPECT_EQ(normalized(make_replace_text("a", "aa"), "aba"), "aabaa");
  EXPECT_EQ(normalized(make_replace_pattern(Pattern(R"(\d+)"), "#"), "a12b3"), "a#b#");
  EXPECT_EQ(normalized(make_replace_pattern(Pattern("x*"), "-"), "axb"), "-a-b-");
  EXPECT_EQ(replace_all("a b", " ", "\u2581"), "a\u2581b");
}

TEST(Normalizer, NmtDropsControlsAndMakesBlanksPlain) {
  EXPECT_EQ(normalized(make_nmt(),
                       "a\x01"
                       "b\tc\u200bd\ufeff"),
            "ab c d ");
}

TEST(Normalizer, ByteLevelSpellsBytes) {
  EXPECT_EQ(normalized(make_byte_level(), " \u00e9\n"), "\u0120\u00c3\u00a9\u010a");
}

TEST(Normalizer, SequencesRunInOrder) {
  std::vector<NormalizerPtr> steps;
  steps.push_back(make_replace_text("a", "b"));
  steps.push_back(make_replace_text("b", "c"));
  EXPECT_EQ(normalized(make_sequence(std::move(steps)), "ab"), "cc");
}

TEST(Normalizer, Bert) {
  EXPECT_EQ(normalized(make_bert_normalizer({}), "\u00c9t\u00c9\x01\u4f60!\t"), "ete \u4f60 ! ");
  EXPECT_EQ(
      normalized(
          make_bert_normalizer(
              {.clean_text = false, .split_cjk = false, .strip_accents = false, .lowercase = true}),
          "\u00c9\u4f60\x01"),
      "\u00e9\u4f60\x01");
}

std::string as_piece(PieceNormalizerOptions options, std::string text) {
  return normalized(make_piece_normalizer(std::move(options)), std::move(text));
}

TEST(PieceNormalizer, PrefixSuffixAndBlanks) {
  EXPECT_EQ(as_piece({}, "a b"), "\u2581a\u2581b");
  EXPECT_EQ(as_piece({}, ""), "");
  EXPECT_EQ(as_piece({.add_dummy_prefix = false}, "a  b"), "a\u2581\u2581b");
  EXPECT_EQ(as_piece({.blank_as_suffix = true}, "a"), "a\u2581");
  EXPECT_EQ(as_piece({.escape_blanks = false}, "a b"), " a b");
}

TEST(PieceNormalizer, JoinsBlanks) {
  EXPECT_EQ(as_piece({.remove_extra_blanks = true}, "  a   b  "), "\u2581a\u2581b");
  EXPECT_EQ(as_piece({.remove_extra_blanks = true}, "   "), "");
}

TEST(PieceNormalizer, ProtectedTextsStay) {
  EXPECT_EQ(as_piece({.protected_texts = {"<x>", "\n\n"}, .add_dummy_prefix = false}, "a <x>\n\n"),
            "a\u2581<x>\n\n");
}

}  // namespace
}  // namespace fathom::codec
