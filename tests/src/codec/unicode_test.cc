// Kinds of characters, looked up one by one where Unicode's tables are known by heart.
// Called by ctest. Read next: src/codec/unicode.cc, tools/make_unicode_tables.py.
#include "codec/unicode.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/unicode_tables.h"

namespace fathom::codec {
namespace {

TEST(CharTable, Categories) {
  const CharTable& table = CharTable::get();
  EXPECT_EQ(table.category('A'), Category::kLu);
  EXPECT_EQ(table.category(0x01C5), Category::kLt);
  EXPECT_EQ(table.category(0x02B0), Category::kLm);
  EXPECT_EQ(table.category(0x4E00), Category::kLo);
  EXPECT_EQ(table.category(0x9FFF), Category::kLo);
  EXPECT_EQ(table.category(0x0301), Category::kMn);
  EXPECT_EQ(table.category(0x0903), Category::kMc);
  EXPECT_EQ(table.category(0x20DD), Category::kMe);
  EXPECT_EQ(table.category(0x0663), Category::kNd);
  EXPECT_EQ(table.category(0x2167), Category::kNl);
  EXPECT_EQ(table.category(0x00BD), Category::kNo);
  EXPECT_EQ(table.category('_'), Category::kPc);
  EXPECT_EQ(table.category(0x00AB), Category::kPi);
  EXPECT_EQ(table.category(0x20AC), Category::kSc);
  EXPECT_EQ(table.category(0x1F600), Category::kSo);
  EXPECT_EQ(table.category(0x2028), Category::kZl);
  EXPECT_EQ(table.category(0xAD), Category::kCf);
  EXPECT_EQ(table.category(0xE000), Category::kCo);
  EXPECT_EQ(table.category(0x0378), Category::kNone);
  EXPECT_EQ(table.category(0x10FFFF), Category::kNone);
  EXPECT_EQ(table.category(0x110000), table.category(0));  // no character: as U+0000
}

TEST(CharTable, Bits) {
  const CharTable& table = CharTable::get();
  EXPECT_EQ(table.bits('a'), kBitLower);
  EXPECT_EQ(table.bits('\n'), kBitSpace | kBitLine);
  EXPECT_EQ(table.bits(0x3000), kBitSpace);
  EXPECT_EQ(table.bits(0x85), kBitSpace);
  EXPECT_EQ(table.bits('+'), kBitSign);
  EXPECT_EQ(table.bits(0x0301), kBitMark);
  for (unsigned char c = 0; c < 128; ++c) {
    EXPECT_EQ(table.ascii_bits(c), table.bits(c)) << int{c};
  }
}

TEST(Unicode, WhiteSpaceIsTheProperty) {
  int n = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    n += is_white_space(c) ? 1 : 0;
  }
  EXPECT_EQ(n, 25);  // PropList.txt: "Total code points: 25"
  EXPECT_FALSE(is_white_space(0x200B));
  EXPECT_FALSE(is_white_space(0x180E));
}

TEST(Unicode, NumbersAndWords) {
  EXPECT_TRUE(is_number('7') && is_number(0x2167) && is_number(0xB2) && !is_number('x'));
  EXPECT_TRUE(is_word_character('_') && is_word_character(0x200D) && is_word_character(0x24B6));
  EXPECT_FALSE(is_word_character('-') || is_word_character(0xB2) || is_word_character(' '));
}

TEST(Unicode, BertKindsComeFromAnOlderUnicode) {
  EXPECT_TRUE(is_punctuation('$') && is_punctuation(0x3002) && !is_punctuation(0x20AC));
  EXPECT_TRUE(is_accent(0x0301) && is_flat_accent(0x0301));
  EXPECT_TRUE(is_accent(0x0903) && !is_flat_accent(0x0903));
  EXPECT_TRUE(is_bert_control(1) && is_bert_control(0x200B) && !is_bert_control('\t'));
  EXPECT_FALSE(is_punctuation(0x2E52));  // newer than Unicode 8
  EXPECT_TRUE(is_cjk(0x4E00) && is_cjk(0x20000) && !is_cjk(0x3042));
}

TEST(Unicode, RunsAscendAndBeginAtZero) {
  for (const auto runs : {category_runs(), bert_kind_runs()}) {
    ASSERT_FALSE(runs.empty());
    EXPECT_EQ(runs[0] >> 8, 0u);
    for (size_t i = 1; i < runs.size(); ++i) {
      EXPECT_LT(runs[i - 1] >> 8, runs[i] >> 8);
      EXPECT_NE(runs[i - 1] & 0xFF, runs[i] & 0xFF);  // else they were one run
    }
  }
}

TEST(Unicode, LowerCase) {
  std::string out;
  for (const char32_t c : {U'A', U'\u00c9', U'\u0130', U'\u1e9e', U'1'}) {
    append_lower(out, c);
  }
  EXPECT_EQ(out, "a\u00e9i\u0307\u00df1");
}

TEST(Unicode, StepsOverWhiteSpace) {
  const std::string text = " \u3000a\u00a0";
  EXPECT_EQ(skip_white_space(text, 0), 4u);
  EXPECT_EQ(skip_white_space(text, 5), 7u);
  EXPECT_EQ(skip_white_space_back(text, 0, 7), 5u);
  EXPECT_EQ(skip_white_space_back(text, 0, 4), 0u);
  EXPECT_EQ(skip_white_space_back(text, 1, 4), 1u);
  EXPECT_EQ(character_start(text, 4), 1u);
}

}  // namespace
}  // namespace fathom::codec
