// A heap over a linked list of symbols: each is a stretch of the normalized text.
// Called by codec/text_tokenizer. Read next: codec/unigram.cc.
#include "codec/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "codec/normalizer.h"
#include "codec/utf8.h"
#include "codec/vocabulary.h"
#include "codec/word_cache.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581 stands for the blank

}  // namespace

SentencePieceModel::SentencePieceModel(const Vocabulary& vocabulary, std::string_view where,
                                       Options options)
    : vocabulary_(&vocabulary), pieces_(vocabulary.texts) {
  const Vocabulary& v = vocabulary;
  if (v.scores.empty()) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key 'tokenizer.ggml.scores' is missing; the tokenizer model '{}' merges "
                     "by score",
                     where, v.model));
  }
  byte_ids_.fill(-1);
  std::vector<TextSet::Entry> frozen;
  std::vector<TokenId> ids;  // of pieces that stand in the index as they are
  ids.reserve(v.texts.size());
  for (size_t i = 0; i < v.texts.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string& text = v.texts[i];
    if (v.kinds[i] == TokenKind::kByte) {
      byte_ids_[static_cast<size_t>(parse_byte_token(text))] = id;
    }
    const bool is_user_defined = v.kinds[i] == TokenKind::kUserDefined;
    // Where user-defined tokens are matched in raw text before, only runs of blanks can come up
    // again here, from a text that has U+2581 itself.
    const bool has_blank = text.find(' ') != std::string::npos;
    const bool merges = v.kinds[i] == TokenKind::kNormal || v.kinds[i] == TokenKind::kUnused ||
                        (is_user_defined && (has_blank || options.freezes_user_defined));
    if (!merges || text.empty()) {
      continue;
    }
    if (is_user_defined && options.freezes_user_defined) {
      frozen.push_back({text, i});
    }
    if (has_blank) {
      const std::string respelled = replace_all(text, " ", kBlank);
      cuts_.add_piece(respelled);
      pieces_.insert_all(ids);  // of two equal texts the first counts
      ids.clear();
      pieces_.insert_alias(respelled, id);
    } else {
      cuts_.add_piece(text);
      ids.push_back(id);
    }
  }
  pieces_.insert_all(ids);
  frozen_ = TextSet(std::move(frozen));
  has_all_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
  has_blank_ = pieces_.find(kBlank).has_value();
  if (!has_all_bytes_ && !v.unk) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key 'tokenizer.ggml.unknown_token_id' is missing and "
                     "'tokenizer.ggml.tokens' has not all byte tokens: some texts have no ids",
                     where));
  }
}

// The words of one encode call.
class SentencePieceModel::Merger final : public PieceModel::Run {
 public:
  explicit Merger(const SentencePieceModel& model) : model_(model) {}

  void add(std::string_view text, std::vector<TokenId>& out) override;

  [[nodiscard]] uint64_t n_steps() const override { return n_steps_; }

 private:
  // A stretch [begin, begin + size) of the text; size 0: merged into its left neighbour.
  struct Symbol {
    uint32_t begin, size;
    int32_t previous, next;  // -1: none
    bool is_frozen;
  };

  // Two neighbours that form a piece. The heap gives the highest score first, then the leftmost.
  struct Candidate {
    float score;
    int32_t left, right;
    uint32_t size;  // bytes of both when they were found; differs later if one has changed
    TokenId id;

    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };

  void run(std::string_view word);
  void cut(std::string_view word);
  void consider(int32_t left, int32_t right);
  void give(std::string_view piece);

  Symbol& at(int32_t i) { return symbols_[static_cast<size_t>(i)]; }

  [[nodiscard]] TokenKind kind_of(TokenId id) const {
    return model_.vocabulary_->kinds[static_cast<size_t>(id)];
  }

  const SentencePieceModel& model_;
  WordCache cache_;
  uint64_t n_steps_ = 0;
  std::string_view text_;
  std::vector<TokenId> ids_;  // of the word that is being merged
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  // Unused pieces take part in merging but do not come out: they are undone into their two parts.
  std::unordered_map<std::string_view, uint32_t> unused_splits_;
};

void SentencePieceModel::Merger::consider(int32_t left, int32_t right) {
  if (left < 0 || right < 0 || at(left).is_frozen || at(right).is_frozen) {
    return;
  }
  ++n_steps_;
  const Symbol& first = at(left);
  const uint32_t size = first.size + at(right).size;
  if (size > model_.pieces_.longest()) {
    return;
  }
  const std::string_view joined = text_.substr(first.begin, size);
  const TokenId id = model_.pieces_.find(joined, key_of(joined));
  if (id < 0) {
    return;
  }
  const float score = model_.vocabulary_->scores[static_cast<size_t>(id)];
  heap_.push_back({score, left, right, size, id});
  std::push_heap(heap_.begin(), heap_.end());
  if (kind_of(id) == TokenKind::kUnused) {
    unused_splits_[joined] = first.size;
  }
}

void SentencePieceModel::Merger::give(std::string_view piece) {
  const std::optional<TokenId> id = model_.pieces_.find(piece);
  if (!id) {
    model_.add_unknown(piece, ids_);
    return;
  }
  if (kind_of(*id) == TokenKind::kUnused) {
    const auto split = unused_splits_.find(piece);
    if (split != unused_splits_.end()) {
      give(piece.substr(0, split->second));
      give(piece.substr(split->second));
      return;
    }
  }
  ids_.push_back(*id);
}

void SentencePieceModel::Merger::cut(std::string_view word) {
  symbols_.clear();
  for (size_t begin = 0; begin < word.size();) {
    const TextSet::Entry* frozen =
        model_.frozen_.is_empty() ? nullptr : model_.frozen_.find_longest(word, begin);
    const size_t size = frozen != nullptr ? frozen->text.size() : read_utf8(word, begin).size;
    const auto i = static_cast<int32_t>(symbols_.size());
    const bool last = begin + size == word.size();
    symbols_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(size), i - 1,
                        last ? -1 : i + 1, frozen != nullptr});
    begin += size;
  }
}

void SentencePieceModel::Merger::run(std::string_view word) {
  text_ = word;
  unused_splits_.clear();
  cut(word);
  for (size_t i = 0; i + 1 < symbols_.size(); ++i) {
    consider(static_cast<int32_t>(i), static_cast<int32_t>(i + 1));
  }
  while (!heap_.empty()) {
    ++n_steps_;
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate top = heap_.back();
    heap_.pop_back();
    Symbol& left = at(top.left);
    Symbol& right = at(top.right);
    if (left.size == 0 || right.size == 0 || left.size + right.size != top.size) {
      continue;  // one of the two has changed since
    }
    left.size = top.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) {
      at(left.next).previous = top.left;
    }
    consider(left.previous, top.left);
    consider(top.left, left.next);
  }
  ids_.clear();
  for (int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = at(i).next) {
    give(text_.substr(at(i).begin, at(i).size));
  }
}

void SentencePieceModel::Merger::add(std::string_view text, std::vector<TokenId>& out) {
  // Positions are 32 bits wide.
  if (text.size() > INT32_MAX) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("a text of {} bytes is too long to encode; expected less than 2 GiB",
                     text.size()));
  }
  // A run of unknown characters is one token, which a cut must not divide.
  const bool may_cut = model_.has_all_bytes_ || model_.has_blank_;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = may_cut ? model_.cuts_.find_cut(text, begin) : text.size();
    const std::string_view word = text.substr(begin, end - begin);
    begin = end;
    const uint64_t hash = hash_text(word);
    if (!cache_.find(word, hash, out)) {
      run(word);
      cache_.insert(word, hash, ids_);
      out.insert(out.end(), ids_.begin(), ids_.end());
    }
  }
}

void SentencePieceModel::add_unknown(std::string_view character, std::vector<TokenId>& out) const {
  const bool has_bytes =
      has_all_bytes_ || std::all_of(character.begin(), character.end(), [&](char c) {
        return byte_ids_[static_cast<unsigned char>(c)] >= 0;
      });
  if (has_bytes) {
    for (const char c : character) {
      out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    }
  } else if (out.empty() || out.back() != *vocabulary_->unk) {
    out.push_back(*vocabulary_->unk);  // one for a run of unknown characters
  }
}

std::unique_ptr<PieceModel::Run> SentencePieceModel::start() const {
  return std::make_unique<Merger>(*this);
}

std::optional<TokenId> SentencePieceModel::find(std::string_view stored_text) const {
  return pieces_.find(stored_text);
}

}  // namespace fathom::codec
