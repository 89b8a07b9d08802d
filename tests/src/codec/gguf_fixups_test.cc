// The table's promises: who normalizes, who adds BOS, who takes blanks along, who is refused.
// Called by ctest. Read next: codec/gguf_fixups.cc.
#include "codec/gguf_fixups.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace fathom::codec {
namespace {

weights::Metadata named(const std::string& model, const std::string& pre) {
  weights::Metadata metadata(weights::Source::kGguf, "test.gguf");
  metadata.set("tokenizer.ggml.model", model);
  metadata.set("tokenizer.ggml.pre", pre);
  return metadata;
}

TEST(GgufFixups, ModelsAreKnownOrRefusedByName) {
  EXPECT_EQ(find_model(named("gpt2", "")), TokenizerModel::kByteLevelBpe);
  EXPECT_EQ(find_model(named("llama", "")), TokenizerModel::kSentencePieceBpe);
  EXPECT_EQ(find_model(named("t5", "")), TokenizerModel::kUnigram);
  EXPECT_EQ(find_model(named("bert", "")), TokenizerModel::kWordPiece);
  for (const char* model : {"rwkv", "plamo2", "no_vocab", ""}) {
    try {
      find_model(named(model, ""));
      FAIL() << "accepted " << model;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_NE(std::string(error.what()).find("'" + std::string(model) + "'"), std::string::npos);
    }
  }
}

TEST(GgufFixups, WhatTheFormatDoesNotSay) {
  EXPECT_TRUE(find_pre_tokenizer(named("gpt2", "qwen2")).nfc);
  EXPECT_TRUE(find_pre_tokenizer(named("gpt2", "mpt")).nfc);
  EXPECT_FALSE(find_pre_tokenizer(named("gpt2", "gpt-2")).nfc);
  EXPECT_TRUE(find_pre_tokenizer(named("gpt2", "llama-bpe")).ignore_merges);
  EXPECT_TRUE(find_pre_tokenizer(named("gpt2", "llama-bpe")).add_bos);
  EXPECT_TRUE(find_pre_tokenizer(named("gpt2", "tekken")).ignore_merges);
  EXPECT_FALSE(find_pre_tokenizer(named("gpt2", "gpt-4o")).ignore_merges);
  for (const char* pre : {"default", "nosuch", "GPT-2"}) {
    EXPECT_THROW(find_pre_tokenizer(named("gpt2", pre)), Error) << pre;
  }
}

TEST(GgufFixups, WhoTakesBlanksAlong) {
  weights::Metadata metadata = named("llama", "default");
  EXPECT_FALSE(strips_right(metadata, "<|end|>", TokenKind::kControl));
  metadata.set("general.name", std::string("Phi-3 mini"));
  EXPECT_TRUE(strips_right(metadata, "<|end|>", TokenKind::kControl));
  EXPECT_TRUE(strips_right(metadata, "</s>", TokenKind::kUserDefined));
  EXPECT_FALSE(strips_right(metadata, "<s>", TokenKind::kControl));
  EXPECT_FALSE(strips_right(metadata, "<|endoftext|>", TokenKind::kControl));
  EXPECT_FALSE(strips_right(metadata, "word", TokenKind::kNormal));
}

}  // namespace
}  // namespace fathom::codec
