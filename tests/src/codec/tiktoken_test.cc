// Rank files written by hand: the bytes, a few merges, and files that are no such.
// Called by ctest. Read next: src/codec/tiktoken.cc.
#include "codec/tiktoken.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using fathom::test::expect_error;
using Ids = std::vector<TokenId>;

std::string base64(std::string_view bytes) {
  static constexpr char kLetters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kLetters[bits >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

// Ids 0 to 255 are the bytes, then `words`.
std::string ranks(const std::vector<std::string>& words) {
  std::string file;
  int rank = 0;
  for (int byte = 0; byte < 256; ++byte) {
    file += base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(rank++) + "\n";
  }
  for (const std::string& word : words) {
    file += base64(word) + " " + std::to_string(rank++) + "\n";
  }
  return file;
}

TiktokenSettings settings() {
  return read_tiktoken_settings(
      R"({"pat_str":"\\p{L}+|\\s+|[^\\p{L}\\s]+","special_tokens":{"<s>":300,"<|endoftext|>":301},)"
      R"("bos_token":"<s>","normalizer":"NFC"})",
      "tiktoken.json");
}

TEST(Tiktoken, MergesByRank) {
  const TextTokenizer tokenizer(read_tiktoken(ranks({"ab", "bc", "abc", "  "}), "t", settings()));
  EXPECT_EQ(tokenizer.encode("abc", {}), Ids{258});  // the whole word is an entry
  EXPECT_EQ(tokenizer.encode("bcab", {}), (Ids{257, 256}));
  EXPECT_EQ(tokenizer.encode("abbc", {}), (Ids{256, 257}));
  EXPECT_EQ(tokenizer.encode("a  b", {}), (Ids{'a', 259, 'b'}));
  EXPECT_EQ(tokenizer.encode("\xFF", {}), (Ids{0xEF, 0xBF, 0xBD}));
  EXPECT_EQ(tokenizer.decode(Ids{258, ' ', 0xC3, 0xA9}, true), "abc \u00e9");
}

TEST(Tiktoken, SettingsSayWhatIsSpecial) {
  const TextTokenizer tokenizer(read_tiktoken(ranks({}), "t", settings()));
  EXPECT_EQ(tokenizer.encode("a<s>", {.add_special = true, .parse_special = true}),
            (Ids{300, 'a', 300}));
  EXPECT_EQ(tokenizer.vocabulary().bos, 300);
  EXPECT_EQ(tokenizer.vocabulary().eos, 301);
  EXPECT_EQ(tokenizer.encode("e\u0301", {}), (Ids{0xC3, 0xA9}));  // NFC
  EXPECT_EQ(tokenizer.decode(Ids{300}, false), "");
  EXPECT_EQ(tokenizer.vocabulary().texts.size(), 302u);
}

TEST(Tiktoken, IsToldByItsFirstLine) {
  EXPECT_TRUE(is_tiktoken(ranks({})));
  for (const char* text : {"", "\n", "abc", "YQ== x", " 1", "{\"a\": 1}",
                           "\x0A\x0D"
                           "abc 1"}) {
    EXPECT_FALSE(is_tiktoken(text)) << text;
  }
}

void expect_refused(const std::string& file, std::string_view says) {
  expect_error([&] { read_tiktoken(file, "t.tiktoken", settings()); }, ErrorCode::kCorruptFile,
               {"t.tiktoken", says});
}

TEST(Tiktoken, RefusesBrokenFiles) {
  expect_refused("YQ== 0\n", "has no rank; expected all 256");
  expect_refused(ranks({}) + "YQ==\n", "line 257 is 'YQ=='");
  expect_refused(ranks({}) + "?? 256\n", "line 257");
  expect_refused(ranks({}) + "YWI= 256x\n", "line 257");
  expect_refused(ranks({}) + "YWI= -1\n", "line 257");
  expect_refused(ranks({}) + "YWI= 99999999999\n", "line 257");
  expect_refused(ranks({}) + "YWI= 5\n", "the rank 5 stands twice");
}

TEST(Tiktoken, RefusesBrokenSettings) {
  expect_error([] { read_tiktoken_settings("{}", "tiktoken.json"); }, ErrorCode::kCorruptFile,
               {"'pat_str' is missing"});
  expect_error(
      [] { read_tiktoken_settings(R"({"pat_str":"a","normalizer":"NFX"})", "tiktoken.json"); },
      ErrorCode::kUnsupported, {"normalizer", "'NFX'"});
  expect_error(
      [] {
        read_tiktoken_settings(R"({"pat_str":"a","special_tokens":{"x":-1}})", "tiktoken.json");
      },
      ErrorCode::kCorruptFile, {"special_tokens.x"});
  expect_error([] { read_tiktoken(ranks({"ab"}), "odd.tiktoken", std::nullopt); },
               ErrorCode::kUnsupported, {"odd.tiktoken"});
}

}  // namespace
}  // namespace fathom::codec
