// Vocabularies for the codec tests: read from a case file, or built by hand around one situation.
// Called by tests/src/codec. Read next: tools/make_test_vocab.py.
#pragma once

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codec/byte_alphabet.h"
#include "codec/tokenizer.h"
#include "support/test_data.h"
#include "weights/metadata.h"

namespace fathom::codec::test {

using weights::Metadata;

inline nlohmann::json read_case_file(const std::string& name) {
  std::ifstream in(fathom::test::test_data("cases/tokenizer/") + name);
  return nlohmann::json::parse(in);
}

inline Metadata to_metadata(const nlohmann::json& keys) {
  Metadata metadata(weights::Source::kGguf, "test.gguf");
  for (const auto& [key, value] : keys.items()) {
    if (value.is_boolean()) {
      metadata.set(key, value.get<bool>());
    } else if (value.is_number_integer()) {
      metadata.set(key, value.get<int64_t>());
    } else if (value.is_string()) {
      metadata.set(key, value.get<std::string>());
    } else if (!value.empty() && value[0].is_string()) {
      metadata.set(key, value.get<std::vector<std::string>>());
    } else if (!value.empty() && value[0].is_number_float()) {
      metadata.set(key, value.get<std::vector<double>>());
    } else {
      metadata.set(key, value.get<std::vector<int64_t>>());
    }
  }
  return metadata;
}

// A byte-level vocabulary: ids 0 to 255 are the bytes, then `words` (raw bytes, not reachable by
// merges: they stand for what a model answers), then `controls`.
inline Metadata make_byte_vocabulary(const std::vector<std::string>& words,
                                     const std::vector<std::string>& controls) {
  std::vector<std::string> texts;
  for (unsigned byte = 0; byte < 256; ++byte) {
    texts.push_back(to_byte_alphabet(std::string(1, static_cast<char>(byte))));
  }
  for (const std::string& word : words) {
    texts.push_back(to_byte_alphabet(word));
  }
  std::vector<int64_t> kinds(texts.size(), 1);
  for (const std::string& control : controls) {
    texts.push_back(control);
    kinds.push_back(3);
  }
  Metadata metadata(weights::Source::kGguf, "test.gguf");
  metadata.set("tokenizer.ggml.model", std::string("gpt2"));
  metadata.set("tokenizer.ggml.pre", std::string("gpt-2"));
  metadata.set("tokenizer.ggml.tokens", std::move(texts));
  metadata.set("tokenizer.ggml.token_type", std::move(kinds));
  metadata.set("tokenizer.ggml.merges", std::vector<std::string>{});
  return metadata;
}

// A SentencePiece vocabulary: <unk>, <s>, </s>, 256 byte tokens (ids 3 to 258), then `pieces` (from
// id 259, with U+2581 for blanks), earlier ones merge first.
inline Metadata make_piece_vocabulary(const std::vector<std::string>& pieces) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<int64_t> kinds = {2, 3, 3};
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    texts.push_back(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
    kinds.push_back(6);
  }
  std::vector<double> scores(texts.size(), 0.0);
  for (const std::string& piece : pieces) {
    scores.push_back(-static_cast<double>(texts.size()));
    texts.push_back(piece);
    kinds.push_back(1);
  }
  Metadata metadata(weights::Source::kGguf, "test.gguf");
  metadata.set("tokenizer.ggml.model", std::string("llama"));
  metadata.set("tokenizer.ggml.tokens", std::move(texts));
  metadata.set("tokenizer.ggml.token_type", std::move(kinds));
  metadata.set("tokenizer.ggml.scores", std::move(scores));
  metadata.set("tokenizer.ggml.bos_token_id", int64_t{1});
  metadata.set("tokenizer.ggml.eos_token_id", int64_t{2});
  metadata.set("tokenizer.ggml.unknown_token_id", int64_t{0});
  return metadata;
}

}  // namespace fathom::codec::test
