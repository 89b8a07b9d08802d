// Ids against the slow reference of tools/make_test_vocab.py, round trips, long inputs, bad input.
// Called by ctest. Read next: tests/src/codec/test_vocabulary.h.
#include "codec/tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "codec/utf8.h"
#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

using test::make_byte_vocabulary;
using test::make_piece_vocabulary;
using test::Metadata;

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, EncodeOptions{});
}

// Runs every case of `file` whose setting `make` turns into a tokenizer; gives the number run.
template <class Make>
size_t run_cases(const nlohmann::json& file, const std::string& setting, Make make) {
  const std::unique_ptr<Tokenizer> tokenizer = make();
  size_t n_run = 0;
  for (const auto& c : file.at("cases")) {
    if (c.at("setting") != setting) {
      continue;
    }
    ++n_run;
    const EncodeOptions options{.add_special = c.at("add_special"),
                                .parse_special = c.at("parse_special")};
    EXPECT_EQ(tokenizer->encode(c.at("text").get<std::string>(), options),
              c.at("ids").get<std::vector<TokenId>>())
        << setting << ": " << c.dump();
  }
  return n_run;
}

class ByteLevelCases : public ::testing::TestWithParam<std::string> {};

TEST_P(ByteLevelCases, EqualTheReference) {
  const nlohmann::json file = test::read_case_file("bytes.json");
  Metadata metadata = test::to_metadata(file.at("metadata"));
  metadata.set("tokenizer.ggml.pre", GetParam());
  EXPECT_GT(run_cases(file, GetParam(), [&] { return make_tokenizer(metadata); }), 60u);
}

INSTANTIATE_TEST_SUITE_P(Pre, ByteLevelCases,
                         ::testing::Values("gpt-2", "mpt", "smollm", "falcon", "qwen2", "llama-bpe",
                                           "tekken", "gpt-4o", "deepseek-coder", "deepseek-v3"));

TEST(SentencePieceCases, EqualTheReference) {
  const nlohmann::json file = test::read_case_file("pieces.json");
  Metadata metadata = test::to_metadata(file.at("metadata"));
  EXPECT_GT(run_cases(file, "prefix", [&] { return make_tokenizer(metadata); }), 90u);
  metadata.set("tokenizer.ggml.add_space_prefix", false);
  EXPECT_GT(run_cases(file, "no prefix", [&] { return make_tokenizer(metadata); }), 90u);
}

std::string random_text(std::mt19937& random) {
  std::string text;
  const size_t length = random() % 60;
  for (size_t i = 0; i < length; ++i) {
    static constexpr char32_t kLimits[] = {0x80, 0x80, 0x250, 0x3000, 0x10000, 0x110000};
    char32_t c = random() % kLimits[random() % std::size(kLimits)];
    if (c >= 0xD800 && c <= 0xDFFF) {
      c = 'x';
    }
    append_utf8(text, c);
  }
  return text;
}

TEST(ByteLevel, DecodesWhatItEncoded) {
  const nlohmann::json file = test::read_case_file("bytes.json");
  for (const char* pre : {"gpt-2", "llama-bpe", "gpt-4o", "falcon", "deepseek-llm"}) {
    Metadata metadata = test::to_metadata(file.at("metadata"));
    metadata.set("tokenizer.ggml.pre", std::string(pre));
    const auto tokenizer = make_tokenizer(metadata);
    std::mt19937 random(7);
    for (int i = 0; i < 1000; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(tokenizer->decode(encode(*tokenizer, text), true), text) << pre << " text " << i;
    }
  }
}

TEST(SentencePiece, DecodesWhatItEncoded) {
  const nlohmann::json file = test::read_case_file("pieces.json");
  const auto tokenizer = make_tokenizer(test::to_metadata(file.at("metadata")));
  std::mt19937 random(8);
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(tokenizer->decode(encode(*tokenizer, text), true), text) << "text " << i;
  }
}

TEST(Tokenizer, InvalidUtf8BecomesOneReplacementPerMaximalSubpart) {
  const auto bytes = make_tokenizer(make_byte_vocabulary({}, {}));
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(bytes->decode(encode(*bytes, "a\xE2\x82(\xF0\x9F\x98"), true),
            "a" + replacement + "(" + replacement);
  EXPECT_EQ(bytes->decode(encode(*bytes, "\xED\xA0\x80"), true),
            replacement + replacement + replacement);
}

// A megabyte without a border: linear work ends in well under a second; quadratic work (10^12
// steps) would not end within the test's time limit.
TEST(Tokenizer, AMegabyteOfOneCharacterIsFine) {
  const nlohmann::json bytes = test::read_case_file("bytes.json");
  const nlohmann::json pieces = test::read_case_file("pieces.json");
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  for (const char* pre : {"gpt-2", "qwen2", "gpt-4o", "deepseek-llm", "deepseek-v3", "falcon"}) {
    Metadata metadata = test::to_metadata(bytes.at("metadata"));
    metadata.set("tokenizer.ggml.pre", std::string(pre));
    tokenizers.push_back(make_tokenizer(metadata));
  }
  tokenizers.push_back(make_tokenizer(test::to_metadata(pieces.at("metadata"))));
  for (const auto& tokenizer : tokenizers) {
    for (const std::string_view unit :
         {"e", "E", " ", "=", "7", "\n", "\xE4\xBD\xA0", "\xCC\x81\xCC\xA3"}) {
      std::string text;
      while (text.size() < 250'000) {
        text += unit;
      }
      const auto ids = encode(*tokenizer, text);
      EXPECT_FALSE(ids.empty());
      EXPECT_LE(ids.size(), text.size() + 3);
    }
  }
  std::string text(1'000'000, 'e');
  EXPECT_EQ(tokenizers[0]->decode(encode(*tokenizers[0], text), true), text);
  EXPECT_EQ(tokenizers.back()->decode(encode(*tokenizers.back(), text), true), text);
}

TEST(Tokenizer, ThreadsAgree) {
  const nlohmann::json file = test::read_case_file("bytes.json");
  Metadata metadata = test::to_metadata(file.at("metadata"));
  metadata.set("tokenizer.ggml.pre", std::string("gpt-2"));
  const auto tokenizer = make_tokenizer(metadata);
  std::vector<std::string> texts;
  for (const auto& c : file.at("cases")) {
    texts.push_back(c.at("text"));
  }
  std::vector<std::vector<std::vector<TokenId>>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&tokenizer, &texts, &result] {
      for (const std::string& text : texts) {
        result.push_back(encode(*tokenizer, text));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
  EXPECT_EQ(results[3], results[0]);
}

TEST(SpecialTokens, AreParsedOnlyWhenAsked) {
  const auto tokenizer = make_tokenizer(make_byte_vocabulary({}, {"<|end|>", "<|end|>!"}));
  EXPECT_EQ(tokenizer->encode("<|end|>", {.parse_special = true}), (std::vector<TokenId>{256}));
  EXPECT_EQ(tokenizer->encode("<|end|>!", {.parse_special = true}), (std::vector<TokenId>{257}));
  const auto plain = encode(*tokenizer, "<|end|>");
  EXPECT_EQ(plain, (std::vector<TokenId>{'<', '|', 'e', 'n', 'd', '|', '>'}));
  EXPECT_EQ(tokenizer->bytes_of(256, true), "<|end|>");
  EXPECT_EQ(tokenizer->bytes_of(256, false), "");
  EXPECT_THROW(static_cast<void>(tokenizer->bytes_of(258, true)), Error);
  EXPECT_THROW(static_cast<void>(tokenizer->bytes_of(-1, true)), Error);
}

TEST(SpecialTokens, SomeFamiliesTakeTheBlanksToTheRight) {
  Metadata metadata = make_byte_vocabulary({}, {"<|end|>", "<s>"});
  metadata.set("general.architecture", std::string("phi3"));
  const auto tokenizer = make_tokenizer(metadata);
  EXPECT_EQ(tokenizer->encode("<|end|> \n\xC2\xA0x<s> y", {.parse_special = true}),
            (std::vector<TokenId>{256, 'x', 257, ' ', 'y'}));
}

TEST(SpecialTokens, BosAndEos) {
  Metadata metadata = make_piece_vocabulary({"\xE2\x96\x81", "a",
                                             "\xE2\x96\x81"
                                             "a"});
  EXPECT_EQ(make_tokenizer(metadata)->encode("a", {.add_special = true}),
            (std::vector<TokenId>{1, 261}));
  metadata.set("tokenizer.ggml.add_bos_token", false);
  metadata.set("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(make_tokenizer(metadata)->encode("a", {.add_special = true}),
            (std::vector<TokenId>{261, 2}));
}

TEST(SpecialTokens, EndTokensComeFromKeysAndMarkers) {
  Metadata metadata = make_byte_vocabulary({}, {"<a>", "<b>", "<|im_end|>", "<c>", "<|eot_id|>"});
  metadata.set("tokenizer.ggml.eos_token_id", int64_t{256});
  metadata.set("tokenizer.ggml.eot_token_id", int64_t{257});
  metadata.set("tokenizer.ggml.eom_token_id", int64_t{258});
  EXPECT_EQ(make_tokenizer(metadata)->end_tokens(), (std::vector<TokenId>{256, 257, 258, 260}));
}

}  // namespace
}  // namespace fathom::codec
