// Byte-level byte-pair encoding: text to words, words to bytes, then the best-ranked pair is merged
// until no rule is left.
// Called by codec/tokenizer. Read next: codec/presplit.h. Source: arXiv 1508.07909, section 3.2;
// GPT-2.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/gguf_fixups.h"
#include "codec/merge_table.h"
#include "codec/presplit.h"
#include "codec/text_tokenizer.h"

namespace fathom::codec {

class BpeTokenizer final : public TextTokenizer {
 public:
  // Errors: kCorruptFile for merges that are missing, malformed, or name unknown pieces.
  BpeTokenizer(const weights::Metadata& metadata, Vocabulary vocabulary, const PreTokenizer& pre);

 private:
  // What is known of an entry as a word of its own. Found out when the word first occurs; every
  // thread would find the same.
  enum class Whole : uint8_t { kUnknown, kYes, kNo };

  struct Scratch;  // buffers of one encode call

  void read_merges(const weights::Metadata& metadata);
  void encode_text(std::string_view text, std::vector<TokenId>& out) const override;
  [[nodiscard]] std::string piece_bytes(TokenId id) const override;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void merge_short(std::vector<TokenId>& ids, Scratch& scratch) const;
  void merge_long(std::vector<TokenId>& ids, Scratch& scratch) const;

  PreSplitter splitter_;
  bool nfc_;
  bool ignore_merges_;
  std::array<TokenId, 256> byte_ids_{};  // -1: the vocabulary has no such byte; it is left out
  MergeTable merges_;
  std::unique_ptr<std::atomic<Whole>[]> whole_;  // [n_vocab]
};

}  // namespace fathom::codec
