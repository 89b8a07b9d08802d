// Names and bytes of tokens. Read next: api/openai/token_names.h.
#include "api/openai/token_names.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"
#include "weights/model_file.h"

namespace fathom::api::openai {
namespace {

class TokenNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = weights::open_model(test::tiny_chat_gguf().write(folder_.path_of("m.gguf")));
    tokenizer_ = codec::make_tokenizer(file_->metadata);
  }

  test::TempFolder folder_;
  std::unique_ptr<weights::ModelFile> file_;
  std::unique_ptr<codec::Tokenizer> tokenizer_;
};

TEST_F(TokenNamesTest, BytesAreThoseOfTheText) {
  EXPECT_EQ(token_bytes(*tokenizer_, 'A', false), "A");
  EXPECT_EQ(token_bytes(*tokenizer_, 0xF0, true), "\xF0");
  EXPECT_EQ(token_bytes(*tokenizer_, test::kTinyEnd, false), "");
  EXPECT_EQ(token_bytes(*tokenizer_, ' ', true), " ");  // a byte-level vocabulary drops no blank
}

TEST_F(TokenNamesTest, NamesAreValidTexts) {
  EXPECT_EQ(token_name(*tokenizer_, 'A', "A"), "A");
  EXPECT_EQ(token_name(*tokenizer_, 0xF0, "\xF0\x9F"), "bytes:\\xf0\\x9f");
  EXPECT_EQ(token_name(*tokenizer_, test::kTinyEnd, ""), "<|im_end|>");
  EXPECT_EQ(token_name(*tokenizer_, test::kTinyVocab, ""), "<token 260>");
  EXPECT_EQ(token_bytes(*tokenizer_, test::kTinyVocab, false), "");
}

TEST(TokenNames, CharactersAreCountedByTheirFirstByte) {
  EXPECT_EQ(count_characters(""), 0);
  EXPECT_EQ(count_characters("a\xC3\xA9\xF0\x9F\x98\x80"), 3);
  EXPECT_EQ(count_characters("\x9F\x98"), 0);  // the middle of one
}

}  // namespace
}  // namespace fathom::api::openai
