// The table from metadata to what the format does not say.
// Called by codec/tokenizer. Source: each family's tokenizer.json, compared id by id with the
// reference.
#include "codec/gguf_fixups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

constexpr auto kPreTokenizers = std::to_array<GgufPreTokenizer>({
    {.name = "gpt-2", .split = SplitRule::kWords},
    {.name = "phi-2", .split = SplitRule::kWords},
    {.name = "mpt", .split = SplitRule::kWords, .nfc = true},
    {.name = "olmo", .split = SplitRule::kWords, .nfc = true},
    {.name = "starcoder", .split = SplitRule::kWordsDigits},
    {.name = "refact", .split = SplitRule::kWordsDigits},
    {.name = "smollm", .split = SplitRule::kWordsDigits},
    {.name = "command-r", .split = SplitRule::kWordsDigits, .nfc = true},
    {.name = "falcon", .split = SplitRule::kWordsBytesDigits},
    {.name = "qwen2", .split = SplitRule::kLinesDigits1, .nfc = true},
    {.name = "qwen35", .split = SplitRule::kLinesMarksDigits1, .nfc = true},
    {.name = "llama-bpe",
     .split = SplitRule::kLinesDigits3,
     .ignore_merges = true,
     .add_bos = true},
    {.name = "llama3", .split = SplitRule::kLinesDigits3, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .split = SplitRule::kLinesDigits3, .ignore_merges = true, .add_bos = true},
    {.name = "tekken", .split = SplitRule::kCaseDigits1, .ignore_merges = true, .add_bos = true},
    {.name = "gpt-4o", .split = SplitRule::kCaseDigits3},
    {.name = "deepseek-llm", .split = SplitRule::kScriptsDigitRuns},
    {.name = "deepseek-coder", .split = SplitRule::kScriptsDigits1},
    {.name = "deepseek-v3", .split = SplitRule::kCjkMarksDigits3},
});

std::string known_names() {
  std::string names;
  for (const GgufPreTokenizer& pre : kPreTokenizers) {
    names += names.empty() ? "" : ", ";
    names += pre.name;
  }
  return names;
}

// Phi-3's added tokens take the white space after them along, all but these.
bool is_phi3(const weights::Metadata& metadata) {
  if (metadata.find_string("general.architecture") == "phi3") {
    return true;
  }
  std::string name = metadata.find_string("general.name").value_or("");
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
}

constexpr std::string_view kPhi3KeepsBlanks[] = {"<unk>", "<s>", "<|endoftext|>"};

}  // namespace

TokenizerModel find_model(const weights::Metadata& metadata) {
  const std::string model = metadata.get_string(kModelKey);
  if (model == "gpt2") {
    return TokenizerModel::kByteLevelBpe;
  }
  if (model == "llama") {
    return TokenizerModel::kSentencePieceBpe;
  }
  if (model == "t5") {
    return TokenizerModel::kUnigram;
  }
  if (model == "bert") {
    return TokenizerModel::kWordPiece;
  }
  fail(ErrorCode::kUnsupported,
       fmt::format("{}: key '{}': found the tokenizer model '{}', supported are gpt2 (byte-level "
                   "BPE), llama (SentencePiece BPE), t5 (Unigram) and bert (WordPiece); give token "
                   "ids with --ids",
                   metadata.path(), kModelKey, model));
}

const GgufPreTokenizer& find_pre_tokenizer(const weights::Metadata& metadata) {
  const std::string model = metadata.get_string(kModelKey);
  const std::optional<std::string> name = metadata.find_string(kPreKey);
  if (!name) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: key '{}' is missing: the tokenizer model '{}' needs a pre-tokenizer, and "
                     "guessing one gives wrong ids; convert the model again with a newer program",
                     metadata.path(), kPreKey, model));
  }
  const auto* found = std::find_if(kPreTokenizers.begin(), kPreTokenizers.end(),
                                   [&](const GgufPreTokenizer& pre) { return pre.name == *name; });
  if (found == kPreTokenizers.end()) {
    fail(ErrorCode::kUnsupported,
         fmt::format(
             "{}: key '{}': the pre-tokenizer '{}' of the tokenizer model '{}' is not known; "
             "known are {}; give token ids with --ids",
             metadata.path(), kPreKey, *name, model, known_names()));
  }
  return *found;
}

bool strips_left(const weights::Metadata& metadata, std::string_view token_text) {
  // The mask token of XLM-RoBERTa and its kin.
  return token_text == "<mask>" && metadata.find_string(kModelKey) == "t5";
}

bool strips_right(const weights::Metadata& metadata, std::string_view token_text, TokenKind kind) {
  if (kind != TokenKind::kControl && kind != TokenKind::kUserDefined) {
    return false;
  }
  const auto* kept =
      std::find(std::begin(kPhi3KeepsBlanks), std::end(kPhi3KeepsBlanks), token_text);
  return kept == std::end(kPhi3KeepsBlanks) && is_phi3(metadata);
}

}  // namespace fathom::codec
